# SPDX-License-Identifier: Apache-2.0
"""scripts/bench --budget from end to end, over fake binaries."""

from __future__ import annotations

import functools
import itertools
import json
import re
from pathlib import Path

import pytest

from clone import HOST_TIMES, TIMES, GitRepository, Repository
from driver_runs import DriverRuns
from warpgauge.commands import measuring_command
from warpgauge.commands.bench import parse
from warpgauge.commands.measuring_command import RunPaths
from warpgauge.measure.measuring import Budget
from warpgauge.measure.options import FIRST_LOOK, schedule
from warpgauge.records.sessions import FEWEST_OF_A_CHANGE
from warpgauge.system.errors import ExitStatus, UserError

# A process takes a nanosecond more than the one before, which is much of this one: where both sides
# are one program, and take turns, now the one is slower and now the other.
NOISY = {**TIMES, "sync/tiny": 120.0}
SLOWER = "--inject=busy=2"
SLOW = {**NOISY, "sync/busy": 9000.0}


def rounds(path: Path) -> dict[str, int]:
    """How many processes of each benchmark count."""
    rows = json.loads(path.read_text())["benchmarks"]
    return {row["name"]: len(row["process_medians"]) for row in rows}


def ten_seconds_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = functools.partial(next, itertools.count(0.0, 10.0))
    monkeypatch.setattr(measuring_command, "Budget", functools.partial(Budget, clock=clock))


def recorded(clone: GitRepository) -> None:
    clone.commit({"host": HOST_TIMES, "sync": NOISY})
    clone.bench("--record", "--processes=5")
    for path in clone.runs():
        path.unlink()
    clone.output()


def test_a_pair_gets_its_minimum_and_then_what_is_open_more(clone: GitRepository) -> None:
    clone.commit({"host": HOST_TIMES, "sync": {**NOISY, "sync/tiny": 1.0}})
    assert clone.bench("--against", "HEAD", "--budget", "2m", SLOWER) is ExitStatus.REGRESSION
    out, err = clone.output()
    assert f"Rounds 9 to {schedule()[1]} of 2 open benchmarks (" in err
    assert "8 pairs, and up to " in out
    assert "for 2 open benchmarks" in out
    assert "of the budget of 120.0 s" in err
    (path,) = (path for path in clone.runs() if "base" not in path.name)
    found = rounds(path)
    assert found["sync/idle"] == found["host/copy"] == FIRST_LOOK
    assert found["sync/busy"] == schedule()[1] < found["sync/tiny"]


def test_what_a_baseline_does_not_pass_is_measured_beside_its_commit(
    clone: GitRepository,
) -> None:
    recorded(clone)
    assert clone.bench("--budget", "2m", SLOWER) is ExitStatus.REGRESSION
    out = clone.output()[0]
    assert "2 of 4 benchmarks flagged. Measured again in pairs with its commit" in out
    (run,) = (path for path in clone.runs() if "confirm" not in path.name)
    assert set(rounds(run).values()) == {3}
    for path in RunPaths(run).confirming:
        found = rounds(path)
        assert found.keys() == {"sync/busy", "sync/tiny"}
        assert found["sync/busy"] == schedule()[1]


def test_a_minimum_that_does_not_fit_is_measured_and_told(
    clone: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(clone)
    ten_seconds_a_look(monkeypatch)
    clone.write({"host": HOST_TIMES, "sync": SLOW})
    assert clone.bench("--budget", "30s") is ExitStatus.NOT_MEASURED
    out, err = clone.output()
    assert re.search(r"Even the minimum of rounds took \d+\.0 s, \d+\.0 s longer than the", err)
    assert "8 pairs" in out
    assert f"a change needs {FEWEST_OF_A_CHANGE} pairs" in out


def test_without_a_baseline_nothing_is_open(repository: Repository) -> None:
    assert repository.bench("--budget", "1m") is ExitStatus.NOT_MEASURED
    assert set(rounds(repository.runs()[0]).values()) == {3}
    assert "To record a baseline of NVIDIA Fake" in repository.output()[1]


@pytest.mark.parametrize("against", [("--against", "HEAD"), ()])
def test_it_goes_on_after_an_interrupt(
    against: tuple[str, ...],
    clone: GitRepository,
    driver_runs: DriverRuns,
) -> None:
    recorded(clone)
    driver_runs.interrupt(after=5)
    with pytest.raises(KeyboardInterrupt):
        clone.bench("--budget", "2m", SLOWER, *against)
    before = [*driver_runs.plans]
    driver_runs.interrupt(after=None)
    assert clone.resume() is ExitStatus.REGRESSION
    assert len(before) == 5
    assert not [plan for plan in driver_runs.plans if plan in before]
    assert "sync/busy" in clone.output()[0]


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("60s", 60), ("1.5m", 90), ("1h", 3600), ("1", 1)]
)
def test_a_budget_is_a_time(text: str, seconds: float) -> None:
    options = parse(["--budget", text])
    assert options.budget_s == seconds


@pytest.mark.parametrize("text", ["", "0", "-1m", "nan", "inf", "1d", "m", "s", "a minute"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=f"--budget: {text!r}"):
        parse([f"--budget={text}"])
