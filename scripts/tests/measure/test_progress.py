# SPDX-License-Identifier: Apache-2.0
"""The time left is a guess from what was seen; plain output stays readable in a log."""

from __future__ import annotations

import io
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from clocks import Clock
from warpgauge.measure import progress
from warpgauge.measure.discovery import Binary
from warpgauge.measure.journal import Journal
from warpgauge.measure.plan import Lane, Plan, Turn, TurnResult
from warpgauge.records.program_report import Report

SMALL, LARGE = Binary(Path("bench_a"), ("a/1",)), Binary(Path("bench_b"), ("b/1", "b/2", "b/3"))
LANE = Lane((SMALL, LARGE))
PLAN = Plan((LANE,), range(1, 3), 1, Journal(Path()))


@pytest.fixture(autouse=True)
def no_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "time", Clock().module)


def outcome(
    binary: Binary, *remarks: str, seconds: float = 30.0, faults: Mapping[str, str] | None = None
) -> TurnResult:
    return TurnResult(binary, 1, Report(), faults or {}, seconds, remarks=remarks)


def test_a_long_build_says_when_it_begins_and_how_long_it_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = io.StringIO()
    console = Console(file=text)

    def build(fault: type[Exception] | None = None) -> list[str]:
        with suppress(KeyError), progress.build_status(console) as say:
            for line in ("configuring", "building", "building, step 1 of 2"):
                say(line)
            if fault is not None:
                raise fault
        return text.getvalue().splitlines()

    begins = ["configuring ...", "building ..."]
    assert build() == begins  # nothing was to be done
    monkeypatch.setattr(progress, "LONG_BUILD_S", 0.0)
    assert build()[2:] == [*begins, "built in 0:00"]
    assert build(KeyError)[5:] == begins


def test_plain_output_is_one_line_a_round_and_one_a_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "ROUND_LINES_S", 0.0)
    text = io.StringIO()
    console = Console(file=text, width=40)
    with progress.RunProgress(PLAN, console) as shown:
        shown.begins(Turn(1, LANE, SMALL))
        shown.ended(outcome(SMALL, "bench_a left a process behind, which was killed"))
        shown.begins(Turn(1, LANE, LARGE))
        faults = {"b/1": "it broke", "b/2": "[red]\x1b[2J", "b/3": "it broke"}
        shown.ended(outcome(LARGE, faults=faults))
        shown.begins(Turn(2, LANE, SMALL))
    assert text.getvalue().splitlines() == [
        "round 1 of 2: 0:00 elapsed",
        "round 1: bench_a left a process behind, which was killed",
        "round 1: 2 benchmarks: it broke",
        "round 1: b/2: [red]\\x1b[2J",
        "round 2 of 2: 0:00 elapsed, about 1:00 left",
        "measured in 0:00",
    ]


def test_short_rounds_do_not_fill_a_log() -> None:
    text = io.StringIO()
    console = Console(file=text)
    plan = Plan((LANE,), range(1, 100), 1, Journal(Path()))
    with progress.RunProgress(plan, console) as shown:
        for number in plan.rounds:
            shown.begins(Turn(number, LANE, SMALL))
    assert text.getvalue().splitlines() == ["round 1 of 99: 0:00 elapsed", "measured in 0:00"]


def test_a_name_does_nothing_on_a_terminal_but_be_read() -> None:
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=160)
    with progress.RunProgress(PLAN, console) as shown:
        shown.begins(Turn(2, LANE, LARGE))
        shown.runs("b/[red]x[/red]\x1b[2J\n" + "y" * 500)
    assert "round 2 of 2, b: [red]x[/red]\\x1b[2J\\ny" in text.getvalue()
    assert "y" * 100 not in text.getvalue()


def test_rounds_that_end_together_are_shown_as_they_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(progress, "ROUND_LINES_S", 0.0)
    text = io.StringIO()
    lanes = tuple(replace(LANE, side=side) for side in ("base", "candidate"))
    plan = replace(PLAN, lanes=lanes, rounds=range(1, 5))
    with progress.RunProgress(plan, Console(file=text)) as shown:
        for number in (1, 2):
            shown.begins(*(Turn(number, lane, SMALL) for lane in lanes))
            shown.begins(*(Turn(number, lane, LARGE) for lane in lanes))
            shown.begins(Turn(number, lanes[0], LARGE))  # by itself, as its pair failed
            now += 30.0
        shown.begins(*(Turn(3, lane, SMALL) for lane in lanes))
    lines = text.getvalue().splitlines()
    assert [line.partition(" elapsed")[2] for line in lines[:3]] == [
        "",
        ", about 1:30 left",
        ", about 1:00 left",
    ]


def test_sides_in_lock_step_are_named_together() -> None:
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=160)
    with progress.RunProgress(PLAN, console) as shown:
        lanes = (replace(LANE, side=side) for side in ("base", "candidate"))
        shown.begins(*(Turn(1, lane, LARGE) for lane in lanes))
    assert "round 1 of 2, b base and candidate" in text.getvalue()
