# SPDX-License-Identifier: Apache-2.0
"""More rounds for what is still open, until a given time (`Budget`) is used or nothing is.

Stopping as soon as a benchmark looks changed would sooner or later call any benchmark changed. So
no look but the last pronounces a change, and a benchmark is measured until it is surely unchanged,
which can only take alarms away, or is known precisely enough to find what is sought. That depends
on the scatter of its times alone, which leaves Student's t its distribution: Stein 1945, "A
two-sample test for a linear hypothesis whose power is independent of the variance"; Chow and
Robbins 1965, "On the asymptotic theory of fixed-width sequential confidence intervals".

A pair's rule is made for two looks (`outcomes`), each with half of the chance of a false alarm: the
first, at the minimum of rounds, does pronounce changes. The last one is the second.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from warpgauge.execution.plan import Lane
from warpgauge.execution.turn_result import Outcome as Delivered
from warpgauge.measurement import two_stage
from warpgauge.measurement.paired import Run, Side, measure
from warpgauge.measurement.two_stage import Looks
from warpgauge.system import interrupts
from warpgauge.system.text import duration, plural
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict

# Each look has half as many rounds again as the one before: each may drop a change by chance.
_GROWTH = 1.5

# As many rounds as a second look has at most without a budget: what is open then stays so.
MOST = 84

_CHANGED = (Outcome.REGRESSION, Outcome.IMPROVED)

Judge = Callable[[Mapping[str, Side]], Comparison]


@dataclass(frozen=True)
class Spending:
    """How to measure within `budget`, and to whom to tell what goes on."""

    budget: Budget
    run: Run
    judge: Judge  # keeps and judges what all sides delivered so far
    say: Callable[[str], None]

    def pair(self, sides: Mapping[str, Side], minimum: int) -> Looks[Comparison]:
        """What `minimum` rounds of both sides show, and further ones of what these leave open."""
        measured = measure(sides, None, range(1, minimum + 1), self.run)
        self.budget.minimum_is_measured()
        found = self.judge(measured)
        return self.further(measured, found, two_stage.undecided(found))

    def further(
        self, sides: Mapping[str, Side], found: Comparison, open_: Sequence[Verdict]
    ) -> Looks[Comparison]:
        """What `sides`, which showed `found`, show after further rounds of what is `open_`."""
        last = first = _rounds(sides)
        names = [one.name for one in open_]
        message, left = plural(first, "round"), names
        while (
            left and last < MOST and self.budget.fits(s.only(left).lane() for s in sides.values())
        ):
            until = next_look(last)
            self.say(
                f"Budget, {duration(self.budget.left)} left: rounds {last + 1} to {until} of "
                f"{plural(len(left), 'open benchmark')}"
            )
            rounds = range(last + 1, until + 1)
            try:
                sides = measure(sides, left, rounds, self._whole_rounds)
                before = last
                with interrupts.postponed():  # what is judged is what the run files hold
                    found, last = self.judge(sides), _rounds(sides)
            except KeyboardInterrupt as stop:
                self.say(f"Interrupted: the first {plural(last, 'round')} count.")
                when = f"in a further look: the run files hold {plural(last, 'round')}"
                return Looks(found, f"{message}, interrupted", interrupts.told(stop, when))
            if last == before:  # of what no program lists
                break
            left = [one.name for one in unsettled(found) if one.name in left]
        if last > first:
            message += f", and up to {last} for {plural(len(names), 'open benchmark')}"
            message += f", of which {len(left)} stayed open" if left else ""
        elif left:
            message += f", and none for {plural(len(left), 'open benchmark')}"
        return Looks(found, f"{message} (budget {duration(self.budget.seconds)})")

    def _whole_rounds(self, lanes: Sequence[Lane], rounds: range) -> Iterator[Delivered]:
        """As many of them as there is time for."""
        of_a_round = sum(one.fault is None for lane in lanes for one in lane.binaries)
        for count, outcome in enumerate(self.run(lanes, rounds), 1):
            yield outcome
            if count % of_a_round == 0 and not self.budget.fits(lanes):
                return


def unsettled(found: Comparison) -> list[Verdict]:
    """What further rounds are for: neither surely unchanged nor known precisely enough."""
    vague = [one for one in found.verdicts if one.outcome in _CHANGED and not is_precise(one)]
    return [*two_stage.undecided(found), *vague]


def is_precise(one: Verdict) -> bool:
    """Whether what is sought would be found nine times in ten by what its times scatter."""
    return one.detectable is None or one.sought is None or one.detectable <= one.sought


def next_look(rounds: int) -> int:
    """After how many rounds to look again."""
    return min(math.ceil(rounds * _GROWTH), MOST)


def _rounds(sides: Mapping[str, Side]) -> int:
    numbers = (outcome.round for side in sides.values() for outcome in side.outcomes)
    return max(numbers, default=0)


@dataclass
class Budget:
    """Seconds of measuring: builds, and waiting for others, are no part of it."""

    seconds: float
    clock: Callable[[], float] = time.monotonic
    spent: float = 0.0
    _minimum: float = 0.0  # spent when the last minimum of rounds was measured
    # By family: what its last process took, and how many benchmarks it had.
    _took: dict[str, tuple[float, int]] = field(default_factory=dict)

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
        """What became of it, in a sentence."""
        given = f"the budget of {duration(self.seconds)}"
        if not self.too_short:
            return f"Measuring took {duration(self.spent)} of {given}."
        took, over = duration(self._minimum), duration(self._minimum - self.seconds)
        return f"Even the minimum of rounds took {took}: {over} longer than {given}."

    def timed(self, outcomes: Iterable[Delivered]) -> Iterator[Delivered]:
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
