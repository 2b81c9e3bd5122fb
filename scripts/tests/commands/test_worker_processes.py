# SPDX-License-Identifier: Apache-2.0
"""Work in forks: whatever becomes of a piece of it is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from warpgauge.commands import worker_processes
from warpgauge.system import streams
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.layout import Output, print_line
from warpgauge.system.locks import alone

SOURCES = Path(__file__).parents[2] / "src"


def told(work: Callable[[], int]) -> tuple[int, str, str]:
    """Status, standard output and error of a piece of work beside another."""
    said: list[str] = []

    def say(name: str, line: str) -> None:
        if name == "one":
            said.append(line)

    both = {"one": work, "other": lambda: 0}
    (found,) = [one for one in worker_processes.at_once(both, say) if one.name == "one"]
    return found.status, found.shown, "\n".join(said)


def raising(fault: BaseException) -> Callable[[], NoReturn]:
    def work() -> NoReturn:
        raise fault

    return work


def killed() -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def test_what_a_piece_of_work_prints_is_kept_apart() -> None:
    notes, results = Output(stderr=True), Output()  # made before the fork, as those of a command

    def work() -> int:
        print_line(notes, "a note\nof two lines")
        print_line(results, "a result")
        os.write(2, b"and no end of line")
        return 1

    assert told(work) == (1, "a result\n", "a note\nof two lines\nand no end of line")


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
def test_a_fault_is_told(fault: BaseException, status: int, sentence: str) -> None:
    ended, _, said = told(raising(fault))
    assert ended == status
    assert sentence in said


def test_a_fault_before_the_work_begins_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "forgive", raising(io := RuntimeError("no streams")))
    status, _, said = told(lambda: 0)
    assert status == ExitStatus.NOT_MEASURED
    assert str(io) in said


def test_a_signal_is_a_status_of_its_own() -> None:
    assert told(killed)[0] == -signal.SIGKILL


def test_a_folder_that_is_held_is_told(tmp_path: Path) -> None:
    def refuse(holder: int | None) -> None:
        raise UserError(f"{holder} holds it", ExitStatus.NOT_MEASURED)

    def work() -> int:
        with alone(tmp_path, refuse):
            return 0

    with alone(tmp_path):
        status, _, said = told(work)
    assert (status, said) == (3, f"bench: {os.getpid()} holds it")


_CLOSED = """
import sys
sys.path.insert(0, sys.argv[1])
from warpgauge.commands import worker_processes
from warpgauge.system import entry_point

def work():
    print("note", file=sys.stderr)
    print("result")
    return 0

def main():
    found = []
    for one in worker_processes.at_once({"one": work}, lambda name, line: found.append(line)):
        found += [one.shown.strip(), str(one.status)]
    with open(sys.argv[2], "w") as file:
        file.write(" ".join(found))
    return worker_processes.alone("two", work).status

sys.exit(entry_point.run("bench", main))
"""


@pytest.mark.parametrize("closed", ["", ">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_where_streams_are_closed_nothing_is_lost(tmp_path: Path, closed: str) -> None:
    words = [sys.executable, "-c", _CLOSED, str(SOURCES), str(tmp_path / "found")]
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (tmp_path / "found").read_text() == "note result 0", done.stderr
    assert done.returncode == 0, done.stderr
