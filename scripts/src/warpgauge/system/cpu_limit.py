# SPDX-License-Identifier: Apache-2.0
"""A limit on what foreign text may cost: a regular expression can take years over one name."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from warpgauge.system.errors import UserError

# For one expression in all names; 10,000 of them take 0.01 s.
SEARCH_LIMIT_S = 0.5


@contextmanager
def cpu_limit(seconds: float, refusal: str) -> Iterator[None]:
    """Raises UserError with `refusal` once the block has taken `seconds` of this process's CPUs.

    By a signal, which Python's matcher looks for while it works. Only the main thread gets it: in
    another there is no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise UserError(refusal)

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)
