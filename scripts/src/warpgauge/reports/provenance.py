# SPDX-License-Identifier: Apache-2.0
"""The origin of a comparison's side, and the place of a benchmark in the repository."""

from __future__ import annotations

import re
from dataclasses import astuple
from pathlib import Path

from warpgauge.records.counters import SOURCE_LINE
from warpgauge.records.model import PROGRAMS, Record, Source
from warpgauge.records.processes import PROCESSES
from warpgauge.records.sessions import newest
from warpgauge.system.git import short
from warpgauge.system.text import inert
from warpgauge.verdict.comparison import Comparison, ContextDifference, Verdict


def side(record: Record) -> str:
    """Return path, GPU, date and commit, inert; a path below the working directory is relative.

    Return "none" for the missing side of a run without a baseline.
    """
    if not record.sessions:
        return "none"
    context = newest(record).context
    facts = [str(nearby(record.path))]
    if record.source is Source.GOOGLE_BENCHMARK:
        several = f" of {context[PROCESSES]} processes" if PROCESSES in context else ""
        facts.append(f"{Source.GOOGLE_BENCHMARK.value}{several}")
    if context.get("gpu_name"):
        facts.append(context["gpu_name"])
    several = f"{len(record.sessions)} sessions, newest " if len(record.sessions) > 1 else ""
    if context.get("date"):
        facts.append(f"{several}{context['date'][:10]}")
    if context.get("commit"):
        changed = " and changes" if context.get("dirty") == "true" else ""
        facts.append(f"commit {short(context['commit'])}{changed}")
    return inert(" · ".join(facts))


def gpu_name(record: Record) -> str:
    """Return the GPU's name in the newest session, not yet inert, or ""."""
    return newest(record).context.get("gpu_name", "")


def differences_beside(comparison: Comparison) -> list[ContextDifference]:
    """Return the differences of the contexts that the two `side`s do not show already."""
    sides = (comparison.baseline, comparison.candidate)
    if not all(record.sessions for record in sides):
        return []
    shown = ("commit", *(newest(record).context.get("commit", "") for record in sides))
    return [difference for difference in comparison.differences if astuple(difference) != shown]


def told_values(one: ContextDifference) -> tuple[str, str]:
    """Return both sides' values for display, not yet inert; commits are shortened."""
    if one.key == "commit":
        return short(one.baseline), short(one.candidate)
    return one.baseline, one.candidate


def nearby(path: Path) -> Path:
    """Return the path relative to the working directory if it lies there."""
    try:
        here = Path.cwd()
    except OSError:  # the working directory was removed
        return path
    return path.relative_to(here) if path.is_relative_to(here) else path


# Family names for which a file may exist; too long a name would be an OSError.
_FAMILY = re.compile(r"[A-Za-z0-9_-]{1,100}")


def place(root: Path, comparison: Comparison, verdict: Verdict) -> dict[str, object]:
    """Return `file`, ``benchmarks/<family>.cu`` or .cpp below `root`, and `line` if known.

    Empty without a file, and for another project's programs, whose families are not ours.
    """
    if is_other_project(comparison) or not _FAMILY.fullmatch(verdict.family):
        return {}
    files = [f"benchmarks/{verdict.family}{suffix}" for suffix in (".cu", ".cpp")]
    line = verdict.counters.get(SOURCE_LINE, 0.0)
    told = {"line": int(line)} if 1 <= line < 1e9 and line == int(line) else {}
    return next(({"file": file, **told} for file in files if (root / file).is_file()), {})


def is_other_project(comparison: Comparison) -> bool:
    """Return whether the candidate is another project's programs."""
    return any(PROGRAMS in one.context for one in comparison.candidate.sessions.values())
