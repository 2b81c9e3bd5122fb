# SPDX-License-Identifier: Apache-2.0
"""The decision rule in words: when a change is reported, what PASS means, and bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from warpgauge.records.model import Clock
from warpgauge.system.text import percent, percent_number
from warpgauge.verdict.comparability import (
    MINIMUM_EFFECT,
    SIBLING_LATENCY,
    Comparability,
    minimum_effect,
)
from warpgauge.verdict.comparison import IN_PAIRS, Comparison, Evidence, Outcome, Verdict

_SIBLINGS = MINIMUM_EFFECT[Clock.DEVICE, Comparability.SIBLING]

# The largest bound, as a fraction, that is printed exactly.
_NO_BOUND = 9.99


def sentences(comparison: Comparison) -> str:
    """Return when a change is reported and what PASS means; "" if nothing was judged."""
    least = minimum_effects(comparison)
    if not least:
        return ""
    evidence = {verdict.evidence for verdict in comparison.verdicts} - {Evidence.NONE}
    how = " in pairs of both builds" if evidence.issubset(IN_PAIRS) else ""
    counts = (
        f"Reported if p < {comparison.alpha:g}{how} (over the whole suite) and at least {least}."
    )
    bounded = [verdict for verdict in comparison.verdicts if verdict.tolerance is not None]
    most = _of_each_clock(comparison, bounded, lambda group: _range(v.tolerance for v in group))
    return f"{counts} PASS: slower by at most {most}, with 99 % confidence." if most else counts


def at_most(*fractions: float, words: str = "at most") -> str:
    """Return the largest bound, rounded up: ``at most +0.40 %``, or ``more than +999 %``."""
    most = max(fractions)
    return f"{words} {rounded_up(most)}" if most <= _NO_BOUND else rounded_up(most)


def rounded_up(bound: float) -> str:
    """Return a percentage like `percent`, but rounded up."""
    if bound > _NO_BOUND:
        return f"more than {percent(_NO_BOUND)}"
    size = 1.0 if abs(bound) >= 0.9995 else 10.0 if abs(bound) >= 0.00995 else 100.0
    return percent(math.ceil(100.0 * bound * size - 1e-9) / size / 100.0)


def bound_words(verdict: Verdict) -> str:
    """Return ``unchanged, at most +0.40 %``, ``at most +7.2 %, tolerance 3 %``, or ""."""
    if verdict.bound is None:
        return ""
    if verdict.outcome is Outcome.INCONCLUSIVE and verdict.tolerance is not None:
        return f"{at_most(verdict.bound)}, tolerance {percent(verdict.tolerance, sign=False)}"
    return f"unchanged, {at_most(verdict.bound)}" if verdict.is_unchanged else ""


def minimum_effects(comparison: Comparison) -> str:
    """Return the minimum effects used, as ``1 % of device time and 20 % of host time``, or ""."""
    groups: tuple[list[Verdict], list[Verdict]] = [], []
    for verdict in comparison.verdicts:
        if verdict.minimum_effect is not None:
            groups[verdict.in_pairs].append(verdict)
    alone, in_pairs = (_of_each_clock(comparison, group, _sizes) for group in groups)
    if alone and in_pairs:
        return f"{alone}; of benchmarks measured in pairs: {in_pairs}"
    return alone or in_pairs


def _of_each_clock(
    comparison: Comparison, verdicts: Sequence[Verdict], size: Callable[[Sequence[Verdict]], str]
) -> str:
    words = {Clock.DEVICE: "of device time", Clock.HOST: "of host time"}
    if comparison.is_of_plain_files:
        words = dict.fromkeys(Clock, "of the time")
    groups: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault(words[verdict.clock], []).append(verdict)
    return " and ".join(f"{size(group)} {what}" for what, group in groups.items())


def _sizes(verdicts: Sequence[Verdict]) -> str:
    """Return ``1 %``, ``3 % or 250 ns per kernel, whichever is more,``, or a range."""
    effects = {verdict.minimum_effect or 0.0 for verdict in verdicts}
    if len(effects) > 1 and all(map(_is_of_siblings, verdicts)):
        latency = f"{1e9 * SIBLING_LATENCY:.0f} ns per kernel"
        return f"{percent(_SIBLINGS, sign=False)} or {latency}, whichever is more,"
    return _range(effects)


def _range(fractions: Iterable[float | None]) -> str:
    sizes = [fraction or 0.0 for fraction in fractions]
    least, most = (percent_number(one, sign=False) for one in (min(sizes), max(sizes)))
    return f"{least} %" if least == most else f"{least} to {most} %"


def _is_of_siblings(verdict: Verdict) -> bool:
    """Return whether the minimum effect is that of sibling GPUs."""
    effect, seconds = verdict.minimum_effect, verdict.baseline_seconds
    if effect is None or not seconds:
        return False
    usual = minimum_effect(verdict.clock, Comparability.SIBLING, seconds, verdict.baseline_counters)
    return math.isclose(effect, usual, rel_tol=1e-6)
