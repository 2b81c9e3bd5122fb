# SPDX-License-Identifier: Apache-2.0
"""Fixtures that several test files share."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from rich.console import Console

import builders
import driver_of_tests
from baselines import Baselines
from clone import HOST_TIMES, TIMES, GitRepository, Repository, empty_clone
from driver_runs import DriverRuns
from fake_github import FakeGitHub
from hosted_run import HostedRun
from two_folders import TwoFolders
from warpgauge.commands import measuring_command
from warpgauge.github import api
from warpgauge.measure import build, drive_lines, gpu_watch, measuring, options
from warpgauge.records.load import load
from warpgauge.records.model import Record
from warpgauge.system import environment, git, locks, process, streams
from warpgauge.system.environment import ROOT
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.layout import print_line

Loader = Callable[[object], Record]

# How long an example takes is the machine's business.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


@pytest.fixture(autouse=True)
def gpus_of_this_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake GPU is this test's own: others run at the same time."""
    monkeypatch.setattr(locks, "_GPUS", tmp_path / "gpus")
    monkeypatch.setattr(process, "GPU_DEVICES", [tmp_path])
    monkeypatch.setattr(measuring, "_COOLING_S", 0.0)


@pytest.fixture(autouse=True)
def in_the_clone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands in sentences are those that users of a clone type in its top folder."""
    monkeypatch.chdir(ROOT)


@pytest.fixture(autouse=True)
def one_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run of a test has the same order."""
    monkeypatch.setattr(options, "new_seed", lambda: 1)


@pytest.fixture(autouse=True)
def usual_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """What --quiet and --color of a test set ends with it."""
    for variable in (streams.QUIET, streams.COLOR):
        monkeypatch.setenv(variable, "")
        monkeypatch.delenv(variable)


@pytest.fixture
def nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that would wait for another one fails instead."""

    def refuse(console: Console, line: str) -> None:
        if line.startswith("Waiting for "):
            raise UserError(line, ExitStatus.NOT_MEASURED)
        print_line(console, line)

    monkeypatch.setattr(measuring_command, "print_line", refuse)


@pytest.fixture
def clock_of_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deadlines of programs run only while a fake program hangs."""
    monkeypatch.setenv(driver_of_tests.HANGS, str(tmp_path))


@pytest.fixture(autouse=True, scope="session")
def driver_of_programs() -> Iterator[None]:
    """Programs are driven by the driver of this tree."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(drive_lines.VARIABLE, str(driver_of_tests.driver()))
        yield


@pytest.fixture(autouse=True, scope="session")
def usual_signals() -> None:
    """Whoever starts the tests with nohup, or in the background, has some ignored: in ours, too."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(autouse=True, scope="session")
def no_waiting_for_disks() -> Iterator[None]:
    """What a killed process wrote stays without fsync; only a crash of the machine needs it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def nothing_left_behind() -> Iterator[None]:
    """Tests write to folders of their own. Others' files that were there before do not matter."""
    before = _untracked()
    yield
    if left := _untracked() - before:
        pytest.fail(f"left behind in the tree: {', '.join(sorted(left))}", pytrace=False)


def _untracked() -> frozenset[str]:
    """What git neither knows nor ignores; nothing where there is no repository."""
    try:
        done = git.run(ROOT, "ls-files", "-z", "--others", "--exclude-standard")
    except UserError:
        return frozenset()
    return frozenset(done.stdout.split("\0"))


@pytest.fixture
def loaded(tmp_path: Path) -> Loader:
    """Writes a document to a file of its own and loads it."""
    count = iter(range(1000))

    def write_and_load(document: object) -> Record:
        return load(builders.write(tmp_path / "loaded" / f"{next(count)}.json", document))

    return write_and_load


@pytest.fixture
def driver_runs(monkeypatch: pytest.MonkeyPatch) -> DriverRuns:
    return DriverRuns(monkeypatch)


@pytest.fixture
def repository(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Repository:
    """A clone with a commit, on a machine with a GPU, whose build takes no time."""
    monkeypatch.setenv("WARPGAUGE_COMMIT", "0123456789" * 4)
    monkeypatch.delenv(gpu_watch.VARIABLE, raising=False)
    monkeypatch.setattr(gpu_watch, "all_gpus", dict)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(environment, "provide", lambda needs, say: None)
    monkeypatch.setattr(build, "build", lambda *arguments: None)
    made = Repository(tmp_path, capsys)
    made.binary("host", HOST_TIMES)
    made.binary("sync", TIMES)
    return made


@pytest.fixture
def baselines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Baselines:
    """The root that one is in, whose baselines are still to be written; the terminal is wide."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)
    return Baselines(tmp_path, capsys)


@pytest.fixture
def clone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> GitRepository:
    """A git clone with one commit, on a machine with a GPU, whose builds take no time."""
    made = empty_clone(GitRepository, tmp_path, capsys, monkeypatch)
    made.commit({"host": HOST_TIMES, "sync": TIMES})
    return made


@pytest.fixture
def folders(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> TwoFolders:
    """Those of another project's programs, on a machine without a GPU; the terminal is wide."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv(gpu_watch.VARIABLE, raising=False)
    monkeypatch.setattr(gpu_watch, "all_gpus", dict)
    monkeypatch.chdir(tmp_path)
    return TwoFolders(tmp_path, capsys)


@pytest.fixture
def hosted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HostedRun]:
    """A run of the GPU workflow on GitHub, whose API is on this machine."""
    monkeypatch.setattr(api, "_PAUSES_S", ())
    with FakeGitHub() as answers, FakeGitHub() as storage:
        yield HostedRun(tmp_path, answers, storage)
