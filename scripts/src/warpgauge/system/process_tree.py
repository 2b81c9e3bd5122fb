# SPDX-License-Identifier: Apache-2.0
"""All that a process started, wherever it went, and how it is ended."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

GRACE_S = 5.0  # between SIGTERM and SIGKILL: time for a CUDA context to be torn down
_LOOK_S = 0.02

_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # prctl(2)

# The variable by which a process and what it starts are known.
MARK = "WARPGAUGE_PROCESS"

_NOT_RUNNING = (b"Z", b"X")  # ended, only not yet waited for


@dataclass(frozen=True)
class ProcessTree:
    """A process that leads a session of its own, and its descendants.

    A child can leave the session, and is known by the `mark` in its environment then. One that has
    another environment, too, is known when its parents have ended: it is a child of ours then
    (`adopt`). `older` are the processes that were there before, which saves looking at them.
    """

    leader: int
    mark: bytes = b""
    older: frozenset[str] = frozenset()

    def running(self) -> list[int]:
        """The processes of it that have not ended."""
        return [int(name) for name in pids() - self.older if self._is_ours(name)]

    def _is_ours(self, name: str) -> bool:
        try:
            # Behind the name in brackets, which may hold anything: state, parent, group, session.
            state, parent, _, session = _read(name, "stat").rpartition(b")")[2].split()[:4]
            adopted = self.mark != b"" and int(parent) == os.getpid()
            if state in _NOT_RUNNING:
                if adopted and int(name) != self.leader:
                    os.waitpid(int(name), os.WNOHANG)
                return False
            ours = int(session) == self.leader or adopted
            return ours or (self.mark != b"" and self.mark in _read(name, "environ"))
        except (OSError, ValueError):  # it is gone, or somebody else's
            return False

    def end(self) -> bool:
        """End what runs of it, politely first; False where something runs on all the same."""
        try:
            self._ended_by(signal.SIGTERM)
        finally:  # after a second Ctrl-C, too
            gone = self._ended_by(signal.SIGKILL)
        return gone

    def _ended_by(self, number: signal.Signals) -> bool:
        told: set[int] = set()
        until = time.monotonic() + GRACE_S
        while running := self.running():
            if time.monotonic() > until:
                return False
            for pid in running:
                if pid not in told:
                    told.add(pid)
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.kill(pid, number)
            time.sleep(_LOOK_S)
        return True


def end_with(parent: int) -> Callable[[], None]:
    """What a child of `parent` calls so as not to outlive it, not even when that is killed."""

    def ask() -> None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before that
            os._exit(1)

    return ask


# Waits for a line; without one whoever was to write it is gone, and what carries the mark is ended.
# Three times, for one may be about to begin.
_WATCH = """
read -r _ && exit
for _ in 1 2 3; do
  for one in /proc/[0-9]*; do
    grep -qsF -e "$1" "$one/environ" && kill -KILL "${one#/proc/}"
  done
  sleep 0.1
done
"""


@contextlib.contextmanager
def ended_with_us(mark: str) -> Iterator[None]:
    """What is started in here with `mark` in its environment is killed should we be.

    By a shell: to ask the system for it, a child would have to run code of ours between fork and
    exec, which may hang where there are threads.
    """
    watch = subprocess.Popen(
        ["/bin/sh", "-c", _WATCH, "sh", mark],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={"PATH": os.defpath},
    )
    try:
        yield
    finally:
        watch.communicate(b"\n")


def adopt() -> None:
    """From now on who outlives its parents is a child of this process, wherever it went."""
    _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1)


def pids() -> frozenset[str]:
    """All processes there are."""
    return frozenset(entry.name for entry in os.scandir("/proc") if entry.name.isdigit())


def _read(pid: str, what: str) -> bytes:
    return Path("/proc", pid, what).read_bytes()
