# SPDX-License-Identifier: Apache-2.0
"""A run seen along one axis of its benchmarks: variants side by side, with intervals. Pure."""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from warpgauge.records.counters import rates_of
from warpgauge.records.model import Record, Row
from warpgauge.records.sessions import newest_last
from warpgauge.statistics.error_rates import CONFIDENCE
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import inert, listed, typed
from warpgauge.verdict import disturbance

# Characters that are special both in Python and in POSIX extended expressions, which the benchmarks
# read.
_SPECIAL = re.compile(r"[\\.\[()*+?{|^$]")
_AXIS = re.compile(r"([^:/]+):([0-9]{1,15})")


@dataclass(frozen=True)
class Measured:
    """Seconds an operation, the 95 % interval over processes (None of one process), and rates."""

    time: float
    interval: tuple[float, float] | None
    rates: Mapping[str, float]


@dataclass(frozen=True)
class Gap:
    """Why a benchmark has no time; `skipped`: the machine cannot run it."""

    benchmark: str
    word: str  # ERROR, INVALID or skipped
    reason: str


@dataclass(frozen=True)
class Variant:
    """What is measured along the axis; a value that it does not have is absent."""

    name: str
    points: Mapping[int, Measured | Gap]


@dataclass(frozen=True)
class Sweep:
    """Variants in the order of the run; `faults` are of programs, which have no axis."""

    record: Record
    axis: str
    variants: tuple[Variant, ...]
    faults: tuple[str, ...] = field(default=())

    @property
    def values(self) -> list[int]:
        return sorted({value for variant in self.variants for value in variant.points})

    @property
    def gaps(self) -> list[Gap]:
        points = (point for one in self.variants for point in one.points.values())
        return [point for point in points if isinstance(point, Gap)]

    @property
    def status(self) -> ExitStatus:
        """Skipped benchmarks count as no fault."""
        whole = not self.faults and all(gap.word == _SKIPPED for gap in self.gaps)
        return ExitStatus.OK if whole else ExitStatus.NOT_MEASURED


_SKIPPED = "skipped"


def expression(what: Iterable[str], axis: str) -> str:
    """The filter for benchmarks with this axis: of families, or whose names begin like `what`."""
    escaped = [_SPECIAL.sub(r"\\\g<0>", _beginning(word)) for word in (*what, axis)]
    begins = "|".join(f"{one}(.*/)?" if one.endswith("/") else f"{one}.*/" for one in escaped[:-1])
    return f"^({begins}){escaped[-1].rstrip('/')}:[0-9]{{1,15}}(/|$)"


def families(what: Iterable[str]) -> set[str]:
    """Those that `what` is of."""
    return {word.split("/", 1)[0] for word in what}


def _beginning(word: str) -> str:
    return word if "/" in word else f"{word}/"


def require_some(names: Iterable[str], what: Sequence[str], axis: str) -> None:
    """Raise UserError, with what there is, unless some of `names` have the axis."""
    known = list(names)
    for word in what:
        found = [name for name in known if name.startswith(_beginning(word))]
        if not found:
            there = listed(sorted(families(known)))
            raise UserError(
                f"no benchmark name begins with {typed(word)}: the families are {there}"
            )
        axes = sorted({axis for name in found for axis in axes_of(name)})
        if axis not in axes:
            has = f"its axes are {listed(axes)}" if axes else "it has no axis"
            raise UserError(f"no benchmark of {typed(word)} has the axis {typed(axis)}: {has}")


def of(record: Record, what: Sequence[str], axis: str) -> Sweep:
    """The variants of `what` in `record` along the axis.

    Raises UserError where nothing was measured, and where names differ in the order of axes alone.
    """
    wanted = re.compile(expression(what, axis))
    rows = [row for row in record.rows.values() if wanted.search(row.name)]
    variants: dict[str, dict[int, Measured | Gap]] = defaultdict(dict)
    for row, (name, value) in zip(rows, named([row.name for row in rows], axis), strict=True):
        if value in variants[name]:
            fault = f"{row.name} is the second benchmark of {name} at {axis} = {value}"
            raise UserError(f"{inert(fault)}: name the axes in the same order everywhere")
        variants[name][value] = _point(row, record)
    faults = [
        f"{row.name}: {row.error}"
        for row in record.rows.values()
        if row.error is not None and row.name in families(what)
    ]
    made = tuple(Variant(name, dict(sorted(points.items()))) for name, points in variants.items())
    found = Sweep(record, axis, made, tuple(faults))
    if not any(isinstance(one, Measured) for each in made for one in each.points.values()):
        reasons = [f"{gap.benchmark}: {gap.reason}" for gap in found.gaps] + faults
        why = f": {reasons[0]}" if reasons else f": {record.path} has none of them"
        raise UserError(f"nothing was measured{why}", ExitStatus.NOT_MEASURED)
    return found


def axes_of(name: str) -> list[str]:
    """``n`` of ``gemm/naive/n:1024``."""
    return [found[1] for part in name.split("/") if (found := _AXIS.fullmatch(part))]


def named(names: Iterable[str], axis: str) -> list[tuple[str, int]]:
    """The variant and the value of each name.

    An axis that has several values, or that some names lack, stays in the variant's name, where it
    stands in the benchmark's.
    """
    split = [_split(name, axis) for name in names]
    # How many names of a stem there are, and how many of them have this axis at this value.
    seen = Counter(one for stem, parts, _ in split for one in (stem, *((stem, p) for p in parts)))

    def stays(stem: str, part: str) -> bool:
        return not _AXIS.fullmatch(part) or seen[stem, part] < seen[stem]

    return [("/".join(p for p in parts if stays(stem, p)), value) for stem, parts, value in split]


def _split(name: str, axis: str) -> tuple[str, list[str], int]:
    """`name` without any axis; its parts but for the one of `axis`; the value of that."""
    parts = name.split("/")
    at = next(i for i, part in enumerate(parts) if axes_of(part) == [axis])
    value = int(parts.pop(at).rpartition(":")[2])
    return "/".join(one for one in parts if not _AXIS.fullmatch(one)), parts, value


def _point(row: Row, record: Record) -> Measured | Gap:
    if row.error is not None:
        return Gap(row.name, _SKIPPED if row.skipped else "ERROR", row.error)
    if (disturbed := disturbance.of(row, record.sessions)) is not None:
        return Gap(row.name, "INVALID", f"{disturbed.fault}: {disturbed.remedy}")
    newest = [one.key for one in newest_last(record.sessions.values())]
    times = row.process_medians[max(row.process_medians, key=newest.index)]
    time = statistics.median(times)
    return Measured(
        time, None if record.single_process else interval(time, times), rates_of(row.counters)
    )


def interval(time: float, times: tuple[float, ...]) -> tuple[float, float] | None:
    """Of the mean of the times' logs, by Student's t, and with their median in it."""
    count = len(times)
    if count < 2:
        return None
    # Imported here: where a comparison is only shown, SciPy is not installed and not needed.
    from scipy import special

    logs = [math.log(one) for one in times]
    quantile = float(special.stdtrit(count - 1, (1.0 + CONFIDENCE) / 2))
    reach = quantile * statistics.stdev(logs) / math.sqrt(count)
    middle = statistics.fmean(logs)
    return min(math.exp(middle - reach), time), max(math.exp(middle + reach), time)
