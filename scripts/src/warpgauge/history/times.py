# SPDX-License-Identifier: Apache-2.0
"""The nights of a GPU model as tables of times, for statistics and pictures."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import astuple
from numpy.typing import NDArray

from warpgauge.history.lines import Night, Point, Ratio
from warpgauge.statistics.log_ratios import Array


@dataclass(frozen=True)
class Times:
    """Tables with a row per benchmark and a column per night, NaN where nothing was measured.

    `host` says which benchmarks have host times. `errors` are standard errors of `log_seconds` from
    the scatter between that night's processes, NaN for one process. `log_ratios` are to the night's
    base, with standard errors from the scatter between pairs.
    """

    nights: Sequence[Night]
    names: Sequence[str]
    host: NDArray[np.bool_]
    log_seconds: Array
    errors: Array
    log_ratios: Array
    ratio_errors: Array

    @staticmethod
    def of(nights: Sequence[Night], wanted: Collection[str] | None = None) -> Times:
        """The times of all benchmarks that have any in these nights, or of the `wanted` ones."""
        every = dict.fromkeys(name for night in nights for name in night.benchmarks)
        names = [name for name in every if wanted is None or name in wanted]
        rows = {name: row for row, name in enumerate(names)}
        points, pairs = np.full((2, 3, len(names), len(nights)), np.nan)
        for column, night in enumerate(nights):
            _fill(points[..., column], night.benchmarks, rows)
            _fill(pairs[..., column], night.ratios, rows)
        timed_by_host = {name for night in nights for name in night.host}
        host = np.array([name in timed_by_host for name in names], dtype=bool)
        errors, ratio_errors = (standard_error(sd, count) for _, sd, count in (points, pairs))
        return Times(nights, names, host, np.log(points[0]), errors, pairs[0], ratio_errors)


def _fill(
    column: Array, measured: Mapping[str, Point] | Mapping[str, Ratio], rows: Mapping[str, int]
) -> None:
    known = {rows[name]: astuple(one) for name, one in measured.items()
             if name in rows}  # fmt: skip
    column[:, [*known]] = np.array([*known.values()], dtype=np.float64).reshape(-1, 3).T


def standard_error(sd: Array, count: Array) -> Array:
    """The standard error, within 3 %, of the `samples.centre` of `count` normal values.

    For many values it is the mean's standard error times the square root of pi/3.
    """
    return np.asarray(sd * np.sqrt(np.pi / (3.0 * np.maximum(count, 1.0))))
