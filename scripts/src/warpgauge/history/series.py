# SPDX-License-Identifier: Apache-2.0
"""The times of one benchmark on a GPU model, night by night, from the history's database."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import msgspec
import numpy as np

from warpgauge.records.model import Clock
from warpgauge.statistics.log_ratios import Array


@dataclass(frozen=True)
class Night:
    """The date, commit and machine of a night. `id` is its key in the database.

    `base` is the commit that its ratios are to; empty without ratios.
    """

    id: int
    date: str
    run: int
    commit: str
    facts: Mapping[str, str]
    base: str


@dataclass(frozen=True)
class Series:
    """The nights in which the benchmark has a time, by date; all fields have the same length.

    `nights` are indices into `nights_of` the GPU model. `errors` are standard errors of
    `log_seconds` from the scatter between that night's processes: NaN if unknown (one process, or a
    line of history/1). `log_ratios` are to the night's base, with standard errors from the scatter
    between pairs: NaN without pairs.
    """

    benchmark: str
    nights: tuple[int, ...]
    log_seconds: Array
    errors: Array
    log_ratios: Array
    ratio_errors: Array


def gpu_models(database: sqlite3.Connection) -> list[str]:
    """The slugs of the GPU models that have a night."""
    found = database.execute(
        "SELECT slug FROM gpus WHERE id IN (SELECT gpu FROM nights) ORDER BY slug"
    )
    return [slug for (slug,) in found]


def nights_of(database: sqlite3.Connection, gpu_model: str) -> tuple[Night, ...]:
    """All nights of a GPU model, by date and run."""
    found = database.execute(
        "SELECT id, date, run, sha, facts, base FROM nights WHERE gpu = (SELECT id FROM gpus WHERE "
        "slug = ?) ORDER BY date, run, id",
        (gpu_model,),
    )
    facts = msgspec.json.Decoder(dict[str, str])
    return tuple(
        Night(number, date, run, commit, facts.decode(text), base)
        for number, date, run, commit, text, base in found
    )


def series(database: sqlite3.Connection, benchmark: str, gpu_model: str) -> Series:
    """The series of one benchmark; it has no nights if the benchmark was never measured there."""
    return _Nights(database, gpu_model).series(benchmark, benchmarks(database).get(benchmark, 0))


def benchmarks(database: sqlite3.Connection) -> dict[str, int]:
    """The keys in the database of all benchmarks, by name."""
    return dict(database.execute("SELECT name, id FROM benchmarks ORDER BY id").fetchall())


def clocks(database: sqlite3.Connection) -> dict[str, Clock]:
    """The clock that times each benchmark; device if no night says otherwise."""
    found = database.execute("SELECT name, host FROM benchmarks")
    return {name: Clock.HOST if host else Clock.DEVICE for name, host in found}


def all_series(
    database: sqlite3.Connection,
    gpu_model: str,
    names: Collection[str] | None = None,
    last: int | None = None,
) -> Iterator[Series]:
    """The series of all benchmarks (or of `names`) in the `last` nights of a GPU model (or in all).

    A million points, three years of a thousand benchmarks, take about 2 s.
    """
    nights = _Nights(database, gpu_model, last)
    for name, number in benchmarks(database).items():
        if names is None or name in names:
            found = nights.series(name, number)
            if found.nights:
                yield found


def reasons(database: sqlite3.Connection, benchmark: str, gpu_model: str) -> dict[int, str]:
    """Why a benchmark has no time, by `id` of the night."""
    found = database.execute(
        "SELECT night, reason FROM unmeasured WHERE gpu = (SELECT id FROM gpus WHERE slug = ?) AND "
        "benchmark = (SELECT id FROM benchmarks WHERE name = ?)",
        (gpu_model, benchmark),
    )
    return dict(found.fetchall())


class _Nights:
    """The `last` nights of a GPU model, or all."""

    def __init__(
        self, database: sqlite3.Connection, gpu_model: str, last: int | None = None
    ) -> None:
        nights = nights_of(database, gpu_model)
        self._database, self._gpu_model = database, gpu_model
        at = {night.id: index for index, night in enumerate(nights)}
        self._first = max(len(nights) - last, 0) if last else 0
        # Ids are not in the order of dates, so this only bounds which rows are read.
        self._oldest = min((night.id for night in nights[self._first :]), default=0)
        self._index = np.zeros(max(at, default=0) + 1, dtype=np.intp)
        self._index[list(at)] = list(at.values())

    def series(self, benchmark: str, number: int) -> Series:
        """The series of the benchmark whose key in the database is `number`."""
        rows = self._database.execute(
            "SELECT night, seconds, sd, processes, log_ratio, ratio_sd, pairs FROM points WHERE "
            "gpu = (SELECT id FROM gpus WHERE slug = ?) AND benchmark = ? AND night >= ?",
            (self._gpu_model, number, self._oldest),
        ).fetchall()
        table = np.array(rows, dtype=np.float64).reshape(-1, 7)
        index = self._index[table[:, 0].astype(np.intp)]
        order = np.argsort(index, kind="stable")
        order = order[np.searchsorted(index[order], self._first) :]
        _, seconds, sd, processes, ratios, ratio_sd, pairs = table[order].T
        errors, ratio_errors = standard_error(sd, processes), standard_error(ratio_sd, pairs)
        places = tuple(index[order].tolist())
        return Series(benchmark, places, np.log(seconds), errors, ratios, ratio_errors)


def standard_error(sd: Array, processes: Array) -> Array:
    """The standard error, within 3 %, of the `samples.centre` of normal values.

    For many values it is the mean's standard error times the square root of pi/3.
    """
    return np.asarray(sd * np.sqrt(np.pi / (3.0 * np.maximum(processes, 1.0))))
