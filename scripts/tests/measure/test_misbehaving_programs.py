# SPDX-License-Identifier: Apache-2.0
"""Real programs that misbehave: every other row is complete and right, the bad one is named."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from test_runner import Seen, errors, merged, plan

import fake_binary
from forked import runs
from warpgauge.measure import runner
from warpgauge.measure.plan import TurnResult
from warpgauge.system import process
from warpgauge.system.errors import UserError

TIMES = {"gemm/a": 1e4, "gemm/b": 2e4, "gemm/c": 3e4, "gemm/d": 4e4}
ROUNDS = 3


@dataclass
class Run:
    """What came of a few rounds."""

    rows: dict[str, Any]
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
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(process, "GRACE_S", 0.2)
    return tmp_path


@pytest.fixture(params=["driven", "plain"])
def plain(request: pytest.FixtureRequest) -> bool:
    """Whether the programs use warpgauge, and are driven; deadlines run while one hangs."""
    is_plain: bool = request.param == "plain"
    request.getfixturevalue("clock_of_hangs")
    return is_plain


def make(folder: Path, *, plain: bool = False, **more: Any) -> Path:  # noqa: ANN401
    """The program of all these tests; what a plain one prints of its context is not known."""
    context: dict[str, str] | None = {} if plain else None
    return fake_binary.make(folder / "bin", "gemm", TIMES, context=context, plain=plain, **more)


def measured(folder: Path, *, deadline_s: float = 20.0) -> Run:
    once = replace(plan(folder, processes=ROUNDS), deadline_s=deadline_s)
    outcomes = list(runner.run(once, Seen()))
    return Run(merged(once, outcomes), outcomes)


ALWAYS = [
    ("crash", "bench_gemm was killed by SIGSEGV: an illegal memory access"),
    ("abort", "bench_gemm was killed by SIGABRT: terminate called / what():  no memory"),
    ("killed", "bench_gemm was killed by SIGKILL, e.g. because memory ran out"),
    ("early exit", "bench_gemm exited with status 1: an exception that nobody caught"),
    ("garbage", "bench_gemm left no readable report"),
    ("lost row", "bench_gemm left no readable report"),
    ("wrong", "wrong \x01 result"),
    ("wrong, and status 0", "wrong \x01 result"),
    ("broken context", "cudaErrorIllegalAddress"),
    ("noise", "bench_gemm was killed by SIGSEGV: \\x00\ufffd bad \ufffd( bytes \\x1b[2J"),
]
OF_DRIVEN = [("early success", "bench_gemm exited with status 0")]
OF_PLAIN = [
    ("half a row", "bench_gemm was killed by SIGABRT"),
    ("half a row, and status 0", "bench_gemm left no readable report"),
]


@pytest.mark.parametrize("who", ["gemm/a", "gemm/b", "gemm/d"])
@pytest.mark.parametrize(("fault", "said"), [*ALWAYS, *OF_DRIVEN, *OF_PLAIN])
def test_a_bad_benchmark_costs_its_own_row(
    folder: Path, fault: str, said: str, who: str, plain: bool
) -> None:
    if (fault, said) in (OF_DRIVEN if plain else OF_PLAIN):
        return
    make(folder, ill={who: fault}, plain=plain)
    run = measured(folder)
    assert run.errors == {who: f"in round 1: {said}"}
    run.require_right(TIMES.keys() - {who})
    others = [name for name in TIMES if name != who]
    asked = [sorted(outcome.binary.names) for outcome in run.outcomes]
    assert asked == [[*TIMES], others, others]


@pytest.mark.parametrize("who", ["gemm/a", "gemm/c"])
@pytest.mark.parametrize("fault", ["hang", "deaf hang"])
def test_a_hang_is_ended_and_costs_its_own_row_once(
    folder: Path, fault: str, who: str, plain: bool
) -> None:
    path = make(folder, ill={who: fault}, plain=plain)
    run = measured(folder, deadline_s=0.8)
    said = "reported nothing" if plain else "sent nothing"
    assert run.errors == {who: f"in round 1: bench_gemm {said} for 0.8 s and was killed"}
    run.require_right(TIMES.keys() - {who})
    hung = {int(line) for line in Path(f"{path}.hangs").read_text().split()}
    assert len(hung) == (2 if plain else 1)  # in a process of all, and in one of its own
    assert not any(map(runs, hung))


@pytest.mark.parametrize("where", ["child", "child in its own session"])
def test_a_child_that_stays_is_ended_and_told_and_costs_nothing(
    folder: Path, where: str, plain: bool
) -> None:
    path = fake_binary.make(folder / "bin", "gemm", TIMES, ill={"gemm/b": where}, plain=plain)
    run = measured(folder)
    assert run.errors == {}
    run.require_right(set(TIMES))
    assert run.remarks == ["bench_gemm left a process behind, which was killed"] * ROUNDS
    assert not runs(int(Path(f"{path}.child").read_text()))


OF_A_PROCESS = {
    "crash at exit": "was killed by SIGSEGV after its last benchmark",
    "status 4": "exited with status 4 after its last benchmark",
    "hang at exit": "did not end and was killed after its last benchmark",
    "hang at start": "sent nothing for 0.8 s and was killed",
}


@pytest.mark.parametrize("fault", OF_A_PROCESS)
def test_a_driven_process_that_cannot_be_trusted_fails_all_its_rows(
    folder: Path, fault: str, clock_of_hangs: None
) -> None:
    make(folder, faults={"2": fault})
    run = measured(folder, deadline_s=0.8)
    said = f"in round 2: bench_gemm {OF_A_PROCESS[fault]}"
    assert run.errors == dict.fromkeys(TIMES, said)


@pytest.mark.parametrize("fault", [*OF_A_PROCESS, "no start"])
def test_what_a_plain_process_that_fails_was_to_measure_others_measure(
    folder: Path, fault: str, clock_of_hangs: None
) -> None:
    make(folder, faults={"2": fault}, plain=True)
    run = measured(folder, deadline_s=0.8)
    assert run.errors == {}
    run.require_right(set(TIMES))
    [remark] = run.remarks
    assert remark.endswith("; running 4 benchmarks in 4 processes instead")


def test_a_plain_program_that_always_hangs_is_given_up(folder: Path, clock_of_hangs: None) -> None:
    path = make(folder, faults={"always": "hang at start"}, plain=True)
    run = measured(folder, deadline_s=0.8)
    said = "in round 1: bench_gemm reported nothing for 0.8 s and was killed"
    gone = "in round 1: not tried, because the first 2 benchmarks of bench_gemm did not end"
    first, second, *others = TIMES
    assert run.errors == dict.fromkeys([first, second], said) | dict.fromkeys(others, gone)
    assert len(Path(f"{path}.hangs").read_text().split()) == 3


def test_a_plain_program_that_measured_nothing_and_says_that_it_cannot_is_given_up(
    folder: Path,
) -> None:
    path = make(folder, faults={"always": "no device"}, plain=True)
    run = measured(folder)
    assert run.errors == dict.fromkeys(TIMES, "in round 1: bench_gemm exited with status 3")
    assert Path(f"{path}.count").read_text() == "x"


def test_what_a_plain_process_did_report_is_kept_where_it_lacks_a_row(folder: Path) -> None:
    path = make(folder, ill={"gemm/b": "lost row"}, plain=True)
    run = measured(folder)
    assert run.errors == {"gemm/b": "in round 1: bench_gemm left no readable report"}
    run.require_right(TIMES.keys() - {"gemm/b"})
    assert Path(f"{path}.count").read_text() == "x" * (1 + ROUNDS)


def test_a_bad_process_costs_no_more_than_it_ran(folder: Path, plain: bool) -> None:
    faults, ill = {"2": "crash at exit"}, {"gemm/b": "crash"}
    make(folder, ill=ill, faults=faults, plain=plain)
    run = measured(folder)
    first = run.outcomes[0].binary.names
    behind = first[first.index("gemm/b") + 1 :]
    # Where the crash came last, the second process was the next round's. The second process of a
    # plain program measures its first benchmark.
    assert run.errors.keys() == {"gemm/b", *(["gemm/a"] if plain else behind or first)}
    run.require_right(TIMES.keys() - run.errors.keys())


def test_a_driven_process_that_does_not_start_is_not_started_again(folder: Path) -> None:
    path = make(folder, faults={"2": "no start"})
    run = measured(folder)
    assert run.errors == dict.fromkeys(TIMES, "in round 2: bench_gemm was killed by SIGSEGV")
    assert Path(f"{path}.count").read_text() == "xx"


def test_a_program_that_vanishes_is_an_error_of_all_its_benchmarks(
    folder: Path, plain: bool
) -> None:
    path = fake_binary.make(folder / "bin", "gemm", TIMES, plain=plain)
    fake_binary.make(folder / "bin", "sync", {"sync/a": 1e4})
    once = plan(folder)
    path.unlink()
    rows = merged(once, list(runner.run(once, Seen())))
    (said,) = {rows[name]["error_message"] for name in TIMES}
    assert said.startswith("in round 1: bench_gemm ")
    assert "No such file or directory" in said
    assert len(rows["sync/a"]["process_medians"]) == 2


def test_a_path_that_a_plan_cannot_hold_is_refused_by_its_name(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"not \xff text")
    fake_binary.make(folder / "bin", "gemm", TIMES)
    with pytest.raises(UserError, match=r"not .* text/bin/bench_gemm.* is not UTF-8"):
        list(runner.run(plan(folder), Seen()))


def test_no_name_is_mistaken_for_another(folder: Path, plain: bool) -> None:
    """What goes on is asked for exactly, whatever the names hold."""
    odd = {"gemm/a": 1e4, "gemm/a+b": 2e4, "gemm/a|b": 3e4, "gemm/a.b": 4e4, "gemm/a b": 5e4}
    ill = {"gemm/a": "crash", "gemm/a.b": "crash"}
    fake_binary.make(folder / "bin", "gemm", odd, ill=ill, plain=plain)
    run = measured(folder)
    assert run.errors.keys() == {"gemm/a", "gemm/a.b"}
    for name in ("gemm/a+b", "gemm/a|b", "gemm/a b"):
        assert len(run.rows[name]["process_medians"]) == ROUNDS
    assert all(message.startswith("in round 1: ") for message in run.errors.values())
