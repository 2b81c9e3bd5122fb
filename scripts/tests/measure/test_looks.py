# SPDX-License-Identifier: Apache-2.0
"""Rounds go to what is open, by a schedule that is fixed in advance, as long as a budget lasts."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from conftest import Loader

import builders
from warpgauge.measure import ab_run
from warpgauge.measure.ab_run import Looks, Side
from warpgauge.measure.discovery import Binary
from warpgauge.measure.measuring import Budget, Measuring
from warpgauge.measure.options import (
    FIRST_LOOK,
    LAST_LOOK,
    schedule,
)
from warpgauge.measure.plan import Lane, TurnResult
from warpgauge.records.counters import Clock as Timing
from warpgauge.records.program_report import Report
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict

GEMM = Binary(Path("bench_gemm"), ("gemm/a", "gemm/b", "gemm/c"))
SYNC = Binary(Path("bench_sync"), ("sync/a",))
SIDE = Side((GEMM, SYNC), {})
ROUNDS = [10, 14, 20, 30]


class Clock:
    """Goes on when told."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def is_open(*names: str) -> list[Verdict]:
    return [Verdict(name, Outcome.INCONCLUSIVE, Timing.DEVICE) for name in names]


class Bench:
    """Pretends to measure, a second a benchmark; its looks find what they are told to."""

    def __init__(
        self, loaded: Loader, *found: Sequence[Verdict], seconds: float | None = None
    ) -> None:
        self._record = loaded(builders.run([builders.row("gemm/a")]))
        self._found = list(found)
        self._clock = Clock()
        self.budget = Budget(seconds, self._clock)
        self.rounds: list[tuple[int, tuple[str, ...]]] = []
        self.looked: list[int] = []
        self.said: list[str] = []
        self.note = self.said.append
        self.stop_in, self.stop_behind = 0, 1000  # in a round, or in the judgement of a later one

    def run(
        self, lanes: Sequence[Lane], rounds: range, *, in_budget: bool = False
    ) -> Iterator[TurnResult]:
        return self.budget.timed(self._run(lanes, rounds, in_budget))

    def _run(self, lanes: Sequence[Lane], rounds: range, in_budget: bool) -> Iterator[TurnResult]:
        for number in rounds:
            if in_budget and not self.budget.rounds_left(lanes):
                return
            if number == self.stop_in:
                raise KeyboardInterrupt
            assert all(lane.binaries == lanes[0].binaries for lane in lanes)
            names = tuple(name for binary in lanes[0].binaries for name in binary.names)
            self.rounds.append((number, names))
            for lane in lanes:
                for binary in lane.binaries:
                    self._clock.now += len(binary.names)
                    seconds = float(len(binary.names))
                    yield TurnResult(binary, number, Report(), {}, seconds, side=lane.side)

    def judge(self, sides: Mapping[str, Side], looked: Sequence[int]) -> Comparison:
        self.looked = list(looked)
        if self.rounds[-1][0] > self.stop_behind:
            signal.raise_signal(signal.SIGINT)
        verdicts = self._found.pop(0) if len(self._found) > 1 else self._found[0]
        return Comparison(self._record, self._record, tuple(verdicts))

    def take(self, rounds: Sequence[int] = ROUNDS) -> Looks[Comparison]:
        self.options = SimpleNamespace(schedule=rounds)
        sides = {"base": SIDE, "candidate": SIDE}
        return ab_run.take(cast(Measuring, self), sides, self.judge, ab_run.open_rows)


@pytest.mark.parametrize("first", [1, FIRST_LOOK, 7, 60, LAST_LOOK, 101])
def test_each_look_has_more_rounds_again_and_both_orders_equally_often(
    first: int,
) -> None:
    looks = schedule(first)
    fewest = max(first, FIRST_LOOK)  # before, nothing can be decided
    assert looks[0] in (fewest, fewest + 1)
    assert looks[-1] == LAST_LOOK or looks[-1] * 2 > LAST_LOOK
    assert all(rounds % 2 == 0 for rounds in looks)
    assert all(1.5 * one <= other <= 2.5 * one for one, other in pairwise(looks))


def rounds(found: Looks[Any]) -> str:
    """In words."""
    return str(found.rounds)


