# SPDX-License-Identifier: Apache-2.0
"""The times of a benchmark without the machine's effects, from ratios to a baseline's commit.

Both programs of a ratio ran in the same minutes on the same GPU, so another boot, driver or GPU
does not move it. Levels relative to different bases can only be compared through absolute times,
which the machine moves. Therefore the nights of each base form a separate series.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from warpgauge.statistics.change_points import ChangePoint
from warpgauge.statistics.energy_splits import SHORTEST
from warpgauge.statistics.log_ratios import Array


class Cause(Enum):
    """The cause according to the ratios to the base, which only a code change moves."""

    UNKNOWN = "unknown"
    CODE = "code"
    MACHINE = "machine"


class CodeSeries(NamedTuple):
    """Log times of the benchmark in `row` as on one machine, with standard errors.

    They are NaN in nights without a ratio to these bases. `is_quieter`: they scatter less from
    night to night than the absolute times.
    """

    row: int
    log_seconds: Array
    errors: Array
    is_quieter: bool

    def cause(self, point: ChangePoint, log_seconds: Array, start: int, end: int) -> Cause:
        """The cause of a change of absolute times: code if more than half of it shows here.

        `start` and `end` bound the nights between the neighbouring changes. A row that passes its
        baseline has no ratio, so the nights with one may all be slow. They say nothing unless their
        own times, in `log_seconds`, change as well.
        """
        known = np.flatnonzero(np.isfinite(self.log_seconds[start:end])) + start
        before, after = np.split(known, [np.searchsorted(known, point.index)])
        before, after = before[-_NEAR:], after[:_NEAR]
        if len(before) < SHORTEST or not len(after):
            return Cause.UNKNOWN
        of_code, of_times = (
            float(np.median(values[after]) - np.median(values[before])) / point.change
            for values in (self.log_seconds, log_seconds)
        )
        sd = _scatter(self.log_seconds[[*before, *after]]) * _SD_OF_STEPS
        error = MEDIAN_SD * sd * math.sqrt(1.0 / len(before) + 1.0 / len(after))
        beyond = of_code - 0.5
        if not of_times >= 0.5 or abs(beyond * point.change) < _SURE * error:
            return Cause.UNKNOWN
        return Cause.CODE if beyond > 0.0 else Cause.MACHINE

    def placed(self, point: ChangePoint, log_seconds: Array) -> ChangePoint:
        """Move the point to the likeliest of the nights without a ratio before it, by its times."""
        start = int(np.flatnonzero(np.isfinite(self.log_seconds[: point.index]))[-1]) + 1
        before = log_seconds[max(start - _NEAR, 0) : start]
        after = log_seconds[point.index : point.index + _NEAR] - point.change
        level = float(np.nanmedian([*before, *after]))
        # How much closer each night is to the new level, in squared distance; newest first.
        beyond = log_seconds[start : point.index][::-1] - level - point.change / 2.0
        gains = np.cumsum([0.0, *np.nan_to_num(beyond * point.change)])
        return replace(point, index=point.index - int(np.argmax(gains)))


_NEAR = 25  # nights on either side
_SURE = 3.0  # standard errors
# For normal values: standard deviation divided by the median step between neighbours, and standard
# error of the median divided by that of the mean, sqrt(pi / 2).
_SD_OF_STEPS, MEDIAN_SD = 1.0484, 1.2533


def found(
    log_seconds: Array, log_ratios: Array, ratio_errors: Array, bases: Sequence[str]
) -> list[CodeSeries]:
    """All series with at least ten nights.

    The arrays have one row per benchmark and one column per night. `bases` are the commits that the
    ratios are to.
    """
    names, series = np.array(bases), []
    for first, last in _spans(bases):
        part = slice(first, last + 1)
        for row in np.flatnonzero(np.isfinite(log_ratios[:, part]).any(axis=1)).tolist():
            at = row, part
            made = _made(log_seconds[at], log_ratios[at], names[part])
            known = np.isfinite(made)
            if np.count_nonzero(known) >= 2 * SHORTEST:
                values = np.full(len(bases), np.nan)
                values[part] = made
                is_quieter = _scatter(made[known]) < _scatter(log_seconds[at][known])
                series.append(CodeSeries(row, values, ratio_errors[row], is_quieter))
    return series


def _spans(bases: Sequence[str]) -> list[tuple[int, int]]:
    """The first and last night of each base; bases that take turns often share a span.

    A base that comes back only a few times starts a new span: otherwise a change of the machine
    would look like a difference between the two bases.
    """
    count = Counter(bases)
    known = [at for at, base in enumerate(bases) if base and count[base] >= SHORTEST]
    runs = [[*run] for _, run in groupby(known, key=lambda at: bases[at])]
    turns = Counter(bases[run[0]] for run in runs)
    spans: list[tuple[int, int]] = []
    for often, group in groupby(runs, key=lambda run: turns[bases[run[0]]] >= SHORTEST):
        nights: dict[str, tuple[int, int]] = {}
        for number, run in enumerate(group):
            name = bases[run[0]] if often else str(number)
            nights[name] = (nights.get(name, run)[0], run[-1])
        begun = len(spans)
        for first, last in sorted(nights.values()):
            if len(spans) > begun and first <= spans[-1][1]:
                first, last = spans[-1][0], max(last, spans.pop()[1])
            spans.append((first, last))
    return spans


def _made(log_seconds: Array, log_ratios: Array, bases: NDArray[np.str_]) -> Array:
    """Logarithms of the ratios times the base's time, which is the median over the base's nights.

    A base with too few nights has no reliable time; its nights are NaN.
    """
    values = np.full_like(log_seconds, np.nan)
    for base in {*bases.tolist()} - {""}:
        of_base = np.where(bases == base, log_seconds - log_ratios, np.nan)
        here = np.isfinite(of_base)
        if np.count_nonzero(here) >= SHORTEST:
            values[here] = log_ratios[here] + np.median(of_base[here])
    return values


def _scatter(values: Array) -> float:
    """The median step from night to night, which a change hardly moves: it affects one step."""
    return float(np.median(np.abs(np.diff(values))))
