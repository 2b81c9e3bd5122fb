# SPDX-License-Identifier: Apache-2.0
"""Time goes to what is still open, in whole rounds; without a budget, in one second look."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from conftest import Loader

import builders
from warpgauge.execution.discovery import Binary
from warpgauge.execution.plan import Lane
from warpgauge.execution.turn_result import Outcome as Delivered
from warpgauge.measurement import two_stage
from warpgauge.measurement.adaptive_rounds import MOST, Budget, Spending, next_look, unsettled
from warpgauge.measurement.paired import Side
from warpgauge.records.model import Clock as Timing
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict

GEMM = Binary(Path("bench_gemm"), ("gemm/a", "gemm/b", "gemm/c"))
SYNC = Binary(Path("bench_sync"), ("sync/a",))
SIDE = Side((GEMM, SYNC), {})


class Clock:
    """Goes on when told."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


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
        self.stop_in, self.stop_behind = 0, MOST  # in a round, or in the judgement of a later one

    def run(self, lanes: Sequence[Lane], rounds: range) -> Iterator[Delivered]:
        return self.budget.timed(self._run(lanes, rounds))

    def _run(self, lanes: Sequence[Lane], rounds: range) -> Iterator[Delivered]:
        for number in rounds:
            if number == self.stop_in:
                raise KeyboardInterrupt
            assert all(lane.binaries == lanes[0].binaries for lane in lanes)
            names = tuple(name for binary in lanes[0].binaries for name in binary.names)
            self.rounds.append((number, names))
            for lane in lanes:
                for binary in lane.binaries:
                    self._clock.now += len(binary.names)
                    seconds = float(len(binary.names))
                    yield Delivered(binary, number, {}, {}, seconds, side=lane.side)

    def judge(self, sides: Mapping[str, Side]) -> Comparison:
        if self.rounds and self.rounds[-1][0] > self.stop_behind:
            signal.raise_signal(signal.SIGINT)
        verdicts = self._looks.pop(0) if len(self._looks) > 1 else self._looks[0]
        return Comparison(self._record, self._record, tuple(verdicts))

    @property
    def spending(self) -> Spending:
        return Spending(self.budget, self.run, self.judge, self.said.append)

    def pair(self) -> str:
        both = self.spending.pair({"base": SIDE, "candidate": SIDE}, 3)
        return both.told


TWO = [is_open("gemm/b"), is_open("sync/a")]


@pytest.mark.parametrize(
    ("seconds", "looks", "told", "left"),
    [
        # The first look at a pair does conclude.
        (1000.0, [[verdict("gemm/a", Outcome.PASS)]], "3 rounds (budget 1000 s)", 976.0),
        (1000.0, [[verdict("gemm/a", Outcome.REGRESSION)]], "3 rounds (budget 1000 s)", 976.0),
        # The minimum takes 24 s; a round of two benchmarks of two programs takes 4.
        (43.0, [TWO], "3 rounds, and up to 7 for 2 open benchmarks, of which 2 stayed open "
         "(budget 43.00 s)", 3.0),
        # The minimum is measured whatever it takes, and nothing behind it.
        (5.0, [TWO[:1]], "3 rounds, and none for 1 open benchmark (budget 5.000 s)", -19.0),
        (1000.0, [[is_open("gemm/unlisted")]],
         "3 rounds, and none for 1 open benchmark (budget 1000 s)", 976.0),
    ],
)  # fmt: skip
def test_it_ends_with_the_round_that_settles_all_or_uses_the_time(
    loaded: Loader, seconds: float, looks: Sequence[Sequence[Verdict]], told: str, left: float
) -> None:
    bench = Bench(loaded, seconds, *looks)
    assert bench.pair() == told
    assert seconds - bench.budget.spent == pytest.approx(left)
    assert [number for number, _ in bench.rounds[:3]] == [1, 2, 3]
    assert bench.budget.too_short is (left < 0)
    assert bool(bench.said) is (len(bench.rounds) > 3)


def test_the_rest_of_the_time_goes_to_what_is_open_and_to_nothing_else(loaded: Loader) -> None:
    bench = Bench(loaded, 1000.0, [is_open("gemm/b")], [is_open("gemm/b"), is_open("gemm/a")], [])
    assert bench.pair() == "3 rounds, and up to 8 for 1 open benchmark (budget 1000 s)"
    assert bench.rounds[3:] == [(number, ("gemm/b",)) for number in (4, 5, 6, 7, 8)]
    assert bench.said[0] == "Budget, 976.0 s left: rounds 4 to 5 of 1 open benchmark"


def test_even_endless_time_ends(loaded: Loader) -> None:
    bench = Bench(loaded, 1e9, [is_open("gemm/b")])
    bench.pair()
    assert bench.rounds[-1][0] == MOST


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


@pytest.mark.parametrize("judging", [False, True])
def test_an_interrupt_leaves_what_the_look_before_found_or_this_one_if_it_is_judged(
    loaded: Loader, judging: bool
) -> None:
    """The run files hold its rounds by then."""
    bench = Bench(loaded, 1000.0, [is_open("gemm/b")])
    bench.stop_in, bench.stop_behind, last = (0, 5, 8) if judging else (7, MOST, 5)
    both = bench.spending.pair({"base": SIDE, "candidate": SIDE}, 3)
    assert both.stop is not None
    assert both.stop.args == (f"in a further look: the run files hold {last} rounds",)
    assert bench.said[-1] == f"Interrupted: the first {last} rounds count."


