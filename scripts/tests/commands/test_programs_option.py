# SPDX-License-Identifier: Apache-2.0
"""--programs: a program that is left out is not even started, and costs the others nothing."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from conftest import Loader

import shell
from builders import row, run
from clone import HOST_TIMES, TIMES, GitRepository, Repository
from two_folders import TwoFolders
from warpgauge.records.benchmark_filter import Request
from warpgauge.system.errors import ExitStatus, UserError

NO_BENCHMARK = "helper: lists no benchmark"
GEMM = {"gemm/one": 1000.0}
# What a program leaves behind that was started.
TRACE = "started"


def broken(path: Path) -> None:
    """Put a program that lists nothing in place of the one at `path`."""
    path.unlink()
    shell.script(path, f"echo >>{shlex.quote(str(path))}.{TRACE}")


def started(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob(f"*.{TRACE}")]


@pytest.fixture
def mixed(folders: TwoFolders) -> TwoFolders:
    """Two folders with a helper that is no benchmark."""
    folders.both("a")
    for side in ("base", "candidate"):
        broken(folders.script(side, "helper", ""))
    return folders


@pytest.mark.parametrize("regex", ["-^helper$", "^a$"])
@pytest.mark.parametrize("more", [[], ["--filter=copy"], ["--list"]])
def test_what_is_left_out_of_two_folders_is_not_started(
    mixed: TwoFolders, regex: str, more: list[str]
) -> None:
    assert mixed.beside(f"--programs={regex}", *more) is ExitStatus.OK
    assert "helper" not in "".join(mixed.output())
    assert started(mixed.root) == []


@pytest.mark.parametrize("more", [[], ["--filter=copy"]])
def test_what_is_no_benchmark_is_told_once_and_costs_itself_alone(
    mixed: TwoFolders, more: list[str]
) -> None:
    mixed.make("candidate", "a", {"BM_copy/8": 2000.0, "BM_copy/64": 5050.0})
    status, outcomes = mixed.outcomes(*more)
    assert status is ExitStatus.REGRESSION
    assert outcomes == {"BM_copy/8": "REGRESSION", "BM_copy/64": "PASS", "helper": "ERROR"}
    assert mixed.output()[1].count(NO_BENCHMARK) == 1


def test_a_side_is_told_where_only_it_is_at_fault(mixed: TwoFolders) -> None:
    (mixed.root / "base" / "helper").unlink()
    mixed.beside()
    assert f"candidate: {NO_BENCHMARK}" in mixed.output()[1]


def test_the_report_says_how_to_leave_it_out(mixed: TwoFolders) -> None:
    assert mixed.beside() is ExitStatus.NOT_MEASURED
    out, _ = mixed.output()
    (command,) = (line for line in out.split(": ") if "--programs=" in line)
    words = shlex.split(command.partition(" Report")[0])
    assert words[:4] == ["scripts/warpgauge", "ab", "base", "candidate"]
    assert mixed.beside(*words[4:]) is ExitStatus.OK


def test_a_program_that_nobody_asked_for_by_name_is_one_sentence(mixed: TwoFolders) -> None:
    with pytest.raises(UserError, match=r"no program matches --programs 'hleper'.*'helper'") as one:
        mixed.beside("--programs=hleper")
    assert one.value.status is ExitStatus.BAD_USAGE
    with pytest.raises(UserError, match=r"--programs '\(' is not a valid regular expression"):
        mixed.beside("--programs=(")


@pytest.fixture
def recorded(repository: Repository) -> Repository:
    """A baseline of three programs, of which one has since become useless."""
    repository.binary("gemm", GEMM)
    assert repository.record() is ExitStatus.OK
    broken(repository.built / "bench_sync")
    return repository


def test_a_baseline_does_not_miss_what_was_left_out(recorded: Repository, loaded: Loader) -> None:
    assert recorded.bench("--programs=-^bench_sync$", "--no-confirm") is ExitStatus.OK
    assert started(recorded.root) == []
    assert "2 benchmarks skipped by --programs" in recorded.output()[0]
    *_, path = recorded.runs()
    document = json.loads(path.read_text())
    assert {one["name"] for one in document["benchmarks"]} == {*HOST_TIMES, *GEMM}
    # The run file says so to whoever compares it later.
    baseline = loaded(run([row(name) for name in (*HOST_TIMES, *TIMES)]))
    assert Request(None, loaded(document), baseline).covered([*TIMES, *HOST_TIMES]) == [*HOST_TIMES]


def test_a_benchmark_that_vanished_is_still_missed(recorded: Repository) -> None:
    recorded.binary("gemm", {"gemm/other": 1000.0})
    assert recorded.bench("--programs=-sync", "--no-confirm") is ExitStatus.NOT_MEASURED
    assert "missing" in recorded.output()[0]


def test_without_it_the_useless_program_is_told_once(recorded: Repository) -> None:
    assert recorded.bench("--no-confirm", "--processes=3") is ExitStatus.NOT_MEASURED
    out, err = recorded.output()
    assert err.count("bench_sync: lists no benchmark") == 1
    assert "scripts/bench --programs='-^(bench_)?sync$'" in out


def test_no_program_of_a_build_folder_is_one_sentence(recorded: Repository) -> None:
    for argv in ([], ["--list"], ["--device=all"]):
        with pytest.raises(UserError, match="no program matches --programs 'scan'") as caught:
            recorded.bench("--programs=scan", *argv)
        assert caught.value.status is ExitStatus.BAD_USAGE
    assert started(recorded.root) == []


def test_a_session_can_be_recorded_without_a_program_but_loses_none(recorded: Repository) -> None:
    with pytest.raises(UserError, match="it lacks 'sync/"):
        recorded.bench("--record", "--programs=-sync")
    for path in recorded.root.glob("baselines/*/sync.json"):
        path.unlink()
    assert recorded.bench("--record", "--programs=-sync") is ExitStatus.OK


def test_the_base_of_pairs_is_left_out_of_too(clone: GitRepository) -> None:
    clone.commit({"host": HOST_TIMES, "sync": TIMES, "scan": {"scan/one": 1000.0}})
    assert clone.bench("--against=HEAD~1", "--programs=^bench_(host|sync)$") is ExitStatus.OK
    counts = {path.name for path in clone.root.rglob("*.count")}
    assert counts == {"bench_host.count", "bench_sync.count"}
    with pytest.raises(UserError, match="that this scripts/bench finds by --programs 'scan'"):
        clone.bench("--against=HEAD~1", "--programs=scan")


def test_kernels_have_one_program(recorded: Repository) -> None:
    with pytest.raises(UserError, match="--kernels cannot be combined with --programs"):
        recorded.bench("--kernels=kernels.toml", "--programs=x")
