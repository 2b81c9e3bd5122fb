# SPDX-License-Identifier: Apache-2.0
"""Suites that are screened against a simulated baseline: false alarms, and whether bounds hold.

`WARPGAUGE_SIMULATIONS=whole python scripts/tests/helpers/simulated_screening.py` prints the worst
kinds of noise of each baseline, or with --all each.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from simulation import Array, changed, markdown, size
from warpgauge.records.counters import Clock
from warpgauge.records.model import Record, Session, Source
from warpgauge.records.row import Row
from warpgauge.verdict.judge import judge
from warpgauge.verdict.pairing import pair
from warpgauge.verdict.screening import screen

SUITES = size(200)
FAMILIES, MEMBERS = 6, 16
ROWS = FAMILIES * MEMBERS
CLOCKS = [Clock.DEVICE if row < ROWS // 2 else Clock.HOST for row in range(ROWS)]


def by_clock(device: float, host: float) -> Array:
    return np.array([[device if clock is Clock.DEVICE else host] for clock in CLOCKS])


# Standard deviations of the log: between processes, and as assumed between sessions and GPUs.
PROCESS, SESSION, GPU = by_clock(0.002, 0.01), by_clock(0.001, 0.05), by_clock(0.005, 0.0)
TOLERANCE = by_clock(0.01, 0.03)[:, 0]
# What is slower by so many times the tolerance must not pass: every fourth row.
TOO_SLOW = np.array([1.5, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0] * (ROWS // 8))

# Noise between processes with a standard deviation of about 1: by row, session and process.
Noise = Callable[[np.random.Generator, tuple[int, int, int]], Array]
PROCESSES = 7


def normal(source: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    return source.normal(size=shape)


def correlated(r: float) -> Noise:
    """Each process resembles the one before it."""

    def noise(source: np.random.Generator, shape: tuple[int, int, int]) -> Array:
        values = normal(source, shape)
        for number in range(1, shape[-1]):
            values[..., number] *= math.sqrt(1.0 - r**2)
            values[..., number] += r * values[..., number - 1]
        return values

    return noise


def disturbed(share: float) -> Noise:
    """So many processes are slower, by 30 % or so."""

    def noise(source: np.random.Generator, shape: tuple[int, int, int]) -> Array:
        slower = np.abs(source.normal(0.0, 0.4, shape)) * (source.random(shape) < share)
        return np.asarray(normal(source, shape) + slower / PROCESS[:, :, None])

    return noise


def unlike(source: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    """Some of a family's members are ten times as noisy as others."""
    of_row = np.exp(np.linspace(-1.15, 1.15, MEMBERS))
    return np.asarray(normal(source, shape) * np.tile(of_row, FAMILIES)[:, None, None])


