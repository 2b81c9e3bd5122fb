# SPDX-License-Identifier: Apache-2.0
"""Notes: what times alone would not say of the GPU, the kernels, or an edited file."""

from __future__ import annotations

import pytest
from conftest import Loader

from builders import row, run, scaled
from warpgauge.verdict.comparison import Comparison, ContextDifference, Outcome
from warpgauge.verdict.judge import judge


def outcomes(comparison: Comparison) -> list[Outcome]:
    return [verdict.outcome for verdict in comparison.verdicts]


def test_processes_that_do_not_count_are_told_and_the_rest_is_judged(loaded: Loader) -> None:
    base = loaded(run([row("a/b"), row("a/c")]))
    cand = [row("a/b", processes_left_out=1.0), row("a/c", [1.0] * 4, processes_left_out=3.0)]
    comparison = judge(base, loaded(run(cand)))
    assert outcomes(comparison) == [Outcome.PASS] * 2
    (note,) = comparison.notes
    assert note.endswith("do not count: 3 of 7 of a/c (candidate), and 1 more benchmark.")


def test_more_registers_in_the_same_time_are_noted(loaded: Loader) -> None:
    base = loaded(run([row(f"a/{i}", registers=40, waves=1.0) for i in range(3)]))
    cand = [row("a/0", registers=48), row("a/1", registers=40, waves=2.0), row("a/2", registers=1)]
    (note,) = judge(base, loaded(run(cand))).notes
    assert note == (
        "Other resources in an unchanged time: a/0 (registers 40 → 48), and 1 more benchmark."
    )


@pytest.mark.parametrize(
    ("after", "cause"),
    [(3221225472.0, "2.147 GB → 3.221 GB"), (2147483904.0, "2147483648 → 2147483904 bytes")],
)
def test_resources_of_what_changed_are_causes_and_no_note(
    loaded: Loader, after: float, cause: str
) -> None:
    base = loaded(run([row("a/b", peak_device_bytes=2147483648.0)]))
    comparison = judge(base, loaded(run([row("a/b", scaled(2.0), peak_device_bytes=after)])))
    assert comparison.verdicts[0].causes == (f"peak device memory {cause}",)
    assert comparison.notes == ()


@pytest.mark.parametrize("before", [{}, {"registers": float("nan")}])
def test_resources_that_a_baseline_does_not_know_are_no_change(
    loaded: Loader, before: dict[str, object]
) -> None:
    base, cand = loaded(run([row("a/b", **before)])), loaded(run([row("a/b", registers=40)]))
    assert judge(base, cand).notes == ()


def test_processes_that_ran_different_kernels_are_noted(loaded: Loader) -> None:
    base, cand = loaded(run([row("a/b")])), loaded(run([row("a/b", resources_vary=1.0)]))
    (note,) = judge(base, cand).notes
    assert note == (
        "Not every process of the candidate ran the same kernels, going by what they take: a/b."
    )


VOLATILE = ("power_watts", "temperature_celsius", "clock_event_reasons", "memory_used_bytes",
            "other_processes")  # fmt: skip


def test_the_state_of_the_minute_is_no_difference(loaded: Loader) -> None:
    sides = [loaded(run([row("a/b")], **dict.fromkeys(VOLATILE, value))) for value in ("0", "9")]
    comparison = judge(sides[0], sides[1])
    assert outcomes(comparison) == [Outcome.PASS]
    assert comparison.differences == ()
    assert comparison.notes == ()


@pytest.mark.parametrize(
    ("key", "before", "after", "differs"),
    [
        ("power_limit_watts", "700.00", "500", True),
        ("power_limit_watts", "500.00", "500", False),
        ("runtime_version", "13.1", "13.10", True),  # no numbers
    ],
)
def test_another_context_is_told_and_judges_nothing(
    loaded: Loader, key: str, before: str, after: str, differs: bool
) -> None:
    sides = [loaded(run([row("a/b")], **{key: value})) for value in (before, after)]
    comparison = judge(sides[0], sides[1])
    assert outcomes(comparison) == [Outcome.PASS]
    assert comparison.differences == ((ContextDifference(key, before, after),) * differs)


def test_a_time_that_was_edited_alone_is_no_change_and_is_told(loaded: Loader) -> None:
    def notes(real_time: float) -> tuple[str, ...]:
        edited = [row(name, real_time=real_time) for name in ("a/b", "a/c")]
        found = judge(loaded(run([row("a/b"), row("a/c")])), loaded(run(edited)))
        assert outcomes(found) == [Outcome.PASS] * 2
        return found.notes

    assert notes(1.2) == (
        "The candidate's real_time is not the median of its process_medians, as if the file had "
        "been edited, in a/b, and 1 more benchmark; only process_medians count.",
    )
    assert notes(1.00001) == ()  # rounding is no edit
