# SPDX-License-Identifier: Apache-2.0
"""Suites of plain Google Benchmark files: how many of unchanged code alarm, and which changes are
found, by the number of files a side.

Most suites are 60 benchmarks in ten families. Three of ten families scatter from process to process
by 1 to 10 %, each by its own amount, the others by 0.3 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from devtools.simulations.table import Size, Table, percent
from warpgauge.records.counters import Clock
from warpgauge.records.model import Record, Session, Source
from warpgauge.records.processes import merged
from warpgauge.records.row import Row
from warpgauge.verdict.comparison import CHANGED, Outcome
from warpgauge.verdict.judge import judge

Array = NDArray[np.float64]
Shape = tuple[int, int]  # benchmarks of a family, files of both sides

FAMILIES = (1, 1, 2, 3, 4, 5, 6, 8, 10, 20)
BENCHMARKS = sum(FAMILIES)
NAMES = [f"family{f}/{index}" for f, size in enumerate(FAMILIES) for index in range(size)]
NOISY_SHARE, LEAST_NOISE, MOST_NOISE = 0.3, 0.01, 0.10
QUIET = 0.003  # also of repetitions
FILES = (2, 3, 5, 7)


def normal(source: np.random.Generator, shape: Shape) -> Array:
    return source.normal(size=shape)


def laplace(source: np.random.Generator, shape: Shape) -> Array:
    return source.laplace(0.0, math.sqrt(0.5), shape)


def heavy(source: np.random.Generator, shape: Shape) -> Array:
    return source.standard_t(2.5, shape) / math.sqrt(5.0)


def two_states(often: float, source: np.random.Generator, shape: Shape) -> Array:
    """Each process is in the slower state with that probability."""
    return (source.random(shape) < often) / math.sqrt(often * (1.0 - often))


def together(source: np.random.Generator, shape: Shape) -> Array:
    """The benchmarks of a family share most of their noise."""
    shared, own = source.normal(size=(1, shape[1])), source.normal(size=shape)
    return np.asarray(0.9 * shared + math.sqrt(1.0 - 0.9**2) * own)


@dataclass(frozen=True)
class Noise:
    """`processes` draws their noise, of a standard deviation of 1.

    The candidate's boot shifts each benchmark by `shift` (standard deviation of the log). In one
    benchmark of 14, `apart` is the distance of two states of a process, and `sides` that of two
    states of a whole side. `sd` is the scatter of all families; None draws each as above.
    """

    processes: Callable[[np.random.Generator, Shape], Array] = normal
    shift: float = 0.0
    apart: float = 0.0
    sides: float = 0.0
    sd: float | None = None


NOISES = {
    "normal": Noise(),
    "Laplace": Noise(laplace),
    "t2.5": Noise(heavy),
    "two states": Noise(partial(two_states, 0.5)),
    "two states, one of them in a fifth of the processes": Noise(partial(two_states, 0.2)),
    "two states 10 % apart, in one row of 14": Noise(apart=0.10),
    "two states 30 % apart, in one row of 14": Noise(apart=0.30),
    "two states of a whole side 4 % apart, in one row of 14": Noise(sides=0.04),
    "a family together": Noise(together),
    "boots that shift each row by 2 %": Noise(shift=0.02),
    "quiet": Noise(sd=QUIET),
    "t2.5, all rows alike": Noise(heavy, sd=0.03),
}


def sides(
    source: np.random.Generator, noise: Noise, files: int, changes: Array, repetitions: int = 3
) -> tuple[Record, Record]:
    """Return two sides; `changes` are the true log ratios of the benchmarks."""
    families = [
        _sd(source, noise) * noise.processes(source, (size, 2 * files)) for size in FAMILIES
    ]
    logs = np.concatenate(families)
    has_states = np.arange(BENCHMARKS) % 14 == source.integers(14)
    logs += noise.apart * has_states[:, None] * source.integers(0, 2, logs.shape)
    of_side = has_states * noise.sides * source.integers(-1, 2, BENCHMARKS)
    moved = source.normal(0.0, noise.shift, BENCHMARKS) + of_side + changes
    logs[:, files:] += moved[:, None]
    every = logs[:, :, None] + source.normal(0.0, QUIET, (*logs.shape, repetitions))
    return _side("base", every[:, :files]), _side("candidate", every[:, files:])


def _sd(source: np.random.Generator, noise: Noise) -> float:
    if noise.sd is not None:
        return noise.sd
    if source.random() >= NOISY_SHARE:
        return QUIET
    return float(np.exp(source.uniform(math.log(LEAST_NOISE), math.log(MOST_NOISE))))


def _side(name: str, logs: Array) -> Record:
    """Return one side's files, each a process with its repetitions."""
    files = []
    for number in range(logs.shape[1]):
        key, times = f"{number}.json", (1e-4 * np.exp(logs[:, number])).tolist()
        rows = {
            row: Row(row, {key: tuple(of)}, Clock.HOST)
            for row, of in zip(NAMES, times, strict=True)
        }
        path = Path(name, key)
        files.append(Record(path, Source.GOOGLE_BENCHMARK, {key: Session(key)}, rows))
    return files[0] if len(files) == 1 else merged(Path(name), files)


def alarmed(noise: Noise, files: int, suites: int, seed: int) -> float:
    """Return the share of suites of unchanged code with a benchmark that is called changed."""
    source = np.random.default_rng([seed, files])
    alarms = 0
    for _ in range(suites):
        found = judge(*sides(source, noise, files, np.zeros(BENCHMARKS)))
        alarms += any(row.outcome in CHANGED for row in found.verdicts)
    return alarms / suites


def found(noise: Noise, files: int, changes: Array, suites: int, seed: int) -> float:
    """Return the share of the real changes that is called a regression."""
    source = np.random.default_rng([seed, files])
    called = []
    for _ in range(suites):
        verdicts = judge(*sides(source, noise, files, changes)).verdicts
        slower = [verdicts[row].outcome is Outcome.REGRESSION for row in np.flatnonzero(changes)]
        called.append(np.mean(slower))
    return float(np.mean(called))


def one_slower(ratio: float, row: int = BENCHMARKS - 1) -> Array:
    """Return the log ratios if one benchmark is slower by that fraction."""
    return np.where(np.arange(BENCHMARKS) == row, math.log1p(ratio), 0.0)


def all_slower(ratio: float) -> Array:
    return np.full(BENCHMARKS, math.log1p(ratio))


CHANGES = {
    "10 %": one_slower(0.10),
    "20 %": one_slower(0.20),
    "60 %": one_slower(0.60),
    "60 % in all rows": all_slower(0.60),
}


def _alarms(name: str, size: Size) -> Sequence[float | str]:
    suites = size.count(1000, 100)
    return [percent(alarmed(NOISES[name], files, suites, size.seed)) for files in (1, *FILES)]


def _power(sd: float | None, name: str, size: Size) -> Sequence[float | str]:
    suites = size.count(300, 30)
    noise = Noise(sd=sd)
    return [percent(found(noise, files, CHANGES[name], suites, size.seed)) for files in (1, *FILES)]


_HEADS = ("1 a side, %", *(f"{files} a side, %" for files in FILES))
TABLES = [
    Table(
        "plain-files-alarms",
        ("suites alarmed, noise", *_HEADS),
        {name: partial(_alarms, name) for name in NOISES},
    ),
    Table(
        "plain-files-power",
        ("changes found, scatter", *_HEADS),
        {
            f"{name}, {words}": partial(_power, sd, name)
            for sd, words in ((QUIET, "0.3 %"), (None, "mixed"))
            for name in CHANGES
        },
    ),
]
