# SPDX-License-Identifier: Apache-2.0
"""Which level of variation the two sides do not share, and how wide that makes a difference."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pytest
from conftest import Loader

from builders import baseline, context, google, google_row, noisy, row, run, scaled
from warpgauge.records.model import Clock, Record, Session
from warpgauge.statistics.log_ratios import Estimates
from warpgauge.verdict import comparison_notes as notes
from warpgauge.verdict.comparability import (
    MINIMUM_EFFECT,
    WIDENING_KEYS,
    Comparability,
    comparability_of,
    minimum_effect,
    references,
)
from warpgauge.verdict.override import Override
from warpgauge.verdict.pairing import pair
from warpgauge.verdict.screening import ASSUMED_PROCESS_SD, estimated

Times = Mapping[str, Sequence[float]]


def estimates(base: Record, cand: Record) -> Estimates:
    pairings, _, _ = pair(base, cand, base.rows)
    return estimated(base, cand, pairings)[0]


def accepted(loaded: Loader, times: Times, about: Mapping[str, dict[str, str]]) -> Record:
    sessions = {key: context(**about[key]) for key in times}
    medians = {key: list(values) for key, values in times.items()}
    return loaded(baseline([row("a/b", process_medians=medians)], sessions))


def test_within_a_boot_processes_decide(loaded: Loader) -> None:
    base, cand = noisy(1, 0.01), noisy(2, 0.01)
    found = estimates(loaded(run([row("a/b", base)])), loaded(run([row("a/b", cand)])))
    logs = np.log(base), np.log(cand)
    within = [np.var(one, ddof=1) for one in logs]
    steadied = [max(one, sum(within) / 2) for one in within]  # each by the other, never below
    assert found.log_ratio[0] == pytest.approx(np.mean(logs[1]) - np.mean(logs[0]))
    assert found.error[0] ** 2 == pytest.approx(sum(steadied) / 7)
    assert found.freedom[0] <= 12.0


def test_across_gpus_their_means_decide(loaded: Loader) -> None:
    levels = (1.0, 1.01, 0.99, 1.02, 0.985)
    times = {f"s{i}": noisy(i, 0.0005, level) for i, level in enumerate(levels)}
    about = {key: {"gpu_uuid": key, "boot_id": key} for key in times}
    cand = loaded(run([row("a/b", noisy(9, 0.0005))]))
    found = estimates(accepted(loaded, times, about), cand)
    means = [np.mean(np.log(values)) for values in times.values()]
    pooled = (4.0 * np.var(means, ddof=1) + 5.0 * 0.005**2) / 9.0  # with what is assumed
    assert found.error[0] ** 2 == pytest.approx(pooled * 1.2, rel=0.02)
    assert 5.0 <= found.freedom[0] <= 9.0


def test_a_gpu_with_many_sessions_counts_as_one(loaded: Loader) -> None:
    times = {f"s{i}": noisy(i, 0.001, level) for i, level in enumerate((1.0, 1.0, 1.0, 1.03))}
    about = {key: {"gpu_uuid": "often", "boot_id": key} for key in times}
    about["s3"]["gpu_uuid"] = "once"
    cand = loaded(run([row("a/b")], gpu_uuid="GPU-9", boot_id="boot-9"))
    found = estimates(accepted(loaded, times, about), cand)
    assert found.log_ratio[0] == pytest.approx(-np.log(1.03) / 2, abs=0.002)


def test_sessions_of_any_gpu_tell_how_far_sessions_lie_apart(loaded: Loader) -> None:
    apart, close = (
        {f"s{i}": noisy(i, 0.0005, level) for i, level in enumerate(levels)}
        for levels in ((1.0, 1.02, 0.98, 1.01, 1.0), (1.0, 1.0, 1.0, 1.0, 1.0))
    )
    about = {key: {"gpu_uuid": "GPU-7", "boot_id": key} for key in apart}
    about["s4"] = {"boot_id": "boot-2"}  # the candidate's GPU was measured once
    cand = loaded(run([row("a/b")]))
    errors = [estimates(accepted(loaded, times, about), cand).error[0] for times in (apart, close)]
    assert errors[0] > 5 * errors[1]


def test_one_process_is_judged_by_the_assumed_spread_whatever_others_show(loaded: Loader) -> None:
    base, cand = loaded(run([row("a/b", [1.0])])), loaded(run([row("a/b", [1.1])]))
    found = estimates(base, cand)
    assert found.error[0] == pytest.approx(ASSUMED_PROCESS_SD * np.sqrt(2))
    assert found.freedom[0] > 1e6
    assert estimates(loaded(run([row("a/b")])), cand).error[0] > 0.99 * ASSUMED_PROCESS_SD


def test_repetitions_are_summed_up_by_their_median_and_widen_what_one_process_says(
    loaded: Loader,
) -> None:
    def plain(times: Sequence[float]) -> Record:
        return loaded(google([google_row("a/b", time, run_type="iteration") for time in times]))

    calm = estimates(plain([1.0, 1.001, 0.999]), plain([1.0, 1.0, 50.0]))
    assert calm.log_ratio[0] == 0.0
    wild = estimates(plain([1.0, 2.0, 0.5]), plain([1.0, 2.0, 0.5]))
    assert wild.error[0] > 5 * ASSUMED_PROCESS_SD
    assert wild.freedom[0] < 6


def test_a_noisy_reference_or_candidate_is_judged_by_its_own_noise(loaded: Loader) -> None:
    times = {f"s{i}": noisy(i, 0.001) for i in range(5)}
    about = {key: {"boot_id": key} for key in times} | {"s4": {}}  # the candidate's boot
    base = accepted(loaded, times, about)
    cand, loud = (loaded(run([row("a/b", noisy(9, sd))])) for sd in (0.001, 0.1))
    calm = estimates(base, cand)
    wild = estimates(accepted(loaded, {**times, "s4": noisy(4, 0.05)}, about), cand)
    assert wild.error[0] > 0.9 * np.std(np.log(noisy(4, 0.05)), ddof=1) / np.sqrt(7)
    assert wild.freedom[0] < 8.0
    assert calm.freedom[0] > 15.0
    gpus = accepted(loaded, times, {key: {"gpu_uuid": key, "boot_id": key} for key in times})
    assert estimates(gpus, loud).error[0] > 5 * estimates(gpus, cand).error[0]


def test_sessions_with_few_processes_weigh_on_their_mean(loaded: Loader) -> None:
    # Two sessions of one boot: a mean of 3 and of 20 processes is as good as one of 10.4.
    times = {"s0": noisy(0, 0.01, processes=3), "s1": noisy(1, 0.01, processes=20)}
    about = {key: {"date": f"2026-11-2{i}"} for i, key in enumerate(times)}
    cand = loaded(run([row("a/b", noisy(9, 0.01, processes=400))]))
    found = estimates(accepted(loaded, times, about), cand)
    assert found.error[0] > 0.008 / np.sqrt(4 / (1 / 3 + 1 / 20))


def test_a_coarse_clock_hides_less_than_its_step(loaded: Loader) -> None:
    def error(times: Sequence[float], *others: Sequence[float]) -> float:
        rows = [row(f"a/{i}", of) for i, of in enumerate([times, *others])]
        return float(estimates(loaded(run(rows)), loaded(run(rows))).error[0])

    coarse = [1.024, 1.024, 1.056, 1.024, 1.024, 1.024, 1.056]
    stuck, steps = [2.048] * 7, [4.096, 4.128] * 3 + [4.096]
    assert error(stuck) < 0.001  # nothing tells how coarse the clock is
    assert error(stuck, steps) == pytest.approx(0.032 / 2.048 / np.sqrt(6.0), rel=0.02)
    assert error(coarse) > 0.03 / np.sqrt(6.0)


def test_a_whole_family_that_moved_together_counts_as_one(loaded: Loader) -> None:
    def freedom(moves: Sequence[Sequence[float]]) -> float:
        medians = [
            {f"s{j}": noisy(10 * i + j, 1e-5, 1.0 + moves[i][j]) for j in range(4)}
            for i in range(20)
        ]
        rows = [row(f"a/{i}", process_medians=of) for i, of in enumerate(medians)]
        base = loaded(baseline(rows, {key: context(boot_id=key) for key in medians[0]}))
        cand = loaded(run([row(f"a/{i}", noisy(900 + i, 1e-5)) for i in range(20)]))
        return float(np.median(estimates(base, cand).freedom))

    source = np.random.default_rng(3)
    alone = source.normal(0.0, 0.01, (20, 4)).tolist()
    assert freedom([alone[0]] * 20) + 3.0 < freedom(alone)


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
    assert note.values["differences"] == ("cpu_model Xeon → EPYC",)
    assert note.values["clock"] == "host"


def spread(loaded: Loader, allow: Collection[Override] = (), **keys: str) -> float:
    """The standard error of a difference to what was measured elsewhere, under driver 580."""
    told = {"driver_version": "580", **keys}
    base, cand = loaded(run([row("a/b")], driver_version="580")), loaded(run([row("a/b")], **told))
    pairings, _, _ = pair(base, cand, ["a/b"], allow)
    return float(estimated(base, cand, pairings)[0].error[0])


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
