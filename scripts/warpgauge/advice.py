# SPDX-License-Identifier: Apache-2.0
"""The one thing to do after a comparison."""

from __future__ import annotations

import re

from warpgauge.comparison import Comparison, Outcome, Verdict
from warpgauge.controls import FAMILY as CONTROLS
from warpgauge.headline import worst
from warpgauge.model import Clock, Source

# A name that a shell and a regular expression both take literally, and that fits on a line.
_HARMLESS = re.compile(r"[A-Za-z0-9_/:,=-]{1,200}")

ACCEPT = (
    "If the change is meant, accept it with scripts/bench --record in the commit that makes it."
)


def next_step(comparison: Comparison) -> str:
    """What to do now, if anything; nothing about what was recorded long ago."""
    source, slowest = comparison.candidate.source, worst(comparison)
    if source is Source.BASELINE:
        return ""
    ours = source is Source.RUN
    if slowest is not None and not ours:
        return "Measure both sides again in fresh processes before you believe it."
    if slowest is not None:
        return f"See it again with {command(slowest)}. {ACCEPT}"
    if comparison.refusal is None and comparison.count(Outcome.MISSING):
        return "Restore what is missing, or remove it from the baseline in the same commit."
    if comparison.count(Outcome.INCONCLUSIVE) and ours:
        return "Measure the inconclusive ones again on a quieter machine or in more processes."
    if comparison.count(Outcome.IMPROVED) and ours:
        return "Keep the gain: scripts/bench --record makes it the time to hold."
    return ""


def command(verdict: Verdict) -> str:
    """What measures one benchmark and, for the host's clock, the controls that it is held to.

    A name that is not harmless is left out: then the command measures everything.
    """
    if not _HARMLESS.fullmatch(verdict.name):
        return "scripts/bench"
    controls = f"|^{CONTROLS}/" if verdict.clock is Clock.HOST else ""
    return f"scripts/bench --filter '^{verdict.name}${controls}'"
