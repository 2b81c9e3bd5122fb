# SPDX-License-Identifier: Apache-2.0
"""The log of the commands: whoever pastes a line of it repeats that process."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

import fake_binary
from clone import HOST_TIMES, TIMES, GitRepository, Repository
from driver_runs import DriverRuns
from warpgauge.system import command_log, process
from warpgauge.system.command_log import CommandLog
from warpgauge.system.errors import UserError


def lines(repository: Repository) -> list[str]:
    (log,) = (repository.root / "build" / "runs").glob("*.log")
    return log.read_text().splitlines()


def pasted(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, capture_output=True, text=True, check=False
    )


def test_every_process_stands_there_with_round_side_start_seconds_and_status(
    clone: GitRepository,
) -> None:
    clone.commit({"host": HOST_TIMES, "sync": TIMES})
    clone.write({"host": HOST_TIMES, "sync": {**TIMES, "sync/idle": 1.0}})
    clone.bench("--against", "HEAD", "--processes=2", "--filter", "sync/(idle|x y)")
    head, *commands = lines(clone)
    assert head.startswith("# warpgauge: commands, 20")
    assert head.endswith("scripts/bench --against HEAD --processes=2 --filter 'sync/(idle|x y)'")
    # The first look; what it leaves open is measured on.
    rounds = [line for line in commands if "# round " in line][:2]
    sides = [line.partition("# round ")[2].split(",")[:2] for line in rounds]
    assert [(int(n), side.strip()) for n, side in sides] == [
        (1, "base and candidate"), (2, "base and candidate")
    ]  # fmt: skip
    for line in rounds:
        assert len(re.findall(r"bench_sync '--benchmark_filter=\^\(sync/[^']+\)\$'", line)) == 2
        began, seconds, status = line.split(", ")[-3:]
        assert began.startswith("20")
        assert seconds.endswith(" s")
        assert status == "status 0"
    assert any("--benchmark_list_tests" in line for line in commands)
    assert any("worktree add" in line for line in commands)
    assert clone.output()[1].count("commands: ") == 1


def test_a_line_repeats_its_process_by_hand(repository: Repository, tmp_path: Path) -> None:
    repository.bench("--processes=3", "--filter", "sync")
    (line, *_) = [line for line in lines(repository) if "# round 2" in line]
    count = repository.built / "bench_sync.count"
    before = len(count.read_text())
    pasted(line.replace("bench_sync ", "bench_sync --benchmark_out=out "), tmp_path)
    assert len(count.read_text()) == before + 1


def test_a_line_of_a_pair_in_lock_step_repeats_both_sides(tmp_path: Path) -> None:
    log = CommandLog(tmp_path / "x.log", [], goes_on=False, command="warpgauge bench")
    with log.used(), command_log.running(["driver"], by_hand=[["echo", "a b"], ["echo", "c"]]):
        pass
    assert pasted((tmp_path / "x.log").read_text(), tmp_path).stdout == "a b\nc\n"


@pytest.mark.parametrize("argument", ["it's", "a\nrm -rf x", "#", "a\\b", "\x1b[2J", "ü", "\udcff"])
def test_whatever_an_argument_holds_it_is_one_line_and_comes_back(
    argument: str, tmp_path: Path
) -> None:
    line = command_log.repeatable(["printf", "%s", argument], {"A B": "c d"}, tmp_path)
    assert "\n" not in line
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=True)
    assert os.fsdecode(done.stdout) == argument


def test_what_a_process_gets_of_the_environment_is_in_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    log = CommandLog(tmp_path / "x.log", [], goes_on=False, command="warpgauge bench")
    with log.used():
        process.run(["sh", "-c", 'kill -9 "$$"'], 5.0, tmp_path, {"TRACE": "a b"}, told="round 1")
    process.run(["true"], 5.0, tmp_path)  # outside of the run
    _, told = log.path.read_text().splitlines()
    assert "CUDA_VISIBLE_DEVICES=1" in told
    assert "'TRACE=a b' sh -c" in told
    assert told.endswith(" s, SIGKILL")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    shown = told.replace("kill -9", "echo $TRACE $CUDA_VISIBLE_DEVICES")
    assert pasted(shown, tmp_path).stdout.startswith("a b 1 ")


def test_what_a_crash_breaks_off_names_what_ran_and_the_log_goes_on_below(tmp_path: Path) -> None:
    log = CommandLog(tmp_path / "x.log", ["--budget=1m"], goes_on=False, command="warpgauge bench")
    log.write("bench_gemm  # round 3, 20")
    CommandLog(log.path, ["--budget=1m"], goes_on=True, command="warpgauge bench")
    head, broken, again = log.path.read_text().splitlines()
    assert broken.startswith("bench_gemm  # round 3, 20")
    assert head.partition(":")[0] == again.partition(":")[0]


def test_a_run_that_goes_on_goes_on_in_its_log_and_another_begins_anew(
    repository: Repository,
    driver_runs: DriverRuns,
) -> None:
    log, out = repository.root / "run.log", f"--out={repository.root / 'run.json'}"
    log.write_text("my diary")
    with pytest.raises(UserError, match=r"run\.log: the file exists and is no log"):
        repository.bench("--processes=3", out)
    assert log.read_text() == "my diary"
    log.write_text("")  # as where a run was killed before its first line
    driver_runs.interrupt(after=3)
    with pytest.raises(KeyboardInterrupt):
        repository.bench("--processes=4", out)
    driver_runs.interrupt(after=None)
    repository.resume(str(log.with_suffix(".journal")))
    written = log.read_text()
    assert (written.count("# round "), written.count("# warpgauge: ")) == (8, 2)
    repository.bench("--processes=3", out)
    assert log.read_text().count("# round ") == 6


def test_a_full_disk_is_one_sentence_and_nothing_is_started(tmp_path: Path) -> None:
    log = CommandLog(tmp_path / "x.log", [], goes_on=False, command="warpgauge bench")
    log.path = Path("/dev/full")
    fake_binary.make(tmp_path, "sync")
    with log.used(), pytest.raises(UserError, match=r"cannot be written \(No space"):
        process.run([str(tmp_path / "bench_sync")], 5.0, tmp_path)
    assert not (tmp_path / "bench_sync.count").exists()
