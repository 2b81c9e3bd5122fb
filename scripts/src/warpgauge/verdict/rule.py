# SPDX-License-Identifier: Apache-2.0
"""The rule for one benchmark, given what a test found of it. Standard library only."""

from __future__ import annotations

from warpgauge.records.model import Clock
from warpgauge.records.sessions import FEWEST_OF_A_CHANGE
from warpgauge.system.text import inert, percent
from warpgauge.verdict.comparability import TOLERANCE
from warpgauge.verdict.comparison import Outcome
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.policy import MinimumEffect, Policy

TOO_FEW_PAIRS = f"a change needs {FEWEST_OF_A_CHANGE} pairs or more"


def outcome_of(
    p: float, ratio: float, bound: float, minimum_effect: float, tolerance: float, alpha: float
) -> Outcome:
    """`ratio` is the relative change, `bound` the largest slowdown that the data leave possible."""
    if p < alpha:
        if ratio >= minimum_effect:
            return Outcome.REGRESSION
        if ratio <= -minimum_effect:
            return Outcome.IMPROVED
    return Outcome.PASS if bound <= tolerance else Outcome.INCONCLUSIVE


def paired_effect(name: str, clock: Clock, settings: ComparisonSettings) -> float:
    """The minimum effect in pairs, where nobody asked for another: a change of the tolerance's
    size, which measures less every other time, is found."""
    return min(settings.tolerance(name, clock), TOLERANCE[clock]) / 2


def accepted_by(policy: Policy, entry: MinimumEffect) -> str:
    """Why a change passes that only this entry's larger minimum effect excuses."""
    least = percent(entry.fraction, sign=False)
    return inert(f"{entry.reason}; under {policy.name}'s minimum effect of {least}")
