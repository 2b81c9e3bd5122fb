# SPDX-License-Identifier: Apache-2.0
"""Suites that are screened against a baseline: false alarms, false PASSes, bounds, rows that pass.

Each row of the table is a kind of reference sessions; its cells are the worst over `NOISES`.
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
from warpgauge.records.row import Row
from warpgauge.verdict.comparability import TOLERANCE
from warpgauge.verdict.comparison import CHANGED, Outcome
from warpgauge.verdict.judge import judge

Array = NDArray[np.float64]
Shape = tuple[int, int, int]  # rows, sessions, processes

ROWS = 96  # of a suite; the first half has device times
CLOCKS = [Clock.DEVICE if row < ROWS // 2 else Clock.HOST for row in range(ROWS)]
NAMES = [f"family{row // 16}/{row}" for row in range(ROWS)]
RECORDED = 7  # processes of each session of a baseline


def by_clock(device: float, host: float) -> Array:
    return np.array([[device if clock is Clock.DEVICE else host] for clock in CLOCKS])


# Standard deviations of the log: between processes, boots and GPUs.
PROCESS, BOOT, GPU = by_clock(0.002, 0.01), by_clock(0.001, 0.05), by_clock(0.005, 0.0)
# Three rows of each clock are slower by 1.05 times the tolerance.
IS_SLOWER = np.isin(np.arange(ROWS), [3, 19, 35, 51, 67, 83])
SLOWER = IS_SLOWER * np.log1p(1.05 * by_clock(TOLERANCE[Clock.DEVICE], TOLERANCE[Clock.HOST]))[:, 0]


def normal(source: np.random.Generator, shape: Shape) -> Array:
    return source.normal(size=shape)


def heavy(source: np.random.Generator, shape: Shape) -> Array:
    return source.standard_t(3.0, shape) / math.sqrt(3.0)


def skewed(source: np.random.Generator, shape: Shape) -> Array:
    return source.exponential(size=shape)


def correlated(r: float, source: np.random.Generator, shape: Shape) -> Array:
    """Each process resembles the one before it."""
    values = source.normal(size=shape)
    for number in range(1, shape[-1]):
        values[..., number] *= math.sqrt(1.0 - r**2)
        values[..., number] += r * values[..., number - 1]
    return values


def disturbed(share: float, source: np.random.Generator, shape: Shape) -> Array:
    """So many processes are slower, by 30 % or so."""
    slower = np.abs(source.normal(0.0, 0.4, shape)) * (source.random(shape) < share)
    return np.asarray(source.normal(size=shape) + slower / PROCESS[:, :, None])


def two_states(source: np.random.Generator, shape: Shape) -> Array:
    """Each process takes one of two times."""
    return 4.0 * source.integers(0, 2, shape) + 0.3 * source.normal(size=shape)


def drifting(source: np.random.Generator, shape: Shape) -> Array:
    slopes = source.normal(0.0, 2.0, (*shape[:-1], 1))
    return slopes * np.linspace(0.0, 2.0, shape[-1]) + 0.5 * source.normal(size=shape)


def noisy_candidate(source: np.random.Generator, shape: Shape) -> Array:
    values = source.normal(size=shape)
    values[:, -1] *= 10.0
    return values


@dataclass(frozen=True)
class Noise:
    """How the times of unchanged code vary.

    `processes` draws their noise, of a standard deviation of about 1. Boots scatter `boots` times
    as far as assumed, they and GPUs by Student's t with `freedom`. `unequal` is the standard
    deviation of the log of the rows' own scatter, whose mean square stays.
    """

    processes: Callable[[np.random.Generator, Shape], Array] = normal
    boots: float = 1.0
    freedom: float = math.inf
    unequal: float = 0.0
    lasting: float = 0.0  # distance of two states of a session, in PROCESS
    step: float = 0.0  # of the clock of device times, in seconds
    host: float = 0.0  # how far the candidate's host lies from those of the baseline (log)


NOISES = {
    "normal": Noise(),
    "t3": Noise(heavy),
    "skewed": Noise(skewed),
    "a candidate ten times as noisy": Noise(noisy_candidate),
    "5 % of processes disturbed": Noise(partial(disturbed, 0.05)),
    "20 % of processes disturbed": Noise(partial(disturbed, 0.20)),
    "two states": Noise(two_states),
    "steps of 32 ns": Noise(step=32e-9),
    "drift": Noise(drifting),
    "correlation 0.3": Noise(partial(correlated, 0.3)),
    "correlation 0.6": Noise(partial(correlated, 0.6)),
    "states that last a session": Noise(lasting=4.0),
    "boots three times as far apart": Noise(boots=3.0),
    "boots of t4": Noise(freedom=4.0),
    "unequal rows": Noise(unequal=0.5),
    "unequal rows, boots of t4": Noise(unequal=0.5, freedom=4.0),
    "very unequal rows, t3, boots of t4": Noise(heavy, unequal=1.0, freedom=4.0),
    "another host": Noise(host=0.15),
}


@dataclass(frozen=True)
class References:
    """The baseline's sessions: on the candidate's boot, its GPU, or each on another GPU."""

    sessions: int = 1
    same_boot: bool = False
    same_gpu: bool = True


REFERENCES = {
    "this boot": References(same_boot=True),
    "1 other boot": References(),
    "2 other boots": References(2),
    "4 other boots": References(4),
    "1 other GPU": References(same_gpu=False),
    "4 other GPUs": References(4, same_gpu=False),
}


def suite(
    source: np.random.Generator, noise: Noise, references: References, processes: int
) -> tuple[Record, Record]:
    """Return baseline and candidate."""
    shape = (ROWS, references.sessions + 1)

    def means() -> Array:
        if math.isinf(noise.freedom):
            return source.normal(size=shape)
        return source.standard_t(noise.freedom, shape) * math.sqrt(1.0 - 2.0 / noise.freedom)

    rows = np.exp(source.normal(-(noise.unequal**2), noise.unequal, (ROWS, 1)))
    logs = rows * noise.boots * BOOT * means()
    logs += noise.lasting * PROCESS * source.integers(0, 2, shape)
    logs += rows * GPU * means() * (not references.same_gpu)
    logs[ROWS // 2 :, -1] += noise.host * (1.0 + source.normal(size=ROWS - ROWS // 2))
    if references.same_boot:
        logs[:, -1] = logs[:, -2]
    logs[:, -1] += SLOWER
    scatter = (rows * PROCESS)[:, :, None]
    every = logs[:, :, None] + scatter * noise.processes(source, (*shape, RECORDED))
    shortest, longest = (1e-6, 20e-6) if noise.step else (1e-4, 1e-4)
    times = np.exp(every + source.uniform(math.log(shortest), math.log(longest), (ROWS, 1, 1)))
    if noise.step:
        device = times[: ROWS // 2]
        times[: ROWS // 2] = np.maximum(np.round(device / noise.step), 1.0) * noise.step
    return (
        _record(times[:, :-1], Source.BASELINE, references),
        _record(times[:, -1:, :processes], Source.RUN, references, first=references.sessions),
    )


def _record(times: Array, source: Source, references: References, first: int = 0) -> Record:
    sessions = {}
    for index in range(first, first + times.shape[1]):
        boot = 0 if references.same_boot else index
        gpu = 0 if references.same_gpu else index
        about = {"gpu_name": "G", "gpu_uuid": f"U{gpu}", "boot_id": f"B{boot}"}
        about["build_type"] = "Release"
        sessions[f"s{index}"] = Session(f"s{index}", about)
    rows = {
        name: Row(name, dict(zip(sessions, map(tuple, of_row), strict=True)), clock)
        for name, of_row, clock in zip(NAMES, times.tolist(), CLOCKS, strict=True)
    }
    return Record(Path("simulated"), source, sessions, rows)


@dataclass(frozen=True)
class Cell:
    """Shares. The first three are those of errors, of the worse clock where a row has one.

    Of suites with an alarm in an unchanged row; of rows that are slower by 1.05 times the tolerance
    and pass; of unchanged rows whose bound lies below 0; of unchanged rows that pass.
    """

    alarmed: float
    false_pass: float
    exceeded: float
    device: float
    host: float


def simulated(noise: Noise, references: References, processes: int, suites: int, seed: int) -> Cell:
    source = np.random.default_rng(seed)
    changed, passed, exceeded = (np.zeros((suites, ROWS), dtype=bool) for _ in range(3))
    truth = np.expm1(SLOWER)
    for index in range(suites):
        comparison = judge(*suite(source, noise, references, processes))
        assert comparison.refusal is None, comparison.refusal
        verdicts = comparison.verdicts
        changed[index] = [row.outcome in CHANGED for row in verdicts]
        passed[index] = [row.outcome is Outcome.PASS for row in verdicts]
        exceeded[index] = [(row.bound or 0.0) for row in verdicts] < truth

    def of_clocks(wrong: NDArray[np.bool_], of: NDArray[np.bool_]) -> tuple[float, float]:
        halves = slice(0, ROWS // 2), slice(ROWS // 2, ROWS)
        device, host = (float(np.mean(wrong[:, half][:, of[half]])) for half in halves)
        return device, host

    return Cell(
        float(np.mean(np.any(changed[:, ~IS_SLOWER], axis=1))),
        max(of_clocks(passed, IS_SLOWER)),
        max(of_clocks(exceeded, ~IS_SLOWER)),
        *of_clocks(passed, ~IS_SLOWER),
    )


def _row(name: str, processes: int, size: Size) -> Sequence[float | str]:
    suites = size.count(1000, 100)
    cells = {
        noise: simulated(about, REFERENCES[name], processes, suites, size.seed)
        for noise, about in NOISES.items()
    }
    most = [max(getattr(cell, of) for cell in cells.values()) for of in ("alarmed", "false_pass")]
    return [*map(percent, (*most, cells["normal"].device, cells["normal"].host))]


TABLES = [
    Table(
        "screening",
        (
            "baseline, processes",
            "alarmed (%)",
            "passes (%)",
            "device passes (%)",
            "host passes (%)",
        ),
        {
            f"{name}, {processes}": partial(_row, name, processes)
            for name in REFERENCES
            for processes in (3, 7)
        },
    )
]
