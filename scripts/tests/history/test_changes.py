# SPDX-License-Identifier: Apache-2.0
"""Alerts of histories whose changes are known."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from nights import of_commit, times
from warpgauge.history import changes
from warpgauge.history.changes import Alert
from warpgauge.history.lines import Night
from warpgauge.statistics.log_ratios import Array
from warpgauge.verdict.policy import Expected, MinimumEffect, Policy

NIGHTS, SD, TODAY = 150, 0.001, date(2027, 3, 1)
NAMES = [f"gemm/{number}" for number in range(6)] + [f"reduce/{number}" for number in range(6)]


def logs(rows: int = len(NAMES), sd: float = SD) -> Array:
    return np.random.default_rng(1).normal(-9.0, sd, (rows, NIGHTS))


def nights(**facts: Sequence[str]) -> list[Night]:
    """One commit each; `facts` say what was where."""
    return [
        of_commit(f"c{night}", {key: values[night] for key, values in facts.items()})
        for night in range(NIGHTS)
    ]


def told(
    values: Array,
    of: Sequence[Night] | None = None,
    *,
    host: bool = False,
    policy: Policy | None = None,
    names: Sequence[str] = NAMES,
) -> list[Alert]:
    measured = times(of or nights(), names, host, values, np.full_like(values, SD / 2))
    return changes.alerts(changes.found(measured), measured, policy, TODAY)


def from_night(first: int, before: str, after: str) -> list[str]:
    return [before] * first + [after] * (NIGHTS - first)


def test_a_commit_that_slows_a_family_is_one_alert_with_its_range() -> None:
    values = logs()
    values[:4, 90:] += np.array([[0.02], [0.05], [0.03], [0.02]])
    (alert,) = told(values)
    assert [change.benchmark for change in alert.changes][:2] == ["gemm/1", "gemm/2"]
    assert len(alert.changes) == 4
    assert (alert.good, alert.bad) == ("c89", "c90")
    assert alert.is_code
    assert not alert.changes[0].explained


def test_gpus_that_take_turns_are_no_cause_and_what_changed_on_them_is() -> None:
    values = logs()
    values[0, 90:] += 0.03
    uuids = [str(night % 2) for night in range(NIGHTS)]
    kernels = [f"k{night % 2}" for night in range(NIGHTS)]  # of two machines
    (alert,) = told(values, nights(gpu_uuid=uuids, kernel_release=kernels))
    assert alert.is_code
    drivers = from_night(90, "1", "2")
    (alert,) = told(values, nights(gpu_uuid=uuids, driver_version=drivers))
    assert alert.machine == ("driver_version",)


def test_families_and_directions_are_alerts_of_their_own() -> None:
    values = logs()
    values[0, 90:] += 0.02
    values[1, 90:] -= 0.02
    values[6, 90:] += 0.02
    found = {(one.changes[0].family, one.changes[0].slower) for one in told(values)}
    assert found == {("gemm", True), ("gemm", False), ("reduce", True)}


@pytest.mark.parametrize("fact", ["driver_version", "gpu_uuid", "kernel_release"])
def test_what_changed_on_the_machine_in_these_nights_is_named(fact: str) -> None:
    values = logs()
    values[0, 90:] += 0.02
    values[1, 40:] += 0.02
    code, machine = told(values, nights(**{fact: from_night(90, "a", "b")}))
    assert code.is_code
    assert machine.machine == (fact,)
    assert not machine.is_code


def test_a_night_without_a_new_commit_is_no_change_of_the_code() -> None:
    values = logs()
    values[0, 90:] += 0.02
    (alert,) = told(values, [of_commit("c", {}) for _ in range(NIGHTS)])
    assert not alert.is_code


def test_gpus_that_take_turns_differ_without_an_alert_and_hide_no_change() -> None:
    values = logs()
    of = nights(gpu_uuid=[str(night % 3) for night in range(NIGHTS)])
    for gpu, offset in enumerate((0.0, 0.01, -0.02)):
        values[:, gpu::3] += offset
    assert told(values, of) == []
    values[2, 70:] += 0.01
    (alert,) = told(values, of)
    assert (alert.changes[0].benchmark, alert.bad) == ("gemm/2", "c70")
    assert alert.changes[0].point.change == pytest.approx(0.01, abs=0.001)


def test_a_gpu_that_was_there_rarely_beside_others_is_not_heard() -> None:
    values = logs()
    uuids = [str(night % 2) for night in range(NIGHTS)]
    uuids[-2:] = ["new", "new"]
    values[:, -2:] += 0.05
    assert told(values, nights(gpu_uuid=uuids)) == []


def test_what_moves_all_host_times_of_a_night_is_the_host() -> None:
    names = [f"launch/{number}" for number in range(12)]
    values = logs()
    values += np.random.default_rng(2).normal(0.0, 0.05, NIGHTS)
    values[3, 80:] += 0.02
    (alert,) = told(values, host=True, names=names)
    assert [change.benchmark for change in alert.changes] == ["launch/3"]


def test_a_host_that_becomes_slower_is_one_alert_without_a_benchmark() -> None:
    names = [f"launch/{number}" for number in range(12)]
    values = logs()
    values[:, 80:] += 0.05
    (alert,) = told(values, host=True, names=names)
    assert [change.benchmark for change in alert.changes] == [""]
    assert alert.bad == "c80"
    assert not alert.is_code


def test_a_slowdown_that_was_undone_stays_quiet() -> None:
    values = logs()
    values[0, 60:100] += 0.02
    slower, faster = told(values)
    assert slower.changes[0].explained == "undone by c100"
    assert not faster.changes[0].explained


def policy(**entries: object) -> Policy:
    return Policy(Path("policy.toml"), **entries)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fraction", "expires", "quiet"),
    [(0.03, TODAY, True), (0.01, TODAY, False), (0.03, date(2027, 2, 28), False)],
)
def test_what_the_policy_expects_stays_quiet(fraction: float, expires: date, quiet: bool) -> None:
    values = logs()
    values[0, 90:] += 0.02
    entry = Expected(1, re.compile("^gemm/"), "new check", 100 * fraction, expires, False)
    (alert,) = told(values, policy=policy(expected=(entry,)))
    assert bool(alert.changes[0].explained) is quiet


def test_changes_below_the_minimum_effect_are_none() -> None:
    values = logs()
    values[0, 90:] += 0.004
    assert told(values) == []
    values[0, 90:] += 0.01
    entry = MinimumEffect(1, re.compile("gemm"), "noisy", 2)
    assert told(values, policy=policy(minimum_effects=(entry,))) == []
    assert len(told(values)) == 1


def test_benchmarks_that_came_late_or_went_are_judged_by_their_nights() -> None:
    values = logs(2)
    values[0, 100:] += 0.02
    values[0, :50] = values[0, 120:] = values[1, 3:] = np.nan
    (alert,) = told(values, names=["gemm/late", "gemm/gone"])
    assert alert.bad == "c100"


def test_no_benchmark_is_no_alert() -> None:
    assert told(logs(0), names=[]) == []
