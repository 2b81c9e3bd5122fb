# SPDX-License-Identifier: Apache-2.0
"""What can be said where a side is a single process."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from conftest import Loader

from builders import STEADY, google, google_row, row, run
from builders import scaled as times
from warpgauge.verdict.comparison import Comparison, Outcome
from warpgauge.verdict.comparison_settings import ComparisonSettings
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
        assert found.verdicts[0].reason.startswith("1 process a side: ")


def test_tight_repetitions_in_one_process_prove_nothing(loaded: Loader) -> None:
    for factor in (1.0, 1.09, 1.4):
        comparison = plain(loaded, times(100.0), times(100.0 * factor))
        assert outcome(comparison) is Outcome.INCONCLUSIVE
        (verdict,) = comparison.verdicts
        assert verdict.reason.startswith("1 process a side: ")
        (note,) = comparison.notes
        assert "Both sides have a single process" in note
        assert "15 %" in note
        assert "--processes" in note


def test_who_knows_that_processes_agree_may_say_so(loaded: Loader) -> None:
    quiet = ComparisonSettings(process_scatter=0.01)
    sides = [loaded(google([google_row("a/b", time)])) for time in (100.0, 103.0, 120.0)]
    assert outcome(judge(sides[0], sides[1], quiet)) is Outcome.PASS
    assert outcome(judge(sides[0], sides[2], quiet)) is Outcome.REGRESSION
    assert outcome(judge(sides[0], sides[2])) is Outcome.INCONCLUSIVE


# Two processes of a run differ by 4.2 %: p is below 0.01 from 1.115 on, three standard
# errors are at 1.136, whatever is assumed of plain files.
@pytest.mark.parametrize(
    ("factor", "expected"), [(1.125, Outcome.INCONCLUSIVE), (1.145, Outcome.REGRESSION)]
)
def test_a_run_of_one_process_needs_three_standard_errors(
    loaded: Loader, factor: float, expected: Outcome
) -> None:
    base, cand = (loaded(run([row("a/b", [time])])) for time in (1.0, factor))
    for settings in (ComparisonSettings(), ComparisonSettings(process_scatter=0.9)):
        assert outcome(judge(base, cand, settings)) is expected


def test_a_run_of_one_process_is_said_to_be_one(loaded: Loader) -> None:
    comparison = judge(loaded(run([row("a/b")])), loaded(run([row("a/b", [1.0])])))
    assert outcome(comparison) is Outcome.PASS
    assert any(note.startswith("The candidate side has a single") for note in comparison.notes)


def test_what_is_sure_to_be_seen_is_told_for_each_clock(loaded: Loader) -> None:
    names = {"a/b": 0.0, "sync/c": 1.0}
    base, cand = (
        loaded(run([row(name, time, host_clock=clock) for name, clock in names.items()]))
        for time in ([1.0], [1.0])
    )
    (note,) = (one for one in judge(base, cand).notes if "single process" in one)
    assert "mostly of device time only a change of " in note
    assert ", of host time only a change of " in note


def test_a_plain_file_may_meet_a_run(loaded: Loader) -> None:
    base = loaded(run([row("a/b", STEADY)]))
    cand = loaded(google([google_row("a/b", 1500.0)]))
    assert outcome(judge(base, cand)) is Outcome.REGRESSION
