# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for tools and programs, as shell scripts."""

from __future__ import annotations

from pathlib import Path


def script(path: Path, does: str) -> Path:
    """An executable file at `path`, which does what these lines of sh say."""
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(0o755)
    return path
