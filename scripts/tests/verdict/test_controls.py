# SPDX-License-Identifier: Apache-2.0
"""A machine that moved is not a slower program: what the host's controls forbid to say."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from conftest import Loader

from builders import STEADY, Json, row, run
from builders import scaled as times
from warpgauge.system.errors import ExitStatus
from warpgauge.verdict.comparison import Outcome, exit_status
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.judge import judge

HOST: Json = {"host_clock": 1.0}
PASS = Outcome.PASS
UNSTEADY = (1.0, 1.0, 1.0, 1.1, 1.2, 1.3, 1.4)


def call(name: str, took: Sequence[float] = STEADY, **keys: float) -> Json:
    return row(name, took, **HOST, **keys)


def compared(loaded: Loader, base: Sequence[Json], cand: Sequence[Json]) -> dict[str, Outcome]:
    verdicts = judge(loaded(run(base)), loaded(run(cand))).verdicts
    return {verdict.name: verdict.outcome for verdict in verdicts}


CONTROL, LAUNCH = "host/clock_read", "launch/x"


@pytest.mark.parametrize(
    ("factor", "control", "outcome"),
    [
        (1.05, STEADY, Outcome.REGRESSION),
        # A change must exceed what the control moved.
        (1.15, times(1.2), Outcome.INCONCLUSIVE),
        (1.5, times(1.2), Outcome.REGRESSION),
        # One bad process of a control hides nothing.
        (1.05, (1.0, 1.0, 1.0, 1.0, 1.0005, 1.001, 1.8), Outcome.REGRESSION),
        # Without controls one boot counts as another.
        (1.15, (), Outcome.INCONCLUSIVE),
    ],
)
def test_a_host_side_change_must_exceed_what_the_controls_moved(
    loaded: Loader, factor: float, control: Sequence[float], outcome: Outcome
) -> None:
    base, cand = [call(LAUNCH)], [call(LAUNCH, times(factor))]
    if control:
        base, cand = [call(CONTROL), *base], [call(CONTROL, control), *cand]
    assert compared(loaded, base, cand)[LAUNCH] is outcome


def test_a_control_that_moved_is_told_and_does_not_concern_device_times(loaded: Loader) -> None:
    base, cand = (
        loaded(run([call(CONTROL, times(by)), row("square/x", times(1 + (by - 1) / 10))]))
        for by in (1.0, 1.2)
    )
    found = judge(base, cand)
    assert any("host/clock_read moved by 20 %" in str(note) for note in found.notes)
    assert found.verdicts[1].outcome is Outcome.REGRESSION


def test_a_slow_disk_hides_nothing(loaded: Loader) -> None:
    names = (CONTROL, "host/file_sync", LAUNCH)
    cand = [call(CONTROL), call("host/file_sync", times(3.0)), call(LAUNCH, times(1.05))]
    found = compared(loaded, [*map(call, names)], cand)
    assert found == {CONTROL: PASS, "host/file_sync": PASS, LAUNCH: Outcome.REGRESSION}


@pytest.mark.parametrize("took", [STEADY, (1.0,)])
def test_a_control_never_regresses(loaded: Loader, took: Sequence[float]) -> None:
    base, cand = ([call(CONTROL, times(by, took)), row("a/b")] for by in (1.0, 3.0))
    assert compared(loaded, base, cand)[CONTROL] is PASS


def test_copies_are_held_against_copies_and_calls_against_calls(loaded: Loader) -> None:
    def rows(copied: Sequence[float], factor: float) -> list[Json]:
        copy = call("host/memory_copy", copied, bytes_per_second=1e9)
        slower = call("memcpy/x", times(factor), bytes_per_second=1e9)
        return [call(CONTROL), copy, call(LAUNCH, times(factor)), slower]

    found = compared(loaded, rows(STEADY, 1.0), rows(UNSTEADY, 1.1))
    assert found[LAUNCH] is Outcome.REGRESSION
    assert found["memcpy/x"] is Outcome.INCONCLUSIVE


def test_controls_alone_are_no_pass_however_far_they_moved(loaded: Loader) -> None:
    sides = ([row("host/a", times(by), host_clock=1.0), row("a/b")] for by in (1, 9))
    base, cand = (loaded(run(rows)) for rows in sides)
    found = judge(base, cand, ComparisonSettings(filter="^host/"))
    assert exit_status(found) is ExitStatus.NOT_MEASURED
    assert found.refusal is not None
    assert found.refusal.startswith("Only the host's controls were measured on both sides")
    assert exit_status(judge(base, cand)) is ExitStatus.OK
