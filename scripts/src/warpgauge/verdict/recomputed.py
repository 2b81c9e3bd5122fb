# SPDX-License-Identifier: Apache-2.0
"""Recompute an untrusted comparison in pairs by our rule, our policy and our benchmark names.

Each row keeps its numbers: the two times, the change and its interval, the p-value, the bound and
the counters. Its outcome, tolerance, minimum effect and likely causes are recomputed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import pairwise

from warpgauge.records.model import Clock, Row
from warpgauge.records.sessions import FEWEST_OF_A_CHANGE
from warpgauge.system.errors import UserError
from warpgauge.system.text import quoted
from warpgauge.verdict import comparability, disturbance, policy_effects, rule
from warpgauge.verdict.comparison import (
    CHANGED,
    Change,
    Comparison,
    Outcome,
    ResourceChange,
    Verdict,
)
from warpgauge.verdict.comparison_settings import TOO_FEW_PAIRS, ComparisonSettings
from warpgauge.verdict.note import Kind
from warpgauge.verdict.pairing import skip_notes
from warpgauge.verdict.resource_changes import KERNEL, resource_changes

_NOTHING = "Only the host's controls were compared."
_UNKNOWN = "in the baseline, but the base did not measure it"
_NOT_MEASURED = "in the baseline, but the run did not measure it"
# Tolerates the rounding of numbers in a file.
_ROUNDING = 1e-9


def recomputed(
    told: Comparison,
    settings: ComparisonSettings,
    clocks: Mapping[str, Clock],
    expected: Collection[str] = (),
) -> Comparison:
    """Return `told`, recomputed. `clocks` are those of the known benchmarks.

    An `expected` benchmark without a row, or skipped, is MISSING. Raise UserError, a clause that
    names the row, for a row that contradicts itself.
    """
    refusal = told.refusal or comparability.refusal(told.baseline, told.candidate)
    if refusal is not None:
        told = replace(told, refusal=refusal)
        invalid = (replace(one, outcome=Outcome.INVALID, by_time=None) for one in told.verdicts)
        return replace(told, verdicts=tuple(invalid), alpha=settings.alpha)
    known = (replace(one, clock=clocks.get(one.name, one.clock)) for one in told.verdicts)
    verdicts = [_judged(told, verdict, settings) for verdict in known]
    verdicts = [
        replace(one, outcome=Outcome.INVALID, reason=_UNKNOWN)
        if one.outcome is Outcome.NEW and one.name in clocks
        else one
        for one in verdicts
    ]
    if all(one.change is None or one.control for one in verdicts):
        told = replace(told, refusal=_NOTHING)
    there = {verdict.name for verdict in verdicts if verdict.outcome is not Outcome.SKIPPED}
    lost = {
        name: Verdict(name, Outcome.MISSING, clocks[name], reason=_NOT_MEASURED)
        for name in expected
        if name not in there
    }
    verdicts = [verdict for verdict in verdicts if verdict.name not in lost]
    verdicts += lost.values()
    notes = (note for note in told.notes if note.kind is not Kind.SKIPPED)
    told = replace(told, notes=(*notes, *skip_notes(verdicts)))
    if settings.policy is not None:
        found = policy_effects.apply(
            settings.policy,
            verdicts,
            lambda pattern: settings.filter is None,
            settings.today,
            resources_fail=any(one.by_time is not None for one in verdicts),
        )
        verdicts = [*found.verdicts]
        told = replace(told, notes=(*found.notes, *told.notes))
    return replace(told, verdicts=tuple(verdicts), alpha=settings.alpha)


def _judged(told: Comparison, verdict: Verdict, settings: ComparisonSettings) -> Verdict:
    base, cand = told.baseline.rows.get(verdict.name), told.candidate.rows.get(verdict.name)
    if base is None or cand is None or base.error is not None or cand.error is not None:
        return _one_sided(verdict, base, cand)
    if verdict.outcome is Outcome.INVALID:
        return _untimed(verdict, Outcome.INVALID)
    for side, row in ((told.baseline, base), (told.candidate, cand)):
        whole = replace(row, process_medians=dict.fromkeys(side.sessions, ()))
        if disturbed := disturbance.of(whole, side.sessions):
            return replace(_untimed(verdict, Outcome.INVALID), reason=disturbed.fault)
    change, p, bound = verdict.change, verdict.p, verdict.bound
    if verdict.control:
        quiet = replace(verdict, outcome=Outcome.PASS, by_time=None, reason="", accepted="")
        return replace(quiet, bound=None, tolerance=None)
    if change is None or p is None or bound is None or verdict.baseline_seconds is None:
        raise _contradiction(verdict, f"is {verdict.outcome.value}, but its numbers are missing")
    if not verdict.in_pairs or verdict.processes is None:
        raise _contradiction(verdict, "was not measured in pairs")
    if not _is_consistent(change, p, bound, settings.alpha):
        raise _contradiction(verdict, "has a change, interval and bound that contradict each other")
    entry = settings.policy_effect(verdict.name)
    usual = settings.paired_effect(verdict.name, verdict.clock)
    effect = usual if entry is None else entry.fraction
    tolerance = settings.tolerance(verdict.name, verdict.clock)
    numbers = (p < settings.alpha, change.ratio, bound)
    outcome, reason = rule.outcome(*numbers, effect, tolerance), ""
    if outcome in CHANGED and min(verdict.processes) < FEWEST_OF_A_CHANGE:
        outcome, reason = Outcome.INCONCLUSIVE, TOO_FEW_PAIRS
    accepted = ""
    if outcome is Outcome.PASS and entry is not None:
        without = rule.outcome(*numbers, usual, tolerance)
        accepted = settings.excuse(verdict.name) if without is Outcome.REGRESSION else ""
    by_time = None
    resources = _resources(verdict, base, cand)
    grown = verdict.by_time is not None and any(one.worse for one in resources)
    if grown and outcome is not Outcome.REGRESSION:
        outcome, by_time = Outcome.REGRESSION, outcome  # the run failed on resources by request
    return replace(
        verdict,
        outcome=outcome,
        by_time=by_time,
        candidate_seconds=verdict.baseline_seconds * (1.0 + change.ratio),
        minimum_effect=effect,
        tolerance=tolerance,
        reason=reason,
        accepted=accepted,
        required=False,
        resources=resources,
        why=verdict.why if outcome is Outcome.REGRESSION else None,
    )


def _one_sided(verdict: Verdict, base: Row | None, cand: Row | None) -> Verdict:
    """Judge a benchmark without a time on one side, as `pairing.pair` does.

    A benchmark without a row, which `pair` never sees, is MISSING.
    """
    rows = [row for row in (base, cand) if row is not None]
    if rows and all(row.skipped for row in rows):
        return _untimed(verdict, Outcome.SKIPPED)
    if any(row.error is not None and not row.skipped for row in rows):
        return _untimed(verdict, Outcome.ERROR)
    if cand is None or cand.skipped:
        return _untimed(verdict, Outcome.MISSING)
    return replace(_untimed(verdict, Outcome.NEW), candidate_seconds=verdict.candidate_seconds)


def _untimed(verdict: Verdict, outcome: Outcome) -> Verdict:
    """Return the verdict with this outcome, without the numbers of a comparison."""
    return Verdict(
        verdict.name,
        outcome,
        verdict.clock,
        reason=verdict.reason,
        counters=verdict.counters,
        baseline_counters=verdict.baseline_counters,
    )


def _is_consistent(change: Change, p: float, bound: float, alpha: float) -> bool:
    """Return whether the numbers fit one sample. The bound is one-sided, of higher confidence."""
    ordered = [change.low, change.ratio, change.high, bound]
    if any(one > other + _ROUNDING for one, other in pairwise(ordered)):
        return False
    return p >= alpha or not change.low < 0.0 < change.high


def _resources(verdict: Verdict, base: Row, cand: Row) -> tuple[ResourceChange, ...]:
    """Return the changes of the counters, and of the kernels' names, which only the file has."""
    kernels = [one for one in verdict.resources if one.key == KERNEL]
    named = [replace(one, words=KERNEL, worse=True) for one in kernels[:1]]
    return (*resource_changes(base, cand), *named)


def _contradiction(verdict: Verdict, fault: str) -> UserError:
    return UserError(f"{quoted(verdict.name)} {fault}")
