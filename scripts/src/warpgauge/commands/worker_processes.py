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
from multiprocessing.context import ForkContext, ForkProcess
from queue import SimpleQueue
from typing import IO

from warpgauge.system import entry_point
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
        running.append(_started(work))
        return Ended(name, _status(running[0]))


def at_once(works: Mapping[str, Work], say: Callable[[str, str], None]) -> Iterator[Ended]:
    """Run all `works` at once, yield each as it ends; `say` gets each line of standard error."""
    # The name of a function and a line of its process; None at the end of its standard error.
    lines = SimpleQueue[tuple[str, str | None]]()
    started: dict[str, tuple[ForkProcess, IO[str], IO[str]]] = {}
    with _ended_with_us() as running:
        for name, work in works.items():
            out = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
            read, write = os.pipe()
            running.append(_started(work, {"stdout": out.fileno(), "stderr": write}))
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
            process, written, _ = started.pop(name)
            status = _status(process)
            with written:
                written.seek(0)
                yield Ended(name, status, written.read())


def _read(name: str, err: IO[str], lines: SimpleQueue[tuple[str, str | None]]) -> None:
    with err:
        for line in err:
            lines.put((name, line.removesuffix("\n")))
    lines.put((name, None))


def _started(work: Work, streams: Mapping[str, int] | None = None) -> ForkProcess:
    """Start a process that runs `work`, with these descriptors as its streams."""
    process = ForkContext().Process(target=_run, args=(work, streams or {}, os.getpid()))
    process.start()
    return process


def _run(work: Work, streams: Mapping[str, int], parent: int) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # Ctrl-C reaches our parent, too, which passes it on once.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    replaced = []  # keeps old streams alive: collecting one would close the new descriptor
    for number, (name, ours) in enumerate(streams.items(), 1):
        replaced.append(getattr(sys, name))
        os.dup2(ours, number)
        # A new file object, because the old one caches whether it can seek.
        setattr(sys, name, os.fdopen(number, "w", encoding="utf-8", closefd=False))
    status = int(ExitStatus.NOT_MEASURED)
    try:
        if os.getppid() == parent:  # it may have died before the call of prctl
            status = entry_point.run("bench", lambda: _interruptible(work))
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # raised outside of the entry point, which would report it
        os.write(2, traceback.format_exc().encode(errors="replace"))
    finally:
        os._exit(status)


def _interruptible(work: Work) -> int:
    try:
        return work()
    except KeyboardInterrupt as stop:
        return entry_point.status_of(stop)


def _status(process: ForkProcess) -> int:
    process.join()
    assert process.exitcode is not None
    return process.exitcode


@contextlib.contextmanager
def _ended_with_us() -> Iterator[list[ForkProcess]]:
    """End the processes in the yielded list if an exception occurs."""
    running: list[ForkProcess] = []
    try:
        yield running
    except BaseException:
        for process in running:
            process.terminate()
        for process in running:
            process.join()
        raise
