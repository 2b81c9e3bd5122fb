# SPDX-License-Identifier: Apache-2.0
"""A request to stop lets a command clean up after itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

HEAD = """
import os, signal, sys, tempfile, threading, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from warpgauge.system import entry_point, process
number = int(sys.argv[2])
"""


def ran(program: str, number: int) -> subprocess.CompletedProcess[str]:
    """What became of a program that is told to stop by this signal."""
    sources = str(Path(__file__).parents[2] / "src")
    command = [sys.executable, "-c", HEAD + program, sources, str(number)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


# A command that says what its child is, and is told to stop while that goes on.
COMMAND = """
folder = Path(tempfile.mkdtemp())

def stop():
    while not (folder / "pid").exists() or not (folder / "pid").read_text().strip():
        time.sleep(0.01)
    print((folder / "pid").read_text().strip())
    for _ in range(2):  # as the impatient do
        os.kill(os.getpid(), number)

def work():
    threading.Thread(target=stop).start()
    try:
        process.run(["sh", "-c", f"echo $$ >{folder}/pid; exec sleep 600"], 600.0, folder)
    except KeyboardInterrupt as stopped:
        WHEN
        raise

sys.exit(entry_point.run("bench", work))
"""
WHEN = "stopped.args = ('when it was nearly done',)"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(("raised", "when"), [("", ""), (WHEN, " when it was nearly done")])
def test_a_command_that_is_told_to_stop_says_so_and_leaves_nothing_running(
    number: signal.Signals, raised: str, when: str
) -> None:
    done = ran(COMMAND.replace("WHEN", raised), number)
    told = f"bench: interrupted by {number.name}{when}\n"
    assert (done.returncode, done.stderr) == (128 + number, told)
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)


POSTPONED = """
entry_point.exit_in_order()
try:
    with entry_point.postponed():
        os.kill(os.getpid(), number)
        print("to its end", flush=True)
    print("not reached")
except KeyboardInterrupt as stop:
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    print(entry_point.status_of(stop), usual)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_may_be_postponed_and_one_that_is_ignored_stays_so(number: int) -> None:
    assert ran(POSTPONED, number).stdout == f"to its end\n{128 + number} True\n"
    program = "signal.signal(number, signal.SIG_IGN); entry_point.exit_in_order()"
    assert ran(f"{program}; os.kill(os.getpid(), number)", number).returncode == 0
