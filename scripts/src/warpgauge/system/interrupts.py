# SPDX-License-Identifier: Apache-2.0
"""Handles interrupts in order: child processes are ended, and files stay complete.

Standard library only, and readable by Python 3.8 (every command begins with it).
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

# The polite request of a CI system, and a terminal that went away.
_REQUESTS = (signal.SIGTERM, signal.SIGHUP)

CHANGED = "after all files were changed"  # says an interrupt behind that


class Request(KeyboardInterrupt):
    """Such a request: whoever expects Ctrl-C expects it, too. `when` as Ctrl-C's argument."""

    def __init__(self, number: int, *when: str) -> None:
        super().__init__(*when)
        self.number = number


def exit_in_order() -> None:
    """From now on such a request raises Request; one that is ignored (nohup) stays so."""
    for number in _REQUESTS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)


def told(stop: KeyboardInterrupt, when: str) -> KeyboardInterrupt:
    """`stop`, to be raised again with the words that say where that was."""
    return Request(stop.number, when) if isinstance(stop, Request) else KeyboardInterrupt(when)


@contextlib.contextmanager
def telling(when: str) -> Iterator[None]:
    """An interrupt in here says `when` it came."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise told(stop, when) from None


def status(stop: KeyboardInterrupt) -> int:
    """The exit status: as if the signal itself had ended the command."""
    return 128 + (stop.number if isinstance(stop, Request) else int(signal.SIGINT))


def name_of(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


@contextlib.contextmanager
def postponed() -> Iterator[None]:
    """An interrupt in here takes effect at its end.

    Python runs signal handlers in the main thread alone.
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
    # What is to be ended is ended now; a second request would only leave some of it running.
    for one in _REQUESTS:
        signal.signal(one, signal.SIG_IGN)
    raise Request(number)
