# SPDX-License-Identifier: Apache-2.0
"""Unchanged code under noise that is no textbook's: alarms stay as rare as promised."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from simulated_size import size
from simulation import changed
from warpgauge.records.model import Clock, Record, Row, Session, Source
from warpgauge.verdict.judge import judge

Array = NDArray[np.float64]
Logs = Sequence[Array]  # of each session, the candidate's last; one row a benchmark

SUITES, BENCHMARKS = size(400), 50
# Log-uniform from 0.05 to 5 %: what differs by 100 times within a family, far above every minimum.
UNLIKE = np.exp(np.linspace(math.log(0.0005), math.log(0.05), BENCHMARKS))[:, None]
LOUD = 0.02


def normal(source: np.random.Generator, sd: float | Array, processes: int) -> Array:
    return np.asarray(source.normal(0.0, 1.0, (BENCHMARKS, processes)) * sd)


def two_states(source: np.random.Generator, processes: int) -> Array:
    return LOUD * source.integers(0, 2, (BENCHMARKS, processes)) + normal(source, 2e-3, processes)


# Five sessions of one GPU, the last of the candidate's own boot, and the candidate.
CELLS: dict[str, Callable[[np.random.Generator], Logs]] = {
    "noise that differs 100 times within a family": lambda source: [
        normal(source, UNLIKE, 7) for _ in range(2)
    ],
    "a session ten times as noisy as those before it": lambda source: [
        *(normal(source, 0.002, 7) for _ in range(4)),
        normal(source, LOUD, 7),
        normal(source, 0.002, 7),
    ],
    "a candidate ten times as noisy as all before it": lambda source: [
        *(normal(source, 0.002, 7) for _ in range(5)),
        normal(source, LOUD, 7),
    ],
    "7 processes against 20": lambda source: [normal(source, LOUD, 7), normal(source, LOUD, 20)],
    "20 processes against 3": lambda source: [normal(source, LOUD, 20), normal(source, LOUD, 3)],
    "7 processes against 2": lambda source: [normal(source, LOUD, 7), normal(source, LOUD, 2)],
    "two states, 7 processes against 20": lambda source: [
        two_states(source, 7),
        two_states(source, 20),
    ],
}


def record(logs: Logs, first: int, source: Source, last: int) -> Record:
    sessions = [
        Session(f"s{index}", {**_CONTEXT, "boot_id": str(min(index, last))})
        for index in range(first, first + len(logs))
    ]
    times = [(1e-4 * np.exp(of)).tolist() for of in logs]
    rows = {}
    for number in range(BENCHMARKS):
        name = f"f{number // 25}/{number}"
        medians = {one.key: tuple(of[number]) for one, of in zip(sessions, times, strict=True)}
        rows[name] = Row(name, medians, Clock.DEVICE)
    return Record(Path("simulated"), source, {one.key: one for one in sessions}, rows)


_CONTEXT = {"gpu_name": "G", "gpu_uuid": "U", "build_type": "Release"}


@pytest.mark.parametrize("cell", CELLS)
def test_of_unchanged_suites_hardly_any_alarms(cell: str) -> None:
    source = np.random.default_rng(1)
    alarmed = 0
    for _ in range(SUITES):
        logs = CELLS[cell](source)
        last = len(logs) - 2
        base = record(logs[:-1], 0, Source.BASELINE, last)
        alarmed += changed(judge(base, record(logs[-1:], last + 1, Source.RUN, last))) > 0
    print(f"\n{cell}: {alarmed} of {SUITES}")
    # One in a hundred, and three standard errors of so few suites.
    assert alarmed <= SUITES * 0.01 + 3 * math.sqrt(SUITES * 0.01)
