# SPDX-License-Identifier: Apache-2.0
"""What a difference must be to count: against a baseline, and in alternating processes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warpgauge.records.model import Clock
from warpgauge.statistics.log_ratios import Array, benjamini_hochberg, holm
from warpgauge.verdict import comparability
from warpgauge.verdict.comparability import Comparability
from warpgauge.verdict.comparison import Evidence
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.controls import NO_CONTROLS, Controls, Movement
from warpgauge.verdict.pairing import Pairing

# Pairs are looked at twice, if need be: each look has half of the chance of a false alarm.
_LOOKS = 2


@dataclass(frozen=True)
class Screening:
    """Against the sessions of a baseline: what was asked for, and what the host's controls say."""

    terms: ComparisonSettings
    moved: Controls = NO_CONTROLS

    evidence = Evidence.SCREENED

    def adjusted(self, p: Array) -> Array:
        """p values for as many benchmarks as are judged together."""
        return benjamini_hochberg(p)

    def minimum_effect(self, one: Pairing, seconds: float) -> float:
        """The minimum effect on a benchmark that takes `seconds` in the baseline."""
        asked = self.terms.asked_effect(one.candidate.name)
        return self.usual_effect(one, seconds) if asked is None else asked

    def usual_effect(self, one: Pairing, seconds: float) -> float:
        """The same where nobody asked for another."""
        nearness = one.kin
        if one.candidate.clock is Clock.HOST and not self.moved.of(one.candidate):
            # Nothing tells a disturbed machine from a quiet one: one boot counts as another.
            nearness = max(one.kin, Comparability.SAME_GPU)
        return comparability.minimum_effect(one.candidate.clock, nearness, seconds)

    def explained(self, one: Pairing, log_ratio: float) -> Movement | None:
        """The control of the host that moved as far as this row did."""
        if one.candidate.clock is not Clock.HOST:
            return None
        movements = self.moved.of(one.candidate)
        for session in one.references:
            control = movements.get(session.key)
            if control is not None and abs(log_ratio) <= control.log_ratio:
                return control
        return None


@dataclass(frozen=True)
class Confirming(Screening):
    """In alternating processes: what moved the machine moved both sides; no control is asked."""

    evidence = Evidence.PAIRED

    def adjusted(self, p: Array) -> Array:
        return np.minimum(holm(p) * _LOOKS, 1.0)

    def usual_effect(self, one: Pairing, seconds: float) -> float:
        return comparability.PAIRED_EFFECT[one.candidate.clock]

    def explained(self, one: Pairing, log_ratio: float) -> Movement | None:
        return None
