# SPDX-License-Identifier: Apache-2.0
"""Read Google Benchmark JSON of any version: one process, with repetitions per benchmark."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from warpgauge.records.counters import Clock, combined
from warpgauge.records.document import (
    OBJECT,
    TIME_UNITS,
    Document,
    Failure,
    as_object,
    failure_of,
    raw_rows_of,
    row_of,
)
from warpgauge.records.fields import (
    NAME_LIMIT,
    NO_FILE,
    context_strings,
    counters_of,
    label_of,
    launches_of,
    name_of,
    number_or_zero,
    seconds,
    unit_of,
)
from warpgauge.records.model import Record, Session, Source
from warpgauge.records.row import Row
from warpgauge.system.errors import UserError
from warpgauge.system.location import Object, Place, uncollected
from warpgauge.system.text import listed

# More repetitions hardly improve the estimate of the scatter, and a file may claim any number.
MOST_REPETITIONS = 100

# A larger ratio of standard deviation to typical time only says that nothing is known.
_WIDEST = 1e6

# The range of logs whose time is a finite float, with some room for rounding.
_SMALLEST, _LARGEST = math.log(sys.float_info.min) + 1.0, math.log(sys.float_info.max) - 1.0


def repetitions_of(typical: float, stddev: float, count: int) -> tuple[float, ...]:
    """Return `count` times (seconds) with this median and this standard deviation of a log-normal.

    They lie at equal steps of probability. Repetitions that only an aggregate reports thus count
    as much for the noise as listed ones: otherwise a benchmark that repeats to 30 % would be
    judged like one that repeats to the last digit.
    """
    if count < 2:
        return (typical,)
    ratio = min(stddev / typical, _WIDEST)
    scatter = math.sqrt(math.log1p(ratio**2))  # standard deviation of a log-normal's log
    logs = (
        math.log(typical) + scatter * score
        for score in _normal_scores(min(count, MOST_REPETITIONS))
    )
    return tuple(math.exp(min(max(log, _SMALLEST), _LARGEST)) for log in logs)


@lru_cache(maxsize=MOST_REPETITIONS)
def _normal_scores(count: int) -> tuple[float, ...]:
    """Return normal scores, symmetric about 0, with a standard deviation of 1."""
    normal = statistics.NormalDist()
    scores = [normal.inv_cdf((index + 0.5) / count) for index in range(count)]
    even = [(one - other) / 2 for one, other in zip(scores, reversed(scores), strict=True)]
    sd = statistics.stdev(even, 0.0)
    return tuple(score / sd for score in even)


# Before version 1.5 rows have no run_type; an aggregate is recognised by the end of its name.
_OLD_SUFFIXES = ("mean", "median", "stddev", "cv", "BigO", "RMS")

# Aggregates fitted over a family; no benchmark has their name.
_FITTED = frozenset(("BigO", "RMS"))

# Aggregates that replace a benchmark's own times if only aggregates were written, best first.
_USABLE_AGGREGATES = ("median", "mean")
_SPREAD = "stddev"


@dataclass(slots=True)
class _Benchmark:
    """The combined rows of one benchmark."""

    times: list[float] = field(default_factory=list)
    counters: list[Mapping[str, float]] = field(default_factory=list)
    aggregates: dict[str, tuple[float, float, Mapping[str, float]]] = field(default_factory=dict)
    spread: tuple[float, int] = 0.0, 1  # standard deviation, and number of repetitions
    unusable: list[str] = field(default_factory=list)  # aggregates that are not typical times
    label: str = ""
    failure: Failure | None = None
    repetitions: set[int] = field(default_factory=set)  # repetition indices, where given
    iterations: int = 0
    cpu: list[float] = field(default_factory=list)  # seconds per iteration
    launches: Mapping[str, float] = field(default_factory=dict)


class _Repetition(msgspec.Struct, gc=False):
    """The fields of a row that measured something, as msgspec checks them."""

    run_name: Annotated[str, Meta(min_length=1)]
    run_type: Literal["iteration"]
    real_time: Annotated[float, Meta(ge=1e-100, le=1e100)]
    time_unit: Literal["ns", "us", "ms", "s"]
    cpu_time: Annotated[float, Meta(ge=0.0, le=1e100)]
    iterations: Annotated[int, Meta(ge=0)]
    repetition_index: int
    label: str = ""
    error_occurred: Literal[False] = False
    skipped: Literal[False] = False


_REPETITION = msgspec.json.Decoder(_Repetition)


def load_google_benchmark(document: Document) -> Record:
    """Return the record of a file, whose repetitions are the times of its single session."""
    key = document.place.path.name
    rows, faults = rows_of_process(document, key)
    if not rows:
        raise document.place.error("holds no measured time, only derived rows")
    if faults.keys() == rows.keys():  # no row is one of Google Benchmark's
        raise next(iter(faults.values()))
    session = Session(key, context_strings(document.top, document.place))
    return Record(
        document.place.path,
        Source.GOOGLE_BENCHMARK,
        {key: session},
        rows,
        faults=tuple(map(str, faults.values())),
    )


def rows_of_process(
    document: Document, session: str
) -> tuple[dict[str, Row], dict[str, UserError]]:
    """Return the rows of a document, and the last fault of each that cannot be read, an error row.

    Raise UserError for what has no rows with names.
    """
    faults: dict[str, UserError] = {}
    found, unnamed = _repetitions(document) or {}, dict[str, _Benchmark]()
    with uncollected():
        for index, raw in enumerate(() if found else raw_rows_of(document)):
            try:
                place, row = row_of(document.place, index, raw)
                name, aggregate = _identity(row, place)
                among = unnamed if aggregate == "" else found
                _add(among.setdefault(name, _Benchmark()), row, aggregate or None, place)
            except UserError as fault:  # noqa: PERF203 - rows that are faulty or derived are few
                name = _name_of_bad(raw, fault)
                words = str(fault).removeprefix(f"{document.place.path.parent}/")
                found.setdefault(name, _Benchmark()).failure = Failure(words)
                faults[name] = fault
        # What Google Benchmark's own compare.py takes for measured times, if there are no others.
        found = {**unnamed, **found}
        made = [_row(name, session, benchmark) for name, benchmark in found.items()]
    return {row.name: row for row in made if row is not None}, faults


def _repetitions(document: Document) -> dict[str, _Benchmark] | None:
    """Return the benchmarks of a file that holds nothing but repetitions, without any fault.

    So are most large files, and this takes a fifth of the time. It must have as many keys as its
    rows have: msgspec keeps the last of a repeated one.
    """
    found: dict[str, _Benchmark] = {}
    keys = 0
    with uncollected(), suppress(ValueError, UserError):
        for raw in document.raw_rows or ():
            row = _REPETITION.decode(raw)
            members: Object = OBJECT.decode(raw)
            counters = counters_of(members, strict=True)
            if len(row.run_name) > NAME_LIMIT or row.run_name.isspace():
                return None
            benchmark = found.setdefault(row.run_name, _Benchmark())
            if row.repetition_index in benchmark.repetitions:
                return None
            if not benchmark.times:
                benchmark.launches = launches_of(members)
            keys += len(members)
            unit = TIME_UNITS[row.time_unit]
            benchmark.repetitions.add(row.repetition_index)
            benchmark.times.append(row.real_time * unit)
            benchmark.counters.append(counters)
            benchmark.iterations += row.iterations
            benchmark.cpu.append(row.cpu_time * unit)
            benchmark.label = benchmark.label or row.label
        return found if keys == document.keys else None
    return None


def _name_of_bad(raw: object, fault: UserError) -> str:
    """Return the name of a row with a fault. Raise the fault if it has none."""
    try:
        members = msgspec.json.decode(raw) if isinstance(raw, msgspec.Raw) else raw
        row = as_object(members, "row", NO_FILE)
        name = name_of(row, NO_FILE, _key_of_name(row))
    except (ValueError, UserError):
        raise fault from None
    return name if "run_type" in row else _without_suffix(name)[0]


def _key_of_name(row: Object) -> str:
    return "run_name" if "run_name" in row else "name"


def _identity(row: Object, place: Place) -> tuple[str, str | None]:
    """Return the name of a row's benchmark, and the name of its aggregate or None."""
    run_name = name_of(row, place, _key_of_name(row))
    run_type = row.get("run_type")
    if run_type == "iteration":
        return run_name, None
    if run_type == "aggregate":
        aggregate = row.get("aggregate_name")
        return run_name, aggregate if isinstance(aggregate, str) else ""
    if "run_type" in row:
        raise place.error("'run_type' is neither iteration nor aggregate")
    return _without_suffix(run_name)


