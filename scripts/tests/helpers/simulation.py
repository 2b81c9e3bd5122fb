# SPDX-License-Identifier: Apache-2.0
"""Suites of simulated benchmarks whose truth is known, judged by the very rule that judges runs.

`python scripts/tests/helpers/simulation.py` prints how often unchanged code is called changed, and
how often changes of 1, 2 and 5 % are found, by what the sides share: the worst over the kinds of
noise, or with --all each.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from warpgauge.records.counters import Clock
from warpgauge.records.model import Record, Session, Source
from warpgauge.records.row import Row
from warpgauge.statistics.error_rates import ALPHA
from warpgauge.verdict.comparison import Comparison, Outcome
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.judge import judge

Array = NDArray[np.float64]
Noise = Callable[[np.random.Generator, tuple[int, ...]], Array]


def size(whole: int) -> int:
    """Of a simulation: an eighth of `whole` each time, the whole each night."""
    return whole if os.environ.get("WARPGAUGE_SIMULATIONS") == "whole" else whole // 8


SUITES, BENCHMARKS, PROCESSES = size(100), 100, 7
TRIALS = SUITES * BENCHMARKS
SECONDS = 1e-4  # long enough that the latency by which siblings differ is nothing to it

# Standard deviation of the log between processes, and between sessions and GPUs where these differ.
PROCESS_SD, SESSION_SD, GPU_SD = 0.002, 0.001, 0.004


def drifting(source: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """A slope of its own in each session, over its processes."""
    slopes = source.normal(0.0, PROCESS_SD, (*shape[:-1], 1))
    return slopes * np.linspace(-1.0, 1.0, shape[-1]) + source.normal(0.0, PROCESS_SD / 2, shape)


# Noise between processes, by the name of its kind. The last dimension is that of processes.
NOISES: dict[str, Noise] = {
    "normal": lambda source, shape: source.normal(0.0, PROCESS_SD, shape),
    "skewed": lambda source, shape: source.exponential(PROCESS_SD, shape),
    "heavy tails": lambda source, shape: PROCESS_SD / 2 * source.standard_t(3.0, shape),
    "two states": lambda source, shape: (
        source.normal(0.0, PROCESS_SD / 4, shape) + 2 * PROCESS_SD * source.integers(0, 2, shape)
    ),
    "drifting": drifting,
}


@dataclass(frozen=True)
class Setting:
    """What the two sides share: the boot, the GPU, or its model."""

    sessions: int = 1
    same_gpu: bool = True


SETTINGS = {
    "the boot": Setting(),
    "the GPU": Setting(sessions=4),
    "the GPU model": Setting(sessions=4, same_gpu=False),
}


def suite(
    source: np.random.Generator, noise: Noise, setting: Setting, changes: Array
) -> tuple[Record, Record]:
    """Baseline and candidate; `changes` are the true log ratios of the benchmarks."""
    count, alone = len(changes), setting.sessions == 1
    shape = (count, setting.sessions + 1, 1)
    session = source.normal(0.0, 0.0 if alone else SESSION_SD, shape)
    gpu = source.normal(0.0, 0.0 if setting.same_gpu else GPU_SD, shape)
    logs = noise(source, (count, setting.sessions + 1, PROCESSES)) + session + gpu
    logs[:, -1] += changes[:, None]
    times = SECONDS * np.exp(logs)
    keys = range(setting.sessions + 1)
    sessions = [Session(f"s{index}", _context(index, setting)) for index in keys]
    return (
        record(sessions[:-1], times[:, :-1].tolist(), Source.BASELINE),
        record(sessions[-1:], times[:, -1:].tolist(), Source.RUN),
    )


def _context(index: int, setting: Setting) -> dict[str, str]:
    boot = f"B{index}" if setting.sessions > 1 else "B"
    gpu = "U" if setting.same_gpu else f"U{index}"
    return {"gpu_name": "G", "build_type": "Release", "gpu_uuid": gpu, "boot_id": boot}


def record(
    sessions: Sequence[Session],
    times: Sequence[Sequence[Sequence[float]]],
    source: Source,
    clock: Clock = Clock.DEVICE,
    in_rounds: bool = True,
) -> Record:
    """`times` are those of the processes, by benchmark and session."""
    rows = {}
    for index, by_session in enumerate(times):
        name = f"family/{index}"
        medians = {one.key: tuple(of) for one, of in zip(sessions, by_session, strict=True)}
        rounds = tuple(range(1, len(by_session[0]) + 1)) if in_rounds else ()
        rows[name] = Row(name, medians, clock, rounds=rounds)
    return Record(Path("simulated"), source, {one.key: one for one in sessions}, rows)


def judged(
    noise: Noise,
    setting: Setting,
    changes: Array,
    minimum_effect: float | None = None,
    alpha: float = ALPHA,
) -> Iterator[Comparison]:
    """`SUITES` suites, each with `changes`."""
    source = np.random.default_rng(1)
    for _ in range(SUITES):
        sides = suite(source, noise, setting, changes)
        yield judge(*sides, ComparisonSettings(minimum_effect=minimum_effect, alpha=alpha))


def changed(comparison: Comparison) -> int:
    return comparison.count(Outcome.REGRESSION, Outcome.IMPROVED)


# One benchmark in fifty is slower by each of these, the others are what they were. Many more would
# hide each other, for what much of a suite does is taken for the machine (screening.py).
CHANGES, ONE_IN = (0.01, 0.02, 0.05), 50
SOME_CHANGED = np.log1p([*CHANGES, *([0.0] * (ONE_IN - len(CHANGES)))] * (BENCHMARKS // ONE_IN))


@dataclass(frozen=True)
class Power:
    """Shares: of suites of unchanged code with a false alarm, and of each change found."""

    alarmed: float
    found: tuple[float, ...]


def power(noise: Noise, setting: Setting) -> Power:
    """At the defaults, over `TRIALS` unchanged benchmarks and as many of which some changed."""
    alarmed = sum(changed(one) > 0 for one in judged(noise, setting, np.zeros(BENCHMARKS)))
    found = np.zeros(len(CHANGES))
    for comparison in judged(noise, setting, SOME_CHANGED):
        slower = [one.outcome is Outcome.REGRESSION for one in comparison.verdicts]
        found += np.reshape(slower, (-1, ONE_IN))[:, : len(CHANGES)].mean(axis=0)
    return Power(alarmed / SUITES, tuple(found / SUITES))


def table(each: bool) -> str:
    """The worst of each setting's cells, or with `each` every cell, as a table."""
    heads = ("what both share", "noise", "suites alarmed", *(f"{one:.0%} found" for one in CHANGES))
    rows = []
    for name, setting in SETTINGS.items():
        cells = {kind: power(noise, setting) for kind, noise in NOISES.items()}
        for kind, cell in (cells if each else {"the worst": _worst(list(cells.values()))}).items():
            shares = (f"{100 * share:.1f} %" for share in (cell.alarmed, *cell.found))
            rows.append((name, kind, *shares))
    return markdown(heads, rows)


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = ["| " + " | ".join(cells) + " |" for cells in (heads, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(heads), *lines[1:]])


def _worst(cells: Sequence[Power]) -> Power:
    found = zip(*(cell.found for cell in cells), strict=True)
    return Power(max(cell.alarmed for cell in cells), tuple(map(min, found)))


if __name__ == "__main__":
    print(table(each="--all" in sys.argv[1:]))
