# SPDX-License-Identifier: Apache-2.0
"""What simulations share: their size, and tables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def size(whole: int) -> int:
    """Of a simulation: an eighth of `whole` each time, the whole each night."""
    return whole if os.environ.get("WARPGAUGE_SIMULATIONS") == "whole" else whole // 8


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = ["| " + " | ".join(cells) + " |" for cells in (heads, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(heads), *lines[1:]])
