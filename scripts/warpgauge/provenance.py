# SPDX-License-Identifier: Apache-2.0
"""Where a side of a comparison comes from, in one line."""

from __future__ import annotations

from pathlib import Path

from warpgauge.commits import short
from warpgauge.model import Record, Source
from warpgauge.sessions import newest_last
from warpgauge.text import inert


def side(record: Record) -> str:
    """Path, GPU, when, commit, inert; a path below the working directory is relative to it."""
    newest = newest_last(record.sessions.values())[-1].context
    facts = [str(_nearby(record.path))]
    if record.source is Source.GOOGLE_BENCHMARK:
        facts.append(Source.GOOGLE_BENCHMARK.value)
    if newest.get("gpu_name"):
        facts.append(newest["gpu_name"])
    several = f"{len(record.sessions)} sessions, newest " if len(record.sessions) > 1 else ""
    if newest.get("date"):
        facts.append(f"{several}{newest['date'][:10]}")
    if newest.get("commit"):
        changed = " and changes" if newest.get("dirty") == "true" else ""
        facts.append(f"commit {short(newest['commit'])}{changed}")
    return inert(" · ".join(facts))


def _nearby(path: Path) -> Path:
    try:
        here = Path.cwd()
    except OSError:  # the folder is gone
        return path
    return path.relative_to(here) if path.is_relative_to(here) else path
