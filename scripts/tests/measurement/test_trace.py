# SPDX-License-Identifier: Apache-2.0
"""From what the device did to how long it was busy with an operation."""

from __future__ import annotations

import random

import pytest

from traces import AFTER_WORK, BEFORE_WORK, KERNEL, WORK, Tape, tape
from warpgauge.measurement.fidelity.trace import Activity, TraceFault, Work, busy, regions, union_ns
from warpgauge.system.errors import ExitStatus


def spans(*times: tuple[int, int]) -> list[Activity]:
    return [Activity("kernel", WORK, start, end) for start, end in times]


def work(copies: int, samples: int, kernels: int | None = 1) -> Work:
    return Work(copies * samples, samples, kernels)


@pytest.mark.parametrize(
    ("times", "total"),
    [
        ([], 0),
        ([(10, 30)], 20),
        ([(10, 30), (30, 40)], 30),  # one right behind the other
        ([(10, 30), (50, 60)], 30),  # a gap is not busy
        ([(10, 30), (20, 45)], 35),  # what overlaps counts once
        ([(10, 100), (20, 30), (50, 60)], 90),  # inside of another
        ([(50, 60), (10, 30)], 30),  # in no order
        ([(10, 30), (10, 30)], 20),
        ([(10, 10)], 0),
    ],
)
def test_the_union_counts_every_nanosecond_once(times: list[tuple[int, int]], total: int) -> None:
    assert union_ns(spans(*times)) == total


def test_the_union_is_what_counting_nanoseconds_gives() -> None:
    source = random.Random(7)
    for _ in range(200):
        times = [(start, start + source.randrange(20)) for start in source.sample(range(1, 99), 8)]
        assert union_ns(spans(*times)) == len({t for a, b in times for t in range(a, b)})


def test_busy_is_the_work_of_one_operation_without_the_gaps() -> None:
    found = busy(tape(copies=512, regions=7).activities, work(512, 7))
    assert (found.nanoseconds, found.kernels, found.regions) == (1000.0, 1, 7)


def test_an_operation_may_have_several_kernels_copies_and_memsets() -> None:
    parts = (("memset", 50), ("kernel", 1000), ("memcpy", 20), ("kernel", 300))
    found = busy(tape(64, 9, parts).activities, work(64, 9, kernels=2))
    assert (found.nanoseconds, found.kernels) == (1370.0, 2)


def test_an_operation_may_have_no_kernel_at_all() -> None:
    found = busy(tape(64, 9, (("memcpy", 2000),)).activities, work(64, 9, kernels=0))
    assert (found.nanoseconds, found.kernels) == (2000.0, 0)


def test_an_operation_on_two_branches_of_a_graph_is_busy_while_either_runs() -> None:
    made = Tape()
    for _ in range(3):
        made.region(1, (("kernel", 1000),))
    halves = [
        Activity("kernel", WORK, one.start_ns + 400, one.end_ns + 400)
        for one in made.activities
        if one.name == WORK
    ]
    # The end of the region moves with the work that now runs longer.
    moved = [
        Activity(one.kind, one.name, one.start_ns + 200, one.end_ns + 200)
        if one.name == AFTER_WORK
        else one
        for one in made.activities
    ]
    found = busy([*moved, *halves], work(1, 3, kernels=2))
    assert (found.nanoseconds, found.kernels) == (1400.0, 2)


def test_the_median_region_stands_for_all() -> None:
    made = Tape()
    for nanoseconds in (1000, 1010, 1020, 5000, 990):
        made.region(32, (("kernel", nanoseconds),))
    assert busy(made.activities, work(32, 5)).nanoseconds == 1010.0


def test_the_order_of_the_records_does_not_matter() -> None:
    activities = tape(16, 8).activities
    random.Random(3).shuffle(activities)
    assert busy(activities, work(16, 8)).nanoseconds == 1000.0


def test_a_region_that_was_measured_but_not_kept_may_be_there_too() -> None:
    assert busy(tape(16, 9).activities, work(16, 7)).regions == 9


def test_work_of_as_many_records_as_a_calibration_is_still_found() -> None:
    assert busy(tape(8, 7).activities, work(8, 7)).regions == 8


