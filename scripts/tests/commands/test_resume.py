# SPDX-License-Identifier: Apache-2.0
"""An interrupted run goes on where it was, and ends as if nothing had happened."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fake_binary
from bench_process import BenchProcess
from clocks import wait_until
from clone import HOST_TIMES, TIMES, GitRepository, Repository
from kills import killed_and_resumed, left_running
from warpgauge.commands import resume
from warpgauge.commands.bench_options import parse
from warpgauge.measure import drive, journal
from warpgauge.measure.plan import Plan
from warpgauge.measure.turn_result import TurnResult
from warpgauge.system.errors import ExitStatus, UserError

SLOW = {**TIMES, "sync/busy": 8000.0}


class Interrupts:
    """Ctrl-C just before some turn of the run begins, alone or in a pair."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = 1_000_000
        self.begun: list[tuple[int, str, str]] = []
        deliver = drive.deliver

        def counted(plan: Plan, asked: Any, *rest: Any) -> Iterator[list[TurnResult]]:  # noqa: ANN401
            turns = [turn for together, _ in asked for turn in together]
            if self.left < len(turns):
                raise KeyboardInterrupt
            self.left -= len(turns)
            self.begun += [(turn.round, turn.lane.side, turn.binary.family) for turn in turns]
            return deliver(plan, asked, *rest)

        monkeypatch.setattr(drive, "deliver", counted)

    def after(self, turns: int) -> None:
        self.left = turns
        self.begun.clear()

    def never(self) -> None:
        self.after(1_000_000)


@pytest.fixture
def interrupts(monkeypatch: pytest.MonkeyPatch) -> Interrupts:
    return Interrupts(monkeypatch)


def journals(repository: Repository) -> list[Path]:
    return list(repository.root.rglob("*.journal"))


def interrupted_after(turns: int, repository: Repository, interrupts: Interrupts) -> None:
    """A run of three processes; what goes on is interrupted no more."""
    interrupts.after(turns)
    interrupted(repository, "--processes=3")
    interrupts.never()


def rows(path: Path) -> list[dict[str, Any]]:
    return list(json.loads(path.read_text())["benchmarks"])


def told(path: Path) -> list[dict[str, Any]]:
    """The rows, with the number of times in place of the times, which no two processes share."""
    times = dict.fromkeys(("real_time", "cpu_time", "samples"))
    return [{**row, **times, "process_medians": len(row["process_medians"])} for row in rows(path)]


