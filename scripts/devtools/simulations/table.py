# SPDX-License-Identifier: Apache-2.0
"""A table of the rule: rows that are simulated independently of each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Size:
    """How much to simulate: the whole, or what takes minutes. Every row draws from `seed`."""

    whole: bool
    seed: int

    def count(self, whole: int, small: int) -> int:
        """Return how many of something to simulate."""
        return whole if self.whole else small

    def source(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)


# Returns the cells after the row's name. It is sent to another process: a module's function, or a
# functools.partial of one.
Row = Callable[[Size], Sequence[float | str]]


@dataclass(frozen=True)
class Table:
    """`heads` are the columns' names, with their units; `rows` are simulated by name."""

    name: str
    heads: tuple[str, ...]
    rows: Mapping[str, Row]


def percent(share: float) -> float:
    """Return a share in percent, with as many digits as people read."""
    return float(f"{100.0 * share:.2f}")