def test_what_was_timed_before_the_measurement_does_not_pass_for_it() -> None:
    made = Tape()
    for copies in (64, 64, 8, 8, 8):  # a ceiling, and a device that had to be held back longer
        made.region(copies, (("kernel", 1100),))
    for _ in range(7):
        made.region(64)
    assert busy(made.activities, work(64, 7)).nanoseconds == 1000.0


def test_an_empty_region_is_no_work() -> None:
    made = Tape()
    for _ in range(20):
        made.region(0)
    with pytest.raises(TraceFault, match="no timed region with work"):
        busy(made.activities, work(1, 7))
    for _ in range(7):
        made.region(4)
    assert busy(made.activities, work(4, 7)).nanoseconds == 1000.0


def test_a_kernel_of_the_same_name_elsewhere_is_work() -> None:
    made = Tape()
    for name in (
        BEFORE_WORK,
        "_ZN4mine19clock_sample_kernelILi2EEvv",
        "_Z12delay_kernelm",
        AFTER_WORK,
    ):
        made.add("kernel", name, 100)
    assert [len(region) for region in regions(made.activities)] == [2]


@pytest.mark.parametrize("activities", [[], [Activity("kernel", WORK, 1, 2)]])
def test_a_trace_without_regions_is_refused(activities: list[Activity]) -> None:
    with pytest.raises(TraceFault, match="no timed region") as caught:
        busy(activities, work(1, 7))
    assert caught.value.status is ExitStatus.NOT_MEASURED


def test_a_missing_stamp_is_refused() -> None:
    activities = tape(4, 7).activities
    ends = [index for index, one in enumerate(activities) if one.name == AFTER_WORK]
    with pytest.raises(TraceFault, match="timed region 6 of the trace has no end"):
        busy([one for i, one in enumerate(activities) if i != ends[5]], work(4, 7))
    with pytest.raises(TraceFault, match="timed region 9 of the trace has no end"):
        busy(activities[: ends[-1]], work(4, 7))
    begins = [index for index, one in enumerate(activities) if one.name == BEFORE_WORK]
    fewer = [one for i, one in enumerate(activities) if i != begins[-1]]
    with pytest.raises(TraceFault, match="6 regions of 4 records"):
        busy(fewer, work(4, 7))


def test_missing_work_is_refused() -> None:
    activities = tape(4, 7).activities
    # Behind the verification's and the calibrations' 1 + 1 + 8.
    first = [index for index, one in enumerate(activities) if one.name == WORK][10]
    with pytest.raises(TraceFault, match="6 regions of 4 records, but the benchmark kept 7"):
        busy([one for i, one in enumerate(activities) if i != first], work(4, 7))


def test_records_that_are_no_multiple_of_the_operations_are_refused() -> None:
    with pytest.raises(TraceFault, match="4 records a region, 4 of them kernels, are not a mult"):
        busy(tape(4, 7).activities, Work(3 * 7, 7))
    made = Tape()
    for _ in range(7):
        made.region(2, (("memset", 10), KERNEL, KERNEL))
    with pytest.raises(TraceFault, match="6 records a region, 4 of them kernels"):
        busy(made.activities, Work(4 * 7, 7))


def test_operations_that_are_no_multiple_of_the_samples_are_refused() -> None:
    for told in (Work(29, 7), Work(0, 7), Work(28, 0)):
        with pytest.raises(TraceFault, match="no whole number"):
            busy(tape(4, 7).activities, told)


def test_other_kernels_than_the_benchmark_counted_are_refused() -> None:
    with pytest.raises(TraceFault, match="1 kernel an operation, the benchmark's graph 2"):
        busy(tape(4, 7).activities, work(4, 7, kernels=2))
    assert busy(tape(4, 7).activities, work(4, 7, kernels=None)).kernels == 1


@pytest.mark.parametrize(("start", "end"), [(0, 0), (0, 5), (9, 5)])
def test_records_without_a_time_are_refused(start: int, end: int) -> None:
    activities = [*tape(4, 7).activities, Activity("kernel", WORK, start, end)]
    with pytest.raises(TraceFault, match="CUPTI took no time of 1 record"):
        busy(activities, work(4, 7))
