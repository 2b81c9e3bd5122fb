# SPDX-License-Identifier: Apache-2.0
"""One dot for each process or pair: medians by session and side, or ratios over the pairs. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    """A column of dots with a bar at their median; `tooltips`, if any, are as many as `values`.

    Groups of one `colour` (base, candidate) have the same; without one it is that of the text.
    """

    name: str
    values: Sequence[float]
    colour: int | None = None
    tooltips: Sequence[str] = ()


@dataclass(frozen=True)
class Dots:
    """There is a value. `y_text` words a tick; `y` is the title of the vertical axis.

    With `numbered` the dots stand in the order of their values, over 1, 2, 3, ... (the pairs), one
    group after the other; else each group is a column.
    `middle` and `interval` are the estimate and what it is known to, `band` the tolerance, all on
    the vertical axis, with the words `interval_name` and `band_name` in the legend.
    """

    title: str
    y: str
    groups: Sequence[Group]
    y_text: Callable[[float], str] = "{:g}".format
    numbered: bool = False
    x: str = ""
    middle: float | None = None
    interval: tuple[float, float] | None = None
    band: tuple[float, float] | None = None
    interval_name: str = "95 % interval"
    band_name: str = "tolerance"


def drawn(dots: Dots) -> str:
    """The element."""
    raise NotImplementedError
