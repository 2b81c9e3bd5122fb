# SPDX-License-Identifier: Apache-2.0
"""What stays undecided gets a second look, once; nothing else does."""

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
from warpgauge.measurement.paired import Side
from warpgauge.records.model import Clock
from warpgauge.system import interrupts
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict

GEMM, SYNC = Binary(Path("bench_gemm"), ("gemm/a", "gemm/b")), Binary(Path("bench_sync"), ("s/a",))
SIDE = Side((GEMM, SYNC), {})


class Bench:
    """Pretends to measure; judges every benchmark as told, one list of undecided ones a look."""

    def __init__(self, loaded: Loader, *undecided: Sequence[str]) -> None:
        self._record = loaded(builders.run([builders.row("gemm/a")]))
        self._undecided = list(undecided)
        self.ran: list[tuple[range, list[str]]] = []
        self.said: list[str] = []
        self.judged: list[Side] = []
        self.stops_running = self.stops_judging = False  # the second time

    def run(self, lanes: Sequence[Lane], rounds: range) -> list[Delivered]:
        base, candidate = lanes
        assert base.binaries == candidate.binaries
        if self.ran and self.stops_running:
            raise KeyboardInterrupt
        self.ran.append((rounds, [name for one in base.binaries for name in one.names]))
        return [
            Delivered(binary, number, {}, {}, 1.0, side=lane.side)
            for number in rounds
            for lane in lanes
            for binary in lane.binaries
        ]

    def judge(self, sides: Mapping[str, Side]) -> Comparison:
        if self.judged and self.stops_judging:
            signal.raise_signal(signal.SIGINT)
        self.judged = list(sides.values())
        names = self._undecided.pop(0)
        verdicts = tuple(Verdict(name, Outcome.INCONCLUSIVE, Clock.DEVICE) for name in names)
        passed = Verdict("gemm/b", Outcome.PASS, Clock.DEVICE)
        return Comparison(self._record, self._record, (*verdicts, passed))

    def compare(self, *, second_look: bool = True) -> two_stage.Looks[Comparison]:
        return two_stage.take(
            {"base": SIDE, "candidate": SIDE},
            7,
            second_look=second_look,
            run=self.run,
            judge=self.judge,
            left=two_stage.undecided,
            say=self.said.append,
        )


FIRST_ALONE = "7 rounds, and no second look at 1 undecided benchmark"
BOTH = "7 rounds, and 14 in a second look at 1 undecided benchmark"


def test_nothing_undecided_needs_one_look(loaded: Loader) -> None:
    bench = Bench(loaded, [])
    assert bench.compare().told == "7 rounds"
    everything = [name for one in SIDE.binaries for name in one.names]
    assert bench.ran == [(range(1, 8), everything)]
    assert bench.said == []


def test_the_undecided_are_looked_at_once_more_unless_the_run_is_quick(loaded: Loader) -> None:
    bench = Bench(loaded, ["gemm/a"], ["gemm/a"])
    both = bench.compare()
    assert bench.ran[1:] == [(range(8, 15), ["gemm/a"])]
    assert bench.said == ["Second look, at 1 undecided benchmark: rounds 8 to 14"]
    assert (both.found.count(Outcome.INCONCLUSIVE), both.told) == (1, BOTH)
    bench = Bench(loaded, ["gemm/a"])
    first = bench.compare(second_look=False)
    assert (first.found.count(Outcome.INCONCLUSIVE), first.told) == (1, FIRST_ALONE)
    assert len(bench.ran) == 1


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
    bench = Bench(loaded, ["gemm/a"], [])
    bench.stops_judging, bench.stops_running = judging, not judging
    both = bench.compare()
    assert both.stop is not None
    assert both.stop.args == (when,)
    assert (both.told, both.found.count(Outcome.INCONCLUSIVE)) == (told, not judging)


def test_an_interrupted_first_look_is_no_look(loaded: Loader) -> None:
    """What it measured is in the journal."""
    bench = Bench(loaded)

    def run(lanes: Sequence[Lane], rounds: range) -> Iterator[Delivered]:
        yield Delivered(SIDE.binaries[0], 1, {}, {}, 1.0)
        raise interrupts.Request(signal.SIGTERM)

    bench.run = run  # type: ignore[assignment, method-assign]
    with pytest.raises(interrupts.Request):
        bench.compare()
    assert not bench.judged


def test_the_hosts_controls_get_no_second_look(loaded: Loader) -> None:
    record = loaded(builders.run([builders.row("gemm/a")]))
    control = Verdict("host/copy", Outcome.INCONCLUSIVE, Clock.HOST, counters={"host_clock": 1.0})
    others = (Verdict(name, Outcome.INCONCLUSIVE, Clock.HOST) for name in ("memcpy/a", "host/own"))
    left = two_stage.undecided(Comparison(record, record, (control, *others)))
    assert [one.name for one in left] == ["memcpy/a", "host/own"]


@pytest.mark.parametrize(
    ("detectable", "rounds"), [([0.01], 14), ([0.02], 28), ([0.011, 0.025], 44), ([0.5], 84)]
)
def test_the_second_look_is_as_long_as_the_noisiest_needs(
    detectable: list[float], rounds: int
) -> None:
    left = [
        Verdict(f"a/{size}", Outcome.PASS, Clock.DEVICE, minimum_effect=0.005, detectable=size)
        for size in detectable
    ]
    assert two_stage.rounds_needed(left, 7) == rounds
