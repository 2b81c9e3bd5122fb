# SPDX-License-Identifier: Apache-2.0
"""Changes in the history of a GPU model: which benchmarks, since which commit, and why.

Change points (`statistics.change_points`) are searched first in series from pairs, which separate
code from machine (`code_series`), then in absolute times without the changes already found. From
absolute times, the constant differences between GPUs that take turns are removed, and what moves
all host times of a night, because that is the machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import groupby, pairwise

import numpy as np
from numpy.typing import NDArray

from warpgauge.history import code_series
from warpgauge.history.code_series import Cause
from warpgauge.history.series import Night, Series
from warpgauge.records.model import Clock
from warpgauge.statistics.change_points import FALSE_A_YEAR, ChangePoint, find_all, newest_start
from warpgauge.statistics.log_ratios import Array
from warpgauge.verdict.policy import Policy, last_matching

# Facts that may change times without a code change.
MACHINE = (
    "gpu_uuid driver_version runtime_version cublas_version nccl_version nvcc_version "
    "kernel_release cpu_model power_limit_watts"
).split()
_COMPILERS = ("nvcc_version",)  # compiles the base too, but may affect the two sides differently

# Smaller changes raise no alert; as for pairs (statistics.md). A policy may set higher values.
MINIMUM_EFFECT: Mapping[Clock, float] = {Clock.DEVICE: 0.005, Clock.HOST: 0.015}

# With fewer nights a GPU's difference is unknown; with fewer host benchmarks, a night's.
_FEWEST_NIGHTS, _FEWEST_ROWS = 5, 8
_MEDIAN_SD = np.sqrt(np.pi / 2.0)  # standard error of a median / of a mean, many normal values
_LARGEST_SLOPE = 3.0


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

    @property
    def is_quiet(self) -> bool:
        return all(change.explained for change in self.changes)


def found(
    series: Iterable[Series],
    nights: Sequence[Night],
    clocks: Mapping[str, Clock],
    *,
    alpha: float = FALSE_A_YEAR,
    newest: bool = False,
) -> list[Change]:
    """The changes of all series of a GPU model; with `newest` only those in the last nights.

    `clocks` says which clock times a benchmark; the default is device time.
    """
    rows = list(series)
    tables = np.full((4, len(rows), len(nights)), np.nan)
    for row, one in enumerate(rows):
        columns = one.log_seconds, one.errors, one.log_ratios, one.ratio_errors
        tables[:, row, list(one.nights)] = columns
    values, errors, ratios, ratio_errors = tables
    gpus = np.unique([night.facts.get("gpu_uuid", "") for night in nights], return_inverse=True)[1]
    host = np.array([clocks.get(one.benchmark) is Clock.HOST for one in rows], dtype=bool)
    points: list[list[ChangePoint]] = [[] for _ in rows]
    steadied = _steadied(values, errors, host, gpus, points)[0]
    if newest:  # of few nights with a ratio the last ones may be years old
        ratios[:, : newest_start(len(nights))] = np.nan
    code = code_series.found(steadied, ratios, ratio_errors, [night.base for night in nights])
    changes = []
    if quieter := [one for one in code if one.is_quieter]:
        tables = np.stack([(one.log_seconds, one.errors) for one in quieter], axis=1)
        seen = find_all(*tables, alpha=alpha, newest=newest)
        for own, those in zip(quieter, seen, strict=True):
            for first in those:
                point = own.placed(first, steadied[own.row])
                changes.append(Change(rows[own.row].benchmark, point, Cause.CODE))
                for moved in (values[own.row], steadied[own.row], own.log_seconds):
                    moved[point.index :] -= point.change
    for _ in range(2 if _take_turns(gpus) else 1):
        steadied, widened, together, error = _steadied(values, errors, host, gpus, points)
        points = find_all(steadied, widened, alpha=alpha, newest=newest)
    for row, those in enumerate(points):
        ends = [0, *(one.index for one in those), len(nights)]
        for point, start, end in zip(those, ends[:-2], ends[2:], strict=True):
            span = steadied[row], start, end
            causes = [own.cause(point, *span) for own in code if own.row == row]
            known = [cause for cause in causes if cause is not Cause.UNKNOWN]
            cause = known[0] if known else Cause.UNKNOWN
            changes.append(Change(rows[row].benchmark, point, cause))
    common = find_all(together[None], error[None], alpha=alpha, newest=newest)[0]
    return [*changes, *(Change("", one) for one in common)]


def alerts(
    changes: Iterable[Change],
    nights: Sequence[Night],
    clocks: Mapping[str, Clock],
    policy: Policy | None,
    today: date,
) -> list[Alert]:
    """Changes of at least the minimum effect, by night, grouped where they may share a cause."""
    told = []
    by_name = sorted(changes, key=lambda one: (one.benchmark, one.point.index))
    for name, group in groupby(by_name, key=lambda one: one.benchmark):
        clock = clocks.get(name, Clock.DEVICE) if name else Clock.HOST
        entry = policy.minimum_effect(name) if policy and name else None
        least = max(MINIMUM_EFFECT[clock], entry.fraction if entry else 0.0)
        those = [one for one in group if abs(np.expm1(one.point.change)) >= least]
        for number, one in enumerate(those):
            later = [other.point for other in those[number + 1 :] if _alike(one, other)]
            reason = _fixed(one.point, later, least, nights) or _expected(one, policy, today)
            told.append(replace(one, explained=reason))
    by_place = sorted(told, key=lambda one: (one.family, one.slower, one.point.index))
    grouped: list[Alert] = []
    for _, group in groupby(by_place, key=lambda one: (one.family, one.slower)):
        grouped += _together(group, nights)
    return sorted(grouped, key=lambda one: (one.last, one.first, one.changes[0].family))


def _fixed(
    point: ChangePoint, later: Sequence[ChangePoint], least: float, nights: Sequence[Night]
) -> str:
    """The commit that restored the earlier time, in words; empty if none did."""
    total = point.change
    for one in later:
        total += one.change
        if one.placed and abs(np.expm1(total)) < least:
            return f"undone by {nights[one.index].commit}"
    return ""


def _expected(change: Change, policy: Policy | None, today: date) -> str:
    """The reason of the last policy entry that accepts this slowdown, or empty."""
    unexpired = [one for one in (policy.expected if policy else ()) if one.expires >= today]
    entry = last_matching(unexpired, change.benchmark) if change.benchmark else None
    covers = entry is not None and 0.0 < np.expm1(change.point.change) <= entry.fraction
    return entry.reason if entry is not None and covers else ""


def _together(changes: Iterable[Change], nights: Sequence[Night]) -> list[Alert]:
    """Group changes whose ranges of nights overlap; an alert has the nights common to all."""
    groups: list[tuple[int, int, list[Change]]] = []
    for one in changes:
        point = one.point
        for number, (first, last, those) in enumerate(groups):
            first, last = max(first, point.first), min(last, point.last)
            if first <= last and _alike(one, those[0]) and point.placed is those[0].point.placed:
                groups[number] = (first, last, [*those, one])
                break
        else:
            groups.append((point.first, point.last, [one]))
    return [_alert(*group, nights) for group in groups]


def _alike(one: Change, other: Change) -> bool:
    """Whether both or neither are caused by the machine."""
    return (one.cause is Cause.MACHINE) is (other.cause is Cause.MACHINE)


def _alert(first: int, last: int, changes: list[Change], nights: Sequence[Night]) -> Alert:
    before = nights[max(first - 1, 0)]
    # Compare each night with the last earlier one of the same GPU, for GPUs that take turns.
    same = {night.facts.get("gpu_uuid"): night for night in nights[: max(first, 1)]}
    known = [(one, same.get(one.facts.get("gpu_uuid"), before)) for one in nights[first : last + 1]]
    of_code = all(one.cause is Cause.CODE for one in changes)
    facts = _COMPILERS if of_code else MACHINE
    machine = tuple(
        key for key in facts if any(a.facts.get(key) != b.facts.get(key) for a, b in known)
    )
    if changes[0].cause is Cause.MACHINE and not machine:
        machine = (Cause.MACHINE.value,)
    largest = sorted(changes, key=lambda one: -abs(one.point.change))
    return Alert(tuple(largest), first, last, before.commit, nights[last].commit, machine)


def _take_turns(gpus: NDArray[np.intp]) -> bool:
    """Whether a GPU came back after another. One that stays away is an ordinary machine change."""
    return bool(np.count_nonzero(np.diff(gpus)) >= len(np.unique(gpus)))


def _levels(values: Array, points: Sequence[Sequence[ChangePoint]]) -> Array:
    """For each night, the median of the row between the neighbouring change points."""
    levels = np.empty_like(values)
    for row, those in enumerate(points):
        ends = [0, *(one.index for one in those if one.placed), values.shape[1]]
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
    """Remove the differences between GPUs; the rest as in `_without_common`."""
    levels = _levels(values, points)
    alike = values - _differences(values - levels, gpus)
    return _without_common(alike, errors, host, levels)


def _without_common(
    values: Array, errors: Array, host: NDArray[np.bool_], levels: Array
) -> tuple[Array, Array, Array, Array]:
    """Host times without each night's common shift, and that shift with its standard errors.

    The shift is the median distance of host times from their levels. The slope with which a row
    follows it comes from night-to-night steps, of which a change point affects only one.
    """
    if np.count_nonzero(host) < _FEWEST_ROWS:
        nothing = np.full(values.shape[1], np.nan)
        return values, errors, nothing, nothing
    residuals = values[host] - levels[host]
    common = _median(residuals, 0)
    scatter = 1.4826 * _median(np.abs(residuals - common), 0)  # Hampel 1974: for normal values
    count = np.maximum(np.sum(np.isfinite(residuals), axis=0), 1)
    error = _MEDIAN_SD * scatter / np.sqrt(count)
    steps, of_common = np.diff(residuals, axis=1), np.diff(common)
    both = np.isfinite(steps) & np.isfinite(of_common)
    products = np.sum(np.where(both, steps * of_common, 0.0), axis=1)
    squares = np.sum(np.where(both, of_common**2, 0.0), axis=1)
    slopes = np.clip(products / np.maximum(squares, 1e-300), 0.0, _LARGEST_SLOPE)[:, None]
    steadied, widened = values.copy(), errors.copy()
    steadied[host] -= slopes * np.where(np.isfinite(common), common, 0.0)
    widened[host] = np.hypot(errors[host], slopes * np.where(np.isfinite(error), error, 0.0))
    return steadied, widened, common, error


def _median(values: Array, axis: int) -> Array:
    """The median without NaN; NaN if all values are."""
    some = np.isfinite(values).any(axis=axis)
    filled = np.where(np.expand_dims(some, axis), values, 0.0)
    return np.asarray(np.where(some, np.nanmedian(filled, axis=axis), np.nan))
