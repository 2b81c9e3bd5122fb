# SPDX-License-Identifier: Apache-2.0
"""What is told of the GPU and of what the kernels take, where times alone would not say it."""

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


def test_resources_of_what_changed_are_causes_and_no_note(loaded: Loader) -> None:
    base = loaded(run([row("a/b", peak_device_bytes=2147483648.0)]))
    cand = loaded(run([row("a/b", scaled(2.0), peak_device_bytes=3221225472.0)]))
    comparison = judge(base, cand)
    assert comparison.verdicts[0].causes == ("peak device memory 2.147 GB → 3.221 GB",)
    assert comparison.notes == ()


def test_a_small_change_of_memory_is_told_in_bytes(loaded: Loader) -> None:
    base = loaded(run([row("a/b", peak_device_bytes=2147483648.0)]))
    cand = loaded(run([row("a/b", scaled(2.0), peak_device_bytes=2147483904.0)]))
    (verdict,) = judge(base, cand).verdicts
    assert verdict.causes == ("peak device memory 2147483648 → 2147483904 bytes",)


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


@pytest.mark.parametrize("key", ["power_limit_watts", "power_limit_w"])
def test_another_power_limit_is_told_and_judges_nothing(loaded: Loader, key: str) -> None:
    cand = loaded(run([row("a/b")], power_limit_watts="500"))
    comparison = judge(loaded(run([row("a/b")], **{key: "700.00"})), cand)
    assert outcomes(comparison) == [Outcome.PASS]
    assert comparison.differences == (ContextDifference("power_limit_watts", "700.00", "500"),)
    same = judge(loaded(run([row("a/b")], **{key: "500.00"})), cand)
    assert same.differences == ()


def test_versions_are_no_numbers(loaded: Loader) -> None:
    sides = [loaded(run([row("a/b")], runtime_version=version)) for version in ("13.1", "13.10")]
    assert [one.key for one in judge(sides[0], sides[1]).differences] == ["runtime_version"]