def test_what_is_decided_at_once_needs_one_look(loaded: Loader) -> None:
    decided = [Verdict("gemm/a", Outcome.REGRESSION, Timing.DEVICE)]
    bench = Bench(loaded, [*decided, Verdict("gemm/b", Outcome.PASS, Timing.DEVICE)])
    assert rounds(bench.take()) == "10 pairs"
    everything = tuple(name for binary in SIDE.binaries for name in binary.names)
    assert bench.rounds == [(number, everything) for number in range(1, 11)]
    assert (bench.looked, bench.said) == ([10], [])


def test_further_looks_measure_only_what_stays_open(loaded: Loader) -> None:
    bench = Bench(loaded, is_open("gemm/b", "sync/a"), is_open("gemm/b"), [])
    assert rounds(bench.take()) == "10 pairs, and up to 20 for 2 open benchmarks"
    assert bench.rounds[10:14] == [(number, ("gemm/b", "sync/a")) for number in range(11, 15)]
    assert bench.rounds[14:] == [(number, ("gemm/b",)) for number in range(15, 21)]
    assert bench.looked == [10, 14, 20]
    assert bench.said == [
        "Rounds 11 to 14 of 2 open benchmarks",
        "Rounds 15 to 20 of 1 open benchmark",
    ]


def test_what_others_show_may_open_again_what_was_decided(loaded: Loader) -> None:
    bench = Bench(loaded, is_open("gemm/b"), is_open("gemm/b", "gemm/a"), [])
    assert rounds(bench.take()) == "10 pairs, and up to 20 for 1 open benchmark"
    assert {names for _, names in bench.rounds[10:14]} == {("gemm/b",)}
    assert {names for _, names in bench.rounds[14:]} == {("gemm/a", "gemm/b")}


def test_the_schedule_ends_and_what_is_open_stays_so(loaded: Loader) -> None:
    bench = Bench(loaded, is_open("gemm/b", "sync/a"), is_open("gemm/b"))
    told = rounds(bench.take())
    assert told == "10 pairs, and up to 30 for 2 open benchmarks, of which 1 stayed open"
    assert bench.looked == ROUNDS
    quick = Bench(loaded, is_open("gemm/b"))
    assert rounds(quick.take(ROUNDS[:1])) == "10 pairs, and no more for 1 open benchmark"


def test_what_no_program_lists_ends_the_looks(loaded: Loader) -> None:
    bench = Bench(loaded, is_open("gemm/unlisted"))
    assert rounds(bench.take()) == "10 pairs, and no more for 1 open benchmark"


def test_the_hosts_controls_get_no_further_rounds(loaded: Loader) -> None:
    record = loaded(builders.run([builders.row("gemm/a")]))
    control = Verdict("host/copy", Outcome.INCONCLUSIVE, Timing.HOST, control=True)
    found = Comparison(record, record, (control, *is_open("memcpy/a", "host/own")))
    assert ab_run.open_rows(found) == ["memcpy/a", "host/own"]


@pytest.mark.parametrize(
    ("judging", "looked", "told"),
    [
        (False, 14, "10 pairs, and up to 14 for 1 open benchmark, of which 1 stayed open"),
        (True, 20, "10 pairs, and up to 20 for 1 open benchmark"),
    ],
)
def test_an_interrupt_leaves_what_the_look_before_found_or_this_one_if_it_is_judged(
    loaded: Loader, judging: bool, looked: int, told: str
) -> None:
    """The run files hold its rounds by then."""
    bench = Bench(loaded, is_open("gemm/b"), is_open("gemm/b"), [])
    bench.stop_in, bench.stop_behind = (0, 14) if judging else (16, 1000)
    both = bench.take()
    assert both.stop is not None
    assert both.stop.args == (f"in a further look: the run files hold {looked} pairs",)
    assert bench.said[-1] == f"Interrupted: the first {looked} pairs count."
    assert rounds(both) == f"{told}, interrupted"
    assert (bench.looked[-1], both.found.count(Outcome.INCONCLUSIVE)) == (looked, not judging)


def test_an_interrupted_first_look_is_no_look(loaded: Loader) -> None:
    bench = Bench(loaded)  # judging would fail
    bench.stop_in = 2
    with pytest.raises(KeyboardInterrupt):
        bench.take()


