# SPDX-License-Identifier: Apache-2.0
"""A request to stop lets a command clean up after itself."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = str(Path(__file__).parents[1])
PROGRAM = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from warpgauge import interrupts
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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_stop_is_an_exit_with_its_status(number: int) -> None:
    done = ended(number, "usual")
    assert (done.returncode, done.stdout) == (128 + number, "cleaned up\n")


def test_what_is_ignored_stays_so() -> None:
    assert ended(signal.SIGHUP, "ignored").returncode == 0
