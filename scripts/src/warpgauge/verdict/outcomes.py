# SPDX-License-Identifier: Apache-2.0
"""What a test means for a benchmark: slower, faster, unable to tell, or none of these. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from warpgauge.records.model import Clock
from warpgauge.statistics import log_ratios
from warpgauge.statistics.log_ratios import Array, Estimates, Tested, Tests
from warpgauge.system.text import inert, percent, plural
from warpgauge.verdict import comparability, detectable_effect
from warpgauge.verdict.comparability import Comparability
from warpgauge.verdict.comparison import Change, Evidence, Outcome, Verdict
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.controls import NO_CONTROLS, Controls, Movement, is_control
from warpgauge.verdict.pairing import Pairing
from warpgauge.verdict.resource_changes import resource_changes

Mask = NDArray[np.bool_]

# INCONCLUSIVE: the interval leaves room for this many times the minimum effect, or the benchmark's
# own noise where that is more and not assumed, and in any case for more than twice these: beyond a
# fifth of device time, or a doubling of host time, nothing passes.
_HIDING_ROOM = 2.0
_MOST_NOISE = {Clock.DEVICE: 0.10, Clock.HOST: 0.50}

# exp() of more overflows; no two times of a benchmark differ by e^700.
_LARGEST_LOG = 700.0

# Pairs are looked at twice, if need be: each look has half of the chance of a false alarm.
_LOOKS = 2


@dataclass(frozen=True)
class Screening:
    """Against the sessions of a baseline: what was asked for, and what the host's controls say."""

    settings: ComparisonSettings
    moved: Controls = NO_CONTROLS

    evidence = Evidence.SCREENED

    def adjusted(self, p: Array) -> Array:
        """p values for as many benchmarks as are judged together."""
        return log_ratios.benjamini_hochberg(p)

    def minimum_effect(self, pairing: Pairing, seconds: float) -> float:
        """The minimum effect for a benchmark that takes `seconds` in the baseline."""
        asked = self.settings.asked_effect(pairing.candidate.name)
        return self.usual_effect(pairing, seconds) if asked is None else asked

    def usual_effect(self, pairing: Pairing, seconds: float) -> float:
        """The same where nobody asked for another."""
        nearness = pairing.kin
        if pairing.candidate.clock is Clock.HOST and not self.moved.of(pairing.candidate):
            # Nothing tells a disturbed machine from a quiet one: one boot counts as another.
            nearness = max(pairing.kin, Comparability.SAME_GPU)
        return comparability.minimum_effect(pairing.candidate.clock, nearness, seconds)

    def explained(self, pairing: Pairing, log_ratio: float) -> Movement | None:
        """The control of the host that moved as far as this row did."""
        if pairing.candidate.clock is not Clock.HOST:
            return None
        movements = self.moved.of(pairing.candidate)
        controls = (movements[s.key] for s in pairing.references if s.key in movements)
        return next((control for control in controls if abs(log_ratio) <= control.log_ratio), None)


@dataclass(frozen=True)
class Confirming(Screening):
    """In alternating processes: what moved the machine moved both sides; no control is asked."""

    evidence = Evidence.PAIRED

    def adjusted(self, p: Array) -> Array:
        return np.minimum(log_ratios.holm(p) * _LOOKS, 1.0)

    def usual_effect(self, pairing: Pairing, seconds: float) -> float:
        return comparability.PAIRED_EFFECT[pairing.candidate.clock]


def judged(pairings: Sequence[Pairing], tests: Tests, rule: Screening) -> list[Verdict]:
    """The verdicts of `pairings`, in their order."""
    own = np.array([not is_control(pairing.candidate) for pairing in pairings], dtype=bool)
    seconds = np.exp(tests.baseline_log).tolist()
    effects = [*map(rule.minimum_effect, pairings, seconds)]
    level = rule.settings.alpha / max(1, int(np.count_nonzero(own)))
    detectable = tests.estimates.detectable(level, np.log1p(effects))
    # What counts by itself, and not beside the others, may be one of many that changed.
    alone = _counts(tests.by_themselves, own, rule, effects)
    tested = tests.each(_adjusted(tests.estimates, own, rule), detectable)
    each = zip(pairings, tested, effects, alone.tolist(), strict=True)
    verdicts = [_verdict(*row, rule) for row in each]
    return [*map(_gated, verdicts)] if rule.settings.fail_on_resources else verdicts


def _adjusted(estimates: Estimates, own: Mask, rule: Screening) -> Array:
    p = estimates.p
    p[own] = rule.adjusted(p[own])
    return p


