# SPDX-License-Identifier: Apache-2.0
"""Public series in which people marked the changes: which of them are found, and what else is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from devtools.simulations.table import Size, Table
from warpgauge.statistics.change_points import ChangePoint, find_all

_FOLDER = Path(__file__).resolve().parents[2] / "tests" / "history" / "series"
NEAR = 1  # values by which a change point may miss a step


@dataclass(frozen=True)
class Series:
    """`steps` are the indices at which people say that a new level begins."""

    source: str
    name: str
    kind: str
    steps: tuple[int, ...]
    values: tuple[float, ...]

    def change_points(self) -> list[ChangePoint]:
        """Return the change points that are placed."""
        logs = np.log(self.values)[None]
        (points,) = find_all(logs, np.full_like(logs, np.nan))
        return [point for point in points if point.placed]

    def missed(self, points: list[ChangePoint]) -> list[int]:
        near = [range(point.index - NEAR, point.index + NEAR + 1) for point in points]
        return [step for step in self.steps if not any(step in reach for reach in near)]


def every() -> Iterator[Series]:
    for path in sorted(_FOLDER.glob("*.json")):
        for name, own in json.loads(path.read_text()).items():
            kind = own.get("kind", "")
            yield Series(path.stem, name, kind, tuple(own["steps"]), tuple(own["values"]))


def found(size: Size, *, source: str, kind: str) -> list[float]:
    """Return how many series, marked steps, steps found and other change points there are."""
    del size  # the data are what they are
    own = [series for series in every() if (series.source, series.kind) == (source, kind)]
    steps = missed = other = 0
    for series in own:
        points = series.change_points()
        steps += len(series.steps)
        missed += len(series.missed(points))
        other += len(points) - len(series.steps) + len(series.missed(points))
    return [len(own), steps, steps - missed, other]


TABLES = (
    Table(
        "history-series",
        ("series", "number", "marked steps", f"found within {NEAR}", "found, not marked"),
        {
            f"{source} {kind}".strip(): partial(found, source=source, kind=kind)
            for source, kind in sorted({(series.source, series.kind) for series in every()})
        },
    ),
)
