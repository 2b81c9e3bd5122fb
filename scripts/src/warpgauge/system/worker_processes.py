# SPDX-License-Identifier: Apache-2.0
"""Runs functions in forked processes, one after the other or all at once.

An interrupt ends all of them, and none outlives this process.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO

from warpgauge.system import entry_point, interrupts, process_tree
from warpgauge.system.errors import ExitStatus

Work = Callable[[], int]


@dataclass(frozen=True)
class Ended:
    name: str
    status: int  # negative for a signal, as in subprocess
    shown: str = ""  # standard output, if it was captured


def alone(name: str, work: Work) -> Ended:
    """Run `work` in a process that shares our streams."""
    with _ended_with_us() as running:
        running.append(_fork(work))
        return Ended(name, _wait(running))


def at_once(works: Mapping[str, Work], say: Callable[[str, str], None]) -> Iterator[Ended]:
    """Run all at once, and yield each as it ends; `say` gets each line of standard error."""
    with selectors.DefaultSelector() as pipes, _ended_with_us() as running:
        for name, work in works.items():
            read, write = os.pipe()
            out = tempfile.TemporaryFile()  # noqa: SIM115 - closed after it was read
            pid = _fork(work, out.fileno(), write)
            running.append(pid)
            os.close(write)
            pipes.register(read, selectors.EVENT_READ, _Running(name, pid, read, out))
        while pipes.get_map():
            for key, _ in pipes.select():
                process: _Running = key.data
                lines = process.lines()
                for line in lines or []:
                    say(process.name, line)
                if lines is None:
                    pipes.unregister(key.fd)
                    os.close(key.fd)
                    yield Ended(process.name, _wait(running, process.pid), process.shown())


@dataclass
class _Running:
    """A function that runs beside others, and our ends of its streams."""

    name: str
    pid: int
    read: int
    out: IO[bytes]
    _begun: bytes = b""  # an incomplete line

    def lines(self) -> list[str] | None:
        """Return new lines of standard error; None at its end."""
        some = os.read(self.read, 1 << 16)
        if not some and not self._begun:
            return None
        *whole, self._begun = (self._begun + (some or b"\n")).split(b"\n")
        return [line.decode(errors="replace") for line in whole]

    def shown(self) -> str:
        """Return all of standard output, after the process has ended."""
        with self.out:
            self.out.seek(0)
            return self.out.read().decode(errors="replace")


def _fork(work: Work, out: int | None = None, err: int | None = None) -> int:
    _flush()
    us = os.getpid()
    if pid := os.fork():
        return pid
    status = int(ExitStatus.NOT_MEASURED)
    replaced = []  # keeps old streams alive: collecting one would close the new descriptor
    try:
        process_tree.end_with(us)
        # Ctrl-C reaches our parent, too, which passes it on once.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for ours, standard, name in ((out, 1, "stdout"), (err, 2, "stderr")):
            if ours is not None:
                replaced.append(getattr(sys, name))
                os.dup2(ours, standard)
                # A new file object, because the old one caches whether it can seek.
                setattr(sys, name, os.fdopen(standard, "w", encoding="utf-8", closefd=False))
        status = entry_point.run("bench", lambda: _interruptible(work))
        _flush()
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
            _wait(running)
        raise


def _wait(running: list[int], pid: int = 0) -> int:
    """Wait for `pid`, or for the first process, and return its exit status."""
    which = pid or running[0]
    _, status = os.waitpid(which, 0)
    running.remove(which)
    return os.waitstatus_to_exitcode(status)


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