def _counts(estimates: Estimates, own: Mask, rule: Screening, effects: Sequence[float]) -> Mask:
    far = np.abs(estimates.log_ratio) >= estimates.noise_floor
    large = np.abs(np.expm1(np.minimum(estimates.log_ratio, _LARGEST_LOG))) >= effects
    return np.asarray(far & large & (_adjusted(estimates, own, rule) < rule.settings.alpha))


def _verdict(
    pairing: Pairing, tested: Tested, minimum_effect: float, counts_alone: bool, rule: Screening
) -> Verdict:
    outcome = _outcome(pairing, tested, minimum_effect, rule.settings.alpha)
    detectable = max(minimum_effect, _fraction(tested.detectable))
    changed = outcome in (Outcome.REGRESSION, Outcome.IMPROVED)
    control = rule.explained(pairing, tested.log_ratio) if changed else None
    unsure = outcome is Outcome.PASS or (tested.assumed and outcome is Outcome.INCONCLUSIVE)
    reason = ""
    if control is not None:
        outcome = Outcome.INCONCLUSIVE
        moved = percent(_fraction(control.log_ratio), sign=False)
        reason = f"the host itself may have moved by {moved} ({inert(control.name)})"
    elif counts_alone and unsure and not is_control(pairing.candidate):
        outcome = Outcome.INCONCLUSIVE
        reason = "others changed as much, by chance or not: measure in several processes"
    elif outcome is Outcome.INCONCLUSIVE:
        fewest = min(tested.baseline_processes, tested.candidate_processes)
        few = f"{plural(fewest, 'process', 'processes')} a side"
        why = few if tested.assumed else "too noisy"
        reason = f"{why}: {detectable_effect.least(detectable)} would be seen"
    ends = (tested.log_ratio + width for width in (0.0, -tested.half_width, tested.half_width))
    return Verdict(
        pairing.candidate.name,
        outcome,
        pairing.candidate.clock,
        baseline_seconds=math.exp(tested.baseline_log),
        candidate_seconds=math.exp(tested.candidate_log),
        change=Change(*map(_fraction, ends)),
        p=tested.p,
        minimum_effect=minimum_effect,
        noise_floor=_fraction(tested.noise_floor),
        detectable=detectable,
        evidence=rule.evidence,
        processes=(tested.baseline_processes, tested.candidate_processes),
        reason=reason,
        accepted=_accepted(pairing, tested, rule) if outcome is Outcome.PASS else "",
        resources=resource_changes(pairing.baseline, pairing.candidate),
        counters=pairing.candidate.counters,
        baseline_counters=pairing.baseline.counters,
    )


def _accepted(pairing: Pairing, tested: Tested, rule: Screening) -> str:
    """Why what would be a regression by the usual rule passes: a policy's larger minimum effect."""
    policy, entry = rule.settings.policy, rule.settings.policy_effect(pairing.candidate.name)
    if policy is None or entry is None:
        return ""
    usual = rule.usual_effect(pairing, math.exp(tested.baseline_log))
    regressed = _outcome(pairing, tested, usual, rule.settings.alpha) is Outcome.REGRESSION
    if not regressed or rule.explained(pairing, tested.log_ratio) is not None:
        return ""
    least = percent(entry.fraction, sign=False)
    return inert(f"{entry.reason}; under {policy.name}'s minimum effect of {least}")


def _gated(verdict: Verdict) -> Verdict:
    """A regression where the operation takes more than it did, or runs another kernel."""
    worse = any(change.worse for change in verdict.resources)
    if not worse or verdict.outcome is Outcome.REGRESSION:
        return verdict
    reason = f"fails on its resources; by its time alone {verdict.outcome.value}"
    return replace(verdict, outcome=Outcome.REGRESSION, by_time=verdict.outcome, reason=reason)


def _outcome(pairing: Pairing, tested: Tested, minimum_effect: float, alpha: float) -> Outcome:
    if is_control(pairing.candidate):
        return Outcome.PASS  # it says how the machine did, and nothing of the code
    ratio = _fraction(tested.log_ratio)
    if tested.p < alpha and abs(tested.log_ratio) >= tested.noise_floor:
        if ratio >= minimum_effect:
            return Outcome.REGRESSION
        if ratio <= -minimum_effect:
            return Outcome.IMPROVED
    room = _HIDING_ROOM * minimum_effect
    if not tested.assumed:  # what no data show hides nothing
        noise = min(_fraction(tested.noise_floor), _MOST_NOISE[pairing.candidate.clock])
        room = max(room, _HIDING_ROOM * noise)
    low, high = tested.log_ratio - tested.half_width, tested.log_ratio + tested.half_width
    hides = _fraction(high) > room or _fraction(low) < -room
    return Outcome.INCONCLUSIVE if hides else Outcome.PASS


def _fraction(log_ratio: float) -> float:
    return math.expm1(min(log_ratio, _LARGEST_LOG))
