# SPDX-License-Identifier: Apache-2.0
"""A machine that moved is not a slower program: what the host's controls forbid to say."""

from __future__ import annotations

import pytest
from conftest import Loader

from builders import Json, row, run
from builders import scaled as times
from warpgauge.system.errors import ExitStatus
from warpgauge.verdict.comparison import Comparison, Outcome
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.judge import judge

HOST: Json = {"host_clock": 1.0}
UNSTEADY = (1.0, 1.0, 1.0, 1.1, 1.2, 1.3, 1.4)


def compared(loaded: Loader, factor: float, control: tuple[float, ...]) -> Comparison:
    """A host-side row that takes `factor` times as long, beside a control with these times."""
    base = run([row("host/clock_read", **HOST), row("launch/x", **HOST), row("square/x")])
    cand = run(
        [
            row("host/clock_read", control, **HOST),
            row("launch/x", times(factor), **HOST),
            row("square/x", times(factor)),
        ]
    )
    return judge(loaded(base), loaded(cand))


def outcomes(comparison: Comparison) -> dict[str, Outcome]:
    return {verdict.name: verdict.outcome for verdict in comparison.verdicts}


def steady() -> tuple[float, ...]:
    return tuple(times(1.0))


def test_a_quiet_host_lets_a_small_change_be_seen(loaded: Loader) -> None:
    assert outcomes(compared(loaded, 1.05, steady()))["launch/x"] is Outcome.REGRESSION


@pytest.mark.parametrize(
    ("factor", "outcome"), [(1.15, Outcome.INCONCLUSIVE), (1.5, Outcome.REGRESSION)]
)
def test_a_host_side_change_must_exceed_what_the_controls_moved(
    loaded: Loader, factor: float, outcome: Outcome
) -> None:
    comparison = compared(loaded, factor, tuple(times(1.2)))
    assert outcomes(comparison)["launch/x"] is outcome
    assert any("host/clock_read moved by 20 %" in note for note in comparison.notes)


def test_one_bad_process_of_a_control_hides_nothing(loaded: Loader) -> None:
    control = (1.0, 1.0, 1.0, 1.0, 1.0005, 1.001, 1.8)
    assert outcomes(compared(loaded, 1.05, control))["launch/x"] is Outcome.REGRESSION


def test_device_time_does_not_depend_on_the_controls(loaded: Loader) -> None:
    assert outcomes(compared(loaded, 1.02, UNSTEADY))["square/x"] is Outcome.REGRESSION


def test_a_slow_disk_hides_nothing(loaded: Loader) -> None:
    rows = [row("host/clock_read", **HOST)]
    base = run([*rows, row("host/file_sync", **HOST), row("launch/x", **HOST)])
    cand = run(
        [*rows, row("host/file_sync", times(3.0), **HOST), row("launch/x", times(1.05), **HOST)]
    )
    comparison = judge(loaded(base), loaded(cand))
    assert outcomes(comparison)["launch/x"] is Outcome.REGRESSION
    assert outcomes(comparison)["host/file_sync"] is Outcome.PASS


def test_a_control_never_regresses(loaded: Loader) -> None:
    slow = tuple(times(3.0))
    assert outcomes(compared(loaded, 1.0, slow))["host/clock_read"] is Outcome.PASS
    base = loaded(run([row("host/clock_read", (1.0,), **HOST)]))
    cand = loaded(run([row("host/clock_read", (3.0,), **HOST)]))
    assert (
        outcomes(judge(base, cand, ComparisonSettings(minimum_effect=0.01)))["host/clock_read"]
        is Outcome.PASS
    )


def test_without_controls_one_boot_counts_as_another(loaded: Loader) -> None:
    base, cand = run([row("launch/x", **HOST)]), run([row("launch/x", times(1.15), **HOST)])
    assert outcomes(judge(loaded(base), loaded(cand)))["launch/x"] is Outcome.PASS


def test_copies_are_held_against_copies_and_calls_against_calls(loaded: Loader) -> None:
    copy: Json = {**HOST, "bytes_per_second": 1e9}
    rows = [row("host/clock_read", **HOST), row("host/memory_copy", **copy)]
    base = run([*rows, row("launch/x", **HOST), row("memcpy/x", **copy)])
    cand = run(
        [
            row("host/clock_read", **HOST),
            row("host/memory_copy", UNSTEADY, **copy),
            row("launch/x", times(1.1), **HOST),
            row("memcpy/x", times(1.1), **copy),
        ]
    )
    found = outcomes(judge(loaded(base), loaded(cand)))
    assert found["launch/x"] is Outcome.REGRESSION
    assert found["memcpy/x"] is Outcome.INCONCLUSIVE


def test_controls_alone_are_no_pass_however_far_they_moved(loaded: Loader) -> None:
    sides = ([row("host/a", times(by), host_clock=1.0), row("a/b")] for by in (1, 9))
    base, cand = (loaded(run(rows)) for rows in sides)
    found = judge(base, cand, ComparisonSettings(filter="^host/"))
    assert found.exit_status is ExitStatus.NOT_MEASURED
    assert found.refusal is not None
    assert found.refusal.startswith("Only the host's controls were measured on both sides")
    assert judge(base, cand).exit_status is ExitStatus.OK
