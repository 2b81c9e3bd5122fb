# SPDX-License-Identifier: Apache-2.0
"""The rule that turns two records into a verdict a benchmark. Pure; scripts/README.md explains it.

The unit is the median of one process, on a log scale. A benchmark has changed when chance does not
explain the difference (`screening`, or `pairs` where both sides ran in alternation), when it is as
large as the minimum effect (`kinship`), and larger than the benchmark's own noise floor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from warpgauge import context, notes, pairs, screening
from warpgauge.causes import resource_changes
from warpgauge.comparison import (
    Change,
    Comparison,
    ContextDifference,
    Outcome,
    Verdict,
)
from warpgauge.controls import controls, is_control
from warpgauge.model import Clock, Record
from warpgauge.pairing import Pairing, pair
from warpgauge.request import Request
from warpgauge.rules import Confirming, Screening
from warpgauge.sessions import newest_last
from warpgauge.stats import ALPHA, Tested, Tests
from warpgauge.text import inert, percent

__all__ = ["Change", "Comparison", "ContextDifference", "Outcome", "Verdict", "judge"]

# INCONCLUSIVE: the interval leaves room for this many times the minimum effect, or the benchmark's
# own noise where that is more (then only what is all but significant is left), and in any case for
# more than twice these: beyond a fifth of device time, or a doubling of host time, nothing passes.
_HIDING_ROOM = 2.0
_MOST_NOISE = {Clock.DEVICE: 0.10, Clock.HOST: 0.50}

# exp() of more overflows; no two times of a benchmark differ by e^700.
_LARGEST_LOG = 700.0


def judge(
    baseline: Record,
    candidate: Record,
    *,
    filter: str | None = None,
    minimum_effect: float | None = None,
    alpha: float = ALPHA,
    fail_on_resources: bool = False,
) -> Comparison:
    """Compare two records.

    `filter` is a regular expression as `Request` reads it; `minimum_effect` (a fraction) replaces
    the table in `kinship`; `alpha` is the chance that unchanged code shows any false alarm; with
    `fail_on_resources` a benchmark that takes more regresses whatever its time. Raises UserError
    for a `filter` that is no regular expression.
    """
    request = Request(filter, candidate)
    everything = list({**baseline.rows, **candidate.rows})
    names = [name for name in everything if request.covers(name)]
    refusal = context.refusal(baseline, candidate)
    if refusal is not None:
        refused = tuple(_refused(baseline, candidate, name, refusal) for name in names)
        return Comparison(baseline, candidate, refused, refusal=refusal)

    pairings, unpaired = pair(baseline, candidate, names)
    if pairs.are_paired(baseline, candidate):
        pairings, lonely = pairs.split(pairings)
        unpaired += lonely
        tests = pairs.compare(pairings)
        rule: Screening = Confirming(minimum_effect, alpha)
    else:
        tests = screening.screen(baseline, candidate, pairings)
        rule = Screening(minimum_effect, alpha, controls(pairings))
    judged = _judged(pairings, tests, rule)
    if fail_on_resources:
        judged = [_gated(verdict) for verdict in judged]
    verdicts = {verdict.name: verdict for verdict in (*unpaired, *judged)}
    met, unasked = list(zip(pairings, judged, strict=True)), len(everything) - len(names)
    return Comparison(
        baseline,
        candidate,
        tuple(verdicts[name] for name in names),
        notes=notes.of(baseline, candidate, met, request, unasked, rule.moved),
        differences=_differences(pairings),
        refusal=_nothing_in_common(baseline, candidate, names, request),
        alpha=alpha,
    )


def _refused(baseline: Record, candidate: Record, name: str, reason: str) -> Verdict:
    row = candidate.rows.get(name) or baseline.rows[name]
    return Verdict(name, Outcome.INVALID, row.clock, reason=reason)


def _nothing_in_common(
    baseline: Record, candidate: Record, names: Sequence[str], request: Request
) -> str | None:
    if any(name in baseline.rows and name in candidate.rows for name in names):
        return None
    asked = f" among those that the filter {request.filters} asks for" if request.filters else ""
    return f"The two sides have no benchmark in common{asked}, so nothing was compared."


def _differences(pairings: Sequence[Pairing]) -> tuple[ContextDifference, ...]:
    """Against the newest session that the candidate was compared with."""
    if not pairings:
        return ()
    used = {session.key: session for one in pairings for session in one.references}
    return context.differences(newest_last(used.values())[-1], pairings[-1].session)


def _judged(pairings: Sequence[Pairing], tests: Tests, rule: Screening) -> list[Verdict]:
    """The verdicts of pairings, in their order."""
    own = np.array([not is_control(one.candidate) for one in pairings], dtype=bool)
    p = tests.estimates.p
    p[own] = rule.adjusted(p[own])
    seconds = np.exp(tests.baseline_log).tolist()
    effects = [rule.minimum_effect(*one) for one in zip(pairings, seconds, strict=True)]
    level = rule.alpha / max(1, int(np.count_nonzero(own)))
    detectable = tests.estimates.detectable(level, np.log1p(effects))
    each = zip(pairings, tests.each(p, detectable), effects, strict=True)
    return [_verdict(one, tested, effect, rule) for one, tested, effect in each]


def _verdict(one: Pairing, tested: Tested, minimum_effect: float, rule: Screening) -> Verdict:
    outcome = _outcome(one, tested, minimum_effect, rule.alpha)
    detectable = max(minimum_effect, _fraction(tested.detectable))
    changed = outcome in (Outcome.REGRESSION, Outcome.IMPROVED)
    control = rule.explained(one, tested.log_ratio) if changed else None
    reason = ""
    if control is not None:
        outcome = Outcome.INCONCLUSIVE
        moved = percent(_fraction(control.log_ratio), sign=False)
        reason = f"the host itself may have moved by {moved} ({inert(control.name)})"
    elif outcome is Outcome.INCONCLUSIVE:
        reason = f"too noisy: only a change of {percent(detectable, sign=False)} would be seen"
    return Verdict(
        one.candidate.name,
        outcome,
        one.candidate.clock,
        baseline_seconds=math.exp(tested.baseline_log),
        candidate_seconds=math.exp(tested.candidate_log),
        change=Change(
            _fraction(tested.log_ratio),
            _fraction(tested.log_ratio - tested.half_width),
            _fraction(tested.log_ratio + tested.half_width),
        ),
        p=tested.p,
        minimum_effect=minimum_effect,
        noise_floor=_fraction(tested.noise_floor),
        detectable=detectable,
        evidence=rule.evidence,
        processes=(tested.baseline_processes, tested.candidate_processes),
        reason=reason,
        resources=resource_changes(one.baseline, one.candidate),
        counters=one.candidate.counters,
    )


def _gated(verdict: Verdict) -> Verdict:
    """A regression where the operation takes more than it did, or runs another kernel."""
    worse = any(change.worse for change in verdict.resources)
    if not worse or verdict.outcome is Outcome.REGRESSION:
        return verdict
    reason = f"fails on its resources; by its time alone {verdict.outcome.value}"
    return replace(verdict, outcome=Outcome.REGRESSION, reason=reason)


def _outcome(one: Pairing, tested: Tested, minimum_effect: float, alpha: float) -> Outcome:
    """Slower, faster, unable to tell, or none of these."""
    if is_control(one.candidate):
        return Outcome.PASS  # it says how the machine did, and nothing of the code
    floor = _fraction(tested.noise_floor)
    ratio = _fraction(tested.log_ratio)
    if tested.p < alpha and abs(tested.log_ratio) >= tested.noise_floor:
        if ratio >= minimum_effect:
            return Outcome.REGRESSION
        if ratio <= -minimum_effect:
            return Outcome.IMPROVED
    room = _HIDING_ROOM * max(minimum_effect, min(floor, _MOST_NOISE[one.candidate.clock]))
    low, high = tested.log_ratio - tested.half_width, tested.log_ratio + tested.half_width
    hides = _fraction(high) > room or _fraction(low) < -room
    known = min(tested.baseline_processes, tested.candidate_processes) >= 2
    return Outcome.INCONCLUSIVE if hides and known else Outcome.PASS


def _fraction(log_ratio: float) -> float:
    return math.expm1(min(log_ratio, _LARGEST_LOG))