def noisy_candidate(source: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    values = normal(source, shape)
    values[:, -1] *= 10.0
    return values


def drifting(source: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    slopes = source.normal(0.0, 2.0, (*shape[:-1], 1))
    return slopes * np.linspace(0.0, 2.0, shape[-1]) + 0.5 * normal(source, shape)


@dataclass(frozen=True)
class Kind:
    """How times move. `scatter` is that of sessions as a multiple of the assumed one.

    Sessions and GPUs scatter by Student's t with the freedom of `boots`. `unequal` is the standard
    deviation of the log of the rows' own scatter, whose mean square stays.
    """

    noise: Noise = normal
    scatter: float = 1.0
    boots: float = math.inf
    unequal: float = 0.0
    lasting: float = 0.0  # how far apart two states of a session are, in PROCESS
    step: float = 0.0  # of the clock that times the device, seconds
    host: float = 0.0  # how far the candidate's host is from all that the baseline knows (log)


KINDS = {
    "normal": Kind(),
    "heavy tails": Kind(lambda source, shape: source.standard_t(3.0, shape) / math.sqrt(3.0)),
    "unlike within a family": Kind(unlike),
    "a candidate ten times as noisy": Kind(noisy_candidate),
    "5 % of processes disturbed": Kind(disturbed(0.05)),
    "20 % of processes disturbed": Kind(disturbed(0.20)),
    "two states": Kind(lambda source, shape: 4.0 * source.integers(0, 2, shape)
                       + 0.3 * normal(source, shape)),
    "steps of 32 ns": Kind(step=32e-9),
    "drift": Kind(drifting),
    "correlation 0.3": Kind(correlated(0.3)),
    "correlation 0.6": Kind(correlated(0.6)),
    "states that last a session": Kind(lasting=4.0),
    "sessions scatter three times as far": Kind(scatter=3.0),
    "boots of t4": Kind(boots=4.0),
    "unequal rows": Kind(unequal=0.5),
    "unequal rows, boots of t4": Kind(unequal=0.5, boots=4.0),
    "a host unlike those of the baseline": Kind(host=0.15),
}  # fmt: skip


@dataclass(frozen=True)
class Baseline:
    """How many sessions it has, on the candidate's GPU or each on another one; or on its boot."""

    sessions: int = 1
    foreign: bool = False
    same_boot: bool = False


BASELINES = {
    "this boot": Baseline(same_boot=True),
    "1 other boot": Baseline(),
    "2 other boots": Baseline(2),
    "4 other boots": Baseline(4),
    "1 other GPU": Baseline(foreign=True),
    "2 other GPUs": Baseline(2, foreign=True),
    "3 other GPUs": Baseline(3, foreign=True),
    "4 other GPUs": Baseline(4, foreign=True),
}


def _of_boots(source: np.random.Generator, kind: Kind, shape: tuple[int, int]) -> Array:
    """With a standard deviation of 1."""
    if math.isinf(kind.boots):
        return source.normal(size=shape)
    return source.standard_t(kind.boots, shape) / math.sqrt(kind.boots / (kind.boots - 2.0))


def drawn(source: np.random.Generator, kind: Kind, baseline: Baseline) -> Array:
    """Log times by row, session and process; the candidate is the last session."""
    shape = (ROWS, baseline.sessions + 1)
    rows = np.exp(source.normal(-(kind.unequal**2), kind.unequal, (ROWS, 1)))
    means = rows * kind.scatter * SESSION * _of_boots(source, kind, shape)
    means += kind.lasting * PROCESS * source.integers(0, 2, shape)
    means += rows * GPU * _of_boots(source, kind, shape) * baseline.foreign
    means[ROWS // 2 :, -1] += kind.host * (1.0 + source.normal(size=ROWS - ROWS // 2))
    if baseline.same_boot:
        means[:, -1] = means[:, -2]
    scatter = rows[:, :, None] * PROCESS[:, :, None]
    logs = means[:, :, None] + scatter * kind.noise(source, (*shape, PROCESSES))
    shortest, longest = (1e-6, 20e-6) if kind.step else (1e-4, 1e-4)
    where = source.uniform(math.log(shortest), math.log(longest), (ROWS, 1, 1))
    return np.asarray(logs + where)


def records(
    logs: Array, kind: Kind, baseline: Baseline, processes: int, slower: Array
) -> tuple[Record, Record]:
    """Baseline and candidate, which has the first `processes` and is slower by log ratios."""
    shift = np.zeros_like(logs)
    shift[:, -1] = slower[:, None]
    times = np.exp(logs + shift)
    if kind.step:
        device = times[: ROWS // 2]
        times[: ROWS // 2] = np.maximum(np.round(device / kind.step), 1.0) * kind.step
    last = baseline.sessions

    def session(index: int) -> Session:
        boot = index - (baseline.same_boot and index == last)
        gpu = index if baseline.foreign else 0
        about = {"gpu_name": "G", "gpu_uuid": f"U{gpu}", "boot_id": f"B{boot}"}
        return Session(f"s{index}", about)

    def record(indices: range, source: Source, processes: int) -> Record:
        sessions = {f"s{index}": session(index) for index in indices}
        rows = {}
        for row, clock in enumerate(CLOCKS):
            name = f"family{row // MEMBERS}/{row}"
            medians = {f"s{i}": tuple(times[row, i, :processes].tolist()) for i in indices}
            rows[name] = Row(name, medians, clock)
        return Record(Path("simulated"), source, sessions, rows)

    return (
        record(range(last), Source.BASELINE, PROCESSES),
        record(range(last, last + 1), Source.RUN, processes),
    )


def bounds(base: Record, candidate: Record) -> tuple[Array, Array]:
    """Upper bounds (99 %) of the slowdowns as log ratios, and how far above the estimates."""
    found = screen(base, candidate, pair(base, candidate, base.rows)[0]).found
    return found.bound, found.bound - found.log_ratio


@dataclass(frozen=True)
class Shares:
    """Of unchanged suites that alarm; of unchanged rows whose bound is wrong, the worse clock's.

    Then of unchanged rows that pass, and of too slow ones that do; at last the median width of
    bounds, a log ratio. Device time, then host time.
    """

    alarmed: float
    exceeded: float
    passed: tuple[float, float]
    missed: float
    width: tuple[float, float]


def simulated(kind: Kind, baseline: Baseline, processes: int, suites: int = SUITES) -> Shares:
    source = np.random.default_rng(1)
    tolerance, slower = np.log1p(TOLERANCE), np.log1p(TOO_SLOW * TOLERANCE)
    alarmed = 0
    unchanged, widths, slowed = list[Array](), list[Array](), list[Array]()
    for _ in range(suites):
        logs = drawn(source, kind, baseline)
        sides = records(logs, kind, baseline, processes, np.zeros(ROWS))
        alarmed += changed(judge(*sides)) > 0
        for found, into in zip(bounds(*sides), (unchanged, widths), strict=True):
            into.append(found)
        slowed.append(bounds(*records(logs, kind, baseline, processes, slower))[0])

    def each(wrong: NDArray[np.bool_]) -> tuple[float, float]:
        """The share of the suites' rows with times of the device, and of the host."""
        device, host = np.split(wrong, 2, axis=1)
        return float(np.mean(device)), float(np.mean(host))

    passing = np.stack(slowed) <= tolerance
    device, host = np.split(np.stack(widths), 2, axis=1)
    return Shares(
        alarmed / suites,
        max(each(np.stack(unchanged) < 0.0)),
        each(np.stack(unchanged) <= tolerance),
        float(np.mean(passing[:, TOO_SLOW > 0.0])),
        (float(np.median(device)), float(np.median(host))),
    )


def table(every: bool) -> str:
    """As Markdown; the worst kinds of each baseline, or every one."""
    shares = ("suites alarmed", "bound exceeded", "device passes", "host passes", "too slow passes")
    heads = ("baseline", "noise", "processes", *shares, "device bound", "host bound")
    rows = []
    for name, baseline in BASELINES.items():
        cells = {
            (kind, processes): simulated(KINDS[kind], baseline, processes)
            for kind in KINDS
            for processes in (3, PROCESSES)
        }
        for (kind, processes), cell in cells.items():
            values = [cell.alarmed, cell.exceeded, *cell.passed, cell.missed, *cell.width]
            if every or kind == "normal":
                rows.append((name, kind, str(processes), *(f"{100 * one:.1f} %" for one in values)))
        worst = [
            f"{100 * max(part):.1f} %"
            for part in zip(
                *((one.alarmed, one.exceeded, one.missed) for one in cells.values()), strict=True
            )
        ]
        rows.append((name, "the worst", "", *worst[:2], "", "", worst[2], "", ""))
    return markdown(heads, rows)


if __name__ == "__main__":
    print(table(every="--all" in sys.argv[1:]))
