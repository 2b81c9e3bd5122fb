# SPDX-License-Identifier: Apache-2.0
"""Plain files whose noise the suite alone can tell: no false alarms, and real changes found."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from simulated_size import size
from simulation import changed
from warpgauge.records.model import Clock, Record, Row, Session, Source
from warpgauge.statistics.suite_scatter import scatter
from warpgauge.verdict.comparison import Comparison, Outcome
from warpgauge.verdict.judge import judge

Array = NDArray[np.float64]
SUITES = size(200)

# Of a standard deviation of 1.
NOISES: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Array]] = {
    "normal": lambda source, shape: source.normal(0.0, 1.0, shape),
    "Laplace": lambda source, shape: source.laplace(0.0, math.sqrt(0.5), shape),
    "t of 4": lambda source, shape: source.standard_t(4.0, shape) / math.sqrt(2.0),
}


def plain(logs: Array) -> Record:
    times = (1e-4 * np.exp(logs)).tolist()
    rows = {f"BM/{i}": Row(f"BM/{i}", {"s": tuple(of)}, Clock.HOST) for i, of in enumerate(times)}
    return Record(Path("plain.json"), Source.GOOGLE_BENCHMARK, {"s": Session("s")}, rows)


def compared(
    source: np.random.Generator, noise: str, sd: float, slower: Array, repetitions: int = 1
) -> Comparison:
    """Two plain files; `slower` are the true log ratios of the benchmarks."""
    shape = (len(slower), repetitions)
    base, candidate = (sd * NOISES[noise](source, shape) for _ in range(2))
    return judge(plain(base), plain(candidate + slower[:, None]))


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("count", "repetitions"), [(20, 1), (20, 5), (200, 1), (200, 3)])
def test_of_unchanged_plain_suites_hardly_one_in_a_hundred_alarms(
    noise: str, repetitions: int, count: int
) -> None:
    source = np.random.default_rng(count + repetitions)
    for sd in (0.01, 0.2):
        found = (compared(source, noise, sd, np.zeros(count), repetitions) for _ in range(SUITES))
        alarmed = sum(changed(one) > 0 for one in found)
        print(f"\n{noise}, {repetitions} repetitions, {count} benchmarks, {sd:.0%}: {alarmed}")
        assert alarmed <= SUITES * 0.01 + 3 * math.sqrt(SUITES * 0.01)


@pytest.mark.parametrize("repetitions", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 5, 20, 200])
def test_one_real_change_in_a_quiet_suite_is_found(count: int, repetitions: int) -> None:
    source = np.random.default_rng(count + repetitions)
    slower = np.zeros(count)
    slower[0] = math.log(2.5)
    verdicts = [
        compared(source, "normal", 0.02, slower, repetitions).verdicts[0] for _ in range(SUITES)
    ]
    found = sum(one.outcome is Outcome.REGRESSION for one in verdicts)
    print(f"\n{repetitions} repetitions, {count} benchmarks: {found} of {SUITES}")
    # Two repetitions hardly know their own scatter, which is added to that of the process.
    assert found >= {1: 0.85, 2: 0.80, 3: 0.97}[repetitions] * SUITES


@pytest.mark.parametrize("count", [1, 5, 8, 200])
def test_a_suite_that_is_slower_as_a_whole_is_called_slower(count: int) -> None:
    source = np.random.default_rng(count)
    slower = np.full(count, math.log(1.8))
    found = [compared(source, "normal", 0.02, slower) for _ in range(20)]
    assert sum(one.count(Outcome.PASS) for one in found) <= 0.001 * 20 * count  # but left open
    assert sum(one.count(Outcome.REGRESSION) for one in found) >= 0.95 * 20 * count


@pytest.mark.parametrize("share", [0.1, 0.25])
def test_a_minority_of_real_changes_is_not_taken_for_noise(share: float) -> None:
    source = np.random.default_rng(1)
    slower = np.where(np.arange(40) < share * 40, math.log(2.5), 0.0)
    found = [compared(source, "normal", 0.02, slower) for _ in range(20)]
    assert sum(one.count(Outcome.REGRESSION) for one in found) >= 0.7 * 20 * share * 40


@pytest.mark.parametrize("share", [0.34, 0.5, 0.6])
@pytest.mark.parametrize("repetitions", [1, 5])
def test_a_change_of_half_a_suite_is_found_or_left_open(share: float, repetitions: int) -> None:
    source = np.random.default_rng(1)
    changed_rows = int(share * 20)
    slower = np.where(np.arange(20) < changed_rows, math.log(2.5), 0.0)
    found = 0
    for _ in range(10):
        verdicts = compared(source, "normal", 0.01, slower, repetitions).verdicts[:changed_rows]
        assert {one.outcome for one in verdicts} <= {Outcome.REGRESSION, Outcome.INCONCLUSIVE}
        found += sum(one.outcome is Outcome.REGRESSION for one in verdicts)
    assert share >= 0.5 or found >= 0.85 * 10 * changed_rows


@pytest.mark.parametrize("between", [0.03, 0.06])
@pytest.mark.parametrize("count", [8, 60])
def test_repetitions_that_agree_are_no_evidence_of_the_next_process(
    count: int, between: float
) -> None:
    """Ten repetitions of 0.5 %, in processes that lie farther from each other."""
    source, alarmed = np.random.default_rng(count), 0
    for _ in range(SUITES):
        base, candidate = (
            source.normal(0.0, between, (count, 1)) + source.normal(0.0, 0.005, (count, 10))
            for _ in range(2)
        )
        alarmed += changed(judge(plain(base), plain(candidate))) > 0
    print(f"\n{between:.0%} between processes, {count} benchmarks: {alarmed}")
    assert alarmed <= SUITES * 0.01 + 3 * math.sqrt(SUITES * 0.01)


@pytest.mark.parametrize("count", [20, 100])
def test_three_repetitions_show_a_noisy_benchmark_among_quiet_ones(count: int) -> None:
    source, alarmed = np.random.default_rng(count), 0
    for _ in range(SUITES):
        noise = np.exp(source.uniform(math.log(5e-4), math.log(0.1), (count, 1)))
        base, candidate = (
            noise * source.normal(size=(count, 3)) + source.normal(0.0, 0.01, (count, 1))
            for _ in range(2)
        )
        alarmed += changed(judge(plain(base), plain(candidate))) > 0
    print(f"\n{count} benchmarks: {alarmed}")
    assert alarmed <= SUITES * 0.01 + 3 * math.sqrt(SUITES * 0.01)


def test_scatter_is_the_standard_deviation_of_normal_noise_whatever_all_moved_by() -> None:
    noise = np.random.default_rng(1).normal(0.0, 0.05, 10_000)
    sd, tails = scatter(noise + 0.3)
    assert sd == pytest.approx(0.05, rel=0.03)
    assert tails >= 12.0


def test_scatter_knows_heavy_tails_and_no_others() -> None:
    _, tails = scatter(np.random.default_rng(1).standard_t(4.0, 10_000))
    assert tails <= 5.0
    assert scatter(np.zeros(10))[0] == 0.0
