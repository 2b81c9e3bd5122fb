# SPDX-License-Identifier: Apache-2.0
"""A request to stop lets a command clean up after itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = str(Path(__file__).parents[2] / "src")
PROGRAM = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from warpgauge.system import interrupts
number = int(sys.argv[2])
signal.signal(number, signal.SIG_IGN if sys.argv[3] == "ignored" else signal.SIG_DFL)
interrupts.exit_in_order()
try:
    os.kill(os.getpid(), number)
finally:
    print("cleaned up")
"""


def ended(number: int, state: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, SCRIPTS, str(number), state]
    return subprocess.run(command, capture_output=True, text=True, check=False)


# A command that says what its child is, and is told to stop while that goes on.
COMMAND = """
import os, signal, sys, tempfile, threading, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from warpgauge.system import entry_point as command
from warpgauge.system import interrupts
from warpgauge.system import process
number, folder = int(sys.argv[2]), Path(tempfile.mkdtemp())

def stop():
    while not (folder / "pid").exists() or not (folder / "pid").read_text().strip():
        time.sleep(0.01)
    print((folder / "pid").read_text().strip())
    for _ in range(2):  # as the impatient do
        os.kill(os.getpid(), number)

def work():
    threading.Thread(target=stop).start()
    try:
        process.run(["sh", "-c", f"echo $$ >{folder}/pid; exec sleep 60"], 60.0, folder)
    except KeyboardInterrupt as stopped:
        if sys.argv[3] == "told":
            raise interrupts.told(stopped, "when it was nearly done") from None
        raise

sys.exit(command.run("bench", work, "before a run file was written"))
"""


@pytest.mark.parametrize(
    ("number", "by"), [(signal.SIGTERM, " by SIGTERM"), (signal.SIGHUP, " by SIGHUP")]
)
@pytest.mark.parametrize(
    ("state", "when"), [("", "before a run file was written"), ("told", "when it was nearly done")]
)
def test_a_command_that_is_told_to_stop_says_so_and_leaves_nothing_running(
    number: int, by: str, state: str, when: str
) -> None:
    command = [sys.executable, "-c", COMMAND, SCRIPTS, str(number), state]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=50)
    assert (done.returncode, done.stderr) == (128 + number, f"bench: interrupted{by} {when}\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_stop_lets_a_program_clean_up(number: int) -> None:
    assert ended(number, "usual").stdout == "cleaned up\n"


def test_what_is_ignored_stays_so() -> None:
    assert ended(signal.SIGHUP, "ignored").returncode == 0


POSTPONED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from warpgauge.system import interrupts
interrupts.exit_in_order()
try:
    with interrupts.postponed():
        os.kill(os.getpid(), int(sys.argv[2]))
        print("to its end", flush=True)
    print("not reached")
except KeyboardInterrupt as stop:
    print(interrupts.status(stop), signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_may_be_postponed(number: int) -> None:
    command = [sys.executable, "-c", POSTPONED, SCRIPTS, str(number)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == f"to its end\n{128 + number} True\n"
