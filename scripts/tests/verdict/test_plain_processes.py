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
from devtools.simulations.plain_files import (
    BENCHMARKS,
    FILES,
    NOISES,
    Noise,
    alarmed,
    all_slower,
    found,
    one_slower,
    sides,
)
from warpgauge.records.load import load
from warpgauge.records.model import Record
from warpgauge.reports.advice import next_step
from warpgauge.reports.view import how_found
from warpgauge.statistics.log_ratios import Array
from warpgauge.system.text import plural
from warpgauge.verdict.comparison import CHANGED, Comparison, Outcome
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
        for words in ("At most 1 process of the baseline and the candidate", "15 %", "a folder"):
            assert words in str(note)
        assert f"{ENOUGH_FILES} processes per side" in str(note)


@pytest.mark.parametrize(
    ("factor", "said"),
    [(1.1, "slower within these two (+10.0 % "), (0.9, "faster within these two (−10.0 % "),
     (1.0005, "not told apart within these two (+0.05 % ")],
)  # fmt: skip
def test_repetitions_of_one_process_are_judged_within_it_and_prove_nothing_of_others(
    loaded: Loader, factor: float, said: str
) -> None:
    found = plain(loaded, times(100.0), times(100.0 * factor))
    assert outcome(found) is Outcome.INCONCLUSIVE
    assert said in found.verdicts[0].reason
    assert ("others may differ" in found.verdicts[0].reason) is (abs(factor - 1) > 0.01)


def test_repetitions_are_judged_together_with_the_whole_suite(loaded: Loader) -> None:
    def reasons(count: int) -> str:
        names = [f"a/{index}" for index in range(count)]
        base, cand = (
            loaded(google([google_row(name, time) for name in names for time in of]))
            for of in ([100.0, 101.0, 102.0, 103.0], [104.0, 105.0, 106.0, 107.0])
        )
        return judge(base, cand).verdicts[0].reason

    assert "slower within" in reasons(1)
    assert "not told apart within" in reasons(20)


@pytest.mark.parametrize("sides", [([100.0], [110.0] * 3), ([100.0] * 3, [110.0])])
def test_without_repetitions_on_both_sides_nothing_is_said_within_processes(
    loaded: Loader, sides: tuple[Sequence[float], Sequence[float]]
) -> None:
    assert plain(loaded, *sides).verdicts[0].reason.startswith("1 process a side")


@pytest.mark.parametrize(
    ("iterations", "expected"), [(10_000_000, Outcome.REGRESSION), (1, Outcome.INCONCLUSIVE)]
)
def test_equal_times_of_many_iterations_do_not_hide_a_change_of_nanoseconds(
    tmp_path: Path, iterations: int, expected: Outcome
) -> None:
    """A clock's tick is small in a mean of iterations; that of one iteration may be all of it."""
    for name, time in (("old", 50.0), ("new", 60.0)):
        for index in range(7):
            document = google([google_row("a/b", time, iterations=iterations)])
            write(tmp_path / name / f"{index}.json", document)
    assert outcome(judge(load(tmp_path / "old"), load(tmp_path / "new"))) is expected


@pytest.mark.parametrize("time", [1.0, 2.0])
def test_nanoseconds_may_have_been_rounded(tmp_path: Path, time: float) -> None:
    for name, factor in (("old", 1.0), ("new", 1.2)):
        for index in range(7):
            document = google([google_row("a/b", time * factor, iterations=10_000_000)])
            write(tmp_path / name / f"{index}.json", document)
    found = judge(load(tmp_path / "old"), load(tmp_path / "new"))
    assert outcome(found) is Outcome.INCONCLUSIVE


def test_who_knows_that_processes_agree_may_say_so(loaded: Loader) -> None:
    quiet = ComparisonSettings(process_scatter=0.01)
    sides = [loaded(google([google_row("a/b", time)])) for time in (100.0, 100.4, 120.0)]
    assert outcome(judge(sides[0], sides[1], quiet)) is Outcome.PASS
    assert outcome(judge(sides[0], sides[2], quiet)) is Outcome.REGRESSION
    assert outcome(judge(sides[0], sides[2])) is Outcome.INCONCLUSIVE


