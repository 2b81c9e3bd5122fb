# SPDX-License-Identifier: Apache-2.0
"""Runs a function in a forked process: what becomes of it costs its caller nothing."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import traceback
from collections.abc import Callable
from multiprocessing.context import ForkContext

from warpgauge.system import entry_point
from warpgauge.system.errors import ExitStatus

Work = Callable[[], int]
_PR_SET_PDEATHSIG = 1  # prctl(2)


def status_of(work: Work) -> int:
    """Run `work` in a process that shares our streams; return its status, as in subprocess.

    An interrupt ends it, and it does not outlive this process.
    """
    process = ForkContext().Process(target=_run, args=(work, os.getpid()))
    process.start()
    try:
        process.join()
    except BaseException:
        process.terminate()
        process.join()
        raise
    assert process.exitcode is not None
    return process.exitcode


def _run(work: Work, parent: int) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # Ctrl-C reaches our parent, too, which passes it on once.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
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
