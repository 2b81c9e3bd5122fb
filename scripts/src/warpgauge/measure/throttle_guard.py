# SPDX-License-Identifier: Apache-2.0
"""Ends a run whose GPU stays at a lowered clock: the remaining results would be invalid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from warpgauge.records.counters import SM_CLOCK, THROTTLED, combined
from warpgauge.records.program_report import Report
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.verdict.incompatibility import lowered_clock

# After this many consecutive programs at a lowered clock, each repeated after a rest, the GPU is
# expected to stay slow. One benchmark that draws too much power does not count: the others of its
# program run at full clock.
_IN_A_ROW = 3


class PersistentThrottling(UserError):
    """The GPU stays at a lowered clock. Earlier results are kept."""

    def after(self, shown: ExitStatus) -> PersistentThrottling:
        """Return this error for a run that showed its results: a regression keeps its status."""
        regressed = shown is ExitStatus.REGRESSION
        return PersistentThrottling(str(self), shown if regressed else self.status)


@dataclass
class ThrottleGuard:
    """Counts consecutive programs that ran at a lowered clock."""

    _programs: int = 0  # consecutive slow programs
    _slow: list[Mapping[str, float]] = field(default_factory=list)  # counters at a lowered clock
    _full_clock: float = 0.0  # Hz; 0 if unknown

    def look(self, reports: Iterable[Report]) -> None:
        """Count a program as slow if most of its rows, over both sides, ran at a lowered clock."""
        rows = list[Mapping[str, float]]()
        for report in reports:
            context = report.context
            target = context.get("sm_clock_target_hz") or context.get("max_sm_clock_hz", "")
            with suppress(ValueError):
                self._full_clock = float(target)
            rows += [row.counters for row in report.rows.values() if row.error is None]
        rows = [row for row in rows if SM_CLOCK in row or THROTTLED in row]
        if not rows:
            return  # host benchmarks say nothing about the GPU
        slow = [row for row in rows if row.get(THROTTLED)]
        if 2 * len(slow) > len(rows):
            self._programs, self._slow = self._programs + 1, [*self._slow, *slow]
        else:
            self._programs, self._slow = 0, []

    @property
    def is_rested(self) -> bool:
        """Whether the last program on the GPU ran at full clock."""
        return self._programs == 0

    def require_rested(self) -> None:
        """Raise PersistentThrottling if the GPU stays slow."""
        if self._programs < _IN_A_ROW:
            return
        clock = lowered_clock(combined(self._slow), self._full_clock)
        degrees = max(row.get("temperature_celsius", 0.0) for row in self._slow)
        at = f" at {degrees:.0f} degrees Celsius" if degrees else ""
        raise PersistentThrottling(
            f"the GPU stays slow: the SM clock was lowered{clock}{at} in {self._programs} programs "
            "in a row, repetitions included; let it cool or lift the power limit",
            ExitStatus.NOT_MEASURED,
        )