# Two processes of a run differ by 4.2 %: p is below 0.01 from 1.127 on, whatever is assumed of
# plain files.
@pytest.mark.parametrize(
    ("factor", "expected"), [(1.115, Outcome.INCONCLUSIVE), (1.14, Outcome.REGRESSION)]
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


SUITES, SEED = 30, 7
UNCHANGED = np.zeros(BENCHMARKS)
QUIET, LIKE_ONE_PERCENT = Noise(sd=0.003), Noise(sd=0.01)


@pytest.mark.parametrize(
    ("noise", "files"),
    [("normal", 1), ("Laplace", 1), ("t2.5", 1), ("t2.5", 2), ("t2.5", 7), ("two states", 3),
     ("two states 10 % apart, in one row of 14", 5), ("two states", 7), ("a family together", 3),
     ("boots that shift each row by 2 %", 2), ("boots that shift each row by 2 %", 7)],
)  # fmt: skip
def test_of_identical_code_hardly_a_suite_alarms(noise: str, files: int) -> None:
    assert alarmed(NOISES[noise], files, SUITES, SEED) <= 1 / SUITES


@pytest.mark.parametrize(
    ("ratio", "least"),
    [(0.10, (0.0, 0.0, 0.9, 0.9)), (0.30, (0.0, 0.9, 0.9, 0.9)), (0.60, (0.9, 0.9, 0.9, 0.9))],
)
def test_power_rises_with_the_number_of_files(ratio: float, least: Sequence[float]) -> None:
    shares = [found(QUIET, files, one_slower(ratio), 10, SEED) for files in FILES]
    assert shares == sorted(shares)
    assert all(share >= enough for share, enough in zip(shares, least, strict=True))


@pytest.mark.parametrize("benchmark", [0, BENCHMARKS - 1], ids=["alone", "in a family"])
def test_seven_files_a_side_find_ten_percent_where_processes_scatter_by_one(
    benchmark: int,
) -> None:
    assert found(LIKE_ONE_PERCENT, 7, one_slower(0.10, benchmark), SUITES, SEED) >= 0.90


@pytest.mark.parametrize(
    ("changes", "noise", "least"),
    [(all_slower(1.00), LIKE_ONE_PERCENT, 0.95), (one_slower(1.00), LIKE_ONE_PERCENT, 0.95),
     (one_slower(1.50), NOISES["normal"], 0.90)],
)  # fmt: skip
def test_large_changes_between_single_files_are_called(
    changes: Array, noise: Noise, least: float
) -> None:
    assert found(noise, 1, changes, 20, SEED) >= least


def test_a_third_of_a_suite_that_changed_is_not_taken_for_noise() -> None:
    changes = np.where(np.arange(BENCHMARKS) % 3 == 0, np.log(2.5), 0.0)
    assert found(LIKE_ONE_PERCENT, 1, changes, 5, SEED) >= 0.70
    assert found(LIKE_ONE_PERCENT, 3, changes, 5, SEED) >= 0.90


def judged(noise: Noise, files: int, changes: Array, repetitions: int = 3) -> list[Comparison]:
    source = np.random.default_rng(SEED)
    return [judge(*sides(source, noise, files, changes, repetitions)) for _ in range(10)]


def test_what_single_files_neither_call_nor_bound_is_inconclusive() -> None:
    for slower in (UNCHANGED, one_slower(0.10)):
        for comparison in judged(NOISES["normal"], 1, slower):
            assert comparison.count(Outcome.INCONCLUSIVE) == BENCHMARKS


def test_ten_repetitions_are_evidence_of_their_own_process_alone() -> None:
    for comparison in judged(Noise(sd=0.06), 1, UNCHANGED, repetitions=10):
        assert comparison.count(*CHANGED) == 0


def test_five_files_a_side_of_unchanged_code_pass_where_processes_scatter_by_one() -> None:
    passed = sum(one.count(Outcome.PASS) for one in judged(LIKE_ONE_PERCENT, 5, UNCHANGED))
    assert passed >= 0.90 * 10 * BENCHMARKS


def side(folder: Path, times: Sequence[float]) -> Record:
    files = [google([google_row("a/b", time)]) for time in times]
    for number, file in enumerate(files):
        write(folder / f"{number}.json", file)
    return load(folder)


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
        ([100.0, 100.1], [110.0, 110.2], "2 processes a side", 2, True),
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
    assert not advised or "old-results new-results" in str(next_step(comparison))
    large = compared(tmp_path / "large", base, [2.0 * time for time in base])
    assert outcome(large) is Outcome.REGRESSION


@pytest.mark.parametrize(
    ("files", "expected"),
    [(2, Outcome.INCONCLUSIVE), (3, Outcome.INCONCLUSIVE), (5, Outcome.REGRESSION)],
)
def test_the_more_files_the_less_two_states_explain(
    tmp_path: Path, files: int, expected: Outcome
) -> None:
    base = [100.0, 100.1, 100.2, 100.05, 100.15][:files]
    comparison = compared(tmp_path, base, [1.15 * time for time in base])
    assert outcome(comparison) is expected


def test_several_files_meet_a_run_of_ours(tmp_path: Path) -> None:
    ours = load(write(tmp_path / "run.json", run([row("a/b", scaled(0.1))])))  # microseconds
    assert outcome(judge(ours, side(tmp_path / "same", scaled(100.0)))) is Outcome.PASS
    assert outcome(judge(ours, side(tmp_path / "slow", scaled(120.0)))) is Outcome.REGRESSION
    assert outcome(judge(ours, side(tmp_path / "one", [150.0]))) is Outcome.REGRESSION
