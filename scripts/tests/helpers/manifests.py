# SPDX-License-Identifier: Apache-2.0
"""A manifest of kernels from elsewhere, with the files that it names."""

from __future__ import annotations

from pathlib import Path

KERNELS = """\
version = 1
[kernels.scale]
cubin = "scale.cubin"
symbol = "scale_kernel"
type = "f32"
axes = { n = [256, 4096] }
arguments = [
  { input = "x", type = "f32", count = "n" },
  { output = "y", type = "f32", count = "n" },
  { value = "n", type = "i32" },
  { value = 2.5, type = "f32" },
  { null = true },
]
grid = ["ceil_div(n, 256)"]
block = [256]
bytes = "8 * n"
flops = "n"
verify.y = { reference = "naive", relative = 0.5 }
[kernels.naive]
reference_only = true
source = "naive.cu"
options = ["-std=c++17"]
symbol = "naive<float>"
arguments = [
  { output = "y", type = "f32", count = "n" },
  { input = "x", type = "f32", count = "n" },
]
grid = [1]
block = [32]
"""


def write_manifest(folder: Path, text: str = KERNELS) -> Path:
    """kernels.toml in `folder`, beside scale.cubin and naive.cu."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scale.cubin").write_bytes(b"\x7fELF")
    (folder / "naive.cu").write_text("// naive\n")
    path = folder / "kernels.toml"
    path.write_text(text)
    return path
