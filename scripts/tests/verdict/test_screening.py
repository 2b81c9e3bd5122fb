# SPDX-License-Identifier: Apache-2.0
"""Which level of variation the two sides do not share, and how wide that makes a difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from conftest import Loader

from builders import baseline, context, google, google_row, noisy, row, run
from warpgauge.records.model import Record
from warpgauge.statistics.log_ratios import Estimates
from warpgauge.verdict.pairing import pair
from warpgauge.verdict.screening import ASSUMED_PROCESS_SD, screen

Times = Mapping[str, Sequence[float]]


def estimates(base: Record, cand: Record) -> Estimates:
    pairings, _, _ = pair(base, cand, base.rows)
    return screen(base, cand, pairings).estimates


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
    assert found.error[0] ** 2 == pytest.approx(np.var(means, ddof=1) * 1.2, rel=0.01)
    assert 4.0 <= found.freedom[0] < 8.0  # their own, and a part of what was assumed


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


def test_a_noisier_candidate_widens_what_sessions_allow(loaded: Loader) -> None:
    times = {f"s{i}": noisy(i, 0.001) for i in range(5)}
    about = {key: {"gpu_uuid": key, "boot_id": key} for key in times}
    base = accepted(loaded, times, about)
    calm, wild = (
        estimates(base, loaded(run([row("a/b", noisy(9, sd))]))).error[0] for sd in (0.001, 0.1)
    )
    assert wild > 5 * calm


def test_one_process_a_side_is_judged_by_the_assumed_spread(loaded: Loader) -> None:
    base, cand = loaded(run([row("a/b", [1.0])])), loaded(run([row("a/b", [1.1])]))
    found = estimates(base, cand)
    assert found.error[0] == pytest.approx(ASSUMED_PROCESS_SD * np.sqrt(2))
    assert found.freedom[0] > 1e6


def test_one_process_is_not_vouched_for_by_others(loaded: Loader) -> None:
    base, cand = loaded(run([row("a/b")])), loaded(run([row("a/b", [1.0])]))
    assert estimates(base, cand).error[0] > 0.99 * ASSUMED_PROCESS_SD


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


def test_the_unit_of_time_does_not_matter(loaded: Loader) -> None:
    sides = [noisy(seed, 0.01) for seed in (1, 2)]
    one, other = (
        estimates(*(loaded(run([row("a/b", times, time_unit=unit)])) for times in sides))
        for unit in ("ns", "s")
    )
    assert one.log_ratio[0] == pytest.approx(other.log_ratio[0])
    assert one.error[0] == pytest.approx(other.error[0])


def test_a_noisy_reference_is_judged_by_its_own_noise(loaded: Loader) -> None:
    times = {f"s{i}": noisy(i, 0.001) for i in range(5)}
    about = {key: {"boot_id": key} for key in times}
    about["s4"] = {}  # the candidate's boot
    cand = loaded(run([row("a/b", noisy(9, 0.001))]))
    calm = estimates(accepted(loaded, times, about), cand)
    wild = estimates(accepted(loaded, {**times, "s4": noisy(4, 0.05)}, about), cand)
    assert wild.error[0] > 0.9 * np.std(np.log(noisy(4, 0.05)), ddof=1) / np.sqrt(7)
    assert wild.freedom[0] < 8.0
    assert calm.freedom[0] > 15.0


def test_sessions_with_few_processes_weigh_on_their_mean(loaded: Loader) -> None:
    """Two sessions of one boot: a mean of 3 and of 20 processes is as good as one of 10.4."""
    times = {"s0": noisy(0, 0.01, processes=3), "s1": noisy(1, 0.01, processes=20)}
    about = {key: {"date": f"2026-11-2{i}"} for i, key in enumerate(times)}
    cand = loaded(run([row("a/b", noisy(9, 0.01, processes=400))]))
    found = estimates(accepted(loaded, times, about), cand)
    assert found.error[0] > 0.008 / np.sqrt(4 / (1 / 3 + 1 / 20))


def test_a_whole_family_that_moved_together_counts_as_one(loaded: Loader) -> None:
    def freedom(moves: Sequence[Sequence[float]]) -> float:
        sessions = [f"s{i}" for i in range(4)]
        rows = [
            row(
                f"a/{i}",
                process_medians={
                    key: noisy(10 * i + j, 1e-5, 1.0 + moves[i][j])
                    for j, key in enumerate(sessions)
                },
            )
            for i in range(20)
        ]
        base = loaded(baseline(rows, {key: context(boot_id=key) for key in sessions}))
        cand = loaded(run([row(f"a/{i}", noisy(900 + i, 1e-5)) for i in range(20)]))
        return float(np.median(estimates(base, cand).freedom))

    source = np.random.default_rng(3)
    alone = source.normal(0.0, 0.01, (20, 4)).tolist()
    assert freedom([alone[0]] * 20) + 4.0 < freedom(alone)