@pytest.mark.parametrize(
    ("seconds", "told", "looked", "left"),
    [
        # The first look takes 80 s; a round of two benchmarks of two programs takes 4.
        (103.0, "and up to 15 for 2 open benchmarks, of which 2 stayed open", [10, 14, 15], 3.0),
        (95.0, "and up to 13 for 2 open benchmarks, of which 2 stayed open", [10, 13], 3.0),
        (83.0, "and no more for 2 open benchmarks", [10], 3.0),
        # It is measured whatever it takes, and nothing behind it.
        (5.0, "and no more for 2 open benchmarks", [10], -75.0),
    ],
)
def test_a_budget_ends_with_the_last_round_that_fits(
    loaded: Loader, seconds: float, told: str, looked: list[int], left: float
) -> None:
    bench = Bench(loaded, is_open("gemm/b", "sync/a"), seconds=seconds)
    said = rounds(bench.take())
    assert said.startswith(f"10 pairs, {told} (budget ")
    assert bench.looked == looked
    assert bench.budget.left == pytest.approx(left)
    assert bench.budget.too_short is (left < 0)


def test_without_a_budget_what_is_open_gets_three_times_as_long_as_the_first_look(
    loaded: Loader,
) -> None:
    bench = Bench(loaded, is_open("gemm/b", "sync/a"))
    told = rounds(bench.take([10, 200]))
    assert bench.looked == [10, 70]  # 80 s, and 240 s of 4 s a round
    assert told == "10 pairs, and up to 70 for 2 open benchmarks, of which 2 stayed open"
    assert bench.budget.told == ""


def delivered(clock: Clock, *took: float, told: float = 0.0) -> Iterator[TurnResult]:
    for seconds in took:
        clock.now += seconds
        yield TurnResult(GEMM, 1, Report(), {}, told or seconds)


def test_what_is_spent_is_what_the_clock_says_but_between_two_phases_nothing() -> None:
    clock = Clock()
    budget = Budget(60.0, clock)
    list(budget.timed(delivered(clock, 4.0, 5.0, told=1.0)))
    assert (budget.spent, budget.left) == (9.0, 51.0)
    clock.now += 1000.0  # a build
    list(budget.timed(delivered(clock, 5.0)))
    assert budget.spent == 14.0
    # What comes out of a journal took what it took.
    budget = Budget(60.0, Clock())
    list(budget.timed(TurnResult(GEMM, n, Report(), {}, 7.0) for n in (1, 2)))
    assert budget.spent == 14.0


def test_a_round_of_fewer_benchmarks_needs_less_but_starts_all_the_same() -> None:
    budget = Budget(60.0, Clock())
    list(
        budget.timed(
            [TurnResult(GEMM, 1, Report(), {}, 8.0), TurnResult(SYNC, 1, Report(), {}, 2.0)]
        )
    )
    assert budget.needed([Lane((GEMM, SYNC))]) == pytest.approx(10.0)
    one = Binary(GEMM.path, ("gemm/b",))
    assert budget.needed([Lane((one,))]) == pytest.approx(4.0)
    assert budget.needed([Lane((one,)), Lane((one,))]) == pytest.approx(8.0)
    # A turn with nothing left to run tells nothing of the next.
    list(
        budget.timed(
            [
                TurnResult(one, 2, Report(), {}, 3.0),
                TurnResult(Binary(GEMM.path, ()), 3, Report(), {}, 0.0),
            ]
        )
    )
    assert budget.needed([Lane((one,))]) == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (10.0,
         "Even the minimum of rounds took 12.50 s, 2.500 s longer than the budget of 10.00 s."),
        (60.0, "Measuring took 12.50 s of the budget of 60.00 s."),
    ],
)  # fmt: skip
def test_what_was_used_is_told_and_by_how_much_a_minimum_does_not_fit(
    seconds: float, told: str
) -> None:
    clock = Clock()
    budget = Budget(seconds, clock)
    list(budget.timed(delivered(clock, 12.5)))
    budget.minimum_is_measured()
    assert budget.too_short is (seconds < 12.5)
    assert budget.told == told
