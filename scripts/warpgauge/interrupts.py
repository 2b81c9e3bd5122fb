# SPDX-License-Identifier: Apache-2.0
"""Being told to stop is an exit and no sudden death: what runs is ended, files stay whole."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import NoReturn

# The polite request of a CI system, and a terminal that went away.
_REQUESTS = (signal.SIGTERM, signal.SIGHUP)


def exit_in_order() -> None:
    """From now on such a request raises SystemExit; one that is ignored (nohup) stays so."""
    for number in _REQUESTS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)
