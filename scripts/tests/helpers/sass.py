# SPDX-License-Identifier: Apache-2.0
"""Kernels: recorded ones, and ones that are built here where the toolkit can."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from warpgauge.execution import build, toolkit
from warpgauge.system.errors import UserError
from warpgauge.why.machine_code import Kernel, parsed

_RECORDED = Path(__file__).parent.parent / "why" / "sass"


def recorded(name: str) -> Kernel:
    """The kernel of tests/why/sass/<name>.sass, as `nvdisasm -c -gi` printed it."""
    text = (_RECORDED / f"{name}.sass").read_text()
    ((mangled, code),) = parsed(text.splitlines()).items()
    return Kernel(mangled, code, digest=name)


def built(folder: Path, source: str) -> Path:
    """A cubin of the source. Skips the test where it cannot be built, or read."""
    nvcc = build.cuda_compiler()
    try:
        tools = [toolkit.tool(name) for name in ("cuobjdump", "nvdisasm")]
    except UserError as absent:
        pytest.skip(str(absent))
    if nvcc is None or not tools:
        pytest.skip("there is no nvcc here")
    folder.mkdir(exist_ok=True)
    (folder / "built.cu").write_text(source)
    command = [nvcc, "-arch=sm_90", "-lineinfo", "-cubin", "built.cu"]
    subprocess.run([*command, "-o", "built.cubin"], cwd=folder, check=True, capture_output=True)
    return folder / "built.cubin"
