# SPDX-License-Identifier: Apache-2.0
"""Entries of kernels in shared libraries, which nvcc builds as torch does its extensions."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

import shell
from warpgauge.external.frameworks import from_torch_extension
from warpgauge.external.write_manifest import KernelEntry
from warpgauge.system.errors import UserError

AXPY = """
template <class T> __global__ void axpy_kernel(const T* x, T* y, int n) { if (n) y[0] = x[0]; }
namespace inner { __global__ void fill_kernel(float* y) { y[0] = 1; } }
void launch(float* x, float* y, double* a, double* b) {
  axpy_kernel<<<1, 1>>>(x, y, 1);
  axpy_kernel<<<1, 1>>>(a, b, 1);
  inner::fill_kernel<<<1, 1>>>(y);
}
"""
OTHER = 'extern "C" __global__ void other(float* y) { y[0] = 1; }'
X = np.zeros(64, "f4")
EXAMPLES: dict[str, object] = {"x": X, "y": X, "n": np.int32(64)}

NVCC = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
needs_nvcc = pytest.mark.skipif(NVCC is None, reason="nvcc is not installed")


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("extension")
    (folder / "axpy.cu").write_text(AXPY)
    (folder / "other.cu").write_text(OTHER)
    command = [NVCC or "nvcc", "-arch=sm_90", "-shared", "--no-compress", "-Xcompiler=-fPIC"]
    command += ["axpy.cu", "other.cu", "-o", "extension.so"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "extension.so"


def _entry(folder: Path, library: Path, symbol: str) -> KernelEntry:
    return from_torch_extension(
        library, symbol, [1], [64], EXAMPLES, name="axpy", folder=folder, outputs=["y"]
    )


@needs_nvcc
def test_the_fatbin_with_the_kernel_is_taken(tmp_path: Path, library: Path) -> None:
    entry = _entry(tmp_path, library, "_Z11axpy_kernelIfEvPKT_PS0_i").entry
    fatbin = (tmp_path / "axpy.fatbin").read_bytes()
    magic, _, header, length = struct.unpack_from("<IHHQ", fatbin)
    assert (magic, header + length) == (0xBA55ED50, len(fatbin))
    assert b"axpy_kernel" in fatbin
    assert b"other" not in fatbin
    assert entry["arguments"] == [
        {"input": "x", "type": "f32", "count": "64"},
        {"output": "y", "type": "f32", "count": "64"},
        {"value": "64", "type": "i32"},
    ]


@needs_nvcc
def test_a_plain_name_stands_for_the_only_kernel_of_that_name(
    tmp_path: Path, library: Path
) -> None:
    assert _entry(tmp_path, library, "other").entry["symbol"] == "other"
    assert _entry(tmp_path, library, "fill_kernel").entry["symbol"] == "_ZN5inner11fill_kernelEPf"
    with pytest.raises(UserError, match=r"several kernels .*'_Z11axpy_kernelI[df]E.*_Z11axpy"):
        _entry(tmp_path, library, "axpy_kernel")
    with pytest.raises(UserError, match="has no kernel 'kernel'; choose one of"):
        _entry(tmp_path, library, "kernel")


def _with_a_compressed_cubin(path: Path) -> Path:
    """A library of one fatbin, whose only cubin is compressed."""
    image = b"\x28\xb5\x2f\xfd0000"
    entry = struct.pack("<HHIQ", 2, 0x101, 16, len(image)) + image
    path.write_bytes(b"\x7fELF" + struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry)) + entry)
    return path


def test_compressed_code_is_listed_by_cuobjdump(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = _with_a_compressed_cubin(tmp_path / "extension.so")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(
        UserError, match="for compressed code put cuobjdump on PATH, or build with nvcc"
    ):
        _entry(tmp_path, library, "scale")
    # In the words of CUDA 13's.
    line = "FUNC          GLOBAL  DEFAULT    ENTRY                                _Z5scalePfi"
    shell.script(tmp_path / "cuobjdump", f'[ "$1" = -symbols ] && echo "{line}"')
    assert _entry(tmp_path, library, "scale").entry["symbol"] == "_Z5scalePfi"


def test_a_library_without_gpu_code_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plain.so").write_bytes(b"\x7fELF\x50\xed\x55\xba\x01\x00\x10\x00")
    with pytest.raises(UserError, match="has no kernel 'scale'; choose one of none"):
        _entry(tmp_path, tmp_path / "plain.so", "scale")
    with pytest.raises(FileNotFoundError, match=r"missing\.so"):
        _entry(tmp_path, tmp_path / "missing.so", "scale")
