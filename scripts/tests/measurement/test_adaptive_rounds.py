# SPDX-License-Identifier: Apache-2.0
"""Time goes to what is still open, in whole rounds, until it is used or nothing is."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping, Sequence

import pytest
from conftest import Loader
from test_time_budget import GEMM, SYNC, Clock

import builders
from warpgauge.execution.plan import Lane
from warpgauge.execution.turn_result import Outcome as Delivered
from warpgauge.measurement.adaptive_rounds import MOST, Budget, Spending, next_look, unsettled
from warpgauge.measurement.paired import Side
from warpgauge.records.model import Clock as Timing
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict

SIDE = Side((GEMM, SYNC), {})


def verdict(name: str, outcome: Outcome, detectable: float = 0.02) -> Verdict:
    return Verdict(name, outcome, Timing.DEVICE, minimum_effect=0.005, detectable=detectable)


def is_open(name: str) -> Verdict:
    return verdict(name, Outcome.INCONCLUSIVE)


class Bench:
    """Pretends to measure, a second a benchmark; its looks find what they are told to."""

    def __init__(self, loaded: Loader, seconds: float, *looks: Sequence[Verdict]) -> None:
        self._record = loaded(builders.run([builders.row("gemm/a")]))
        self._looks = list(looks)
        self._clock = Clock()
        self.budget = Budget(seconds, self._clock)
        self.rounds: list[tuple[int, tuple[str, ...]]] = []
        self.said: list[str] = []
        self.stop_in = 0

    def run(self, lanes: Sequence[Lane], rounds: range) -> Iterator[Delivered]:
        return self.budget.timed(self._run(lanes, rounds))

    def _run(self, lanes: Sequence[Lane], rounds: range) -> Iterator[Delivered]:
        for number in rounds:
            if number == self.stop_in:
                raise KeyboardInterrupt
            names = tuple(name for binary in lanes[0].binaries for name in binary.names)
            self.rounds.append((number, names))
            for lane in lanes:
                for binary in lane.binaries:
                    self._clock.now += len(binary.names)
                    seconds = float(len(binary.names))
                    yield Delivered(binary, number, {}, {}, seconds, side=lane.side)

    def judge(self, sides: Mapping[str, Side]) -> Comparison:
        verdicts = self._looks.pop(0) if len(self._looks) > 1 else self._looks[0]
        return Comparison(self._record, self._record, tuple(verdicts))

    @property
    def spending(self) -> Spending:
        return Spending(self.budget, self.run, self.judge, self.said.append)

    def pair(self) -> str:
        both = self.spending.pair({"base": SIDE, "candidate": SIDE}, 3)
        return both.told


def test_where_nothing_is_open_the_minimum_is_all(loaded: Loader) -> None:
    bench = Bench(loaded, 1000.0, [verdict("gemm/a", Outcome.PASS)])
    assert bench.pair() == "3 rounds (budget 1000 s)"
    assert [number for number, _ in bench.rounds] == [1, 2, 3]
    assert bench.said == []


def test_the_rest_of_the_time_goes_to_what_is_open_and_to_nothing_else(loaded: Loader) -> None:
    bench = Bench(loaded, 1000.0, [is_open("gemm/b")], [is_open("gemm/b")], [])
    assert bench.pair() == "3 rounds, and up to 8 for 1 open benchmark (budget 1000 s)"
    assert bench.rounds[3:] == [(number, ("gemm/b",)) for number in (4, 5, 6, 7, 8)]
    assert bench.said[0] == "Budget, 976.0 s left: rounds 4 to 5 of 1 open benchmark"


def test_it_ends_with_the_round_that_uses_the_time(loaded: Loader) -> None:
    """The minimum takes 24 s; a round of two benchmarks of two programs takes 4."""
    two = [is_open("gemm/b"), is_open("sync/a")]
    bench = Bench(loaded, 24.0 + 4 * 4.0 + 3.0, two)
    told = "3 rounds, and up to 7 for 2 open benchmarks, of which 2 stayed open (budget 43.00 s)"
    assert bench.pair() == told
    assert bench.budget.left == pytest.approx(3.0)


def test_the_minimum_is_measured_whatever_it_takes_and_nothing_behind_it(loaded: Loader) -> None:
    bench = Bench(loaded, 5.0, [is_open("gemm/b")])
    assert bench.pair() == "3 rounds, and none for 1 open benchmark (budget 5.000 s)"
    assert len(bench.rounds) == 3
    assert bench.budget.too_short


def test_what_is_settled_is_not_opened_again(loaded: Loader) -> None:
    first, later = [is_open("gemm/a")], [is_open("gemm/b"), is_open("gemm/a")]
    bench = Bench(loaded, 1000.0, first, later, [is_open("gemm/b")])
    bench.pair()
    assert {names for _, names in bench.rounds[3:]} == {("gemm/a",)}


def test_what_no_program_lists_is_not_waited_for(loaded: Loader) -> None:
    bench = Bench(loaded, 1000.0, [is_open("gemm/unlisted")])
    assert bench.pair().startswith("3 rounds, and none for 1 open benchmark")


def test_even_endless_time_ends(loaded: Loader) -> None:
    bench = Bench(loaded, 1e9, [is_open("gemm/b")])
    bench.pair()
    assert bench.rounds[-1][0] == MOST


def test_the_first_look_at_a_pair_does_conclude(loaded: Loader) -> None:
    bench = Bench(loaded, 1000.0, [verdict("gemm/a", Outcome.REGRESSION)])
    assert bench.pair() == "3 rounds (budget 1000 s)"


def test_a_later_look_does_not_stop_at_a_change_that_is_vague(loaded: Loader) -> None:
    vague, precise = (verdict("gemm/b", Outcome.REGRESSION, size) for size in (0.02, 0.01))
    bench = Bench(loaded, 1000.0, [is_open("gemm/b")], [vague], [precise])
    bench.pair()
    assert bench.rounds[-1][0] == 8


def test_against_a_baseline_no_look_but_the_last_concludes(loaded: Loader) -> None:
    vague = [verdict("gemm/b", Outcome.REGRESSION)]
    bench = Bench(loaded, 20.0, [], vague)
    found = Comparison(bench._record, bench._record, tuple(vague))
    side = Side((GEMM,), {}, outcomes=tuple(Delivered(GEMM, n, {}, {}, 3.0) for n in (1, 2, 3)))
    bench.spending.further({"": side}, found, unsettled(found))
    assert bench.rounds == [(number, ("gemm/b",)) for number in (4, 5)]


def test_an_interrupt_leaves_what_the_look_before_found(loaded: Loader) -> None:
    bench = Bench(loaded, 1000.0, [is_open("gemm/b")])
    bench.stop_in = 7
    both = bench.spending.pair({"base": SIDE, "candidate": SIDE}, 3)
    assert both.stop is not None
    assert both.stop.args == ("in a further look: the run files hold 5 rounds",)
    assert bench.said[-1] == "Interrupted: the first 5 rounds count."


def test_an_interrupt_while_a_look_is_judged_tells_the_rounds_that_it_was_of(
    loaded: Loader,
) -> None:
    """The run files hold them by then."""
    bench = Bench(loaded, 1000.0, [is_open("gemm/b")])
    usual = bench.judge

    def judge(sides: Mapping[str, Side]) -> Comparison:
        if bench.rounds[-1][0] > 5:
            signal.raise_signal(signal.SIGINT)
        return usual(sides)

    bench.judge = judge  # type: ignore[method-assign]
    both = bench.spending.pair({"base": SIDE, "candidate": SIDE}, 3)
    assert both.stop is not None
    assert both.stop.args == ("in a further look: the run files hold 8 rounds",)
    assert bench.said[-1] == "Interrupted: the first 8 rounds count."


def test_looks_lie_the_further_apart_the_more_rounds_there_are() -> None:
    seen = [3]
    while seen[-1] < MOST:
        seen.append(next_look(seen[-1]))
    assert seen == [3, 5, 8, 12, 18, 27, 41, 62, 84]
