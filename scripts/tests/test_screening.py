# SPDX-License-Identifier: Apache-2.0
"""Which level of variation the two sides do not share, and how wide that makes a difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from builders import baseline, context, google, google_row, noisy, row, run
from conftest import Loader
from warpgauge.model import Record
from warpgauge.pairing import pair
from warpgauge.screening import ASSUMED_PROCESS_SD, screen
from warpgauge.stats import Estimates

Times = Mapping[str, Sequence[float]]


def estimates(base: Record, cand: Record) -> Estimates:
    pairings, _ = pair(base, cand, base.rows)
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
    pooled = max(within[1], (within[0] + within[1]) / 2)  # the candidate's, steadied by the base's
    assert found.log_ratio[0] == pytest.approx(np.mean(logs[1]) - np.mean(logs[0]))
    assert found.error[0] ** 2 == pytest.approx((within[0] + pooled) / 7)


def test_across_gpus_their_means_decide(loaded: Loader) -> None:
    levels = (1.0, 1.01, 0.99, 1.02, 0.985)
    times = {f"s{i}": noisy(i, 0.0005, level) for i, level in enumerate(levels)}
    about = {key: {"gpu_uuid": key, "boot_id": key} for key in times}
    cand = loaded(run([row("a/b", noisy(9, 0.0005))]))
    found = estimates(accepted(loaded, times, about), cand)
    means = [np.mean(np.log(values)) for values in times.values()]
    assert found.error[0] ** 2 == pytest.approx(np.var(means, ddof=1) * 1.2, rel=0.01)
    assert found.freedom[0] == pytest.approx(4.0, rel=0.01)


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
    assert wild > 10 * calm


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


def test_where_no_gpu_has_two_sessions_those_of_all_gpus_stand_in(loaded: Loader) -> None:
    levels = (1.0, 1.01, 0.99, 1.02, 0.985)
    times = {f"s{i}": noisy(i, 0.0005, level) for i, level in enumerate(levels)}
    about = {key: {"gpu_uuid": key, "boot_id": key} for key in times}
    cand = loaded(run([row("a/b", noisy(9, 0.0005))], gpu_uuid="s0", boot_id="later"))
    found = estimates(accepted(loaded, times, about), cand)
    means = [np.mean(np.log(values)) for values in times.values()]
    assert found.error[0] ** 2 == pytest.approx(np.var(means, ddof=1) * 2, rel=0.01)
