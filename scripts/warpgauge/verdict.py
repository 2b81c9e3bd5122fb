# SPDX-License-Identifier: Apache-2.0
"""The rule that turns two records into a verdict a benchmark. Pure; scripts/README.md explains it.

The unit is the median of one process, on a log scale. A benchmark has regressed when it is slower
than every accepted session of the baseline: by Welch's test and by the minimum effect. Accepted
sessions are accepted times, so the session that lies nearest decides.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from warpgauge import context, kinship, notes
from warpgauge.batch import Tests, all_tests
from warpgauge.causes import resource_changes
from warpgauge.comparison import (
    Change,
    Comparison,
    ContextDifference,
    Evidence,
    Outcome,
    Verdict,
)
from warpgauge.controls import Controls, Movement, controls, is_control
from warpgauge.kinship import Kin
from warpgauge.model import Clock, Record
from warpgauge.pairing import Pairing, pair
from warpgauge.request import Request
from warpgauge.sessions import newest_last
from warpgauge.stats import ALPHA, noise_floor
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
) -> Comparison:
    """Compare two records.

    `filter` is a regular expression as `Request` reads it; `minimum_effect` (a fraction) replaces
    the table in `kinship`. Raises UserError for a `filter` that is no regular expression.
    """
    request = Request(filter, candidate)
    everything = list({**baseline.rows, **candidate.rows})
    names = [name for name in everything if request.covers(name)]
    refusal = context.refusal(baseline, candidate)
    if refusal is not None:
        refused = tuple(_refused(baseline, candidate, name, refusal) for name in names)
        return Comparison(baseline, candidate, refused, refusal=refusal)

    pairings, unpaired = pair(baseline, candidate, names)
    moved = controls(pairings)
    judged = _judged(baseline, candidate, pairings, _Rule(minimum_effect, alpha, moved))
    verdicts = {verdict.name: verdict for verdict in (*unpaired, *judged)}
    met, unasked = list(zip(pairings, judged, strict=True)), len(everything) - len(names)
    return Comparison(
        baseline,
        candidate,
        tuple(verdicts[name] for name in names),
        notes=notes.of(baseline, candidate, met, request, unasked, moved),
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


def _judged(
    baseline: Record,
    candidate: Record,
    pairings: Sequence[Pairing],
    rule: _Rule,
) -> list[Verdict]:
    tests = all_tests(baseline, candidate, pairings, rule.alpha)
    return [_verdict(one, tested, rule) for one, tested in zip(pairings, tests, strict=True)]


@dataclass(frozen=True)
class _Rule:
    """What was asked for, and what the host's controls say."""

    asked: float | None
    alpha: float
    moved: Controls

    def minimum_effect(self, one: Pairing) -> float:
        if self.asked is not None:
            return self.asked
        nearness = one.kin
        if one.candidate.clock is Clock.HOST and not self.moved.of(one.candidate):
            # Nothing tells a disturbed machine from a quiet one: one boot counts as another.
            nearness = max(one.kin, Kin.SAME_GPU)
        times = [one.baseline.process_medians[session.key] for session in one.references]
        typical = min(statistics.median(medians) for medians in times)
        return kinship.minimum_effect(one.candidate.clock, nearness, typical)

    def explained(self, one: Pairing, log_ratios: Sequence[float]) -> Movement | None:
        """The control that moved as far as this row did against one of its references."""
        if one.candidate.clock is not Clock.HOST:
            return None
        movements = self.moved.of(one.candidate)
        for session, log_ratio in zip(one.references, log_ratios, strict=True):
            control = movements.get(session.key)
            if control is not None and abs(log_ratio) <= control.log_ratio:
                return control
        return None


def _verdict(one: Pairing, tests: Tests, rule: _Rule) -> Verdict:
    minimum_effect = rule.minimum_effect(one)
    middle = statistics.median(center.log_seconds for center in tests.references)
    detectable = max(minimum_effect, _fraction(max(tests.detectable)))
    outcome = _outcome(one, tests, minimum_effect, rule.alpha)
    changed = outcome in (Outcome.REGRESSION, Outcome.IMPROVED)
    control = rule.explained(one, tests.log_ratio) if changed else None
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
        baseline_seconds=math.exp(middle),
        candidate_seconds=math.exp(tests.candidate.log_seconds),
        change=Change(
            _fraction(tests.candidate.log_seconds - middle),
            _fraction(min(tests.low)),
            _fraction(max(tests.high)),
        ),
        p=max(tests.p),
        minimum_effect=minimum_effect,
        detectable=detectable,
        reason=reason,
        evidence=Evidence.SCREENED,
        resources=resource_changes(one.baseline, one.candidate),
        counters=one.candidate.counters,
    )


def _outcome(one: Pairing, tests: Tests, minimum_effect: float, alpha: float) -> Outcome:
    """Slower than every reference, faster than every reference, unable to tell, or neither."""
    if is_control(one.candidate):
        return Outcome.PASS  # it says how the machine did, and nothing of the code
    if max(tests.p) < alpha:
        if _fraction(min(tests.log_ratio)) >= minimum_effect:
            return Outcome.REGRESSION
        if _fraction(max(tests.log_ratio)) <= -minimum_effect:
            return Outcome.IMPROVED
    floor = _fraction(noise_floor(tests.references, tests.candidate))
    room = _HIDING_ROOM * max(minimum_effect, min(floor, _MOST_NOISE[one.candidate.clock]))
    hides = _fraction(min(tests.high)) > room or _fraction(max(tests.low)) < -room
    known = min(center.processes for center in (*tests.references, tests.candidate)) >= 2
    return Outcome.INCONCLUSIVE if hides and known else Outcome.PASS


def _fraction(log_ratio: float) -> float:
    return math.expm1(min(log_ratio, _LARGEST_LOG))
