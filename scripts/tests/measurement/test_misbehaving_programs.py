# SPDX-License-Identifier: Apache-2.0
"""Real programs that misbehave: every other row is complete and right, the bad one is named."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from test_runner import Seen, errors, merged, plan

import fake_binary
from forked import runs
from warpgauge.execution.turn_result import TurnResult
from warpgauge.measurement import run_file, runner
from warpgauge.system import process_tree
from warpgauge.system.errors import UserError

TIMES = {"gemm/a": 1e4, "gemm/b": 2e4, "gemm/c": 3e4, "gemm/d": 4e4}
ROUNDS = 3


@dataclass
class Run:
    """What came of a few rounds."""

    rows: dict[str, run_file.JsonRow]
    outcomes: list[TurnResult]

    @property
    def errors(self) -> dict[str, str]:
        return errors(self.rows)

    @property
    def remarks(self) -> list[str]:
        return [remark for outcome in self.outcomes for remark in outcome.remarks]

    def require_right(self, names: set[str]) -> None:
        """Each of `names` was measured in each round; a time ends in its process's number."""
        for name in names:
            medians = self.rows[name]["process_medians"]
            assert len(medians) == ROUNDS, name
            assert sorted(set(medians)) == medians, name
            assert all(1 <= median - TIMES[name] <= 9 for median in medians), name


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock_of_hangs: None) -> Path:
    monkeypatch.setattr(process_tree, "GRACE_S", 0.2)
    return tmp_path


def measured(folder: Path, *, deadline_s: float = 20.0) -> Run:
    once = replace(plan(folder, processes=ROUNDS), deadline_s=deadline_s)
    outcomes = runner.run(once, Seen())
    return Run(merged(once, outcomes), outcomes)


@pytest.mark.parametrize("who", ["gemm/a", "gemm/b", "gemm/d"])
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("crash", "bench_gemm was killed by SIGSEGV: an illegal memory access"),
        ("abort", "bench_gemm was killed by SIGABRT: terminate called / what():  no memory"),
        ("killed", "bench_gemm was killed by SIGKILL, e.g. because memory ran out"),
        ("half a row", "bench_gemm was killed by SIGABRT"),
        (
            "half a row, and status 0",
            "bench_gemm exited with status 0, but its report is truncated",
        ),
        ("early exit", "bench_gemm exited with status 1: an exception that nobody caught"),
        ("garbage", "bench_gemm left no readable report"),
        ("removed folder", "bench_gemm left no readable report"),
        ("lost row", "bench_gemm did not report it"),
        ("wrong", "wrong \x01 result"),
        ("wrong, and status 0", "wrong \x01 result"),
        ("broken context", "cudaErrorIllegalAddress"),
        ("noise", "bench_gemm was killed by SIGSEGV: \\x00\ufffd bad \ufffd( bytes \\x1b[2J"),
    ],
)
def test_a_bad_benchmark_costs_its_own_row(folder: Path, fault: str, said: str, who: str) -> None:
    fake_binary.make(folder / "bin", "gemm", TIMES, ill={who: fault})
    run = measured(folder)
    assert run.errors == {who: f"in round 1: {said}"}
    run.require_right(TIMES.keys() - {who})
    others = tuple(name for name in TIMES if name != who)
    assert [outcome.binary.names for outcome in run.outcomes] == [tuple(TIMES), others, others]


@pytest.mark.parametrize("who", ["gemm/a", "gemm/c"])
@pytest.mark.parametrize("fault", ["hang", "deaf hang"])
def test_a_hang_is_ended_and_costs_its_own_row_once(folder: Path, fault: str, who: str) -> None:
    fake_binary.make(folder / "bin", "gemm", TIMES, ill={who: fault})
    run = measured(folder, deadline_s=0.8)
    assert run.errors == {who: "in round 1: bench_gemm showed no new row for 0.8 s and was killed"}
    run.require_right(TIMES.keys() - {who})
    assert sum(outcome.seconds > 0.8 for outcome in run.outcomes) == 1


@pytest.mark.parametrize("where", ["child", "child in its own session"])
def test_a_child_that_stays_is_ended_and_told_and_costs_nothing(folder: Path, where: str) -> None:
    path = fake_binary.make(folder / "bin", "gemm", TIMES, ill={"gemm/b": where})
    run = measured(folder)
    assert run.errors == {}
    run.require_right(set(TIMES))
    assert run.remarks == ["bench_gemm left a process behind, which was killed"] * ROUNDS
    assert not runs(int(Path(f"{path}.child").read_text()))


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("crash at exit", "was killed by SIGSEGV after its last benchmark"),
        ("status 4", "exited with status 4 after its last benchmark"),
        ("hang at exit", "showed no new row for 0.8 s and was killed after its last benchmark"),
        ("hang at start", "showed no new row for 0.8 s and was killed"),
    ],
)
def test_a_process_that_cannot_be_trusted_fails_all_its_rows(
    folder: Path, fault: str, said: str
) -> None:
    fake_binary.make(folder / "bin", "gemm", TIMES, faults={"2": fault})
    run = measured(folder, deadline_s=0.8)
    assert run.errors == dict.fromkeys(TIMES, f"in round 2: bench_gemm {said}")


def test_a_bad_process_costs_no_more_than_it_ran(folder: Path) -> None:
    faults = {"2": "crash at exit"}
    fake_binary.make(folder / "bin", "gemm", TIMES, ill={"gemm/b": "crash"}, faults=faults)
    run = measured(folder)
    assert run.errors.keys() == {"gemm/b", "gemm/c", "gemm/d"}
    run.require_right({"gemm/a"})
    other = folder / "other"
    fake_binary.make(other / "bin", "gemm", TIMES, faults={"2": "no start"})
    run = measured(other)
    assert run.errors == {}
    (remark,) = run.remarks
    assert remark == "bench_gemm was killed by SIGSEGV; running 4 benchmarks one by one instead"


def test_a_program_that_vanishes_is_an_error_of_all_its_benchmarks(folder: Path) -> None:
    path = fake_binary.make(folder / "bin", "gemm", TIMES)
    fake_binary.make(folder / "bin", "sync", {"sync/a": 1e4})
    once = plan(folder)
    path.unlink()
    rows = merged(once, runner.run(once, Seen()))
    said = "in round 1: bench_gemm exited with status 127: No such file or directory"
    assert {rows[name]["error_message"] for name in TIMES} == {said}
    assert len(rows["sync/a"]["process_medians"]) == 2


def test_no_name_is_mistaken_for_another(folder: Path) -> None:
    """What goes on is asked for exactly, whatever the names hold."""
    odd = {"gemm/a": 1e4, "gemm/a+b": 2e4, "gemm/a|b": 3e4, "gemm/a.b": 4e4, "gemm/a b": 5e4}
    fake_binary.make(folder / "bin", "gemm", odd, ill={"gemm/a": "crash", "gemm/a.b": "crash"})
    run = measured(folder)
    assert run.errors.keys() == {"gemm/a", "gemm/a.b"}
    for name in ("gemm/a+b", "gemm/a|b", "gemm/a b"):
        assert len(run.rows[name]["process_medians"]) == ROUNDS
    assert all(message.startswith("in round 1: ") for message in run.errors.values())


def test_a_full_disk_is_no_benchmarks_fault(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_binary.make(folder / "bin", "gemm", TIMES, ill={"gemm/b": "half a row, and status 0"})
    full = os.statvfs_result((4096, 4096, 1 << 20, 0, 0, 1 << 20, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda path: full)
    with pytest.raises(UserError, match=r"gemm has too little space .* TMPDIR"):
        measured(folder)
