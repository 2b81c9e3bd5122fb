# SPDX-License-Identifier: Apache-2.0
"""What is spent is the clock's to say, or of a run that goes on what it took before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from warpgauge.execution.discovery import Binary
from warpgauge.execution.plan import Lane
from warpgauge.execution.turn_result import Outcome
from warpgauge.measurement.adaptive_rounds import Budget

GEMM = Binary(Path("bench_gemm"), ("gemm/a", "gemm/b", "gemm/c"))
SYNC = Binary(Path("bench_sync"), ("sync/a",))


class Clock:
    """Goes on when told."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def delivered(clock: Clock, *took: float, told: float = 0.0) -> Iterator[Outcome]:
    for seconds in took:
        clock.now += seconds
        yield Outcome(GEMM, 1, {}, {}, told or seconds)


def test_what_is_spent_is_what_the_clock_says() -> None:
    clock = Clock()
    budget = Budget(60.0, clock)
    list(budget.timed(delivered(clock, 4.0, 5.0, told=1.0)))
    assert (budget.spent, budget.left) == (9.0, 51.0)


def test_between_two_phases_nothing_is_spent() -> None:
    clock = Clock()
    budget = Budget(60.0, clock)
    list(budget.timed(delivered(clock, 4.0)))
    clock.now += 1000.0  # a build
    list(budget.timed(delivered(clock, 5.0)))
    assert budget.spent == 9.0


def test_what_comes_out_of_a_journal_took_what_it_took() -> None:
    budget = Budget(60.0, Clock())
    list(budget.timed(Outcome(GEMM, n, {}, {}, 7.0) for n in (1, 2)))
    assert budget.spent == 14.0


def test_a_round_of_fewer_benchmarks_needs_less_but_starts_all_the_same() -> None:
    budget = Budget(60.0, Clock())
    list(budget.timed([Outcome(GEMM, 1, {}, {}, 8.0), Outcome(SYNC, 1, {}, {}, 2.0)]))
    assert budget.needed([Lane((GEMM, SYNC))]) == pytest.approx(10.0)
    one = Binary(GEMM.path, ("gemm/b",))
    assert budget.needed([Lane((one,))]) == pytest.approx(4.0)
    assert budget.needed([Lane((one,)), Lane((one,))]) == pytest.approx(8.0)
    list(budget.timed([Outcome(one, 2, {}, {}, 3.0)]))
    assert budget.needed([Lane((one,))]) == pytest.approx(3.0)


def test_a_turn_with_nothing_left_to_run_tells_nothing_of_the_next() -> None:
    budget = Budget(60.0, Clock())
    list(budget.timed([Outcome(GEMM, 1, {}, {}, 8.0)]))
    list(budget.timed([Outcome(Binary(GEMM.path, ()), 2, {}, {}, 0.0)]))
    assert budget.needed([Lane((GEMM,))]) == pytest.approx(8.0)


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (10.0,
         "Even the minimum of rounds took 12.50 s: 2.500 s longer than the budget of 10.00 s."),
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
