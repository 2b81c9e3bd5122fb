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

# Buffers in place and scratch, and the distribution of what is read.
IN_PLACE = """\
version = 1
[kernels.twice]
source = "naive.cu"
symbol = "twice"
type = "f32"
axes = { n = [4096] }
arguments = [
  { in_place = "data", type = "f32", count = "n", values = { uniform = [0.5, "n"] } },
  { scratch = "tmp", type = "u8", count = "2 * n" },
  { in_place = "bins", type = "u32", count = 256, values = { constant = 0 } },
]
grid = [1]
block = [256]
verify.data = { reference = "plain", relative = 1e-6 }
verify.bins = { reference = "plain" }
[kernels.plain]
reference_only = true
source = "naive.cu"
symbol = "plain"
arguments = [
  { in_place = "bins", type = "u32", count = 256 },
  { in_place = "data", type = "f32", count = "n" },
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
