# SPDX-License-Identifier: Apache-2.0
"""All that a process started, wherever it went, and how it is ended."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Iterator
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

    One that left the session is known by the `mark` in its environment; one with another
    environment, too, becomes a child of ours when its parents have ended (`adopt`). Processes that
    are `older` are not looked at.
    """

    leader: int
    mark: bytes = b""
    older: frozenset[str] = frozenset()

    def running(self) -> list[int]:
        """Its processes that have not ended."""
        return [int(pid) for pid in pids() - self.older if self._is_ours(Path("/proc", pid))]

    def _is_ours(self, process: Path) -> bool:
        try:
            # After the name in brackets, which may hold anything: state, parent, group, session.
            stat = (process / "stat").read_bytes().rpartition(b")")[2]
            state, parent, _, session = stat.split()[:4]
            adopted = bool(self.mark) and int(parent) == os.getpid()
            if state in _NOT_RUNNING:
                if adopted and int(process.name) != self.leader:
                    os.waitpid(int(process.name), os.WNOHANG)
                return False
            ours = adopted or int(session) == self.leader
            return ours or (bool(self.mark) and self.mark in (process / "environ").read_bytes())
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
        signalled, until = set[int](), time.monotonic() + GRACE_S
        while running := {*self.running()}:
            if time.monotonic() > until:
                return False
            for pid in running - signalled:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
            signalled |= running
            time.sleep(_LOOK_S)
        return True


def end_with(parent: int) -> None:
    """Called by a child of `parent`: it is killed when that ends, however it does."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before that
        os._exit(1)


# At the end of input instead of a line, our process is gone: what carries the mark is killed, three
# times, for one may be about to begin.
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
    """What is started in here with `mark` in its environment is killed if this process is.

    By a shell: to ask the system takes code between fork and exec, which hangs beside threads.
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
    return frozenset(entry.name for entry in os.scandir("/proc") if entry.name.isdigit())
