# SPDX-License-Identifier: Apache-2.0
"""A run along one axis of its benchmarks: variants side by side, with intervals. Pure."""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from warpgauge.records.counters import rates_of
from warpgauge.records.model import Record
from warpgauge.records.names import NUMBER, axes_of, numbers_of
from warpgauge.records.row import Row
from warpgauge.statistics.error_rates import CONFIDENCE
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import inert, listed, typed
from warpgauge.verdict.incompatibility import disturbed, newest_of

# Characters that are special in Python's regular expressions and in POSIX extended ones, which the
# benchmarks read.
_SPECIAL = re.compile(r"[\\.\[()*+?{|^$]")


@dataclass(frozen=True)
class Measured:
    """Seconds per operation, their 95 % interval over processes (None for one), and rates."""

    time: float
    interval: tuple[float, float] | None
    rates: Mapping[str, float]


@dataclass(frozen=True)
class Gap:
    """Why a benchmark has no time. `skipped` means that the machine cannot run it."""

    benchmark: str
    word: str  # ERROR, INVALID or skipped
    reason: str


@dataclass(frozen=True)
class Variant:
    """A benchmark's points by the axis's value; values that it lacks are absent."""

    name: str
    points: Mapping[float, Measured | Gap]


@dataclass(frozen=True)
class Sweep:
    """Variants in the order of the run. `faults` belong to programs, which have no axis."""

    record: Record
    axis: str
    variants: tuple[Variant, ...]
    faults: tuple[str, ...] = ()

    @property
    def values(self) -> list[float]:
        return sorted({value for variant in self.variants for value in variant.points})

    @property
    def gaps(self) -> list[Gap]:
        points = (point for one in self.variants for point in one.points.values())
        return [point for point in points if isinstance(point, Gap)]

    @property
    def status(self) -> ExitStatus:
        """The exit status. Skipped benchmarks are not faults."""
        whole = not self.faults and all(gap.word == _SKIPPED for gap in self.gaps)
        return ExitStatus.OK if whole else ExitStatus.NOT_MEASURED


_SKIPPED = "skipped"


def expression(what: Iterable[str], axis: str) -> str:
    """Return the filter for numbers on this axis; `what` are families or name prefixes.

    An empty prefix is that of all names.
    """
    escaped = [_SPECIAL.sub(r"\\\g<0>", _beginning(word)) for word in (*what, axis)]
    begins = "|".join(f"{one}(.*/)?" if one.endswith("/") else f"{one}.*/" for one in escaped[:-1])
    return f"^({begins}){escaped[-1].rstrip('/')}:{NUMBER}(/|$)"


def families(what: Iterable[str]) -> set[str]:
    """Return the families that `what` names."""
    return {word.split("/", 1)[0] for word in what}


def _beginning(word: str) -> str:
    return word if "/" in word or not word else f"{word}/"


def require_some(names: Iterable[str], what: Sequence[str], axis: str) -> None:
    """Raise UserError, listing what exists, unless each of `what` has numbers on the axis."""
    known = list(names)
    for word in what:
        found = [name for name in known if name.startswith(_beginning(word))]
        if not found:
            there = listed(sorted(families(known)))
            raise UserError(
                f"no benchmark name begins with {typed(word)}: the families are {there}"
            )
        of = f" of {typed(word)}" if word else ""
        axes = sorted({axis for name in found for axis in axes_of(name)})
        if axis not in axes:
            has = f"its axes are {listed(axes)}" if axes else "it has no axis"
            raise UserError(f"no benchmark{of} has the axis {typed(axis)}: {has}")
        if not any(axis in numbers_of(name) for name in found):
            fault = f"the axis {typed(axis)}{of} holds text"
            raise UserError(f"{fault}: a sweep is over numbers")


def of(record: Record, what: Sequence[str], axis: str) -> Sweep:
    """Return the variants of `what` in `record` along the axis.

    Raise UserError if nothing was measured, or if names differ only in the order of their axes.
    """
    wanted = re.compile(expression(what, axis))
    rows = [
        row
        for row in record.rows.values()
        if wanted.search(row.name) and axis in numbers_of(row.name)
    ]
    variants: dict[str, dict[float, Measured | Gap]] = defaultdict(dict)
    for row, (name, value) in zip(rows, named([row.name for row in rows], axis), strict=True):
        if value in variants[name]:
            fault = f"{row.name} is the second benchmark of {name} at {axis} = {value}"
            raise UserError(f"{inert(fault)}: name the axes in the same order everywhere")
        variants[name][value] = _point(row, record)
    faults = [
        f"{row.name}: {row.error}"
        for row in record.rows.values()
        if row.error is not None and "/" not in row.name and families(what) & {"", row.name}
    ]
    made = tuple(Variant(name, dict(sorted(points.items()))) for name, points in variants.items())
    found = Sweep(record, axis, made, tuple(faults))
    if not any(isinstance(one, Measured) for each in made for one in each.points.values()):
        reasons = [f"{gap.benchmark}: {gap.reason}" for gap in found.gaps] + faults
        why = f": {reasons[0]}" if reasons else f": {record.path} has none of them"
        raise UserError(f"nothing was measured{why}", ExitStatus.NOT_MEASURED)
    return found


def named(names: Iterable[str], axis: str) -> list[tuple[str, float]]:
    """Return the variant and the value of each name; all have a number on the axis.

    Another axis that has several values, or that some names lack, stays in the variant's name at
    its place in the benchmark's name.
    """
    split = [_split(name, axis) for name in names]
    # Counts the names of each stem, and how many of them have a given axis at a given value.
    seen = Counter(one for stem, parts, _ in split for one in (stem, *((stem, p) for p in parts)))

    def stays(stem: str, part: str) -> bool:
        return not axes_of(part) or seen[stem, part] < seen[stem]

    return [("/".join(p for p in parts if stays(stem, p)), value) for stem, parts, value in split]


def _split(name: str, axis: str) -> tuple[str, list[str], float]:
    """Return `name` without any axis, its parts except `axis`, and the value of `axis`."""
    parts = name.split("/")
    at = next(i for i, part in enumerate(parts) if axis in numbers_of(part))
    value = numbers_of(parts.pop(at))[axis]
    return "/".join(one for one in parts if not axes_of(one)), parts, value


def _point(row: Row, record: Record) -> Measured | Gap:
    if row.error is not None:
        return Gap(row.name, _SKIPPED if row.skipped else "ERROR", row.error)
    if invalid := disturbed(row, record.sessions):
        return Gap(row.name, "INVALID", ": ".join(invalid))
    times = row.process_medians[newest_of(row, record.sessions).key]
    time = statistics.median(times)
    reach = None if record.single_process else interval(time, times)
    return Measured(time, reach, rates_of(row.counters))


def interval(time: float, times: tuple[float, ...]) -> tuple[float, float] | None:
    """Return Student's t interval of the mean log, as times, widened to include their median."""
    count = len(times)
    if count < 2:
        return None
    # Imported here because commands that only show a comparison run without SciPy.
    from scipy import special

    logs = [math.log(one) for one in times]
    quantile = float(special.stdtrit(count - 1, (1.0 + CONFIDENCE) / 2))
    reach = quantile * statistics.stdev(logs) / math.sqrt(count)
    middle = statistics.fmean(logs)
    return min(math.exp(middle - reach), time), max(math.exp(middle + reach), time)
