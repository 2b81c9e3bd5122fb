# SPDX-License-Identifier: Apache-2.0
"""Suites of plain Google Benchmark files, in some of whose families processes lie far apart.

`python scripts/tests/helpers/simulated_processes.py [SUITES]` prints how many suites of identical
code alarm, and how many real changes are found, by the number of files a side.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from simulation import Array, changed, markdown
from warpgauge.records.counters import Clock
from warpgauge.records.model import Record, Session, Source
from warpgauge.records.processes import merged
from warpgauge.records.row import Row
from warpgauge.verdict.comparison import Comparison, Outcome
from warpgauge.verdict.judge import judge

SUITES = 1000
REPETITIONS = 7

# Benchmarks of each family: 60 in all. Three of ten families are noisy from process to process, by
# 1 to 10 % (each family by its own amount), the others by 0.3 %. Repetitions scatter by 0.3 %.
FAMILIES = (1, 1, 2, 3, 4, 5, 6, 8, 10, 20)
BENCHMARKS = sum(FAMILIES)
NOISY_SHARE = 0.3
LEAST_NOISE, MOST_NOISE = 0.01, 0.10
QUIET = 0.003

# Noise between processes of a standard deviation of 1. The last dimension is that of processes, the
# one before it that of the benchmarks of a family.
NOISES: dict[str, Callable[[np.random.Generator, tuple[int, int]], NDArray[np.floating]]] = {
    "normal": lambda source, shape: source.normal(size=shape),
    "Laplace": lambda source, shape: source.laplace(0.0, math.sqrt(0.5), shape),
    "two states": lambda source, shape: 2.0 * source.integers(0, 2, shape) - 1.0,
    "a family together": lambda source, shape: (
        0.9 * source.normal(size=(1, shape[1]))
        + math.sqrt(1.0 - 0.9**2) * source.normal(size=shape)
    ),
    "t of 2.5": lambda source, shape: source.standard_t(2.5, shape) / math.sqrt(5.0),
    "boots that shift": lambda source, shape: source.normal(size=shape),
}
# How far the candidate's boot shifts each benchmark (standard deviation of the log).
SHIFT = {"boots that shift": 0.02}


@dataclass(frozen=True)
class Suite:
    """How one is made: the kind of noise, files a side, and how far processes scatter.

    `sd` (of the log) is that of all families; None draws it for each as above.
    """

    noise: str = "normal"
    files: int = 1
    sd: float | None = None


def sides(source: np.random.Generator, suite: Suite, changes: Array) -> tuple[Record, Record]:
    """Two sides; `changes` are the true log ratios of the benchmarks."""
    logs = []
    for size in FAMILIES:
        noise = NOISES[suite.noise](source, (size, 2 * suite.files))
        logs.append(_sd(source, suite) * noise)
    every = np.concatenate(logs)[:, :, None]
    every = every + source.normal(0.0, QUIET, (*every.shape[:2], REPETITIONS))
    shifts = source.normal(0.0, SHIFT.get(suite.noise, 0.0), BENCHMARKS) + changes
    base, candidate = every[:, : suite.files], every[:, suite.files :] + shifts[:, None, None]
    return _side("base", base), _side("candidate", candidate)


def _sd(source: np.random.Generator, suite: Suite) -> float:
    if suite.sd is not None:
        return suite.sd
    if source.random() >= NOISY_SHARE:
        return QUIET
    return float(np.exp(source.uniform(math.log(LEAST_NOISE), math.log(MOST_NOISE))))


def _side(name: str, logs: Array) -> Record:
    """By the way of the files: each a process with its repetitions."""
    names = [f"family{f}/{index}" for f, size in enumerate(FAMILIES) for index in range(size)]
    files = []
    for number in range(logs.shape[1]):
        key, times = f"{number}.json", (1e-4 * np.exp(logs[:, number])).tolist()
        rows = {
            row: Row(row, {key: tuple(of)}, Clock.HOST)
            for row, of in zip(names, times, strict=True)
        }
        path = Path(name, key)
        files.append(Record(path, Source.GOOGLE_BENCHMARK, {key: Session(key)}, rows))
    return files[0] if len(files) == 1 else merged(Path(name), files)


def judged(suite: Suite, changes: Array, suites: int) -> Iterator[Comparison]:
    """So many suites, each with `changes`."""
    source = np.random.default_rng(1)
    for _ in range(suites):
        yield judge(*sides(source, suite, changes))


def alarmed(suite: Suite, suites: int) -> int:
    """How many suites of identical code have a benchmark that is called changed."""
    return sum(changed(one) > 0 for one in judged(suite, np.zeros(BENCHMARKS), suites))


def one_slower(ratio: float, row: int = BENCHMARKS - 1) -> Array:
    """One benchmark slower by that fraction, the others what they were."""
    return np.where(np.arange(BENCHMARKS) == row, math.log1p(ratio), 0.0)


def all_slower(ratio: float) -> Array:
    return np.full(BENCHMARKS, math.log1p(ratio))


def found(suite: Suite, changes: Array, suites: int) -> float:
    """The share of the real changes that is called a regression."""
    called = [
        one.verdicts[index].outcome is Outcome.REGRESSION
        for one in judged(suite, changes, suites)
        for index in np.flatnonzero(changes)
    ]
    return sum(called) / len(called)


FILES = (1, 2, 3, 5, 7)
CHANGES = {
    "10 % in one": one_slower(0.10),
    "60 % in one": one_slower(0.60),
    "100 % in one": one_slower(1.00),
    "60 % in all": all_slower(0.60),
}


HEADS = [f"{count} a side" for count in FILES]


def false_alarms(suites: int) -> str:
    """A Markdown table: kinds of noise, numbers of files."""
    rows = []
    for noise in NOISES:
        shares = [alarmed(Suite(noise, count), suites) / suites for count in FILES]
        rows.append((noise, *(f"{100 * share:.2f} %" for share in shares)))
    return markdown(("suites alarmed", *HEADS), rows)


def power(suites: int) -> str:
    """A Markdown table: changes, and numbers of files, where processes scatter by 1 %."""
    rows = []
    for name, changes in CHANGES.items():
        shares = [found(Suite(files=count, sd=0.01), changes, suites) for count in FILES]
        rows.append((name, *(f"{100 * share:.1f} %" for share in shares)))
    return markdown(("found, scatter of 1 %", *HEADS), rows)


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else SUITES
    print(false_alarms(count), power(max(1, count // 10)), sep="\n\n")
