# SPDX-License-Identifier: Apache-2.0
"""Ends a run whose GPU stays at a lowered clock: the remaining results would be invalid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from warpgauge.records.counters import SM_CLOCK, THROTTLED, combined
from warpgauge.records.program_report import Report
from warpgauge.system.document import failure_of
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.verdict import disturbance

# After this many consecutive programs at a lowered clock, each repeated after a rest, the GPU is
# expected to stay slow. One benchmark that draws too much power does not count: the others of its
# program run at full clock.
_IN_A_ROW = 3

_SHOWN = (SM_CLOCK, "clock_event_reasons", "temperature_celsius", "full")


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
    _slow: list[Report] = field(default_factory=list)  # rows at a lowered clock

    def look(self, reports: Iterable[Report]) -> None:
        """Count a program as slow if most of its rows, over both sides, ran at a lowered clock."""
        rows = [
            {**row, "full": _full_clock(report.get("context", {}))}
            for report in reports
            for row in report.get("benchmarks", [])
            if failure_of(row) is None and (SM_CLOCK in row or row.get(THROTTLED))
        ]
        if not rows:
            return  # host benchmarks say nothing about the GPU
        slow = [row for row in rows if row.get(THROTTLED)]
        if 2 * len(slow) > len(rows):
            self._programs, self._slow = self._programs + 1, [*self._slow, *slow]
        else:
            self._programs, self._slow = 0, []

    def require_rested(self) -> None:
        """Raise PersistentThrottling if the GPU stays slow."""
        if self._programs >= _IN_A_ROW:
            raise PersistentThrottling(
                f"the GPU stays slow: {_described(self._slow)} in {self._programs} programs in a "
                "row, repetitions included; let it cool or lift the power limit",
                ExitStatus.NOT_MEASURED,
            )


def _full_clock(context: Mapping[str, object]) -> float:
    """Return the target SM clock in Hz; 0.0 if unknown."""
    try:
        return float(str(context.get("sm_clock_target_hz") or context.get("max_sm_clock_hz")))
    except ValueError:
        return 0.0


def _described(rows: Iterable[Report]) -> str:
    """Return ``the SM clock was lowered to 1.2 GHz of 1.98 GHz (power cap) at 84 degrees ...``."""
    seen = [
        {key: float(row[key]) for key in _SHOWN if isinstance(row.get(key), int | float)}
        for row in rows
    ]
    worst = combined(seen)
    words = f"the SM clock was lowered{disturbance.lowered_clock(worst, worst['full'])}"
    degrees = [row["temperature_celsius"] for row in seen if "temperature_celsius" in row]
    return words + (f" at {max(degrees):.0f} degrees Celsius" if degrees else "")
