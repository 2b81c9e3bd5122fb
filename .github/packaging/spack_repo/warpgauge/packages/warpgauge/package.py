# SPDX-License-Identifier: Apache-2.0
"""The engine and the driver; the command comes by pip."""

from spack.package import *
from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage


class Warpgauge(CMakePackage, CudaPackage):
    """Measures GPU benchmarks, and judges what a change made slower."""

    homepage = "https://github.com/warpgauge/warpgauge"
    git = "https://github.com/warpgauge/warpgauge.git"

    license("Apache-2.0")

    version("main", branch="main")
    version("0.2.0", tag="v0.2.0")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("nlohmann-json@3.10:", type="build")
    depends_on("benchmark@1.7:")
    depends_on("cuda@12.5:", when="+cuda")

    conflicts("%gcc@:11", msg="warpgauge is C++20 and needs gcc 12 or newer")
    conflicts("cuda_arch=none", when="+cuda", msg="name the GPUs: cuda_arch=90 for an H100")

    def cmake_args(self):
        return [
            self.define("WARPGAUGE_BENCHMARKS", False),
            self.define("WARPGAUGE_TESTS", False),
            self.define_from_variant("WARPGAUGE_CUDA", "cuda"),
        ]
