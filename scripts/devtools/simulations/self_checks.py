# SPDX-License-Identifier: Apache-2.0
"""The results of `scripts/bench --self-check` that are kept: measured on GPUs, not simulated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from devtools.simulations.table import Size, Table
from warpgauge.measure import self_check
from warpgauge.system.environment import ROOT


def measured(cells: Sequence[str], _: Size) -> Sequence[str]:
    return cells


_HEADS, _ROWS = self_check.table(ROOT / "baselines")
TABLES = (
    [Table("self-check", tuple(_HEADS), {name: partial(measured, cells) for name, *cells in _ROWS})]
    if _ROWS
    else []
)
