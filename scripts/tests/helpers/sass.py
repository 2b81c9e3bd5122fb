# SPDX-License-Identifier: Apache-2.0
"""Kernels: recorded ones, and ones that are built here where the toolkit can."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from warpgauge.measure import build, toolkit
from warpgauge.system.errors import UserError
from warpgauge.why.machine_code import Kernel, parsed

_RECORDED = Path(__file__).parent.parent / "why" / "sass"


def recorded(name: str) -> Kernel:
    """The kernel of tests/why/sass/<name>.sass, as `nvdisasm -c -gi` printed it."""
    text = (_RECORDED / f"{name}.sass").read_text()
    ((mangled, code),) = parsed(text).items()
    return Kernel(mangled, code, digest=name)


def built(folder: Path, source: str, *options: str, kind: str = "-cubin") -> Path:
    """The source as a cubin, or another `kind`. Skips the test where it cannot be built or read."""
    nvcc = build.cuda_compiler()
    try:
        tools = [toolkit.tool(name) for name in ("cuobjdump", "nvdisasm")]
    except UserError as absent:
        pytest.skip(str(absent))
    if nvcc is None or not tools:
        pytest.skip("there is no nvcc here")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "built.cu").write_text(source)
    usual = [] if kind != "-cubin" else ["-arch=sm_90"]
    command = [nvcc, *usual, *(options or ("-lineinfo",)), kind, "built.cu"]
    made = f"built.{kind.removeprefix('-')}"
    subprocess.run([*command, "-o", made], cwd=folder, check=True, capture_output=True)
    return folder / made
