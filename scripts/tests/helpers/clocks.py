# SPDX-License-Identifier: Apache-2.0
"""Clocks that tests supply, so that no deadline depends on how busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace

_HANGING_S = 600.0


class Clock:
    """Stands still until something `happened`; from then on each look is 1000 s later."""

    def __init__(self, happened: Callable[[], object] = lambda: False) -> None:
        self._happened, self._now = happened, 0.0

    def __call__(self) -> float:
        if self._happened():
            self._now += 1000.0
        return self._now

    @property
    def module(self) -> SimpleNamespace:
        """In place of `time` in a module that asks for nothing but monotonic()."""
        return SimpleNamespace(monotonic=self)


def wait_until(happened: Callable[[], object]) -> None:
    """Return once it has; the limit is for what never will."""
    until = time.monotonic() + _HANGING_S
    while not happened():
        assert time.monotonic() < until, "what was waited for did not happen"
        time.sleep(0.005)
