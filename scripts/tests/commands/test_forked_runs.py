# SPDX-License-Identifier: Apache-2.0
"""The run of one GPU of several is a fork: whatever becomes of it is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from warpgauge.commands.bench import status_of
from warpgauge.system import streams
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.locks import alone

SOURCES = Path(__file__).parents[2] / "src"
Streams = pytest.CaptureFixture[str]  # capfd, which sees what a fork writes


def raising(fault: BaseException) -> Callable[[], NoReturn]:
    def work() -> NoReturn:
        raise fault

    return work


def killed() -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


@pytest.mark.parametrize(
    ("fault", "status", "sentence"),
    [
        (UserError("mend it", ExitStatus.NOT_MEASURED), 3, "bench: mend it"),
        (OSError(28, "No space left on device", "run.json"), 2, "bench: run.json: No space left"),
        (ValueError("oh"), 2, "ValueError: oh"),
        (SystemExit(0), 3, "SystemExit: 0"),
        (GeneratorExit(), 3, "GeneratorExit"),
    ],
)
def test_a_fault_is_told(capfd: Streams, fault: BaseException, status: int, sentence: str) -> None:
    assert status_of(raising(fault)) == status
    assert sentence in capfd.readouterr().err


def test_a_fault_before_the_work_begins_is_told(
    capfd: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "forgive", raising(io := RuntimeError("no streams")))
    assert status_of(lambda: 0) == ExitStatus.NOT_MEASURED
    assert str(io) in capfd.readouterr().err


def test_a_signal_is_a_status_of_its_own() -> None:
    assert status_of(killed) == -signal.SIGKILL


def test_a_folder_that_is_held_is_told(capfd: Streams, tmp_path: Path) -> None:
    def refuse(holder: int | None) -> None:
        raise UserError(f"{holder} holds it", ExitStatus.NOT_MEASURED)

    def work() -> int:
        with alone(tmp_path, refuse):
            return 0

    with alone(tmp_path):
        assert status_of(work) == 3
    assert f"bench: {os.getpid()} holds it" in capfd.readouterr().err


_CLOSED = """
import sys
sys.path.insert(0, sys.argv[1])
from warpgauge.commands.bench import status_of
from warpgauge.system import entry_point

def work():
    print("note", file=sys.stderr)
    print("result")
    return 3

sys.exit(entry_point.run("bench", lambda: status_of(work)))
"""


@pytest.mark.parametrize("closed", ["", ">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_where_streams_are_closed_the_work_is_done(closed: str) -> None:
    words = [sys.executable, "-c", _CLOSED, str(SOURCES)]
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    shown = "" if ">&- " in f"{closed} ".replace("2>&- ", "") else "result\n"
    noted = "" if "2>&-" in closed else "note\n"
    assert (done.returncode, done.stdout, done.stderr) == (3, shown, noted)
