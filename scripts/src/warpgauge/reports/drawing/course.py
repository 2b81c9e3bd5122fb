# SPDX-License-Identifier: Apache-2.0
"""One benchmark over the nights: standard errors, change points, other events. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Night:
    """The median in `seconds`, above zero; `error` is the standard error of its logarithm."""

    date: str  # 2026-03-07; shown as it is
    seconds: float
    error: float = 0.0
    tooltip: str = ""


@dataclass(frozen=True)
class ChangePoint:
    """From the night `index` on times are longer by a fraction, `change`, from `low` to `high`."""

    index: int
    change: float
    low: float
    high: float
    tooltip: str = ""


@dataclass(frozen=True)
class Event:
    """What is another from the night `index` on: `kind` is "GPU", "driver" or "machine"."""

    index: int
    kind: str
    tooltip: str = ""


@dataclass(frozen=True)
class Course:
    """There is a night; they are in order."""

    title: str
    nights: Sequence[Night]
    changes: Sequence[ChangePoint] = ()
    events: Sequence[Event] = ()


def drawn(course: Course) -> str:
    """The element."""
    raise NotImplementedError
