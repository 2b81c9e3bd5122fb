# SPDX-License-Identifier: Apache-2.0
"""Histories of 200 nights whose changes are known, with the noise of the recorded H200s.

`WARPGAUGE_SIMULATIONS=whole python scripts/tests/helpers/simulated_histories.py` prints how often
unchanged benchmarks show a change point, and where changes of 1 % (device) and 5 % (host) are
placed. With `--series FILE` it writes the series to a .npz file, for other tools.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from simulation import Array, markdown, size
from warpgauge.history import changes
from warpgauge.records.load import load
from warpgauge.records.model import Clock
from warpgauge.system.environment import ROOT

HISTORIES, NIGHTS, PROCESSES = size(40), 200, 7
CHANGE = {Clock.DEVICE: 0.01, Clock.HOST: 0.05}
# That of a session on one GPU, as the verdict assumes it: no GPU was recorded twice.
SESSION_SD, SHARE_OF_PROCESSES = 0.001, 1.0 / 9.0
EDGE = 25  # nights before the first and after the last change


@dataclass(frozen=True)
class Noise:
    """Of the recorded benchmarks: how logs scatter within a session, and sessions' deviations."""

    names: tuple[str, ...]
    host: Array
    processes: tuple[Array, ...]
    deviations: Array  # by benchmark and session, without what few processes add
    process_sd: Array

    @property
    def clocks(self) -> dict[str, Clock]:
        kinds = (Clock.HOST if host else Clock.DEVICE for host in self.host)
        return dict(zip(self.names, kinds, strict=True))


@cache
def recorded() -> Noise:
    names, host, processes, deviations = [], [], [], []
    for path in sorted((ROOT / "baselines" / "nvidia-h200").glob("*.json")):
        record = load(path)
        keys = list(record.sessions)
        for row in record.rows.values():
            if len(row.process_medians) < len(keys):
                continue
            logs = [np.log(row.process_medians[key]) for key in keys]
            own = [(one - one.mean()) * math.sqrt(len(one) / (len(one) - 1)) for one in logs]
            medians = np.array([np.median(one) for one in logs])
            medians -= medians.mean()
            added = math.pi / 2 * np.mean([np.mean(one**2) / len(one) for one in own])
            between = np.sum(medians**2) / (len(keys) - 1)
            names.append(row.name)
            host.append(row.clock is Clock.HOST)
            processes.append(np.concatenate(own))
            deviations.append(medians * math.sqrt(max(1.0 - added / between, 0.0)))
    sd = np.array([one.std() for one in processes])
    return Noise(tuple(names), np.array(host), tuple(processes), np.array(deviations), sd)


@dataclass(frozen=True)
class Night:
    commit: str
    facts: dict[str, str]


@dataclass(frozen=True)
class Series:
    benchmark: str
    nights: range
    log_seconds: Array
    errors: Array


@dataclass(frozen=True)
class History:
    """`at` is the first changed night of each benchmark, `steps` its log ratio, 0 without one."""

    nights: tuple[Night, ...]
    series: tuple[Series, ...]
    at: NDArray[np.int64]
    steps: Array


def draws(source: np.random.Generator, deviations: Array, count: int) -> Array:
    """Normal ones with the recorded scatter, and with the recorded correlation of benchmarks."""
    sessions = deviations.shape[1]
    return np.asarray(deviations @ source.normal(size=(sessions, count)) / math.sqrt(sessions - 1))


