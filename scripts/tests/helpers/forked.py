# SPDX-License-Identifier: Apache-2.0
"""A command in a process of its own, without starting another interpreter: a fork of the tests'."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO


class Forked:
    """Runs `work` in a fork; it is used like a Popen whose output is piped."""

    def __init__(self, work: Callable[[], int]) -> None:
        self.returncode: int | None = None
        self._streams = [tempfile.TemporaryFile("w+") for _ in range(2)]  # noqa: SIM115
        with warnings.catch_warnings():
            # From Python 3.12 on it warns of threads, of which xdist's workers have one that waits.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            _become(work, self._streams)
        self._ended = os.pidfd_open(self.pid)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Its standard output and error, once it has ended. Raises subprocess.TimeoutExpired."""
        if self.returncode is None:
            if not select.select([self._ended], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("a fork", timeout or 0.0)
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            os.close(self._ended)
        texts = []
        for stream in self._streams:
            stream.seek(0)
            texts.append(stream.read())
            stream.close()
        return texts[0], texts[1]

    def __enter__(self) -> Forked:
        return self

    def __exit__(self, *_: object) -> None:
        if self.returncode is None:
            self.send_signal(signal.SIGKILL)
            self.communicate()

    def send_signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)


def _become(work: Callable[[], int], streams: Sequence[IO[str]]) -> None:
    status = 99
    try:
        for number, stream in enumerate(streams, 1):
            os.dup2(stream.fileno(), number)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
        status = work()
    except SystemExit as end:
        status = int(end.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def runs(pid: int) -> bool:
    """Whether a process still runs, and not as a zombie."""
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False
