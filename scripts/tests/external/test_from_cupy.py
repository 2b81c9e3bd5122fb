# SPDX-License-Identifier: Apache-2.0
"""Entries of CuPy's raw kernels; CuPy makes them without a GPU, too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from warpgauge.external.frameworks import from_cupy
from warpgauge.external.write_manifest import KernelEntry
from warpgauge.system.errors import UserError

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")

CODE = 'extern "C" __global__ void scale(const float* x, float* y, float f, int n) {}'
X = np.zeros(64, "f4")
EXAMPLES = {"x": X, "y": X, "f": np.float32(2.5), "n": np.int32(64)}


def _entry(folder: Path, kernel: object, symbol: str = "") -> KernelEntry:
    return from_cupy(
        kernel, [1], [64], EXAMPLES, name="scale", folder=folder, symbol=symbol, outputs=["y"]
    )


def test_a_raw_kernel_is_compiled_with_the_options_of_cupy(tmp_path: Path) -> None:
    entry = _entry(tmp_path, cupy.RawKernel(CODE, "scale", options=("-std=c++17",))).entry
    assert (tmp_path / "scale.cupy.cu").read_text() == CODE
    assert entry["symbol"] == "scale"
    assert entry["options"] == ["-std=c++17", "-ftz=true", "--device-as-default-execution-space"]
    assert entry["arguments"] == [
        {"input": "x", "type": "f32", "count": "64"},
        {"output": "y", "type": "f32", "count": "64"},
        {"value": 2.5, "type": "f32"},
        {"value": "64", "type": "i32"},
    ]


def test_headers_of_cupy_are_found(tmp_path: Path) -> None:
    entry = _entry(tmp_path, cupy.RawKernel(f"#include <cupy/complex.cuh>\n{CODE}", "scale")).entry
    options = entry["options"]
    assert isinstance(options, list)
    assert (Path(options[-1].removeprefix("-I")) / "cupy" / "complex.cuh").exists()


def test_a_module_gives_the_kernel_of_the_symbol(tmp_path: Path) -> None:
    module = cupy.RawModule(code=CODE)
    assert _entry(tmp_path, module, "scale").entry["symbol"] == "scale"
    with pytest.raises(UserError, match="give symbol"):
        _entry(tmp_path, module)


@pytest.mark.parametrize(
    ("begin", "key"), [(b"\x7fELF", "cubin"), (b"\x50\xed\x55\xba", "fatbin"), (b"//PTX", "ptx")]
)
def test_the_file_of_a_module_is_copied(tmp_path: Path, begin: bytes, key: str) -> None:
    (tmp_path / "module").write_bytes(begin)
    entry = _entry(tmp_path, cupy.RawModule(path=str(tmp_path / "module")), "scale").entry
    assert entry[key] == tmp_path / f"scale.{key}"
    assert (tmp_path / f"scale.{key}").read_bytes() == begin


def test_what_nvrtc_alone_does_not_compile_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="only source for the backend nvrtc"):
        _entry(tmp_path, cupy.RawKernel(CODE, "scale", backend="nvcc"))
    with pytest.raises(UserError, match="cooperative"):
        _entry(tmp_path, cupy.RawKernel(CODE, "scale", enable_cooperative_groups=True))
    with pytest.raises(UserError, match=r"neither a cupy\.RawKernel"):
        _entry(tmp_path, print)
    with pytest.raises(OSError, match="module"):
        _entry(tmp_path, cupy.RawModule(path=str(tmp_path / "module")), "scale")
