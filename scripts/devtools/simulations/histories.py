# SPDX-License-Identifier: Apache-2.0
"""Years of nightly times whose changes are known: which steps are placed, and which are false."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from devtools.simulations.table import Size, Table, percent
from warpgauge.statistics.change_points import find_all

Array = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int], Array]

# Device nights scatter by about so much. Errors from their processes explain half of it.
NIGHTS, SD = 365, 0.001
_AT_ONCE = 50  # rows
_STEPS = (0.005, 0.01, 0.05)
_EDGE = 20  # nights before a step and after it
_PERIODS = (365.0, 180.0, 90.0, 60.0, 45.0)  # of a season, in nights


def _normal(source: np.random.Generator, rows: int) -> Array:
    return source.normal(0.0, SD, (rows, NIGHTS))


def _correlated(source: np.random.Generator, rows: int) -> Array:
    """Each night resembles the one before by 0.5."""
    values = _normal(source, rows)
    for night in range(1, NIGHTS):
        values[:, night] = 0.5 * values[:, night - 1] + np.sqrt(0.75) * values[:, night]
    return values


def _outliers(source: np.random.Generator, rows: int) -> Array:
    """Two nights in a hundred are slower by 5 to 40 %."""
    slower = source.uniform(0.05, 0.4, (rows, NIGHTS))
    return np.asarray(_normal(source, rows) + slower * (source.random((rows, NIGHTS)) < 0.02))


def _drift(source: np.random.Generator, rows: int) -> Array:
    """3 % a year."""
    slope = 0.03 * source.choice([-1.0, 1.0], (rows, 1))
    return np.asarray(_normal(source, rows) + slope * np.arange(NIGHTS) / 365.0)


def _season(source: np.random.Generator, rows: int) -> Array:
    """Up and down by 1 %, in weeks or in a year."""
    turns = np.arange(NIGHTS) / source.choice(_PERIODS, (rows, 1)) + source.random((rows, 1))
    return np.asarray(_normal(source, rows) + 0.01 * np.sin(2.0 * np.pi * turns))


DISTURBANCES: Mapping[str, Noise] = {
    "none": _normal,
    "drift of 3 % a year": _drift,
    "season of ±1 %": _season,
    "outlier nights": _outliers,
    "correlated nights (0.5)": _correlated,
}
NOISES: Mapping[str, Noise] = {
    "normal": _normal,
    "t3": lambda source, rows: SD * source.standard_t(3.0, (rows, NIGHTS)),
    "two states": lambda source, rows: (
        0.3 * _normal(source, rows) + 5.0 * SD * (source.random((rows, NIGHTS)) < 0.2)
    ),
    **dict([*DISTURBANCES.items()][1:]),
}


def placed(size: Size, *, disturbance: str, later: bool = False) -> list[float]:
    """Return the percentage of steps of each size that are placed within one night.

    A `later` step of 2 % follows after 7 to 40 nights.
    """
    source, found = size.source(), []
    for step in _STEPS:
        count, hits = size.count(1000, 100), 0
        for _ in range(count // _AT_ONCE):
            values = DISTURBANCES[disturbance](source, _AT_ONCE)
            first = source.integers(_EDGE, NIGHTS - _EDGE, (_AT_ONCE, 1))
            signs = source.choice([-1.0, 1.0], (_AT_ONCE, 1))
            values += signs * np.log1p(step) * (np.arange(NIGHTS) >= first)
            if later:
                second = first + source.integers(7, 40, (_AT_ONCE, 1))
                signs = source.choice([-1.0, 1.0], (_AT_ONCE, 1))
                values += signs * np.log(1.02) * (np.arange(NIGHTS) >= second)
            points = find_all(values, np.full_like(values, SD / 2.0))
            for own, at in zip(points, first[:, 0], strict=True):
                hits += any(point.placed and abs(point.index - at) <= 1 for point in own)
        found.append(percent(hits / count))
    return found


def false(size: Size, *, noise: str) -> list[float]:
    """Return the unchanged row-years, and their change points and alarms in 1,000 of them."""
    source, count = size.source(), size.count(10000, 400)
    points = []
    for _ in range(count // _AT_ONCE):
        values = NOISES[noise](source, _AT_ONCE)
        points += [point for own in find_all(values, np.full_like(values, SD / 2.0))
                   for point in own]  # fmt: skip
    change_points = sum(point.placed for point in points)
    return [count, 1000.0 * change_points / count, 1000.0 * (len(points) - change_points) / count]


TABLES = (
    Table(
        "history-steps",
        ("nights", *(f"of {100 * step:g} %" for step in _STEPS)),
        {
            **{name: partial(placed, disturbance=name) for name in DISTURBANCES},
            "a later step": partial(placed, disturbance="none", later=True),
        },
    ),
    Table(
        "history-false",
        ("nights", "row-years", "change points per 1,000", "alarms per 1,000"),
        {name: partial(false, noise=name) for name in NOISES},
    ),
)
