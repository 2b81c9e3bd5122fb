# SPDX-License-Identifier: Apache-2.0
"""Which level of variation the two sides do not share, and how wide that makes a difference."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from conftest import Loader
from scipy import stats

from builders import baseline, context, google, google_row, noisy, row, run, scaled
from warpgauge.records.counters import Clock
from warpgauge.records.model import Record, Session, Source
from warpgauge.records.row import Row
from warpgauge.statistics import log_ratios
from warpgauge.verdict import comparison_notes as notes
from warpgauge.verdict.comparability import (
    MINIMUM_EFFECT,
    WIDENING_KEYS,
    Comparability,
    comparability_of,
    minimum_effect,
    references,
)
from warpgauge.verdict.incompatibility import Override
from warpgauge.verdict.judge import judge
from warpgauge.verdict.pairing import pair
from warpgauge.verdict.screening import ASSUMED_PROCESS_SD, screen
from work import calls

Times = Mapping[str, Sequence[float]]


def screened(base: Record, cand: Record, allow: Collection[Override] = ()) -> log_ratios.Tested:
    """The test of the first row."""
    pairings, _, _ = pair(base, cand, base.rows, allow)
    return screen(base, cand, pairings)[0]


def width(found: log_ratios.Tested) -> float:
    """Of half of the interval."""
    return found.high - found.log_ratio


def accepted(loaded: Loader, times: Times, about: Mapping[str, dict[str, str]]) -> Record:
    sessions = {key: context(**about[key]) for key in times}
    medians = {key: list(values) for key, values in times.items()}
    return loaded(baseline([row("a/b", process_medians=medians)], sessions))


def test_within_a_boot_it_is_welchs_test_of_the_processes_with_half_of_the_chance(
    loaded: Loader,
) -> None:
    base, cand = noisy(1, 0.01), noisy(2, 0.03, 1.03)
    found = screened(loaded(run([row("a/b", base)])), loaded(run([row("a/b", cand)])))
    welch = stats.ttest_ind(np.log(cand), np.log(base), equal_var=False)
    assert found.log_ratio == pytest.approx(np.mean(np.log(cand)) - np.mean(np.log(base)))
    assert found.p == pytest.approx(2.0 * welch.pvalue)
    assert found.high == pytest.approx(welch.confidence_interval(0.95).high)


@pytest.mark.parametrize(("place", "assumed"), [("boot_id", 0.001), ("gpu_uuid", 0.005)])
def test_the_baselines_boots_or_gpus_show_how_far_these_lie_apart(
    loaded: Loader, place: str, assumed: float
) -> None:
    levels = np.array([1.0, 1.01, 0.99, 1.02, 0.985])
    times = {f"s{i}": noisy(i, 0.0005, level) for i, level in enumerate(levels)}
    about = {key: {place: key, "boot_id": key} for key in times}
    found = screened(accepted(loaded, times, about), loaded(run([row("a/b", noisy(9, 0.0005))])))
    means = [np.mean(np.log(values)) for values in times.values()]
    variance = (4.0 * np.var(means, ddof=1) + 4.0 * assumed**2) / 8.0 * 1.2
    half = math.sqrt(variance) * stats.t.ppf(0.975, 8)
    assert width(found) == pytest.approx(half, rel=0.05)


def test_a_gpu_with_many_sessions_counts_as_one(loaded: Loader) -> None:
    times = {f"s{i}": noisy(i, 0.001, level) for i, level in enumerate((1.0, 1.0, 1.0, 1.03))}
    about = {key: {"gpu_uuid": "often", "boot_id": key} for key in times}
    about["s3"]["gpu_uuid"] = "once"
    cand = loaded(run([row("a/b")], gpu_uuid="GPU-9", boot_id="boot-9"))
    found = screened(accepted(loaded, times, about), cand)
    assert found.log_ratio == pytest.approx(-np.log(1.03) / 2, abs=0.002)


def test_one_process_scatters_as_assumed_or_as_the_other_side_if_that_is_more(
    loaded: Loader,
) -> None:
    def of(base: Sequence[float]) -> float:
        return width(screened(loaded(run([row("a/b", base)])), loaded(run([row("a/b", [1.1])]))))

    assert of([1.0]) == pytest.approx(1.96 * ASSUMED_PROCESS_SD * math.sqrt(2), rel=0.01)
    assert of(noisy(1, 0.0001)) == pytest.approx(1.96 * ASSUMED_PROCESS_SD, rel=0.01)
    assert of(noisy(1, 0.2)) > 0.3


def test_repetitions_are_summed_up_by_their_median_and_widen_what_one_process_says(
    loaded: Loader,
) -> None:
    def of(base: Sequence[float], cand: Sequence[float]) -> log_ratios.Tested:
        first, second = (
            loaded(google([google_row("a/b", time, run_type="iteration") for time in times]))
            for times in (base, cand)
        )
        return screened(first, second)

    one_process = of([1.0], [1.0])
    outlier = of([1.0, 1.001, 0.999, 1.0, 1.0], [1.0, 1.0, 50.0, 1.001, 0.999])
    assert outlier.log_ratio == 0.0
    assert width(outlier) == pytest.approx(width(one_process), rel=0.01)
    assert width(of([1.0, 2.0, 0.5], [1.0, 2.0, 0.5])) > 3 * width(one_process)


def test_a_noisy_reference_or_candidate_is_judged_by_its_own_noise(loaded: Loader) -> None:
    def of(base_sd: float, cand_sd: float, **place: str) -> float:
        base = run([row("a/b", noisy(1, base_sd))], **place)
        return width(screened(loaded(base), loaded(run([row("a/b", noisy(9, cand_sd))]))))

    for place in ({}, {"boot_id": "another"}, {"boot_id": "another", "gpu_uuid": "another"}):
        quiet = of(0.001, 0.001, **place)
        assert of(0.1, 0.001, **place) > 5 * quiet
        assert of(0.001, 0.1, **place) > 3 * quiet


def test_sessions_with_few_processes_weigh_on_their_mean(loaded: Loader) -> None:
    # Two sessions of one boot: a mean of 3 and of 20 processes is as good as one of 10.4.
    times = {"s0": noisy(0, 0.01, processes=3), "s1": noisy(1, 0.01, processes=20)}
    about = {key: {"date": f"2026-11-2{i}"} for i, key in enumerate(times)}
    cand = loaded(run([row("a/b", noisy(9, 0.01, processes=400))]))
    found = screened(accepted(loaded, times, about), cand)
    assert width(found) > 2.0 * 0.008 / np.sqrt(4 / (1 / 3 + 1 / 20))


def test_a_change_within_a_tick_of_the_clock_is_none_and_a_single_tick_bounds_nothing(
    loaded: Loader,
) -> None:
    def of(base: Sequence[float], cand: Sequence[float]) -> log_ratios.Tested:
        return screened(loaded(run([row("a/b", base)])), loaded(run([row("a/b", cand)])))

    coarse = [1.024, 1.024, 1.056, 1.024, 1.024, 1.024, 1.056]
    tick = math.log(1.056 / 1.024)
    assert width(of(coarse, coarse)) > tick
    assert of([1.024, 1.025] * 4, [1.0245, 1.0246] * 4).p == 1.0
    stuck = of([2.048] * 7, [2.048] * 7)
    assert stuck.bound > math.log(2.0)


def test_the_work_grows_with_the_number_of_benchmarks_and_no_faster() -> None:
    def work(count: int) -> int:
        source, session = np.random.default_rng(1), Session("s", {"build_type": "Release"})
        logs = source.normal(0.0, 0.002, (2, count, 7))
        base, cand = (
            Record(
                Path("simulated"),
                Source.RUN,
                {"s": session},
                {f"a/{i}": Row(f"a/{i}", {"s": tuple(of)}, Clock.DEVICE)
                 for i, of in enumerate(np.exp(side).tolist())},
            )
            for side in logs
        )  # fmt: skip
        return calls(lambda: judge(base, cand))

    assert work(2000) < 12 * work(200)


def suite(loaded: Loader, moves: Sequence[float]) -> list[float]:
    """The p values of unchanged quiet processes that a machine moved."""
    base, cand = (
        [row(f"a/{i}", noisy(90 * side + i, 0.001, math.exp(move * side)))
         for i, move in enumerate(moves)]
        for side in (0, 1)
    )  # fmt: skip
    before, after = loaded(run(base)), loaded(run(cand))
    pairings, _, _ = pair(before, after, before.rows)
    return [one.p for one in screen(before, after, pairings)]


def test_what_moves_half_of_a_suite_is_noise_and_what_moves_a_few_is_none(loaded: Loader) -> None:
    moves = np.random.default_rng(1).normal(0.0, 0.03, 40).tolist()
    assert min(suite(loaded, moves)) > 1e-3
    few = suite(loaded, [0.05] * 5 + [0.0] * 35)
    assert max(few[:5]) < 1e-3 < min(few[5:])
    assert min(suite(loaded, moves[:4])) < 1e-3  # too few to tell


ABOUT = {
    "gpu_name": "NVIDIA Test",
    "gpu_uuid": "GPU-1",
    "boot_id": "boot-1",
    "driver_version": "580.1",
    "cuda_driver_version": "13.0",
    "runtime_version": "13.0",
    "cpu_model": "Xeon",
    "num_cpus": "16",
    "kernel_release": "6.1",
}
HERE = Session("here", ABOUT)


def other(**keys: str) -> Session:
    return Session("other", {**ABOUT, **keys})


@pytest.mark.parametrize("clock", Clock)
@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, Comparability.SAME_BOOT),
        ({"boot_id": "boot-2"}, Comparability.SAME_GPU),
        ({"gpu_uuid": "GPU-2"}, Comparability.SIBLING),
        ({"gpu_uuid": "GPU-2", "driver_version": "590"}, Comparability.SIBLING),
        ({"gpu_name": "NVIDIA Other"}, Comparability.OTHER_MODEL),
    ],
)
def test_boot_gpu_and_model_are_told_apart(
    clock: Clock, keys: dict[str, str], expected: Comparability
) -> None:
    assert comparability_of(other(**keys), HERE, clock) is expected
    assert comparability_of(HERE, other(**keys), clock) is expected


def test_without_a_gpu_the_boot_alone_tells_machines_apart() -> None:
    here, there = (other(gpu_name="", gpu_uuid="", boot_id=boot) for boot in ("boot-1", "boot-2"))
    assert comparability_of(here, here, Clock.HOST) is Comparability.SAME_BOOT
    assert comparability_of(there, here, Clock.HOST) is Comparability.SIBLING


@pytest.mark.parametrize("clock", Clock)
@pytest.mark.parametrize("key", WIDENING_KEYS[Clock.HOST])
def test_another_system_is_less_near_for_the_times_that_it_moves(clock: Clock, key: str) -> None:
    for boot in ("boot-1", "boot-2"):
        far = comparability_of(other(**{key: "something else", "boot_id": boot}), HERE, clock)
        assert (far is Comparability.OTHER_SYSTEM) is (key in WIDENING_KEYS[clock])
    # What a side does not tell widens nothing.
    silent = Session("silent", {name: value for name, value in ABOUT.items() if name != key})
    assert (
        comparability_of(silent, HERE, clock)
        is comparability_of(HERE, silent, clock)
        is Comparability.SAME_BOOT
    )


@pytest.mark.parametrize("clock", Clock)
def test_the_less_near_the_more_must_change(clock: Clock) -> None:
    apart = {Comparability.PLAIN_PROCESSES, Comparability.UNKNOWN}
    known = [one for one in Comparability if one not in apart]
    effects = [MINIMUM_EFFECT[clock, one] for one in known]
    assert effects == sorted(effects)
    assert (clock, Comparability.UNKNOWN) in MINIMUM_EFFECT


def test_the_latency_of_siblings_counts_for_each_kernel() -> None:
    def of(seconds: float, **counters: float) -> float:
        return minimum_effect(Clock.DEVICE, Comparability.SIBLING, seconds, counters)

    assert of(5e-6) == of(5e-6, kernels=0.0) == of(5e-6, kernels=1.0) == pytest.approx(0.05)
    assert of(20e-6) == 0.03
    assert of(20e-6, kernels=16.0) == pytest.approx(0.2)
    others = (Clock.DEVICE, Comparability.SAME_GPU), (Clock.HOST, Comparability.SIBLING)
    for clock, nearness in others:
        effect = MINIMUM_EFFECT[clock, nearness]
        assert minimum_effect(clock, nearness, 5e-6, {"kernels": 16.0}) == effect


def test_this_gpu_under_another_driver_comes_before_its_siblings() -> None:
    own, sibling = other(driver_version="590"), other(gpu_uuid="GPU-2")
    assert references([sibling, own], HERE, Clock.DEVICE) == ([own], Comparability.OTHER_SYSTEM)


def test_another_cpu_is_noted_for_host_times_only(loaded: Loader) -> None:
    names = ("a/host", "host/clock_read")  # the host's control is no benchmark
    rows = [row("a/device"), *(row(name, host_clock=1.0) for name in names)]
    base, cand = (loaded(run(rows, cpu_model=cpu)) for cpu in ("Xeon", "EPYC"))
    (note,) = notes.of_systems(pair(base, cand, list(cand.rows))[0])
    assert "(cpu_model Xeon → EPYC): for 1 benchmark of host time" in str(note)


def spread(loaded: Loader, allow: Collection[Override] = (), **keys: str) -> float:
    """Half of the interval of a difference to what was measured elsewhere, under driver 580."""
    told = {"driver_version": "580", **keys}
    base, cand = loaded(run([row("a/b")], driver_version="580")), loaded(run([row("a/b")], **told))
    return width(screened(base, cand, allow))


def test_another_system_scatters_as_another_boot_and_another_model_as_a_sibling(
    loaded: Loader,
) -> None:
    boot, sibling = spread(loaded, boot_id="boot-2"), spread(loaded, gpu_uuid="GPU-2")
    assert spread(loaded) < boot < sibling
    assert spread(loaded, driver_version="590") == boot
    model = {"gpu_name": "NVIDIA Other", "gpu_uuid": "GPU-2"}
    assert spread(loaded, {Override.GPU_MODEL}, **model) == sibling


def test_where_one_session_has_the_same_system_nothing_is_noted(loaded: Loader) -> None:
    about = {
        "old": {"boot_id": "boot-0", "driver_version": "580"},
        "new": {"driver_version": "590"},
    }
    base = accepted(loaded, {key: scaled(1.0) for key in about}, about)
    pairings, _, _ = pair(base, loaded(run([row("a/b")], driver_version="590")), ["a/b"])
    assert pairings[0].comparability is Comparability.SAME_BOOT
    assert [*notes.of_systems(pairings)] == []