# The GPU of each night, and whether each night is another boot of another host.
SETTINGS = {
    "one GPU, one boot": (np.zeros(NIGHTS, dtype=int), False),
    "one GPU": (np.zeros(NIGHTS, dtype=int), True),
    "a GPU exchanged": (np.repeat([0, 1], NIGHTS // 2), True),
    "four GPUs in turn": (np.arange(NIGHTS) % 4, True),
}


def history(source: np.random.Generator, setting: str, changed: bool) -> History:
    """Of all recorded benchmarks."""
    gpus, boots_differ = SETTINGS[setting]
    noise = recorded()
    rows = len(noise.names)
    own = source.normal(size=(rows, NIGHTS)) * np.hypot(
        SESSION_SD, noise.process_sd * math.sqrt(SHARE_OF_PROCESSES)
    ).reshape(-1, 1)
    boots = draws(source, noise.deviations, NIGHTS) * boots_differ
    cards = draws(source, noise.deviations, max(gpus) + 1)[:, gpus]
    levels = np.where(noise.host[:, None], boots, own + cards)
    logs = np.stack([source.choice(one, (NIGHTS, PROCESSES)) for one in noise.processes])
    values = levels + np.median(logs, axis=2)
    errors = logs.std(axis=2, ddof=1) * math.sqrt(math.pi / (2 * PROCESSES + math.pi - 2))
    at = source.integers(EDGE, NIGHTS - EDGE, rows)
    sizes = np.where(noise.host, *(math.log1p(CHANGE[one]) for one in (Clock.HOST, Clock.DEVICE)))
    steps = sizes * source.choice([-1.0, 1.0], rows) * changed
    values += steps[:, None] * (np.arange(NIGHTS) >= at[:, None])
    nights = tuple(Night(f"{night:040x}", {"gpu_uuid": f"GPU-{gpu}"})
                   for night, gpu in enumerate(gpus))  # fmt: skip
    series = tuple(Series(name, range(NIGHTS), *one)
                   for name, *one in zip(noise.names, values, errors, strict=True))  # fmt: skip
    return History(nights, series, at, steps)


@dataclass
class Count:
    rows: int = 0
    found: int = 0
    near: int = 0
    false: int = 0
    alarms: int = 0
    clear_rows: int = 0  # whose change is at least twice as large as a night's scatter
    clear_near: int = 0


def counted(setting: str, changed: bool, histories: int = HISTORIES) -> dict[str, Count]:
    """By clock. Change points where the GPU was exchanged are true, and not counted."""
    source = np.random.default_rng(3)
    noise = recorded()
    counts = {clock.value: Count() for clock in Clock}
    exchange = NIGHTS // 2 if setting == "a GPU exchanged" else -10
    for _ in range(histories):
        one = history(source, setting, changed)
        seen = changes.found(one.series, one.nights, noise.clocks)
        for row, name in enumerate(noise.names):
            count = counts[noise.clocks[name].value]
            points = [change.point for change in seen if change.benchmark == name]
            placed = [point for point in points if point.placed and not
                      point.first <= exchange <= point.last]  # fmt: skip
            near = [abs(point.index - one.at[row]) for point in placed if changed]
            count.rows += 1
            count.alarms += len([point for point in points if not point.placed])
            count.found += any(away <= 10 for away in near)
            count.near += any(away <= 1 for away in near)
            values = one.series[row].log_seconds - one.steps[row] * (
                np.arange(NIGHTS) >= one.at[row]
            )
            if changed and abs(one.steps[row]) >= 2.0 * values.std():
                count.clear_rows += 1
                count.clear_near += any(away <= 1 for away in near)
            count.false += len(placed) - any(away <= 10 for away in near)
    return counts


def table() -> str:
    rows = []
    for setting in SETTINGS:
        still, moved = counted(setting, False), counted(setting, True)
        for clock, count in still.items():
            years, other = count.rows * NIGHTS / 365, moved[clock]
            shares = (
                other.found / other.rows,
                other.near / other.rows,
                other.clear_rows / other.rows,
                other.clear_near / max(other.clear_rows, 1),
            )
            rows.append((setting, clock, f"{years:.0f}", str(count.false), str(count.alarms),
                         *(f"{100 * share:.1f} %" for share in shares),
                         str(other.false)))  # fmt: skip
    heads = ("nights", "time", "row-years", "false change points", "false alarms", "found",
             "within 1 night", "clear changes", "of these within 1",
             "false beside changes")  # fmt: skip
    return markdown(heads, rows)


def written(path: Path) -> None:
    """The series of one GPU, unchanged and changed, as those of `counted` are."""
    parts: dict[str, Any] = {"host": np.array(recorded().host)}
    for changed in (False, True):
        source = np.random.default_rng(3)
        histories = [history(source, "one GPU", changed) for _ in range(HISTORIES)]
        word = "changed" if changed else "unchanged"
        parts[word] = np.array([[row.log_seconds for row in one.series] for one in histories])
        parts[f"{word}_at"] = np.array([one.at for one in histories])
    np.savez(path, **parts)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--series"]:
        written(Path(sys.argv[2]))
    else:
        print(table())
