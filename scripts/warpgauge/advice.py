# SPDX-License-Identifier: Apache-2.0
"""The one thing to do after a comparison."""

from __future__ import annotations

import re

from warpgauge.commits import is_full, short
from warpgauge.comparison import Comparison, Outcome, Verdict
from warpgauge.controls import FAMILY as CONTROLS
from warpgauge.headline import worst
from warpgauge.model import Clock, Row, Source
from warpgauge.pairs import are_paired
from warpgauge.sessions import newest_last

# A name that a shell and a regular expression both take literally, and that fits on a line.
_HARMLESS = re.compile(r"[A-Za-z0-9_/:,=-]{1,200}")
ACCEPT = "If the change is meant, commit it, and accept its times with scripts/bench --record."


def next_step(comparison: Comparison) -> str:
    """What to do now, if anything; nothing about what was recorded long ago."""
    source, slowest = comparison.candidate.source, worst(comparison)
    if source is Source.BASELINE:
        return ""
    ours, in_turns = source is Source.RUN, _base(comparison) is not None
    if slowest is not None and not ours:
        return "Measure both sides again in fresh processes before you believe it."
    if slowest is not None:
        return f"See it again with {command(comparison, slowest)}. {accept(comparison)}".rstrip()
    failed = [row for row in comparison.candidate.rows.values() if row.error is not None]
    if ours and failed and comparison.refusal is None:
        return f"See the failure again with {command(comparison, failed[0])}."
    if comparison.refusal is None and comparison.count(Outcome.MISSING) and not in_turns:
        return "Restore what is missing, or remove it from the baseline in the same commit."
    if comparison.count(Outcome.INCONCLUSIVE) and ours:
        return "Measure the inconclusive ones again on a quieter machine or in more processes."
    if comparison.count(Outcome.IMPROVED) and ours and not in_turns:
        return "Keep the gain: scripts/bench --record makes it the time to hold."
    return ""


def accept(comparison: Comparison) -> str:
    """What to do where a change is meant; a pair has no baseline to put it in."""
    return ACCEPT if _base(comparison) is None else ""


def command(comparison: Comparison, one: Verdict | Row) -> str:
    """What measures one benchmark again, beside the same base where it was measured so.

    Against a baseline a time of the host needs the controls that it is held to. A name that is not
    harmless is left out: then the command measures everything.
    """
    base = _base(comparison)
    bench = "scripts/bench" + (f" --against {base}" if base else "")
    if not _HARMLESS.fullmatch(one.name):
        return bench
    controls = f"|^{CONTROLS}/" if one.clock is Clock.HOST and base is None else ""
    return f"{bench} --filter '^{one.name}${controls}'"


def _base(comparison: Comparison) -> str | None:
    """The commit beside which the candidate was measured, "" if it is none; None for no pair."""
    if not are_paired(comparison.baseline, comparison.candidate):
        return None
    commit = newest_last(comparison.baseline.sessions.values())[-1].context.get("commit", "")
    return short(commit) if is_full(commit) else ""