def test_looks_lie_the_further_apart_the_more_rounds_there_are() -> None:
    seen = [3]
    while seen[-1] < MOST:
        seen.append(next_look(seen[-1]))
    assert seen == [3, 5, 8, 12, 18, 27, 41, 62, 84]


def delivered(clock: Clock, *took: float, told: float = 0.0) -> Iterator[Delivered]:
    for seconds in took:
        clock.now += seconds
        yield Delivered(GEMM, 1, {}, {}, told or seconds)


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
    list(budget.timed(Delivered(GEMM, n, {}, {}, 7.0) for n in (1, 2)))
    assert budget.spent == 14.0


def test_a_round_of_fewer_benchmarks_needs_less_but_starts_all_the_same() -> None:
    budget = Budget(60.0, Clock())
    list(budget.timed([Delivered(GEMM, 1, {}, {}, 8.0), Delivered(SYNC, 1, {}, {}, 2.0)]))
    assert budget.needed([Lane((GEMM, SYNC))]) == pytest.approx(10.0)
    one = Binary(GEMM.path, ("gemm/b",))
    assert budget.needed([Lane((one,))]) == pytest.approx(4.0)
    assert budget.needed([Lane((one,)), Lane((one,))]) == pytest.approx(8.0)
    # A turn with nothing left to run tells nothing of the next.
    list(
        budget.timed(
            [Delivered(one, 2, {}, {}, 3.0), Delivered(Binary(GEMM.path, ()), 3, {}, {}, 0.0)]
        )
    )
    assert budget.needed([Lane((one,))]) == pytest.approx(3.0)


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


def compare(bench: Bench, *, second_look: bool = True) -> two_stage.Looks[Comparison]:
    return two_stage.take(
        {"base": SIDE, "candidate": SIDE},
        7,
        second_look=second_look,
        run=bench.run,
        judge=bench.judge,
        left=two_stage.undecided,
        say=bench.said.append,
    )


FIRST_ALONE = "7 rounds, and no second look at 1 undecided benchmark"
BOTH = "7 rounds, and 28 in a second look at 1 undecided benchmark"


def test_nothing_undecided_needs_one_look(loaded: Loader) -> None:
    bench = Bench(loaded, 1000.0, [])
    assert compare(bench).told == "7 rounds"
    everything = tuple(name for binary in SIDE.binaries for name in binary.names)
    assert bench.rounds == [(number, everything) for number in range(1, 8)]
    assert bench.said == []


def test_the_undecided_are_looked_at_once_more_unless_the_run_is_quick(loaded: Loader) -> None:
    bench = Bench(loaded, 1000.0, [is_open("gemm/a")])
    both = compare(bench)
    assert bench.rounds[7:] == [(number, ("gemm/a",)) for number in range(8, 29)]
    assert bench.said == ["Second look, at 1 undecided benchmark: rounds 8 to 28"]
    assert (both.found.count(Outcome.INCONCLUSIVE), both.told) == (1, BOTH)
    bench = Bench(loaded, 1000.0, [is_open("gemm/a")])
    first = compare(bench, second_look=False)
    assert (first.found.count(Outcome.INCONCLUSIVE), first.told) == (1, FIRST_ALONE)
    assert len(bench.rounds) == 7


@pytest.mark.parametrize(
    ("judging", "when", "told"),
    [
        (False, "in the second look: the run files hold the first", FIRST_ALONE),
        (True, "after the second look: the run files hold it", BOTH),
    ],
)
def test_an_interrupted_second_look_says_which_of_them_counts(
    loaded: Loader, judging: bool, when: str, told: str
) -> None:
    bench = Bench(loaded, 1000.0, [is_open("gemm/a")], [])
    bench.stop_in, bench.stop_behind = (0, 7) if judging else (8, MOST)
    both = compare(bench)
    assert both.stop is not None
    assert both.stop.args == (when,)
    assert (both.told, both.found.count(Outcome.INCONCLUSIVE)) == (told, not judging)


def test_an_interrupted_first_look_is_no_look(loaded: Loader) -> None:
    bench = Bench(loaded, 1000.0)  # judging would fail
    bench.stop_in = 2
    with pytest.raises(KeyboardInterrupt):
        compare(bench)


def test_the_hosts_controls_get_no_second_look(loaded: Loader) -> None:
    record = loaded(builders.run([builders.row("gemm/a")]))
    control = Verdict("host/copy", Outcome.INCONCLUSIVE, Timing.HOST, counters={"host_clock": 1.0})
    others = (Verdict(name, Outcome.INCONCLUSIVE, Timing.HOST) for name in ("memcpy/a", "host/own"))
    left = two_stage.undecided(Comparison(record, record, (control, *others)))
    assert [verdict.name for verdict in left] == ["memcpy/a", "host/own"]


@pytest.mark.parametrize(
    ("detectable", "rounds"), [([0.01], 14), ([0.02], 28), ([0.011, 0.025], 44), ([0.5], 84)]
)
def test_the_second_look_is_as_long_as_the_noisiest_needs(
    detectable: list[float], rounds: int
) -> None:
    left = [
        Verdict(f"a/{size}", Outcome.PASS, Timing.DEVICE, minimum_effect=0.005, detectable=size)
        for size in detectable
    ]
    assert two_stage.rounds_needed(left, 7) == rounds
