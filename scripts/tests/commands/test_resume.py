# SPDX-License-Identifier: Apache-2.0
"""An interrupted run goes on where it was, and ends as if nothing had happened."""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path
from typing import Any

import pytest

import fake_binary
from bench_process import BenchProcess
from clocks import wait_until
from clone import HOST_TIMES, TIMES, GitRepository, Repository
from driver_runs import DriverRuns
from kills import killed_and_resumed, left_running
from warpgauge.system.errors import ExitStatus, UserError

SLOW = {**TIMES, "sync/busy": 8000.0}


def journals(repository: Repository) -> list[Path]:
    return list(repository.root.rglob("*.journal"))


def interrupted(repository: Repository, driver_runs: DriverRuns, after: int, *argv: str) -> None:
    """What goes on is interrupted no more."""
    driver_runs.interrupt(after)
    with pytest.raises(KeyboardInterrupt):
        repository.bench(*argv)
    driver_runs.interrupt(after=None)


def rows(path: Path) -> list[dict[str, Any]]:
    return list(json.loads(path.read_text())["benchmarks"])


def timeless(path: Path) -> list[dict[str, Any]]:
    """The rows, with the number of times in place of the times, which no two processes share."""
    times = dict.fromkeys(("real_time", "cpu_time", "samples"))
    return [{**row, **times, "process_medians": len(row["process_medians"])} for row in rows(path)]


@pytest.mark.parametrize("runs", [1, 5, 13])
def test_a_run_goes_on_as_if_nothing_had_happened(
    runs: int, repository: Repository, driver_runs: DriverRuns
) -> None:
    status = repository.bench("--processes=7")
    (undisturbed,) = repository.runs()
    whole = [*driver_runs.plans]
    repository.rewind()
    interrupted(repository, driver_runs, runs, "--processes=7")
    (journal,) = journals(repository)
    command = f"`scripts/bench --resume {os.path.relpath(journal)}`"
    assert f"What was measured is kept: {command}" in repository.output()[1]
    assert repository.resume() is status
    assert driver_runs.plans == whole[runs:]
    _, resumed = repository.runs()
    assert timeless(resumed) == timeless(undisturbed)
    assert not journals(repository)


def test_a_run_that_is_done_or_measured_nothing_leaves_no_journal(
    repository: Repository, driver_runs: DriverRuns
) -> None:
    interrupted(repository, driver_runs, 0)
    assert not journals(repository)
    repository.bench("--processes=3")
    assert not journals(repository)
    with pytest.raises(UserError, match="holds no interrupted run to resume"):
        repository.resume()


def test_every_phase_goes_on(clone: GitRepository, driver_runs: DriverRuns) -> None:
    """Screening, confirmation beside the base: wherever it was interrupted."""
    clone.bench("--record", "--processes=5")
    clone.git("add", "--all")
    clone.commit({"host": HOST_TIMES, "sync": SLOW})
    clone.output()
    driver_runs.interrupt(after=None)
    assert clone.bench() is ExitStatus.REGRESSION
    whole = [*driver_runs.plans]
    assert len(whole[-1]["programs"][0]["sides"]) == 2
    assert re.search(r"1 slower: \S+ \S+ % · 2 within\stolerance", clone.output()[0])
    for runs in (3, 8, len(whole) - 1):
        interrupted(clone, driver_runs, runs)
        clone.output()
        assert clone.resume() is ExitStatus.REGRESSION
        assert re.search(r"1 slower: \S+ \S+ % · 2 within\stolerance", clone.output()[0])
        assert len(driver_runs.plans) == len(whole) - runs


def test_pairs_with_a_commit_go_on(clone: GitRepository, driver_runs: DriverRuns) -> None:
    clone.commit({"host": HOST_TIMES, "sync": SLOW})
    interrupted(clone, driver_runs, 2, "--against", "HEAD~1", "--processes=14")
    assert clone.resume() is ExitStatus.REGRESSION
    assert driver_runs.rounds == [*range(3, 15)]
    [slower] = [row for row in rows(clone.runs()[-1]) if row["name"] == "sync/busy"]
    logs = [pair["log_ratio"] for pair in slower["pairs"]]
    assert logs == pytest.approx([math.log(1.6)] * 14, abs=1e-3)


def test_the_latest_run_is_meant_unless_one_is_named(
    repository: Repository, driver_runs: DriverRuns
) -> None:
    for name in ("first", "second"):
        out = f"--out={repository.root / name}.json"
        interrupted(repository, driver_runs, 3, "--processes=3", out)
    repository.resume(str(repository.root / "first.journal"))
    assert (repository.root / "first.json").exists()
    assert not (repository.root / "second.json").exists()


def test_other_programs_or_another_commit_are_another_run(
    repository: Repository, driver_runs: DriverRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(repository, driver_runs, 3)
    with monkeypatch.context() as patched:
        patched.setenv("WARPGAUGE_COMMIT", "fedcba9876" * 4)
        with pytest.raises(UserError, match="commit changed since"):
            repository.resume()
    with (repository.built / "bench_sync").open("a") as program:
        program.write("# rebuilt\n")
    with pytest.raises(UserError, match="its programs, GPU or commit changed since"):
        repository.resume()
    assert journals(repository)


def test_what_is_no_journal_is_refused(repository: Repository, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"holds no run to resume: name a folder"):
        repository.resume(str(tmp_path))
    for start in ('{"warpgauge_format": "journal/99"}', '{"warpgauge_format": "journal/1"}', "[]"):
        (tmp_path / "start.json").write_text(start)
        with pytest.raises(UserError, match=r"is no journal/1 \(.*\); measure anew"):
            repository.resume(str(tmp_path))


def test_what_is_damaged_on_disk_is_measured_again(
    repository: Repository, driver_runs: DriverRuns
) -> None:
    interrupted(repository, driver_runs, 5, "--processes=3")
    (journal,) = journals(repository)
    (journal / "2.lines").write_bytes(b"\0" * 100)
    (journal / "3.plan").write_bytes(b"")
    repository.resume()
    assert len(driver_runs.plans) == 3
    assert {len(row["process_medians"]) for row in rows(repository.runs()[0])} == {3}


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
