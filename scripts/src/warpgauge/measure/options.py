# SPDX-License-Identifier: Apache-2.0
"""The user's choices for a measurement, and the time budget that is left of them."""

from __future__ import annotations

import math
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from warpgauge.measure.plan import Lane, TurnResult
from warpgauge.records.sessions import FEWEST_OF_A_CHANGE
from warpgauge.system.text import duration

# Seven process medians per side let a t test detect 0.3 % of device time. Three suffice for
# screening and for a quick run; with fewer, all may be outliers (`screening`).
PROCESSES, QUICK_PROCESSES = 7, 3

# Rounds of pairs before the first look and before the last, after which open rows stay open.
FIRST_LOOK, LAST_LOOK = 4, 84
_GROWTH = 1.7


def schedule(first: int = FIRST_LOOK) -> list[int]:
    """Return the rounds after which to look at pairs: 4, 8, 14, 24, 42, 84.

    All are even, so that each side begins equally often.
    """
    looks = [_even(first)]
    while (following := _even(looks[-1] * _GROWTH)) <= LAST_LOOK:
        looks.append(following if following * _GROWTH <= LAST_LOOK else LAST_LOOK)
    return looks


def _even(rounds: float) -> int:
    return 2 * math.ceil(rounds / 2)


@dataclass(frozen=True, kw_only=True)
class MeasurementOptions:
    """What to build and run, how often, where, and what to compare it with."""

    filter: str
    programs: str  # the REGEX of --programs
    suite: str
    processes: int | None
    build_dir: Path | None  # build folder of another project
    kernels: Path | None  # manifest of external kernels
    baselines: Path | None  # baselines of that project or of those kernels
    device: int | str | None
    against: str
    confirm: bool
    quick: bool  # stop at the fewest pairs that can report a change
    record: bool
    inject: str
    budget_s: float | None
    seed: int
    timeout_s: float
    isolate: str  # programs: "always", "auto" (where the machine can), or "" (never)
    build: bool
    verbose: bool
    why: bool  # explain regressions

    @property
    def schedule(self) -> list[int]:
        """The rounds of pairs after which to look, all even."""
        looks = schedule(self.processes or FIRST_LOOK)
        return looks[: 1 + bisect_left(looks, FEWEST_OF_A_CHANGE)] if self.quick else looks

    def screening(self, *, confirms: bool) -> int:
        """Return the processes of a run without pairs; `confirms` says whether pairs may follow."""
        few = confirms or self.budget_s is not None or self.quick
        return self.processes or (QUICK_PROCESSES if few else PROCESSES)

    @property
    def injected_regex(self) -> str:
        return self.inject.rpartition("=")[0]


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
