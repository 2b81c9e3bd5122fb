# SPDX-License-Identifier: Apache-2.0
"""Where a side of a comparison comes from, and where a benchmark is in the repository."""

from __future__ import annotations

import re
from dataclasses import astuple
from pathlib import Path

from warpgauge.records.counters import SOURCE_LINE
from warpgauge.records.model import Record, Source
from warpgauge.records.processes import PROCESSES
from warpgauge.records.sessions import newest
from warpgauge.system.git import short
from warpgauge.system.text import inert
from warpgauge.verdict.comparability import PROGRAMS
from warpgauge.verdict.comparison import Comparison, ContextDifference, Verdict


def side(record: Record) -> str:
    """Path, GPU, when, commit, inert; a path below the working directory is relative to it.

    "none" is the side that a run without a baseline has not.
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
    """As the newest session names it, not yet inert; empty where it names none."""
    return newest(record).context.get("gpu_name", "")


def differences_beside(comparison: Comparison) -> list[ContextDifference]:
    """The differences of the contexts that the lines of the two `side`s do not show already."""
    sides = (comparison.baseline, comparison.candidate)
    if not all(record.sessions for record in sides):
        return []
    shown = ("commit", *(newest(record).context.get("commit", "") for record in sides))
    return [difference for difference in comparison.differences if astuple(difference) != shown]


def told_values(one: ContextDifference) -> tuple[str, str]:
    """Both sides' values as far as a person reads them, not yet inert."""
    if one.key == "commit":
        return short(one.baseline), short(one.candidate)
    return one.baseline, one.candidate


def nearby(path: Path) -> Path:
    """Relative to the working directory where it lies in that."""
    try:
        here = Path.cwd()
    except OSError:  # the folder is gone
        return path
    return path.relative_to(here) if path.is_relative_to(here) else path


# A family's file is named after it. Other names have no file, and too long ones are an OSError.
_FAMILY = re.compile(r"[A-Za-z0-9_-]{1,100}")


def place(root: Path, comparison: Comparison, verdict: Verdict) -> dict[str, object]:
    """`file`, ``benchmarks/<family>.cu`` or what `root` has, and `line` where it is told.

    Empty without a file, and for another project's programs: a family of that name is none of ours.
    """
    if is_other_project(comparison) or not _FAMILY.fullmatch(verdict.family):
        return {}
    files = [f"benchmarks/{verdict.family}{suffix}" for suffix in (".cu", ".cpp")]
    line = verdict.counters.get(SOURCE_LINE, 0.0)
    told = {"line": int(line)} if 1 <= line < 1e9 and line == int(line) else {}
    return next(({"file": file, **told} for file in files if (root / file).is_file()), {})


def is_other_project(comparison: Comparison) -> bool:
    """Whether the candidate is another project's programs."""
    return any(PROGRAMS in one.context for one in comparison.candidate.sessions.values())
