# SPDX-License-Identifier: Apache-2.0
"""Finds and runs NVIDIA's tools other than the compiler."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from warpgauge.measure import build
from warpgauge.system import command_log
from warpgauge.system.errors import ExitStatus, UserError

_DEADLINE_S = 300.0
_PACKAGES = {
    "ncu": "Nsight Compute (e.g. cuda-nsight-compute-13-0)",
    "nsys": "Nsight Systems (e.g. cuda-nsight-systems-13-0)",
    "cuobjdump": "the CUDA toolkit's cuobjdump (e.g. cuda-cuobjdump-13-0)",
    "nvdisasm": "the CUDA toolkit's nvdisasm (e.g. cuda-nvdisasm-13-0)",
}


def packaged() -> Path:
    """Return where PyPI's nvidia-cuda-cuobjdump and nvidia-cuda-nvdisasm install their tools."""
    return Path(sysconfig.get_path("purelib"), "nvidia", "cu13", "bin")


def tool(name: str) -> str:
    """Find a tool on PATH, in the toolkit or in Python's packages. Raises UserError."""
    nvcc = build.cuda_compiler()
    folders = [None, *([Path(nvcc).parent] if nvcc else []), packaged()]
    for folder in folders:
        if found := shutil.which(name, path=folder and str(folder)):
            return found
    raise UserError(f"{name} is missing: install {_PACKAGES[name]}", ExitStatus.NOT_MEASURED)


def output_of(command: Sequence[str], folder: Path | None = None) -> bytes:
    """Return a tool's output. Raises UserError if it cannot run, fails, or takes too long."""
    try:
        with command_log.running(command) as logged:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, timeout=_DEADLINE_S, check=False
            )
            logged.ended(done.returncode)
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise UserError(f"{command[0]} did not finish ({fault})") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise UserError(f"{command[0]} failed: {said or f'status {done.returncode}'}")
    return done.stdout
