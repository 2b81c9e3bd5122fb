# SPDX-License-Identifier: Apache-2.0
"""Runs functions in forked processes, one after the other or all at once.

An interrupt ends all of them, and none outlives this process.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from queue import SimpleQueue
from typing import IO

from warpgauge.system import entry_point, interrupts
from warpgauge.system.errors import ExitStatus

Work = Callable[[], int]
_PR_SET_PDEATHSIG = 1  # prctl(2)


@dataclass(frozen=True)
class Ended:
    name: str
    status: int  # negative for a signal, as in subprocess
    shown: str = ""  # standard output, if it was captured


def alone(name: str, work: Work) -> Ended:
    """Run `work` in a process that shares our streams."""
    with _ended_with_us() as running:
        running.append(_fork(work))
        return Ended(name, _wait(running, running[0]))


def at_once(works: Mapping[str, Work], say: Callable[[str, str], None]) -> Iterator[Ended]:
    """Run all at once, and yield each as it ends; `say` gets each line of standard error."""
    # The name of a function and a line of its process; None at the end of its standard error.
    lines = SimpleQueue[tuple[str, str | None]]()
    started: dict[str, tuple[int, IO[str], IO[str]]] = {}
    with _ended_with_us() as running:
        for name, work in works.items():
            out = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
            read, write = os.pipe()
            running.append(_fork(work, {"stdout": out.fileno(), "stderr": write}))
            os.close(write)
            pipe = os.fdopen(read, encoding="utf-8", errors="replace", newline="\n")
            started[name] = running[-1], out, pipe
        for name, (*_, err) in started.items():  # only now: threads and forks do not mix
            threading.Thread(target=_read, args=(name, err, lines), daemon=True).start()
        while started:
            name, line = lines.get()
            if line is not None:
                say(name, line)
                continue
            pid, written, _ = started.pop(name)
            status = _wait(running, pid)
            with written:
                written.seek(0)
                shown = written.read()
            yield Ended(name, status, shown)


def _read(name: str, err: IO[str], lines: SimpleQueue[tuple[str, str | None]]) -> None:
    with err:
        for line in err:
            lines.put((name, line.removesuffix("\n")))
    lines.put((name, None))


def _fork(work: Work, streams: Mapping[str, int] | None = None) -> int:
    """Return the pid of a process that runs `work`, with these descriptors as its streams."""
    sys.stdout.flush()
    sys.stderr.flush()
    us = os.getpid()
    if pid := os.fork():
        return pid
    status = int(ExitStatus.NOT_MEASURED)
    replaced = []  # keeps old streams alive: collecting one would close the new descriptor
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != us:  # it died before the call above
            os._exit(status)
        # Ctrl-C reaches our parent, too, which passes it on once.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for number, (name, ours) in enumerate((streams or {}).items(), 1):
            replaced.append(getattr(sys, name))
            os.dup2(ours, number)
            # A new file object, because the old one caches whether it can seek.
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8", closefd=False))
        status = entry_point.run("bench", lambda: _interruptible(work))
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # raised outside of the entry point, which would report it
        with contextlib.suppress(OSError):
            os.write(2, traceback.format_exc().encode(errors="replace"))
    finally:
        os._exit(status)


def _interruptible(work: Work) -> int:
    try:
        return work()
    except KeyboardInterrupt as stop:
        return interrupts.status(stop)


@contextlib.contextmanager
def _ended_with_us() -> Iterator[list[int]]:
    """End the processes in the yielded list, in order, if an exception occurs."""
    running: list[int] = []
    try:
        yield running
    except BaseException:
        for pid in running:
            os.kill(pid, signal.SIGTERM)
        while running:
            _wait(running, running[0])
        raise


def _wait(running: list[int], pid: int) -> int:
    """Wait for a process, and return its exit status."""
    _, status = os.waitpid(pid, 0)
    running.remove(pid)
    return os.waitstatus_to_exitcode(status)
