# SPDX-License-Identifier: Apache-2.0
"""--programs: a program that is left out is not even started, and costs the others nothing."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import shell
from clone import Repository
from two_folders import TwoFolders
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
@pytest.mark.parametrize("more", [[], ["--filter=copy"]])
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
    assert words[1:4] == ["ab", "base", "candidate"]
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


def test_a_useless_program_of_a_build_is_told_once(recorded: Repository) -> None:
    assert recorded.bench("--no-confirm", "--processes=3") is ExitStatus.NOT_MEASURED
    out, err = recorded.output()
    assert err.count("bench_sync: lists no benchmark") == 1
    assert "To reproduce the failure: scripts/bench --filter '^sync$'" in out
