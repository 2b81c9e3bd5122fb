# SPDX-License-Identifier: Apache-2.0
"""Handles interrupts in order: child processes are ended, and files stay complete.

Standard library only, and valid in Python 3.8, because every command begins with it.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

# Sent by CI systems to end a job, and by a terminal that closes.
_REQUESTS = (signal.SIGTERM, signal.SIGHUP)

CHANGED = "after all files were changed"  # where a late interrupt came


class Request(KeyboardInterrupt):
    """SIGTERM or SIGHUP, handled like Ctrl-C. `when` says where it came."""

    def __init__(self, number: int, *when: str) -> None:
        super().__init__(*when)
        self.number = number


def exit_in_order() -> None:
    """Raise Request for these signals from now on; ignored signals (nohup) stay ignored."""
    for number in _REQUESTS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)


def told(stop: KeyboardInterrupt, when: str) -> KeyboardInterrupt:
    """Return `stop`, to be raised again, with words that say where it came."""
    return Request(stop.number, when) if isinstance(stop, Request) else KeyboardInterrupt(when)


@contextlib.contextmanager
def telling(when: str) -> Iterator[None]:
    """Add `when` to an interrupt that comes in this context."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise told(stop, when) from None


def status(stop: KeyboardInterrupt) -> int:
    """Return the exit status, as if the signal itself had ended the command."""
    return 128 + (stop.number if isinstance(stop, Request) else int(signal.SIGINT))


def name_of(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


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


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    # The command ends now; a second request would only leave processes running.
    for one in _REQUESTS:
        signal.signal(one, signal.SIG_IGN)
    raise Request(number)
