# SPDX-License-Identifier: Apache-2.0
"""What the naive timers and the findings of one kernel say together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from fidelity.finding import Finding
from fidelity.naive import CUPTI, KERNEL, NAIVE, REPLAY, benchmarks, joined, status, worst_error
from warpgauge.records.counters import Clock
from warpgauge.records.row import Row
from warpgauge.system.errors import ExitStatus

HOST = NAIVE[0]


def found(n: int, busy: float = 1000.0, replay: float = 1010.0) -> Finding:
    name = f"{KERNEL}n:{n}"
    return Finding(name, kernels=1, replay_ns=replay, traced_ns=replay, busy_ns=busy)


def row(name: str, time_ns: float, *, error: str | None = None, skipped: bool = False) -> Row:
    return Row(name, {"": (1e-9 * time_ns,)}, Clock.HOST, error=error, skipped=skipped)


def rows(sizes: Sequence[int], time_ns: float = 4000.0) -> list[Row]:
    return [row(timer.benchmark(f"n:{n}"), time_ns) for n in sizes for timer in NAIVE]


def test_the_times_of_a_size_stand_in_one_line() -> None:
    lines = joined([found(4096), found(1 << 20, busy=2000.0)], [*rows([1 << 20]), *rows([4096])])
    assert [line.title for line in lines] == ["4 Ki", "1 Mi"]
    assert [line.times_ns[CUPTI] for line in lines] == [1000.0, 2000.0]
    assert [line.error(HOST) for line in lines] == pytest.approx([3.0, 1.0])
    assert not any(line.faults for line in lines)


@pytest.mark.parametrize(
    ("n", "title"), [(4096, "4 Ki"), (1000, "1000"), (1536 << 10, "1536 Ki"), (0, "0")]
)
def test_only_round_sizes_are_shortened(n: int, title: str) -> None:
    assert joined([found(n)], [])[0].title == title


@pytest.mark.parametrize(
    ("times", "worst"),
    [
        ([2000.0, 1500.0], 1.0),
        ([2000.0, 250.0], -0.75),  # a quarter is more wrong than twice
        ([1000.0, 1000.0], 0.0),
    ],
)
def test_the_worst_error_is_the_largest_factor(times: list[float], worst: float) -> None:
    readings = [row for n, time in enumerate(times, 1) for row in rows([n], time)]
    lines = joined([found(n) for n in range(1, len(times) + 1)], readings)
    assert worst_error(lines, HOST) == pytest.approx(worst)
    assert worst_error(lines, REPLAY) == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("time", "keys", "said"),
    [
        (None, {}, "bench_naive has no such benchmark"),
        (0.0, {"error": "out of memory"}, "out of memory"),
        (0.0, {"error": "not here", "skipped": True}, "skipped: not here"),
        *((time, {}, "host call is no time") for time in (0.0, -1.0, math.nan, math.inf)),
    ],
)
def test_a_timer_without_a_time_costs_its_own_cell(
    time: float | None, keys: dict[str, Any], said: str
) -> None:
    name = HOST.benchmark("n:4096")
    readings = [one for one in rows([4096]) if one.name != name]
    if time is not None:
        readings.append(row(name, time, **keys))
    lines = joined([found(4096)], readings)
    (fault,) = lines[0].faults
    assert said in fault
    assert worst_error(lines, HOST) is None
    assert all(lines[0].error(timer) is not None for timer in (*NAIVE[1:], REPLAY))
    assert status([found(4096)], lines) is ExitStatus.NOT_MEASURED


def test_without_cupti_a_size_has_no_errors() -> None:
    failed = Finding(f"{KERNEL}n:4096", error="wrong result")
    lines = joined([failed, found(8192)], rows([4096, 8192]))
    assert lines[0].faults == [f"{KERNEL}n:4096: wrong result"]
    assert lines[0].error(HOST) is None
    assert worst_error(lines, HOST) == pytest.approx(3.0)
    assert worst_error(lines[:1], HOST) is None
    assert status([failed, found(8192)], lines) is ExitStatus.NOT_MEASURED


def test_the_status_is_of_the_replay_however_wrong_the_others_are() -> None:
    for replay, expected in ((1010.0, ExitStatus.OK), (1500.0, ExitStatus.OUTSIDE)):
        findings = [found(4096, replay=replay)]
        assert status(findings, joined(findings, rows([4096]))) is expected


def test_the_timers_of_a_size_are_named_after_it() -> None:
    names = benchmarks([f"{KERNEL}n:4096"])
    assert "naive/do_bench/f32/n:4096" in names
    assert len(names) == len(NAIVE)
