# SPDX-License-Identifier: Apache-2.0
"""Whether a process still runs."""

from __future__ import annotations

from pathlib import Path


def runs(pid: int) -> bool:
    """Not as a zombie, either."""
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False
