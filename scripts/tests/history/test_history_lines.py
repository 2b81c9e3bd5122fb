# SPDX-License-Identifier: Apache-2.0
"""A branch read from a clone, and the tables of times that it becomes."""

from __future__ import annotations

from math import log, nan, pi, sqrt
from pathlib import Path

import numpy as np
import pytest

from history_clone import BASE, GPU, HistoryClone
from hosted_repository import git
from warpgauge.history.lines import History, Ratio, Times, standard_error
from warpgauge.statistics import log_ratios
from warpgauge.system.errors import UserError


@pytest.fixture
def clone(tmp_path: Path) -> HistoryClone:
    return HistoryClone(tmp_path)


def times(clone: HistoryClone, *names: str) -> Times:
    return Times.of(History.at(clone.root, "main").nights(GPU), names or None)


def days(clone: HistoryClone, ref: str = "main") -> list[int]:
    return [int(night.date[8:10]) for night in History.at(clone.root, ref).nights(GPU)]


def test_times_stand_by_date_with_their_errors(clone: HistoryClone) -> None:
    clone.night(2, {"a/b": 2e-6}, sd=0.01, processes=3)
    clone.night(1, {"a/b": 1e-6, "c/d": 5e-6}, sd=None, processes=1)
    clone.night(3, {"c/d": 5e-6})
    clone.night(4, {"a/b": 4e-6}, run=5)
    clone.night(4, {"a/b": 3e-6}, run=4)  # several runs a night
    found = times(clone, "a/b", "no/such")
    assert found.names == ["a/b"]
    expected = [log(time) for time in (1e-6, 2e-6, nan, 3e-6, 4e-6)]
    assert found.log_seconds[0] == pytest.approx(expected, nan_ok=True)
    seven, three = (sd * sqrt(pi / (3 * count)) for sd, count in ((0.004, 7), (0.01, 3)))
    assert found.errors[0] == pytest.approx([nan, three, nan, seven, seven], nan_ok=True)
    assert History.at(clone.root, "main").nights("no-such") == []


def test_a_ratio_stands_with_its_night_and_error(clone: HistoryClone) -> None:
    clone.night(1, {"a/b": 1e-6, "c/d": 1e-6}, ratios={"a/b": Ratio(0.02, 0.01, 4)})
    clone.night(2, {"a/b": 1e-6, "c/d": 1e-6}, ratios={"c/d": Ratio(-0.5, None, 1)})
    clone.night(3, {"a/b": 1e-6})
    found = times(clone)
    expected = np.array([[0.02, nan, nan], [nan, -0.5, nan]])
    assert np.array_equal(found.log_ratios, expected, equal_nan=True)
    assert found.ratio_errors[0, 0] == pytest.approx(0.01 * sqrt(pi / 12))
    assert np.isnan(found.ratio_errors[1, 1])
    assert [night.base for night in found.nights] == [BASE, BASE, ""]


def test_any_night_may_say_which_clock_times_a_benchmark(clone: HistoryClone) -> None:
    clone.night(1, {"a/b": 1e-6})
    clone.night(2, {"c/d": 1e-6}, host=("c/d", "no/such"))
    clone.night(3, {"a/b": 1e-6, "c/d": 1e-6})
    found = times(clone)
    assert dict(zip(found.names, found.host, strict=True)) == {"a/b": False, "c/d": True}


def test_the_error_is_that_of_the_centre() -> None:
    random = np.random.default_rng(21)
    for processes in (1, 3, 5, 7, 15):
        centres = log_ratios.centre(random.normal(0.0, 0.01, (100_000, processes)))
        error = standard_error(np.array([0.01]), np.array([float(processes)]))
        assert error[0] == pytest.approx(np.std(centres), rel=0.03)


def test_each_ref_has_its_own_nights_and_a_repeated_run_replaces_its_night(
    clone: HistoryClone,
) -> None:
    clone.night(1, {"a/b": 1e-6})
    git(clone.root, "branch", "old")
    clone.night(2, {"a/b": 2e-6})
    clone.night(2, {"a/b": 9e-6})
    assert (days(clone), days(clone, "old")) == ([1, 2], [1])
    assert np.exp(times(clone).log_seconds[0]) == pytest.approx([1e-6, 9e-6])


def test_links_and_other_files_of_the_branch_are_no_nights(clone: HistoryClone) -> None:
    clone.night(1, {"a/b": 1e-6})
    (clone.root / GPU / "link.jsonl").symlink_to("2026-11-01-1.jsonl")
    (clone.root / GPU / "notes.txt").write_text("{")
    (clone.root / "top.jsonl").write_text("{")
    clone.commit()
    history = History.at(clone.root, "main")
    assert len(history.nights(GPU)) == 1
    assert history.faults == []


def test_a_lost_object_is_named(clone: HistoryClone) -> None:
    clone.night(1, {"a/b": 1e-6})
    blob = git(clone.root, "rev-parse", f"main:{GPU}/2026-11-01-1.jsonl")
    (clone.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(UserError, match=f"lacks the git object {blob[:10]}"):
        days(clone)
