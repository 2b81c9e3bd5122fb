# SPDX-License-Identifier: Apache-2.0
"""One process a side, and plain files as processes: no false alarms, real changes found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from conftest import Loader

from builders import STEADY, google, google_row, row, run, scaled, write
from builders import scaled as times
from simulated_processes import (
    BENCHMARKS,
    NOISES,
    SUITES,
    Suite,
    alarmed,
    all_slower,
    found,
    judged,
    one_slower,
)
from simulation import size
from warpgauge.records.load import load, load_processes
from warpgauge.records.model import Record
from warpgauge.reports.advice import next_step
from warpgauge.reports.view import how_found
from warpgauge.system.text import plural
from warpgauge.verdict.comparison import Comparison, Outcome
from warpgauge.verdict.comparison_settings import ENOUGH_FILES, ComparisonSettings
from warpgauge.verdict.judge import judge


def outcome(comparison: Comparison) -> Outcome:
    (verdict,) = comparison.verdicts
    return verdict.outcome


def states(high: int) -> list[float]:
    """Repetitions, so many of them in the slower of two states."""
    return [(180.0 if index < high else 100.0) + index / 100.0 for index in range(21)]


def plain(loaded: Loader, base: Sequence[float], cand: Sequence[float]) -> Comparison:
    return judge(
        loaded(google([google_row("a/b", time) for time in base])),
        loaded(google([google_row("a/b", time) for time in cand])),
    )


@pytest.mark.parametrize(
    ("base", "cand", "expected"),
    [
        ([100.0], [300.0], Outcome.REGRESSION),
        ([300.0], [100.0], Outcome.IMPROVED),
        ([100.0], [100.0], Outcome.INCONCLUSIVE),
        (times(100.0), times(160.0), Outcome.REGRESSION),
        (times(160.0), times(100.0), Outcome.IMPROVED),
        ([100.0, 180.0, 90.0], [150.0, 270.0, 140.0], Outcome.INCONCLUSIVE),
        # Repetitions that agree are of one process all the same.
        *((times(100.0), times(100.0 * factor), Outcome.INCONCLUSIVE) for factor in (1, 1.09, 1.4)),
        # Of two states the median may fall on either.
        (states(10), states(11), Outcome.INCONCLUSIVE),
        (states(1), states(20), Outcome.REGRESSION),
    ],
)
def test_between_single_files_only_large_changes_are_called(
    loaded: Loader, base: Sequence[float], cand: Sequence[float], expected: Outcome
) -> None:
    found = plain(loaded, base, cand)
    assert outcome(found) is expected
    if expected is Outcome.INCONCLUSIVE:
        assert found.verdicts[0].reason.startswith("1 process a side")
        (note,) = found.notes
        assert note.kind == "few_files"
        for words in ("At most 1 process of the baseline and the candidate", "15 %", "--processes"):
            assert words in str(note)
        assert f"at least {ENOUGH_FILES} processes per side" in str(note)


def test_who_knows_that_processes_agree_may_say_so(loaded: Loader) -> None:
    quiet = ComparisonSettings(process_scatter=0.01)
    sides = [loaded(google([google_row("a/b", time)])) for time in (100.0, 100.4, 120.0)]
    assert outcome(judge(sides[0], sides[1], quiet)) is Outcome.PASS
    assert outcome(judge(sides[0], sides[2], quiet)) is Outcome.REGRESSION
    assert outcome(judge(sides[0], sides[2])) is Outcome.INCONCLUSIVE


# Two processes of a run differ by 4.2 %: p is below 0.01 from 1.115 on, whatever is assumed of
# plain files.
@pytest.mark.parametrize(
    ("factor", "expected"), [(1.105, Outcome.INCONCLUSIVE), (1.125, Outcome.REGRESSION)]
)
def test_a_run_of_one_process_is_judged_by_an_assumed_scatter(
    loaded: Loader, factor: float, expected: Outcome
) -> None:
    base, cand = (loaded(run([row("a/b", [time])])) for time in (1.0, factor))
    for settings in (ComparisonSettings(), ComparisonSettings(process_scatter=0.9)):
        assert outcome(judge(base, cand, settings)) is expected


def test_a_run_of_one_process_is_said_to_be_one(loaded: Loader) -> None:
    base, cand = (
        loaded(run([row("a/b", of), row("sync/c", of, host_clock=1.0)])) for of in (STEADY, [1.0])
    )
    (note,) = (one for one in judge(base, cand).notes if one.kind == "few_processes")
    assert str(note).startswith("At most 1 process of the candidate: ")
    assert "A standard deviation of 3 % is assumed" in str(note)


RUNS = size(SUITES)
UNCHANGED = np.zeros(BENCHMARKS)


@pytest.mark.parametrize("noise", NOISES)
def test_of_identical_code_in_single_files_at_most_one_suite_in_a_hundred_alarms(
    noise: str,
) -> None:
    assert alarmed(Suite(noise), RUNS) <= 0.01 * RUNS


@pytest.mark.parametrize("noise", NOISES)
def test_of_identical_code_in_several_files_at_most_one_suite_in_a_hundred_alarms(
    noise: str,
) -> None:
    for files in (2, 3, 5, 7):
        assert alarmed(Suite(noise, files), RUNS // 5) <= 0.01 * RUNS / 5


def test_power_rises_with_the_number_of_files() -> None:
    for ratio in (0.10, 0.60):
        shares = [
            found(Suite(files=files, sd=0.01), one_slower(ratio), 10) for files in (1, 2, 3, 5, 7)
        ]
        assert shares == sorted(shares)


def test_large_changes_between_single_files_are_called() -> None:
    quiet = Suite(sd=0.01)
    assert found(quiet, all_slower(1.00), 20) >= 0.95
    assert found(quiet, one_slower(1.00), 20) >= 0.95
    assert found(Suite(), one_slower(1.50), 20) >= 0.95


def test_what_single_files_neither_call_nor_bound_is_inconclusive() -> None:
    for slower in (UNCHANGED, one_slower(0.10)):
        for comparison in judged(Suite(), slower, 5):
            assert comparison.count(Outcome.INCONCLUSIVE) == BENCHMARKS


@pytest.mark.parametrize("benchmark", [0, BENCHMARKS - 1], ids=["alone", "in a family"])
def test_seven_files_a_side_find_ten_percent_where_processes_scatter_by_one(
    benchmark: int,
) -> None:
    assert found(Suite(files=7, sd=0.01), one_slower(0.10, benchmark), 40) >= 0.90


def test_five_files_a_side_of_unchanged_code_pass_where_processes_scatter_by_one() -> None:
    passed = sum(one.count(Outcome.PASS) for one in judged(Suite(files=5, sd=0.01), UNCHANGED, 40))
    assert passed >= 0.90 * 40 * BENCHMARKS


def side(folder: Path, times: Sequence[float]) -> Record:
    files = [google([google_row("a/b", time)]) for time in times]
    return load_processes([write(folder / f"{i}.json", file) for i, file in enumerate(files)])


def compared(tmp_path: Path, base: Sequence[float], cand: Sequence[float]) -> Comparison:
    return judge(side(tmp_path / "base", base), side(tmp_path / "cand", cand))


def test_seven_files_a_side_are_judged_like_seven_processes(tmp_path: Path) -> None:
    base, cand = (side(tmp_path / str(time), scaled(time)) for time in (100.0, 107.0))
    for scatter in (0.01, 0.9):  # asked for only where files do not show it
        settings = ComparisonSettings(process_scatter=scatter)
        assert outcome(judge(base, cand, settings)) is Outcome.REGRESSION
    comparison = judge(base, cand)
    (verdict,) = comparison.verdicts
    assert verdict.outcome is Outcome.REGRESSION
    assert verdict.processes == (7, 7)
    assert verdict.minimum_effect == 0.05
    assert comparison.notes == ()
    assert how_found(comparison).startswith("Found by comparing several processes of each side")
    assert outcome(compared(tmp_path / "same", scaled(100.0), scaled(101.0))) is Outcome.PASS


@pytest.mark.parametrize(
    ("base", "cand", "reason", "processes", "advised"),
    [
        ([100.0] * 2, [110.0] * 2, "2 processes a side", 2, True),
        ([100.0], [110.0], "1 process a side", 1, True),
        (scaled(100.0), [110.0], "", 1, False),
    ],
)
def test_few_files_prove_no_more_than_is_assumed_and_it_is_told_how_to_do_better(
    tmp_path: Path, base: list[float], cand: list[float], reason: str, processes: int, advised: bool
) -> None:
    comparison = compared(tmp_path, base, cand)
    assert outcome(comparison) is Outcome.INCONCLUSIVE
    assert comparison.verdicts[0].reason.startswith(reason)
    (few,) = (one for one in comparison.notes if one.kind == "few_files")
    assert str(few).startswith(f"At most {plural(processes, 'process', 'processes')} of ")
    assert not advised or "--processes A1.json" in str(next_step(comparison))
    large = compared(tmp_path / "large", base, [2.0 * time for time in base])
    assert outcome(large) is Outcome.REGRESSION


@pytest.mark.parametrize(
    ("files", "expected"),
    [(2, Outcome.INCONCLUSIVE), (3, Outcome.REGRESSION), (7, Outcome.REGRESSION)],
)
def test_the_more_files_the_less_two_states_explain(
    tmp_path: Path, files: int, expected: Outcome
) -> None:
    base = [100.0, 100.1, 100.2, 100.0, 100.1, 100.2, 100.0][:files]
    comparison = compared(tmp_path, base, [1.25 * time for time in base])
    assert outcome(comparison) is expected


def test_several_files_meet_a_run_of_ours(tmp_path: Path) -> None:
    ours = load(write(tmp_path / "run.json", run([row("a/b", scaled(0.1))])))  # microseconds
    assert outcome(judge(ours, side(tmp_path / "same", scaled(100.0)))) is Outcome.PASS
    assert outcome(judge(ours, side(tmp_path / "slow", scaled(120.0)))) is Outcome.REGRESSION
    assert outcome(judge(ours, side(tmp_path / "one", [150.0]))) is Outcome.REGRESSION
