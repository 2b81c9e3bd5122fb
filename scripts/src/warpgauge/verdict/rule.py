# SPDX-License-Identifier: Apache-2.0
"""The rule: from what a test found to an outcome (slower, faster, bounded or none of these). Pure.

A benchmark has changed if chance does not explain its change, over all benchmarks together, and the
change reaches the minimum effect. It passes if it is slower by no more than the tolerance, with
99 % confidence.

The family `host` are controls. They use no GPU: memory copies, clock reads, thread wake-ups. If
these differ between the sides, a neighbour or another machine is the cause, and it affects all host
times alike. The family's file sync waits for storage, which nothing else does, so it says nothing
about the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from warpgauge.records.counters import ENERGY, ENERGY_ERROR, Clock
from warpgauge.records.model import Session
from warpgauge.records.row import LARGEST_LOG, Row
from warpgauge.records.sessions import FEWEST_OF_A_CHANGE, FEWEST_OF_A_PASS
from warpgauge.statistics.log_ratios import Tested
from warpgauge.system.text import inert, percent, plural
from warpgauge.verdict import comparability, paired_tests, screening
from warpgauge.verdict.comparability import Comparability
from warpgauge.verdict.comparison import (
    CHANGED,
    Change,
    Evidence,
    Outcome,
    Verdict,
    resource_changes,
    same_machine_code,
)
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.pairing import Pairing

_FEWEST_PAIRS = {Outcome.PASS: FEWEST_OF_A_PASS, **dict.fromkeys(CHANGED, FEWEST_OF_A_CHANGE)}
# So many rounds of a change may be lost to disturbed processes.
_LOST = 2

# Only benchmarks that move memory have this counter. Half of the controls do.
_MEMORY = "bytes_per_second"

_STORAGE = "host/file_sync"

# Factors from a median absolute deviation to the standard deviation of a normal sample, and from
# the error of a mean to that of a median (Rousseeuw and Croux 1993). One bad value moves neither.
_NORMAL, _MEDIAN = 1.4826, 1.2533


@dataclass(frozen=True)
class Movement:
    """How far a control moved between a session and the candidate, as unsigned log ratios.

    `seen` is the difference of its medians, `log_ratio` that and two of its standard errors.
    """

    control: Pairing
    session: Session
    seen: float
    log_ratio: float

    @property
    def name(self) -> str:
        return self.control.candidate.name

    def concerns(self, row: Row) -> bool:
        """Return whether it applies to a row of host time: of copies, or of other calls."""
        return (_MEMORY in self.control.candidate.counters) == (_MEMORY in row.counters)


def movements(pairings: Sequence[Pairing]) -> list[Movement]:
    """Return the movements of all controls measured on both sides, except the storage one."""
    found = []
    for one in pairings:
        if one.is_control and one.candidate.name != _STORAGE:
            ours, variance = _median(one.candidate.process_medians[one.session.key])
            for session in one.references:
                theirs, other = _median(one.baseline.process_medians[session.key])
                seen, error = abs(ours - theirs), math.sqrt(variance + other)
                found.append(Movement(one, session, seen, seen + 2.0 * error))
    return found


def _median(times: Sequence[float]) -> tuple[float, float]:
    """Return the median of the logs, and its variance."""
    logs = [*map(math.log, times)]
    middle = median(logs)
    deviation = median(abs(log - middle) for log in logs)
    return middle, (_MEDIAN * _NORMAL * deviation) ** 2 / len(logs)


@dataclass(frozen=True)
class Rule:
    """The rule with its settings.

    `moved` is how the host's controls moved between a baseline's sessions and the candidate; None
    for pairs, because a disturbed machine affects both sides of a pair.
    """

    settings: ComparisonSettings
    moved: Sequence[Movement] | None = None

    def verdicts(self, pairings: Sequence[Pairing], tests: Sequence[Tested]) -> list[Verdict]:
        """Return the verdicts of `pairings`, in their order."""
        own = max(1, sum(not pairing.is_control for pairing in pairings))
        # Bonferroni: the result of one benchmark does not depend on the results of the others.
        corrected = (replace(tested, p=min(tested.p * own, 1.0)) for tested in tests)
        return [self._verdict(*both, own) for both in zip(pairings, corrected, strict=True)]

    def _verdict(self, pairing: Pairing, tested: Tested, own: int) -> Verdict:
        name, clock = pairing.candidate.name, pairing.candidate.clock
        counters, pairs = pairing.candidate.counters, self.moved is None
        seconds = math.exp(tested.baseline_log)
        asked = self.settings.asked_effect(name)
        usual = self._usual_effect(pairing, seconds)
        minimum_effect = usual if asked is None else asked
        tolerance = self.settings.tolerance(name, clock)
        outcome = self._outcome(pairing, tested, minimum_effect, tolerance)
        needed = 0 if pairing.is_control or not pairs else _FEWEST_PAIRS.get(outcome, 0)
        lost = _LOST if outcome in CHANGED else 0
        too_few = tested.candidate_processes < needed - lost
        # Nobody hides a slowdown by claiming one.
        is_believed = not pairs or (outcome is Outcome.REGRESSION and not too_few)
        if not is_believed and (why := paired_tests.contradiction(pairing, tested.log_ratio)):
            return Verdict(name, Outcome.INVALID, clock, reason=why, counters=counters)
        control, reason = self._explained(pairing, tested.log_ratio), ""
        if too_few:
            reason = f"{'a PASS' if outcome is Outcome.PASS else 'a change'} needs {needed} pairs"
            outcome = Outcome.INCONCLUSIVE
        elif outcome in CHANGED and control is not None:
            outcome = Outcome.INCONCLUSIVE
            moved = percent(_fraction(control.log_ratio), sign=False)
            reason = f"the host itself may have moved by {moved} ({inert(control.name)})"
        elif outcome is Outcome.INCONCLUSIVE and tested.assumed:
            fewest = min(tested.baseline_processes, tested.candidate_processes)
            reason = f"{plural(fewest, 'process', 'processes')} a side"
            reason += ", whose scatter is assumed" if fewest == 1 else ""
            if tested.baseline_processes == tested.candidate_processes == 1:
                reason += self._within(pairing, own)
        accepted = ""
        if outcome is Outcome.PASS and control is None:
            without = self._outcome(pairing, tested, usual, math.inf)
            if without is Outcome.REGRESSION:  # only the policy's minimum effect prevents it
                accepted = self.settings.excuse(name)
        verdict = Verdict(
            name,
            outcome,
            clock,
            baseline_seconds=seconds,
            candidate_seconds=math.exp(tested.candidate_log),
            change=Change(*map(_fraction, (tested.log_ratio, tested.low, tested.high))),
            p=tested.p,
            minimum_effect=minimum_effect,
            bound=None if pairing.is_control else _fraction(tested.bound),
            tolerance=None if pairing.is_control else tolerance,
            evidence=_evidence(pairing) if pairs else Evidence.SCREENED,
            processes=(tested.baseline_processes, tested.candidate_processes),
            reason=reason,
            energy=_energy(pairing),
            accepted=accepted,
            resources=resource_changes(pairing.baseline, pairing.candidate),
            same_machine_code=same_machine_code(pairing.baseline, pairing.candidate),
            control=pairing.is_control,
            why=pairing.candidate.why if outcome is Outcome.REGRESSION else None,
            counters=counters,
            baseline_counters=pairing.baseline.counters,
        )
        policy = self.settings.policy
        return _gated(verdict) if policy is not None and policy.fail_on_resources else verdict

    def _within(self, pairing: Pairing, own: int) -> str:
        """Return what the repetitions say of these two processes alone, or "" without any."""
        found = screening.within(pairing)
        if found is None:
            return ""
        log_ratio, p = found[0], min(found[1] * own, 1.0)
        change = percent(_fraction(log_ratio))
        chance = "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
        same = p >= self.settings.alpha
        word = "not told apart" if same else "slower" if log_ratio > 0.0 else "faster"
        others = "" if same else "; others may differ"
        return f"; {word} within these two ({change} by their repetitions, {chance}){others}"

    def _outcome(
        self, pairing: Pairing, tested: Tested, minimum_effect: float, tolerance: float
    ) -> Outcome:
        if pairing.is_control:
            return Outcome.PASS
        ratio = _fraction(tested.log_ratio)
        if tested.p < self.settings.alpha and abs(ratio) >= minimum_effect:
            return Outcome.REGRESSION if ratio > 0.0 else Outcome.IMPROVED
        return Outcome.PASS if _fraction(tested.bound) <= tolerance else Outcome.INCONCLUSIVE

    def _usual_effect(self, pairing: Pairing, seconds: float) -> float:
        """Return the minimum effect without a policy or an option."""
        clock, nearness = pairing.candidate.clock, pairing.comparability
        if self.moved is None:
            # A change of the tolerance's size measures below it half of the time.
            tolerance = self.settings.tolerance(pairing.candidate.name, clock)
            return min(tolerance, comparability.TOLERANCE[clock]) / 2
        is_known = any(control.concerns(pairing.candidate) for control in self.moved)
        if clock is Clock.HOST and not is_known:
            # A disturbed machine is not recognised without controls: boots count as different.
            nearness = max(nearness, Comparability.SAME_GPU)
        counters = pairing.baseline.counters  # more kernels of the candidate are no latency
        return comparability.minimum_effect(clock, nearness, seconds, counters)

    def _explained(self, pairing: Pairing, log_ratio: float) -> Movement | None:
        """Return a control of the host that moved at least as far as this row, if any."""
        if self.moved is None or pairing.candidate.clock is not Clock.HOST:
            return None
        further = [
            one
            for one in self.moved
            if one.session in pairing.references
            and one.concerns(pairing.candidate)
            and one.log_ratio >= abs(log_ratio)
        ]
        return max(further, key=lambda one: one.log_ratio, default=None)


def _evidence(pairing: Pairing) -> Evidence:
    pairs = pairing.candidate.pairs
    in_lock_step = bool(pairs) and all(pair.log_ratio is not None for pair in pairs)
    return Evidence.LOCK_STEP if in_lock_step else Evidence.PAIRED


def _energy(pairing: Pairing) -> Change | None:
    """Return the change of energy if both sides measured it on one GPU, beyond the meter's error.

    A row has the median over its processes, and their largest error, which bounds the median's.
    """
    sides = pairing.baseline.counters, pairing.candidate.counters
    (old, old_error), (new, new_error) = (
        (side.get(ENERGY, 0.0), side.get(ENERGY_ERROR, math.inf)) for side in sides
    )
    is_known = 0.0 <= old_error < old and 0.0 <= new_error < new
    if pairing.comparability > Comparability.OTHER_SYSTEM or not is_known:
        return None
    low = (new - new_error) / (old + old_error) - 1.0
    high = (new + new_error) / (old - old_error) - 1.0
    return Change(new / old - 1.0, low, high) if low > 0.0 or high < 0.0 else None


def _gated(verdict: Verdict) -> Verdict:
    """Return a regression if the operation takes more resources or runs another kernel."""
    worse = any(change.worse for change in verdict.resources)
    if not worse or verdict.outcome is Outcome.REGRESSION:
        return verdict
    reason = f"fails on its resources; judged by its time: {verdict.outcome.value}"
    return replace(verdict, outcome=Outcome.REGRESSION, by_time=verdict.outcome, reason=reason)


def _fraction(log_ratio: float) -> float:
    return math.expm1(min(log_ratio, LARGEST_LOG))
