# SPDX-License-Identifier: Apache-2.0
"""Two builds in lock-step through the runner, with real processes that misbehave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from test_runner import SIDES, Seen, errors, plan

import fake_binary
from kills import left_running
from warpgauge.execution.plan import Plan
from warpgauge.execution.turn_result import Outcome
from warpgauge.measurement import merge, runner
from warpgauge.measurement.journal import Journal
from warpgauge.system import process_tree

TIMES = {"gemm/a": 1e4, "gemm/b": 2e4, "gemm/c": 3e4, "gemm/d": 4e4}
ROUNDS = 3


@dataclass
class Run:
    """What came of a few rounds: rows of each side, and what was delivered."""

    plan: Plan
    outcomes: list[Outcome]
    seen: Seen

    def rows(self, side: str) -> dict[str, merge.JsonRow]:
        own = [one for one in self.outcomes if one.side == side]
        (binaries,) = [lane.binaries for lane in self.plan.lanes if lane.side == side]
        return {row["name"]: row for row in merge.rows(binaries, own, paired=True)}

    def ratios(self, name: str, side: str = "candidate") -> list[float | None]:
        found: list[float | None] = self.rows(side)[name].get("pair_ratios", [])
        return found

    @property
    def remarks(self) -> list[str]:
        return [remark for one in self.outcomes for remark in one.remarks]

    def require_right(self, names: set[str]) -> None:
        for side in SIDES:
            for name in names:
                assert self.rows(side)[name]["process_rounds"] == [1, 2, 3], (side, name)
        for name in names:
            assert self.ratios(name) == pytest.approx([1.1] * ROUNDS, rel=1e-3), name


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(process_tree, "GRACE_S", 0.2)
    return tmp_path


def make(
    folder: Path,
    ill: Mapping[str, Mapping[str, str]] | None = None,
    sides: Mapping[str, float] | None = None,
    **more: object,
) -> None:
    """Each side by its name, with the factor that it is slower by."""
    for side, factor in (sides or {"base": 1.0, "candidate": 1.1}).items():
        times = {name: factor * time for name, time in TIMES.items()}
        own = (ill or {}).get(side)
        fake_binary.make(folder / side, "gemm", times, ill=own, lock_steps=True, **more)  # type: ignore[arg-type]


def measured(folder: Path, *, deadline_s: float = 20.0, journal: Journal | None = None) -> Run:
    once = replace(plan(folder, processes=ROUNDS, sides=SIDES), deadline_s=deadline_s)
    seen = Seen()
    outcomes = runner.run(once, seen, journal)
    assert left_running(str(folder)) == []
    return Run(once, outcomes, seen)


def test_each_round_gives_the_ratio_of_a_pair(folder: Path) -> None:
    make(folder)
    run = measured(folder)
    run.require_right(set(TIMES))
    assert all(errors(run.rows(side)) == {} for side in SIDES)
    assert run.ratios("gemm/a", "base") == []
    assert run.remarks == []
    assert [one.side for one in run.seen.outcomes] == [*SIDES, *SIDES[::-1], *SIDES]
