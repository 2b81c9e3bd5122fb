# SPDX-License-Identifier: Apache-2.0
"""The time budget of a run: how much is spent, and whether another round fits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from warpgauge.measure.plan import Lane, TurnResult
from warpgauge.system.text import duration

# By default, further looks may take three times as long as the first one, but at least 2 minutes.
_LONGER, _LONGER_S = 3.0, 120.0


@dataclass
class Budget:
    """Seconds of measuring, without builds and waiting. `given` is the user's budget, if any."""

    given: float | None = None
    clock: Callable[[], float] = time.monotonic
    spent: float = 0.0
    _minimum: float = 0.0  # value of `spent` after the last minimum of rounds
    # By family: seconds of its last process, and its number of benchmarks.
    _took: dict[str, tuple[float, int]] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """The whole budget in seconds."""
        usual = self._minimum + max(_LONGER * self._minimum, _LONGER_S)
        return usual if self.given is None else self.given

    @property
    def left(self) -> float:
        return self.seconds - self.spent

    def minimum_is_measured(self) -> None:
        """Mark the end of the rounds that run regardless of the budget."""
        self._minimum = self.spent

    @property
    def too_short(self) -> bool:
        """Whether even the minimum did not fit."""
        return self._minimum > self.seconds

    @property
    def told(self) -> str:
        """One sentence on how the budget was spent; empty if none was given."""
        if self.given is None:
            return ""
        given = f"the budget of {duration(self.given)}"
        if not self.too_short:
            return f"Measuring took {duration(self.spent)} of {given}."
        took, over = duration(self._minimum), duration(self._minimum - self.given)
        return f"Even the minimum of rounds took {took}, {over} longer than {given}."

    def timed(self, outcomes: Iterable[TurnResult]) -> Iterator[TurnResult]:
        """Yield `outcomes` and add their time to what is spent.

        Results from the journal of a resumed run count with the time they took originally.
        """
        before, began, reported = self.spent, self.clock(), 0.0
        for outcome in outcomes:
            reported += outcome.seconds
            self.spent = before + max(self.clock() - began, reported)
            if outcome.binary.names:
                self._took[outcome.binary.family] = outcome.seconds, len(outcome.binary.names)
            yield outcome

    def fits(self, lanes: Iterable[Lane]) -> bool:
        """Return whether another round of these lanes fits."""
        return self.left >= self.needed(lanes)

    def needed(self, lanes: Iterable[Lane]) -> float:
        """Estimate the seconds of one round of these lanes from each family's last process.

        The estimate scales with the number of benchmarks; starting a process counts as one more.
        """
        seconds = 0.0
        for lane in lanes:
            for binary in lane.binaries:
                took, benchmarks = self._took.get(binary.family, (0.0, 1))
                seconds += took * (1 + len(binary.names)) / (1 + benchmarks)
        return seconds