def _without_suffix(name: str) -> tuple[str, str | None]:
    """Return the parts of an old file's name: its benchmark, and the name of its aggregate."""
    base, _, suffix = name.rpartition("_")
    return (base, suffix) if base and suffix in _OLD_SUFFIXES else (name, None)


def _add(benchmark: _Benchmark, row: Object, aggregate: str | None, place: Place) -> None:
    if (failure := failure_of(row)) is not None:
        if benchmark.failure is None or benchmark.failure.skipped:  # an error outranks a skip
            benchmark.failure = failure
        benchmark.counters.append(counters_of(row, place))
        return
    if aggregate is not None:
        # Since 1.6 some aggregates are not times: a coefficient of variation is a fraction.
        is_time = row.get("aggregate_unit", "time") == "time"
        if aggregate == _SPREAD and is_time:
            benchmark.spread = _spread(row, place)
        if aggregate not in _USABLE_AGGREGATES or not is_time:
            benchmark.unusable.extend({aggregate} - _FITTED)
            return
    unit = unit_of(row, place)
    time = seconds(row.get("real_time"), unit, "real_time", place)
    counters = counters_of(row, place, strict=True)  # all that Google Benchmark writes are numbers
    benchmark.label = benchmark.label or label_of(row)
    if aggregate is not None:
        if aggregate in benchmark.aggregates:
            raise _twice(place)
        cpu = number_or_zero(row.get("cpu_time")) * unit
        benchmark.aggregates[aggregate] = (time, cpu, counters)
        return
    repetition = row.get("repetition_index")
    if type(repetition) is int:  # a row without an index is a further repetition
        if repetition in benchmark.repetitions:
            raise _twice(place)
        benchmark.repetitions.add(repetition)
    benchmark.times.append(time)
    benchmark.counters.append(counters)
    benchmark.iterations += int(number_or_zero(row.get("iterations")))
    benchmark.cpu.append(number_or_zero(row.get("cpu_time")) * unit)
    benchmark.launches = benchmark.launches or launches_of(row)


