# SPDX-License-Identifier: Apache-2.0
"""Where in the repository a benchmark is written; another project's is not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from warpgauge.records.counters import SOURCE_LINE
from warpgauge.verdict.comparison import Comparison, Verdict
from warpgauge.verdict.context import PROGRAMS

# A family's file is named after it; what else a foreign name may hold leads nowhere, and to ask for
# one that is longer than a file's name can be is an error.
_FAMILY = re.compile(r"[A-Za-z0-9_-]{1,100}")
_SUFFIXES = (".cu", ".cpp")


@dataclass(frozen=True)
class SourcePlace:
    """A file, relative to the repository's root and with slashes, and its line where it is told."""

    file: str
    line: int | None


def place(root: Path, comparison: Comparison, verdict: Verdict) -> SourcePlace | None:
    """``benchmarks/<family>.cu``, or ``.cpp`` where that is what `root` has; None for neither.

    None for another project's programs: a family of the same name is none of ours.
    """
    if is_other_project(comparison) or not _FAMILY.fullmatch(verdict.family):
        return None
    for suffix in _SUFFIXES:
        file = f"benchmarks/{verdict.family}{suffix}"
        if (root / file).is_file():
            return SourcePlace(file, _line(verdict))
    return None


def _line(verdict: Verdict) -> int | None:
    """A whole number from 1 on; anything else is no line."""
    line = verdict.counters.get(SOURCE_LINE, 0.0)
    return int(line) if 1 <= line < 1e9 and line == int(line) else None


def is_other_project(comparison: Comparison) -> bool:
    """Whether the candidate is another project's programs."""
    return any(PROGRAMS in one.context for one in comparison.candidate.sessions.values())
