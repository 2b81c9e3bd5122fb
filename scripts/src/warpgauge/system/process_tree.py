# SPDX-License-Identifier: Apache-2.0
"""Finds and ends all descendants of a process."""

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

GRACE_S = 5.0  # from SIGTERM to SIGKILL: time for tearing down a CUDA context
GONE_S = 5.0  # from SIGKILL until a process counts as one that cannot be killed
_LOOK_S = 0.02

_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # prctl(2)
# The environment variable that marks a process and its descendants.
MARK = "WARPGAUGE_PROCESS"
_NOT_RUNNING = (b"Z", b"X")  # ended, but not yet waited for


@dataclass(frozen=True)
class ProcessTree:
    """A process that leads its own session, and its descendants.

    A descendant that left the session is known by the `mark` in its environment. One with another
    environment, too, becomes a child of this process when its parents end (`adopt`). Processes in
    `older` are ignored.
    """

    leader: int
    mark: bytes = b""
    older: frozenset[str] = frozenset()

    def running(self) -> list[int]:
        """Return the pids of its processes that have not ended."""
        return [int(pid) for pid in pids() - self.older if self._is_ours(Path("/proc", pid))]

    def _is_ours(self, process: Path) -> bool:
        try:
            # After the name in parentheses, which may hold anything: state, parent, group, session.
            stat = (process / "stat").read_bytes().rpartition(b")")[2]
            state, parent, _, session = stat.split()[:4]
            adopted = bool(self.mark) and int(parent) == os.getpid()
            if state in _NOT_RUNNING:
                if adopted and int(process.name) != self.leader:
                    os.waitpid(int(process.name), os.WNOHANG)
                return False
            ours = adopted or int(session) == self.leader
            return ours or (bool(self.mark) and self.mark in (process / "environ").read_bytes())
        except (OSError, ValueError):  # it has ended, or belongs to another user
            return False

    def end(self) -> bool:
        """End all its processes, with SIGTERM first. Returns False if some are still running."""
        try:
            self._ended_by(signal.SIGTERM, GRACE_S)
        finally:  # even after a second Ctrl-C
            gone = self._ended_by(signal.SIGKILL, GONE_S)
        return gone

    def _ended_by(self, number: signal.Signals, seconds: float) -> bool:
        signalled, until = set[int](), time.monotonic() + seconds
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
    """Make the calling child of `parent` die with it, however that ends."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the call above
        os._exit(1)


# End of input instead of a line means that our process is gone: kill all processes with the mark,
# three times, because one may be starting meanwhile.
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
    """Kill processes with `mark` in their environment if this process dies in this context.

    A shell does it: PR_SET_PDEATHSIG needs code between fork and exec, which hangs with threads.
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
    """Make processes that outlive their parents children of this process from now on."""
    _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1)


def pids() -> frozenset[str]:
    return frozenset(entry.name for entry in os.scandir("/proc") if entry.name.isdigit())
