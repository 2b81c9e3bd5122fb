# SPDX-License-Identifier: Apache-2.0
"""The rule: from what a test found to an outcome (slower, faster, bounded or none of these). Pure.

A benchmark has changed if chance does not explain its change, over all benchmarks together, and the
change reaches the minimum effect. It passes if it is slower by no more than the tolerance, with
99 % confidence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from warpgauge.records.model import Clock
from warpgauge.records.row import LARGEST_LOG
from warpgauge.records.sessions import FEWEST_OF_A_CHANGE
from warpgauge.system.text import inert, percent, plural
from warpgauge.verdict import comparability, paired_tests
from warpgauge.verdict.comparability import Comparability
from warpgauge.verdict.comparison import (
    CHANGED,
    Change,
    Evidence,
    Outcome,
    Verdict,
)
from warpgauge.verdict.comparison_settings import TOO_FEW_PAIRS, ComparisonSettings
from warpgauge.verdict.controls import NO_CONTROLS, Controls, Movement
from warpgauge.verdict.pairing import Pairing
from warpgauge.verdict.resource_changes import resource_changes, same_machine_code

if TYPE_CHECKING:  # commands that only show a comparison need no NumPy
    from warpgauge.statistics.log_ratios import Tested, Tests


@dataclass(frozen=True)
class Screening:
    """The rule against a baseline's sessions: the settings, and how the host's controls moved."""

    settings: ComparisonSettings
    moved: Controls = NO_CONTROLS
    fewest_of_a_change: ClassVar = 0

    def evidence(self, pairing: Pairing) -> Evidence:
        """Return what the verdict rests on."""
        return Evidence.SCREENED

    def minimum_effect(self, pairing: Pairing, seconds: float) -> float:
        """Return the minimum effect for a benchmark that takes `seconds` in the baseline."""
        asked = self.settings.asked_effect(pairing.candidate.name)
        return self.usual_effect(pairing, seconds) if asked is None else asked

    def usual_effect(self, pairing: Pairing, seconds: float) -> float:
        """Return the minimum effect without a policy or an option."""
        nearness = pairing.comparability
        if pairing.candidate.clock is Clock.HOST and not self.moved.of(pairing.candidate):
            # A disturbed machine is not recognised without controls: boots count as different.
            nearness = max(pairing.comparability, Comparability.SAME_GPU)
        counters = pairing.baseline.counters  # more kernels of the candidate are no latency
        return comparability.minimum_effect(pairing.candidate.clock, nearness, seconds, counters)

    def contradiction(self, pairing: Pairing, log_ratio: float) -> str:
        """Return why the times are not believed, or ""."""
        return ""

    def explained(self, pairing: Pairing, log_ratio: float) -> Movement | None:
        """Return a control of the host that moved at least as far as this row, if any."""
        if pairing.candidate.clock is not Clock.HOST:
            return None
        movements = self.moved.of(pairing.candidate)
        controls = (movements[s.key] for s in pairing.references if s.key in movements)
        return next((control for control in controls if abs(log_ratio) <= control.log_ratio), None)


@dataclass(frozen=True)
class Confirming(Screening):
    """The rule in pairs. A disturbed machine affects both sides, so no control is needed."""

    fewest_of_a_change: ClassVar = FEWEST_OF_A_CHANGE

    def evidence(self, pairing: Pairing) -> Evidence:
        pairs = pairing.candidate.pairs
        in_lock_step = bool(pairs) and all(pair.log_ratio is not None for pair in pairs)
        return Evidence.LOCK_STEP if in_lock_step else Evidence.PAIRED

    def contradiction(self, pairing: Pairing, log_ratio: float) -> str:
        return paired_tests.contradiction(pairing, log_ratio)

    def usual_effect(self, pairing: Pairing, seconds: float) -> float:
        return self.settings.paired_effect(pairing.candidate.name, pairing.candidate.clock)


def judged(pairings: Sequence[Pairing], tests: Tests, rule: Screening) -> list[Verdict]:
    """Return the verdicts of `pairings`, in their order."""
    own = sum(not pairing.is_control for pairing in pairings)
    # Bonferroni: the result of one benchmark does not depend on the results of the others.
    each = (replace(one, p=min(one.p * max(1, own), 1.0)) for one in tests.each())
    verdicts = [_verdict(*one, rule) for one in zip(pairings, each, strict=True)]
    return [*map(_gated, verdicts)] if rule.settings.fail_on_resources else verdicts


def _verdict(pairing: Pairing, tested: Tested, rule: Screening) -> Verdict:
    name, clock = pairing.candidate.name, pairing.candidate.clock
    if why := rule.contradiction(pairing, tested.log_ratio):
        counters = pairing.candidate.counters
        return Verdict(name, Outcome.INVALID, clock, reason=why, counters=counters)
    minimum_effect = rule.minimum_effect(pairing, math.exp(tested.baseline_log))
    tolerance = rule.settings.tolerance(name, clock)
    outcome = _outcome(pairing, tested, minimum_effect, tolerance, rule.settings)
    changed = outcome in CHANGED
    control = rule.explained(pairing, tested.log_ratio) if changed else None
    reason = ""
    if changed and tested.candidate_processes < rule.fewest_of_a_change:
        outcome = Outcome.INCONCLUSIVE
        reason = TOO_FEW_PAIRS
    elif control is not None:
        outcome = Outcome.INCONCLUSIVE
        moved = percent(_fraction(control.log_ratio), sign=False)
        reason = f"the host itself may have moved by {moved} ({inert(control.name)})"
    elif outcome is Outcome.INCONCLUSIVE and tested.assumed:
        fewest = min(tested.baseline_processes, tested.candidate_processes)
        reason = f"{plural(fewest, 'process', 'processes')} a side"
    return Verdict(
        name,
        outcome,
        clock,
        baseline_seconds=math.exp(tested.baseline_log),
        candidate_seconds=math.exp(tested.candidate_log),
        change=Change(*map(_fraction, (tested.log_ratio, tested.low, tested.high))),
        p=tested.p,
        minimum_effect=minimum_effect,
        bound=None if pairing.is_control else _fraction(tested.bound),
        tolerance=None if pairing.is_control else tolerance,
        evidence=rule.evidence(pairing),
        processes=(tested.baseline_processes, tested.candidate_processes),
        reason=reason,
        accepted=_accepted(pairing, tested, rule) if outcome is Outcome.PASS else "",
        resources=resource_changes(pairing.baseline, pairing.candidate),
        same_machine_code=same_machine_code(pairing.baseline, pairing.candidate),
        control=pairing.is_control,
        why=pairing.candidate.why if outcome is Outcome.REGRESSION else None,
        counters=pairing.candidate.counters,
        baseline_counters=pairing.baseline.counters,
    )


def _accepted(pairing: Pairing, tested: Tested, rule: Screening) -> str:
    """Return the policy's reason if only its larger minimum effect prevents a regression, or ""."""
    excuse = rule.settings.excuse(pairing.candidate.name)
    if not excuse:
        return ""
    usual = rule.usual_effect(pairing, math.exp(tested.baseline_log))
    found = _outcome(pairing, tested, usual, math.inf, rule.settings)
    if found is not Outcome.REGRESSION or rule.explained(pairing, tested.log_ratio) is not None:
        return ""
    return excuse