def _spread(row: Object, place: Place) -> tuple[float, int]:
    told, count = row.get("real_time"), row.get("repetitions")
    alike = told == 0 and not isinstance(told, bool)
    stddev = 0.0 if alike else seconds(told, unit_of(row, place), "real_time", place)
    return stddev, count if type(count) is int else 1


def _twice(place: Place) -> UserError:
    return place.error("this benchmark is in the file twice", "give each its own name")


def _row(name: str, session: str, benchmark: _Benchmark) -> Row | None:
    if (failure := benchmark.failure) is not None:
        return Row(
            name,
            {},
            Clock.HOST,
            _middle(benchmark.counters),
            benchmark.label,
            failure.message,
            skipped=failure.skipped,
        )
    if benchmark.times:
        return Row(
            name,
            {session: tuple(benchmark.times)},
            Clock.HOST,
            _middle(benchmark.counters),
            benchmark.label,
            iterations=benchmark.iterations,
            cpu_seconds=statistics.median(benchmark.cpu),
            launches=benchmark.launches,
        )
    for aggregate in _USABLE_AGGREGATES:
        if aggregate in benchmark.aggregates:
            time, cpu, counters = benchmark.aggregates[aggregate]
            times = {session: repetitions_of(time, *benchmark.spread)}
            return Row(name, times, Clock.HOST, counters, benchmark.label, cpu_seconds=cpu)
    if benchmark.unusable:  # measured, so it must not count as missing
        error = f"its only aggregates are not typical times ({listed(benchmark.unusable)})"
        return Row(name, {}, Clock.HOST, error=error)
    return None


def _middle(counters: list[Mapping[str, float]]) -> Mapping[str, float]:
    if len(counters) == 1:
        return counters[0]
    return combined(counters, statistics.median_low)  # a value that occurred
