# SPDX-License-Identifier: Apache-2.0
"""Changes in the history of a GPU model: which benchmarks, since which commit, and why.

Change points (`statistics.change_points`) are searched first in ratios to a baseline's commit, then
in absolute times without the changes already found. From absolute times, the constant differences
between GPUs that take turns are removed, and what moves all host times of a night, because that is
the machine.

Both programs of a ratio ran in the same minutes on the same GPU, so another boot, driver or GPU
does not move it. Ratios to different bases cannot be compared: each base has its own series.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import Enum
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from warpgauge.history.lines import Night, Times
from warpgauge.records.counters import Clock
from warpgauge.statistics.change_points import SHORTEST, ChangePoint, find_all, slow_curves
from warpgauge.statistics.log_ratios import Array
from warpgauge.verdict.policy import Policy, last_matching

# Facts that may change times without a code change.
MACHINE = (
    "gpu_uuid driver_version runtime_version cublas_version nccl_version nvcc_version "
    "kernel_release cpu_model power_limit_watts"
).split()
_COMPILERS = ("nvcc_version",)  # compiles the base too, but may affect the two sides differently

# Smaller changes raise no alert; as for pairs (docs/pages/rule.md). A policy may set higher values.
MINIMUM_EFFECT = {Clock.DEVICE: 0.005, Clock.HOST: 0.015}

# With fewer nights a GPU's difference is unknown; with fewer host benchmarks, a night's.
_FEWEST_NIGHTS, _FEWEST_ROWS = 5, 8
_LARGEST_SLOPE = 3.0
_MOSTLY = 0.9  # of its swing: a slow curve that rises by so much drifts, another one is a season
_NEAR = 25  # nights on either side
_SURE = 3.0  # standard errors
# For normal values: standard deviation divided by the median step between neighbours, and standard
# error of the median divided by that of the mean, sqrt(pi / 2).
_SD_OF_STEPS, _MEDIAN_SD = 1.0484, 1.2533


class Cause(Enum):
    """The cause according to the ratios to the base, which only a code change moves."""

    UNKNOWN = "unknown"
    CODE = "code"
    MACHINE = "machine"


@dataclass(frozen=True)
class Change:
    """A change point of a benchmark; without a name, of all host times.

    `explained` says why nobody needs to act; it is empty otherwise.
    """

    benchmark: str
    point: ChangePoint
    cause: Cause = Cause.UNKNOWN
    explained: str = ""

    @property
    def family(self) -> str:
        return self.benchmark.split("/")[0]

    @property
    def slower(self) -> bool:
        return self.point.change > 0.0


@dataclass(frozen=True)
class Alert:
    """Changes of one family and direction that may have one cause, largest first.

    The first changed night is one of `first` to `last`. `good` is the commit before it, `bad` the
    commit of `last`. `machine` names the facts that differ from before, on the same GPU if known:
    "machine" if the ratios show it and no fact does; for code changes only the compiler.
    """

    changes: tuple[Change, ...]
    first: int
    last: int
    good: str
    bad: str
    machine: tuple[str, ...]

    @property
    def is_code(self) -> bool:
        """Whether the ratios show a code change, or only the commit differs."""
        shown = any(change.cause is Cause.CODE for change in self.changes)
        alone = shown or (not self.machine and bool(self.changes[0].benchmark))
        return alone and self.good != self.bad


class Drift(NamedTuple):
    """A benchmark that moves by `a_year` in 365 nights, or (None) up and down by `swing`: logs."""

    benchmark: str
    swing: float
    a_year: float | None


def found(times: Times) -> list[Change]:
    """The changes of all benchmarks of a GPU model."""
    nights, values = times.nights, times.log_seconds.copy()
    gpus = np.unique([night.facts.get("gpu_uuid", "") for night in nights], return_inverse=True)[1]
    points: list[list[ChangePoint]] = [[] for _ in times.names]
    steadied = _steadied(values, times.errors, times.host, gpus, points)[0]
    bases = [night.base for night in nights]
    code = _code_series(steadied, times.log_ratios, times.ratio_errors, bases)
    changes = []
    if quieter := [series for series in code if series.is_quieter]:
        tables = np.stack([(series.log_seconds, series.errors) for series in quieter], axis=1)
        for series, steps in zip(quieter, find_all(*tables), strict=True):
            for step in steps:
                point = series.placed(step, steadied[series.row])
                changes.append(Change(times.names[series.row], point, Cause.CODE))
                for moved in (values[series.row], steadied[series.row], series.log_seconds):
                    moved[point.index :] -= point.change
    for _ in range(2 if _take_turns(gpus) else 1):
        steadied, errors, common, error = _steadied(values, times.errors, times.host, gpus, points)
        points = find_all(steadied, errors)
    for row, steps in enumerate(points):
        ends = [0, *(point.index for point in steps), len(nights)]
        for point, start, end in zip(steps, ends[:-2], ends[2:], strict=True):
            own = (series for series in code if series.row == row)
            causes = (series.cause(point, steadied[row], start, end) for series in own)
            cause = next((cause for cause in causes if cause is not Cause.UNKNOWN), Cause.UNKNOWN)
            changes.append(Change(times.names[row], point, cause))
    return [*changes, *(Change("", point) for point in find_all(common[None], error[None])[0])]


def drifts(times: Times, changes: Iterable[Change]) -> list[Drift]:
    """The benchmarks that move slowly by the minimum effect or more, apart from their changes."""
    values, moving = times.log_seconds.copy(), []
    rows = {name: row for row, name in enumerate(times.names)}
    for change in changes:
        if change.benchmark:
            values[rows[change.benchmark], change.point.index :] -= change.point.change
    for name, row in rows.items():
        curve = slow_curves(values[row, None], times.errors[row, None])[0]
        known = np.flatnonzero(np.isfinite(curve))
        swing = float(np.ptp(curve[known])) if len(known) else 0.0
        if np.expm1(swing) >= MINIMUM_EFFECT[Clock.HOST if times.host[row] else Clock.DEVICE]:
            rise = float(curve[known[-1]] - curve[known[0]])
            a_year = rise * 365.0 / float(known[-1] - known[0])
            moving.append(Drift(name, swing, a_year if abs(rise) >= _MOSTLY * swing else None))
    return moving


def alerts(
    changes: Iterable[Change], times: Times, policy: Policy | None, today: date
) -> list[Alert]:
    """Changes of at least the minimum effect, by night, grouped where they may share a cause."""
    clocks = {name: Clock.HOST for name, host in zip(times.names, times.host, strict=True) if host}
    large: list[Change] = []
    by_name = sorted(changes, key=lambda change: (change.benchmark, change.point.index))
    for name, group in groupby(by_name, key=lambda change: change.benchmark):
        least = MINIMUM_EFFECT[clocks.get(name, Clock.DEVICE) if name else Clock.HOST]
        if policy and name and (entry := policy.minimum_effect(name)):
            least = max(least, entry.fraction)
        own = [change for change in group if abs(np.expm1(change.point.change)) >= least]
        for number, change in enumerate(own, 1):
            later = [other.point for other in own[number:] if _share_machine(change, other)]
            undone = _undone(change.point, later, least, times.nights)
            large.append(replace(change, explained=undone or _expected(change, policy, today)))
    large.sort(key=lambda change: (change.family, change.slower, change.point.index))
    grouped: list[Alert] = []
    for _, group in groupby(large, key=lambda change: (change.family, change.slower)):
        grouped += _together(group, times.nights)
    return sorted(grouped, key=lambda alert: (alert.last, alert.first, alert.changes[0].family))


def _undone(
    point: ChangePoint, later: Sequence[ChangePoint], least: float, nights: Sequence[Night]
) -> str:
    """The commit that restored the earlier time, in words; empty if none did."""
    total = point.change
    for other in later:
        total += other.change
        if other.placed and abs(np.expm1(total)) < least:
            return f"undone by {nights[other.index].commit}"
    return ""


def _expected(change: Change, policy: Policy | None, today: date) -> str:
    """The reason of the last policy entry that accepts this slowdown, or empty."""
    if not policy or not change.benchmark:
        return ""
    unexpired = [entry for entry in policy.expected if entry.expires >= today]
    entry = last_matching(unexpired, change.benchmark)
    covers = entry is not None and 0.0 < np.expm1(change.point.change) <= entry.fraction
    return entry.reason if entry is not None and covers else ""


def _together(changes: Iterable[Change], nights: Sequence[Night]) -> list[Alert]:
    """Group changes whose ranges of nights overlap; an alert has the nights common to all."""
    groups: list[tuple[int, int, list[Change]]] = []
    for change in changes:
        point = change.point
        for number, (first, last, group) in enumerate(groups):
            first, last = max(first, point.first), min(last, point.last)
            alike = _share_machine(change, group[0]) and point.placed is group[0].point.placed
            if first <= last and alike:
                groups[number] = (first, last, [*group, change])
                break
        else:
            groups.append((point.first, point.last, [change]))
    return [_alert(*group, nights) for group in groups]


def _share_machine(change: Change, other: Change) -> bool:
    """Whether both or neither are caused by the machine."""
    return (change.cause is Cause.MACHINE) is (other.cause is Cause.MACHINE)


def _alert(first: int, last: int, changes: list[Change], nights: Sequence[Night]) -> Alert:
    before = nights[max(first - 1, 0)]
    # Compare each night with the last earlier one of the same GPU, for GPUs that take turns.
    earlier = {night.facts.get("gpu_uuid"): night for night in nights[: max(first, 1)]}
    pairs = [
        (night.facts, earlier.get(night.facts.get("gpu_uuid"), before).facts)
        for night in nights[first : last + 1]
    ]
    of_code = all(change.cause is Cause.CODE for change in changes)
    facts = _COMPILERS if of_code else MACHINE
    machine = tuple(key for key in facts if any(new.get(key) != old.get(key) for new, old in pairs))
    if changes[0].cause is Cause.MACHINE and not machine:
        machine = (Cause.MACHINE.value,)
    largest = sorted(changes, key=lambda change: -abs(change.point.change))
    return Alert(tuple(largest), first, last, before.commit, nights[last].commit, machine)


def _take_turns(gpus: NDArray[np.intp]) -> bool:
    """Whether a GPU came back after another. One that stays away is an ordinary machine change."""
    return bool(np.count_nonzero(np.diff(gpus)) >= len(np.unique(gpus)))


def _levels(values: Array, points: Sequence[Sequence[ChangePoint]]) -> Array:
    """For each night, the median of the row between the neighbouring change points."""
    levels = np.empty_like(values)
    for row, steps in enumerate(points):
        ends = [0, *(point.index for point in steps if point.placed), values.shape[1]]
        for start, end in pairwise(ends):
            levels[row, start:end] = _median(values[row : row + 1, start:end], 1)[0]
    return levels


def _differences(residuals: Array, gpus: NDArray[np.intp]) -> Array:
    """How far each night's GPU is from the others, if GPUs take turns; NaN if unknown.

    It is unknown for GPUs with too few nights. If most nights have such GPUs, differences between
    GPUs count as noise and the result is 0.
    """
    known = np.bincount(gpus)[gpus] >= _FEWEST_NIGHTS
    if not _take_turns(gpus) or 2 * np.count_nonzero(known) < len(gpus):
        return np.zeros_like(residuals)
    found = np.full_like(residuals, np.nan)
    for gpu in np.unique(gpus[known]):
        found[:, gpus == gpu] = _median(residuals[:, gpus == gpu], 1)[:, None]
    return found


def _steadied(
    values: Array,
    errors: Array,
    host: NDArray[np.bool_],
    gpus: NDArray[np.intp],
    points: Sequence[Sequence[ChangePoint]],
) -> tuple[Array, Array, Array, Array]:
    """Times without the differences between GPUs, and host times without each night's common shift.

    Also returns their standard errors, and the common shift with its own. The shift is the median
    distance of host times from their levels. The slope with which a row follows it comes from
    night-to-night steps, of which a change point affects only one.
    """
    levels = _levels(values, points)
    steadied, widened = values - _differences(values - levels, gpus), errors.copy()
    if np.count_nonzero(host) < _FEWEST_ROWS:
        nothing = np.full(values.shape[1], np.nan)
        return steadied, widened, nothing, nothing
    residuals = steadied[host] - levels[host]
    common = _median(residuals, 0)
    scatter = 1.4826 * _median(np.abs(residuals - common), 0)  # Hampel 1974: for normal values
    count = np.maximum(np.sum(np.isfinite(residuals), axis=0), 1)
    error = _MEDIAN_SD * scatter / np.sqrt(count)
    steps, of_common = np.diff(residuals, axis=1), np.diff(common)
    both = np.isfinite(steps) & np.isfinite(of_common)
    products = np.sum(np.where(both, steps * of_common, 0.0), axis=1)
    squares = np.sum(np.where(both, of_common**2, 0.0), axis=1)
    slopes = np.clip(products / np.maximum(squares, 1e-300), 0.0, _LARGEST_SLOPE)[:, None]
    steadied[host] -= slopes * np.where(np.isfinite(common), common, 0.0)
    widened[host] = np.hypot(errors[host], slopes * np.where(np.isfinite(error), error, 0.0))
    return steadied, widened, common, error


def _median(values: Array, axis: int) -> Array:
    """The median without NaN; NaN if all values are."""
    some = np.isfinite(values).any(axis=axis)
    filled = np.where(np.expand_dims(some, axis), values, 0.0)
    return np.asarray(np.where(some, np.nanmedian(filled, axis=axis), np.nan))


class _CodeSeries(NamedTuple):
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
        error = _MEDIAN_SD * sd * math.sqrt(1.0 / len(before) + 1.0 / len(after))
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


def _code_series(
    log_seconds: Array, log_ratios: Array, ratio_errors: Array, bases: Sequence[str]
) -> list[_CodeSeries]:
    """All code series with at least ten nights.

    The arrays have one row per benchmark and one column per night. `bases` are the commits that the
    ratios are to. A base that comes back starts a new series: the machine may have changed.
    """
    often, series = Counter(bases), []
    paired = [at for at, base in enumerate(bases) if base and often[base] >= SHORTEST]
    for _, group in groupby(paired, key=lambda at: bases[at]):
        nights = [*group]
        for row in range(len(log_ratios)):
            ratios, seconds = log_ratios[row, nights], log_seconds[row, nights]
            known = np.isfinite(ratios + seconds)
            if np.count_nonzero(known) >= 2 * SHORTEST:
                values = np.full(len(bases), np.nan)
                values[nights] = ratios + np.median((seconds - ratios)[known])
                is_quieter = _scatter(ratios[known]) < _scatter(seconds[known])
                series.append(_CodeSeries(row, values, ratio_errors[row], is_quieter))
    return series


def _scatter(values: Array) -> float:
    """The median step from night to night, which a change hardly moves: it affects one step."""
    return float(np.median(np.abs(np.diff(values))))
