# SPDX-License-Identifier: Apache-2.0
"""What can be said where a side is a single process."""

from __future__ import annotations

from collections.abc import Sequence

from conftest import Loader

from builders import STEADY, google, google_row, row, run
from builders import scaled as times
from warpgauge.verdict.comparison import Comparison, Outcome
from warpgauge.verdict.judge import judge


def outcome(comparison: Comparison) -> Outcome:
    (verdict,) = comparison.verdicts
    return verdict.outcome


def plain(loaded: Loader, base: Sequence[float], cand: Sequence[float]) -> Comparison:
    return judge(
        loaded(google([google_row("a/b", time) for time in base])),
        loaded(google([google_row("a/b", time) for time in cand])),
    )


def test_plain_files_of_one_value_each_are_compared(loaded: Loader) -> None:
    assert outcome(plain(loaded, [100.0], [300.0])) is Outcome.REGRESSION
    assert outcome(plain(loaded, [300.0], [100.0])) is Outcome.IMPROVED
    assert outcome(plain(loaded, [100.0], [100.0])) is Outcome.PASS


def test_tight_repetitions_in_one_process_prove_nothing(loaded: Loader) -> None:
    comparison = plain(loaded, times(100.0), times(109.0))
    assert outcome(comparison) is Outcome.PASS
    (note,) = comparison.notes
    assert "Both sides have a single process" in note


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


def test_repetitions_too_noisy_to_tell_are_no_pass(loaded: Loader) -> None:
    comparison = plain(loaded, [100.0, 180.0, 90.0], [150.0, 270.0, 140.0])
    assert outcome(comparison) is Outcome.INCONCLUSIVE
    (verdict,) = comparison.verdicts
    assert verdict.reason.startswith("too noisy: ")


def test_of_repetitions_in_two_states_the_median_may_fall_on_either(loaded: Loader) -> None:
    def repetitions(high: int) -> list[float]:
        return [(140.0 if index < high else 100.0) + index / 100.0 for index in range(21)]

    assert outcome(plain(loaded, repetitions(10), repetitions(11))) is Outcome.INCONCLUSIVE
    assert outcome(plain(loaded, repetitions(1), repetitions(20))) is Outcome.REGRESSION


def test_one_value_each_is_never_too_noisy(loaded: Loader) -> None:
    for factor in (0.9, 0.95, 1.05, 1.1):
        assert outcome(plain(loaded, [100.0], [100.0 * factor])) is Outcome.PASS
