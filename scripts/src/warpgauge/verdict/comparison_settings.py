# SPDX-License-Identifier: Apache-2.0
"""The settings of a comparison, and the rule that follows for one benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from warpgauge.records.counters import Clock
from warpgauge.statistics.error_rates import ALPHA, BOUND_CONFIDENCE
from warpgauge.system.text import inert, percent
from warpgauge.verdict.comparability import TOLERANCE
from warpgauge.verdict.incompatibility import Override
from warpgauge.verdict.policy import MinimumEffect, Policy

# A plain file does not show where the next process would lie. Processes of one program have been
# seen to scatter by 1 to 10 %; the difference of two that scatter by 10 % scatters by 14 %.
PROCESS_SCATTER = 0.15

# With fewer processes, all may be outliers.
FEWEST_PROCESSES = 3

# With fewer plain files a side, a benchmark of two states may look changed by chance, so that only
# large changes count (docs/pages/rule.md, "Plain files").
ENOUGH_FILES = 7


@dataclass(frozen=True)
class ComparisonSettings:
    """The settings for judging two sides.

    `filter` is a regular expression, as in `Request`. `minimum_effect` overrides the `policy` and
    the table in `comparability`. `alpha` is the probability of any false alarm on unchanged code,
    `bound_confidence` the confidence of the bounds of pairs. `process_scatter` is the assumed
    standard deviation of the log ratio of two processes, used if a side is a plain file.
    `allow` lists the waived prohibitions. `today` is the date for the policy's entries and the
    baseline.
    """

    filter: str | None = None
    minimum_effect: float | None = None
    alpha: float = ALPHA
    bound_confidence: float = BOUND_CONFIDENCE
    process_scatter: float = PROCESS_SCATTER
    allow: frozenset[Override] = frozenset()
    policy: Policy | None = None
    today: date = date.min

    def __post_init__(self) -> None:
        """Raise ValueError for a policy without a date: its entries would never expire."""
        if self.policy is not None and self.policy.expected and self.today == date.min:
            raise ValueError("a policy that expects changes needs the day")

    def asked_effect(self, name: str) -> float | None:
        """Return the minimum effect set by option or policy, or None if neither sets one."""
        entry = self.policy_effect(name)
        return self.minimum_effect if entry is None else entry.fraction

    def tolerance(self, name: str, clock: Clock) -> float:
        """Return the largest slowdown, a fraction, of a PASS of this benchmark."""
        entry = self.policy.tolerance(name) if self.policy is not None else None
        tolerance = TOLERANCE[clock] if entry is None else entry.fraction
        return max(tolerance, self.asked_effect(name) or 0.0)

    def policy_effect(self, name: str) -> MinimumEffect | None:
        """Return the policy's entry for a benchmark, or None if the option overrides it."""
        if self.minimum_effect is not None or self.policy is None:
            return None
        return self.policy.minimum_effect(name)

    def excuse(self, name: str) -> str:
        """Return why a change passes under a policy's minimum effect; empty without an entry."""
        entry = self.policy_effect(name)
        if self.policy is None or entry is None:
            return ""
        least = percent(entry.fraction, sign=False)
        return inert(f"{entry.reason}; under {self.policy.name}'s minimum effect of {least}")
