# SPDX-License-Identifier: Apache-2.0
"""When a change counted in a comparison, and which would have been found, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from warpgauge.records.model import Clock, Source
from warpgauge.system.text import percent, percent_number
from warpgauge.verdict.comparability import MINIMUM_EFFECT, SIBLING_LATENCY, Comparability
from warpgauge.verdict.comparison import Comparison, Evidence, Verdict

_SIBLINGS = MINIMUM_EFFECT[Clock.DEVICE, Comparability.SIBLING]


def sentences(comparison: Comparison) -> str:
    """The rule that was in force, and what it would have found; empty where nothing was judged."""
    least = minimum_effects(comparison)
    if not least:
        return ""
    evidence = {verdict.evidence for verdict in comparison.verdicts} - {Evidence.NONE}
    how = " in alternating processes of both builds" if evidence == {Evidence.PAIRED} else ""
    return (
        f"Reported if p < {comparison.alpha:g}{how} (over the whole suite), above the noise floor, "
        f"and at least {least}."
    )


def minimum_effects(comparison: Comparison) -> str:
    """``1 % of device time and 20 % of host time``: those in force; nothing where none was."""
    alone, in_turns = (_of_each_clock(comparison, paired) for paired in (False, True))
    if alone and in_turns:
        return f"{alone}; of what was measured in pairs {in_turns}"
    return alone or in_turns


def _of_each_clock(comparison: Comparison, paired: bool) -> str:
    words = {Clock.DEVICE: "of device time", Clock.HOST: "of host time"}
    if Source.GOOGLE_BENCHMARK in (comparison.baseline.source, comparison.candidate.source):
        words = dict.fromkeys(Clock, "of the time")
    groups: dict[str, list[Verdict]] = {}
    for verdict in comparison.verdicts:
        is_paired = verdict.evidence is Evidence.PAIRED
        if verdict.minimum_effect is not None and is_paired is paired:
            groups.setdefault(words[verdict.clock], []).append(verdict)
    return " and ".join(f"{_sizes(group)} {what}" for what, group in groups.items())


def _sizes(verdicts: Sequence[Verdict]) -> str:
    """``1 %``, ``3 % or 150 ns, whichever is more,``, or a range where benchmarks differ."""
    effects = {verdict.minimum_effect or 0.0 for verdict in verdicts}
    if len(effects) > 1:
        others = {v.minimum_effect or 0.0 for v in verdicts if not _is_latency(v)}
        if others <= {_SIBLINGS}:
            latency = f"{1e9 * SIBLING_LATENCY:.0f} ns"
            return f"{percent(_SIBLINGS, sign=False)} or {latency}, whichever is more,"
    least, most = (percent_number(one, sign=False) for one in (min(effects), max(effects)))
    return f"{least} %" if least == most else f"{least} to {most} %"


def _is_latency(verdict: Verdict) -> bool:
    """Whether the minimum effect is the latency by which siblings differ, and not a share."""
    effect, seconds = verdict.minimum_effect, verdict.baseline_seconds
    if verdict.clock is not Clock.DEVICE or effect is None or seconds is None:
        return False
    return effect > _SIBLINGS and math.isclose(effect * seconds, SIBLING_LATENCY, rel_tol=1e-6)
