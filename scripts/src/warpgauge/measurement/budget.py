# SPDX-License-Identifier: Apache-2.0
"""A given time of measuring: what is spent of it, and whether another round fits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from warpgauge.execution.plan import Lane
from warpgauge.execution.turn_result import Outcome
from warpgauge.system.text import duration

# Unless somebody says otherwise, what is undecided gets three times as long as the first look took,
# or two minutes.
_LONGER, _LONGER_S = 3.0, 120.0


@dataclass
class Budget:
    """Seconds of measuring: builds, and waiting for others, are no part of it.

    `given` by the user; None for as long as is usual, once the minimum is measured.
    """

    given: float | None = None
    clock: Callable[[], float] = time.monotonic
    spent: float = 0.0
    _minimum: float = 0.0  # spent when the last minimum of rounds was measured
    # By family: what its last process took, and how many benchmarks it had.
    _took: dict[str, tuple[float, int]] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """All of it."""
        usual = self._minimum + max(_LONGER * self._minimum, _LONGER_S)
        return usual if self.given is None else self.given

    @property
    def left(self) -> float:
        return self.seconds - self.spent

    def minimum_is_measured(self) -> None:
        """It is measured whatever time it takes."""
        self._minimum = self.spent

    @property
    def too_short(self) -> bool:
        """Whether even the minimum did not fit."""
        return self._minimum > self.seconds

    @property
    def told(self) -> str:
        """What became of it, in a sentence; empty where none was given."""
        if self.given is None:
            return ""
        given = f"the budget of {duration(self.given)}"
        if not self.too_short:
            return f"Measuring took {duration(self.spent)} of {given}."
        took, over = duration(self._minimum), duration(self._minimum - self.given)
        return f"Even the minimum of rounds took {took}: {over} longer than {given}."

    def timed(self, outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
        """`outcomes` as they come, whose time is spent.

        Those of a run that goes on come out of its journal at once, and took what they took.
        """
        before, began, reported = self.spent, self.clock(), 0.0
        for outcome in outcomes:
            reported += outcome.seconds
            self.spent = before + max(self.clock() - began, reported)
            if outcome.binary.names:
                self._took[outcome.binary.family] = outcome.seconds, len(outcome.binary.names)
            yield outcome

    def fits(self, lanes: Iterable[Lane]) -> bool:
        """Whether there is time for another round of these."""
        return self.left >= self.needed(lanes)

    def needed(self, lanes: Iterable[Lane]) -> float:
        """Seconds of a round of these, by what each family's last process took.

        A process of fewer benchmarks takes less; its start counts as one more benchmark.
        """
        seconds = 0.0
        for lane in lanes:
            for binary in lane.binaries:
                took, benchmarks = self._took.get(binary.family, (0.0, 1))
                seconds += took * (1 + len(binary.names)) / (1 + benchmarks)
        return seconds
