# SPDX-License-Identifier: Apache-2.0
"""Compiles the C++ programs that tests run, once for each version of their sources."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from warpgauge.system.environment import ROOT

_FOLDER = ROOT / "build" / "tests"


def compiled(name: str, sources: Iterable[Path], arguments: Sequence[str]) -> Path:
    """The program that a compiler makes with these arguments, in a folder of its own."""
    version = hashlib.sha256(repr(arguments).encode())
    for path in sorted(sources):
        version.update(path.read_bytes())
    path = _FOLDER / f"{name}-{version.hexdigest()[:16]}" / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        ours = path.with_name(f"{name}.{os.getpid()}")  # other workers compile at this moment
        compiler = os.environ.get("CXX", "c++")
        subprocess.run([compiler, *arguments, "-o", ours], check=True)
        ours.rename(path)
    return path