def interrupted(repository: Repository, *argv: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        repository.bench(*argv)


@pytest.mark.parametrize("turns", [1, 5, 13])
def test_a_run_goes_on_as_if_nothing_had_happened(
    turns: int, repository: Repository, interrupts: Interrupts
) -> None:
    status = repository.bench("--processes=7")
    (undisturbed,) = repository.runs()
    repository.rewind()
    interrupts.after(turns)
    interrupted(repository, "--processes=7")
    said = repository.output()[1]
    (journal,) = journals(repository)
    count = f"{turns} processes are" if turns > 1 else "1 process is"
    assert f"{count} kept: `scripts/bench --resume {os.path.relpath(journal)}`" in said
    interrupts.never()
    assert repository.resume() is status
    assert len(interrupts.begun) == 14 - turns
    assert f"{count} kept" in repository.output()[1]
    _, resumed = repository.runs()
    assert told(resumed) == told(undisturbed)
    assert not journals(repository)


def test_a_run_that_is_done_or_measured_nothing_leaves_no_journal(
    repository: Repository, interrupts: Interrupts
) -> None:
    interrupted_after(0, repository, interrupts)
    assert not journals(repository)
    repository.bench("--quick")
    assert not journals(repository)
    with pytest.raises(UserError, match="holds no interrupted run to resume"):
        repository.resume()


def test_every_phase_goes_on(clone: GitRepository, interrupts: Interrupts) -> None:
    """Screening, confirmation beside the base: wherever it was interrupted."""
    clone.bench("--record", "--processes=5")
    clone.git("add", "--all")
    clone.commit({"host": HOST_TIMES, "sync": SLOW})
    clone.output()
    interrupts.never()
    assert clone.bench("--processes=5") is ExitStatus.REGRESSION
    whole = list(interrupts.begun)
    assert "base" in {side for _, side, _ in whole}
    assert "1 regression, 0 improvements; 2 of 3 unchanged" in clone.output()[0]
    for turns in (3, 10, 12, len(whole) - 1):
        interrupts.after(turns)
        interrupted(clone, "--processes=5")
        before = list(interrupts.begun)
        clone.output()
        interrupts.never()
        assert clone.resume() is ExitStatus.REGRESSION
        assert "1 regression, 0 improvements; 2 of 3 unchanged" in clone.output()[0]
        assert sorted(before + interrupts.begun) == sorted(whole)


def test_the_latest_run_is_meant_unless_one_is_named(
    repository: Repository, interrupts: Interrupts
) -> None:
    for name in ("first", "second"):
        interrupts.after(3)
        interrupted(repository, "--processes=3", f"--out={repository.root / name}.json")
    interrupts.never()
    repository.resume(str(repository.root / "first.journal"))
    assert (repository.root / "first.json").exists()
    assert not (repository.root / "second.json").exists()


def test_other_programs_or_another_commit_are_another_run(
    repository: Repository, interrupts: Interrupts, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted_after(3, repository, interrupts)
    with monkeypatch.context() as patched:
        patched.setenv("WARPGAUGE_COMMIT", "fedcba9876" * 4)
        with pytest.raises(UserError, match="the commit changed since"):
            repository.resume()
    with (repository.built / "bench_sync").open("a") as program:
        program.write("# rebuilt\n")
    with pytest.raises(UserError, match="the programs changed since"):
        repository.resume()
    assert journals(repository)


def test_what_is_no_journal_is_refused(repository: Repository, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"holds no run to resume: name a folder"):
        repository.resume(str(tmp_path))
    for start in ('{"warpgauge_format": "journal/99"}', '{"warpgauge_format": "journal/1"}', "[]"):
        (tmp_path / "start.json").write_text(start)
        with pytest.raises(UserError, match=r"is no journal/1 \(.*\); measure anew"):
            repository.resume(str(tmp_path))


def test_a_turn_that_is_damaged_on_disk_is_run_again(
    repository: Repository, interrupts: Interrupts
) -> None:
    interrupted_after(5, repository, interrupts)
    (journal,) = journals(repository)
    turns = [path for path in journal.glob("*.json") if path.name != "start.json"]
    turns[0].write_text(turns[0].read_text()[:-9])
    repository.resume()
    assert len(interrupts.begun) == 2


@pytest.mark.parametrize("seed", range(4))
def test_a_kill_at_any_moment_loses_no_finished_turn(
    seed: int, repository: Repository, interrupts: Interrupts
) -> None:
    out = repository.root / "run.json"
    argv = ["--processes=7", f"--out={out}"]
    run = multiprocessing.get_context("fork").Process(target=repository.bench, args=argv)
    run.start()
    time.sleep(random.Random(seed).uniform(0.05, 0.5))
    assert run.pid is not None
    os.kill(run.pid, signal.SIGKILL)
    run.join()
    killed = run.exitcode == -signal.SIGKILL
    if killed and any(map(journal.is_begun, journals(repository))):
        kept = sum(path.name != "start.json" for path in journals(repository)[0].glob("*.json"))
        interrupts.never()
        repository.resume(str(journals(repository)[0]))
        assert len(interrupts.begun) == 14 - kept
    elif killed and not out.exists():
        repository.bench(*argv)
    assert all(len(row["process_medians"]) == 7 for row in rows(out))
    assert {row["name"] for row in rows(out)} == {*TIMES, *HOST_TIMES}
    assert not journals(repository)
    shutil.rmtree(repository.built)


def test_a_run_that_was_killed_before_it_began_left_nothing_to_go_on_with(tmp_path: Path) -> None:
    """One of several GPUs': its folder is there, and nothing in it."""
    folder = tmp_path / "run-GPU.journal"
    assert resume.begun(folder, parse([])) is None
    folder.mkdir()
    assert resume.begun(folder, parse([])) is None
    journal.begin(folder, resume.called([], 1, tmp_path / "run.json"))
    assert resume.begun(folder, parse([])) is not None


def test_a_run_that_is_killed_twenty_times_holds_every_row(tmp_path: Path) -> None:
    machine = BenchProcess(tmp_path)
    fake_binary.make(machine.built, "host", HOST_TIMES)
    fake_binary.make(machine.built, "sync", TIMES)
    argv = ["--processes=9", "--out=run.json"]
    done = killed_and_resumed(machine, argv, kills=20, longest_s=0.5, seed=1)
    assert done.status == 3, done.err  # there is no baseline
    found = rows(tmp_path / "run.json")
    assert {row["name"] for row in found} == {*TIMES, *HOST_TIMES}
    assert {len(row["process_medians"]) for row in found} == {9}
    assert not list(tmp_path.glob("*.journal"))
    wait_until(lambda: not left_running(str(machine.built)))