def _gated(verdict: Verdict) -> Verdict:
    """Return a regression if the operation takes more resources or runs another kernel."""
    worse = any(change.worse for change in verdict.resources)
    if not worse or verdict.outcome is Outcome.REGRESSION:
        return verdict
    reason = f"fails on its resources; judged by its time: {verdict.outcome.value}"
    return replace(verdict, outcome=Outcome.REGRESSION, by_time=verdict.outcome, reason=reason)


def _outcome(
    pairing: Pairing,
    tested: Tested,
    minimum_effect: float,
    tolerance: float,
    settings: ComparisonSettings,
) -> Outcome:
    if pairing.is_control:
        return Outcome.PASS
    ratio, bound = _fraction(tested.log_ratio), _fraction(tested.bound)
    return outcome(tested.p < settings.alpha, ratio, bound, minimum_effect, tolerance)


def outcome(
    is_certain: bool, ratio: float, bound: float, minimum_effect: float, tolerance: float
) -> Outcome:
    """Judge a change of time by `ratio`; `bound` is the largest slowdown left possible."""
    if is_certain and abs(ratio) >= minimum_effect:
        return Outcome.REGRESSION if ratio > 0.0 else Outcome.IMPROVED
    return Outcome.PASS if bound <= tolerance else Outcome.INCONCLUSIVE


def _fraction(log_ratio: float) -> float:
    return math.expm1(min(log_ratio, LARGEST_LOG))
