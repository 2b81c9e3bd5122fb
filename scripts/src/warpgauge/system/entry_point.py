# SPDX-License-Identifier: Apache-2.0
"""How a command ends: interrupts in order, one sentence for an error, and an exit status.

Standard library only, and valid in Python 3.8, because every command begins with it.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NoReturn

from warpgauge.system import streams
from warpgauge.system.errors import ExitStatus, UserError, of_system
from warpgauge.system.text import inert

# Sent by CI systems to end a job, and by a terminal that closes.
_REQUESTS = (signal.SIGTERM, signal.SIGHUP)

CHANGED = "after all files were changed"  # where a late interrupt came


class Request(KeyboardInterrupt):
    """SIGTERM or SIGHUP, handled like Ctrl-C. Its arguments, if any, say where it came."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def run(name: str, work: Callable[[], int]) -> int:
    """Return the exit status of `work`.

    An internal error prints a traceback, and does not exit with the status of a regression.
    """
    streams.forgive()
    exit_in_order()
    try:
        return _printed(int(work()))
    except (UserError, OSError) as fault:
        return int(refused(name, fault))
    except KeyboardInterrupt as stop:
        by = f" by {name_of(stop.number)}" if isinstance(stop, Request) else ""
        when = f" {stop.args[0]}" if stop.args else ""
        print(f"{name}: interrupted{by}{when}", file=sys.stderr)
        return status_of(stop)
    except Exception:
        traceback.print_exc()
        print(f"{name}: this is a bug in warpgauge: please report it", file=sys.stderr)
        return int(ExitStatus.BAD_USAGE)
    finally:
        streams.finish()


def refused(name: str, fault: UserError | OSError) -> ExitStatus:
    """Print why, and return the exit status."""
    refusal = of_system(fault) if isinstance(fault, OSError) else fault
    print(f"{name}:", "\n".join(map(inert, str(refusal).split("\n"))), file=sys.stderr)
    return refusal.status


def exit_in_order() -> None:
    """Raise Request for these signals from now on; ignored signals (nohup) stay ignored."""
    for number in _REQUESTS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)


def _printed(status: int) -> int:
    """Flush, and return `status`. Raises UserError, which keeps the status of a regression."""
    try:
        streams.write("")
    except OSError as fault:
        regressed = status == ExitStatus.REGRESSION
        raise UserError(
            f"standard output cannot be written ({fault.strerror or fault})",
            ExitStatus.REGRESSION if regressed else ExitStatus.BAD_USAGE,
        ) from None
    return status


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    # The command ends now; a second request would only leave processes running.
    for one in _REQUESTS:
        signal.signal(one, signal.SIG_IGN)
    raise Request(number)


def status_of(stop: KeyboardInterrupt) -> int:
    """Return the exit status, as if the signal itself had ended the command."""
    return 128 + (stop.number if isinstance(stop, Request) else int(signal.SIGINT))


def name_of(number: int) -> str:
    """Return a signal's name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


@contextlib.contextmanager
def telling(when: str) -> Iterator[None]:
    """Say of an interrupt that comes in this context where it came."""
    try:
        yield
    except KeyboardInterrupt as stop:
        stop.args = (when,)
        raise


@contextlib.contextmanager
def postponed() -> Iterator[None]:
    """Delay interrupts to the end of this context.

    Only the main thread is affected, because Python runs signal handlers there alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    usual = {
        number: signal.signal(number, lambda caught, frame: came.append((caught, frame)))
        for number in (signal.SIGINT, *_REQUESTS)
        if callable(signal.getsignal(number))
    }
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
    for caught, frame in came[:1]:
        handler = usual[signal.Signals(caught)]
        assert callable(handler)
        handler(caught, frame)
