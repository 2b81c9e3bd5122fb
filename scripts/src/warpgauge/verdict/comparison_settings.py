# SPDX-License-Identifier: Apache-2.0
"""What a comparison was asked for, beside its two sides."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from warpgauge.records.model import Clock
from warpgauge.statistics.error_rates import ALPHA, BOUND_CONFIDENCE
from warpgauge.verdict.comparability import TOLERANCE
from warpgauge.verdict.override import Override
from warpgauge.verdict.policy import MinimumEffect, Policy

# A plain file does not show how far the next process would lie. Processes of one program have been
# seen to scatter by 1 to 10 %; the difference of two that scatter by 10 % has 14 %.
PROCESS_SCATTER = 0.15

# One process, or two, may be the odd ones out, whatever others did.
FEWEST_PROCESSES = 3


@dataclass(frozen=True)
class ComparisonSettings:
    """The terms that two sides are judged on.

    `filter` is a regular expression as `Request` reads it. `minimum_effect` (a fraction) goes
    before that of the `policy` and before the table in `comparability`. `alpha` is the chance that
    unchanged code shows any false alarm. `bound_confidence` is that of the bounds of pairs.
    `process_scatter` is how far two processes of the same
    code are taken to lie apart where only a plain file could tell (standard deviation of the
    difference of their logs). With `fail_on_resources` what takes more regresses whatever its time.
    `allow` is compared although forbidden. `today` dates the policy's entries and the baseline.
    """

    filter: str | None = None
    minimum_effect: float | None = None
    alpha: float = ALPHA
    bound_confidence: float = BOUND_CONFIDENCE
    process_scatter: float = PROCESS_SCATTER
    fail_on_resources: bool = False
    allow: frozenset[Override] = frozenset()
    policy: Policy | None = None
    today: date = date.min

    def __post_init__(self) -> None:
        """Raises ValueError for a policy without a day: none of its entries would ever expire."""
        if self.policy is not None and self.policy.expected and self.today == date.min:
            raise ValueError("a policy that expects changes needs the day")

    def asked_effect(self, name: str) -> float | None:
        """The minimum effect that somebody named for this benchmark; None leaves it to the rule."""
        entry = self.policy_effect(name)
        return self.minimum_effect if entry is None else entry.fraction

    def tolerance(self, name: str, clock: Clock) -> float:
        """The slowdown that a PASS of this benchmark may hide; a smaller one fails nobody."""
        entry = self.policy.tolerance(name) if self.policy is not None else None
        tolerance = TOLERANCE[clock] if entry is None else entry.fraction
        return max(tolerance, self.asked_effect(name) or 0.0)

    def policy_effect(self, name: str) -> MinimumEffect | None:
        """The policy's entry that names it, unless what was asked for goes before."""
        if self.minimum_effect is not None or self.policy is None:
            return None
        return self.policy.minimum_effect(name)
