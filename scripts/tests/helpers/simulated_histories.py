# SPDX-License-Identifier: Apache-2.0
"""Histories of 200 nights whose changes are known, with the noise of the recorded H200s."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from simulation import Array, size
from warpgauge.history import changes
from warpgauge.history.changes import Cause
from warpgauge.history.lines import Night, Times, standard_error
from warpgauge.records.counters import Clock
from warpgauge.records.load import load
from warpgauge.statistics.log_ratios import centre
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


def of_commit(commit: str, facts: dict[str, str], base: str = "") -> Night:
    """A night whose number and date do not matter."""
    return Night("", commit, 0, facts, {}, {}, (), base)


def times(
    nights: Sequence[Night],
    names: Sequence[str],
    host: NDArray[Any] | bool,
    log_seconds: Array,
    errors: Array,
    *ratios: Array,
) -> Times:
    """With log ratios and their errors, or without any."""
    none = np.full_like(log_seconds, np.nan)
    of_host = np.broadcast_to(np.array(host, dtype=bool), len(names))
    return Times(nights, names, of_host, log_seconds, errors, *(ratios or (none, none)))


@dataclass(frozen=True)
class History:
    """`at` is the first changed night of each benchmark, `steps` its log ratio, 0 without one.

    `alone` is what its processes scatter by, without what a boot or a GPU adds.
    """

    times: Times
    at: NDArray[np.int64]
    steps: Array
    alone: Array


def draws(source: np.random.Generator, deviations: Array, count: int) -> Array:
    """Normal ones with the recorded scatter, and with the recorded correlation of benchmarks."""
    sessions = deviations.shape[1]
    return np.asarray(deviations @ source.normal(size=(sessions, count)) / math.sqrt(sessions - 1))


@dataclass(frozen=True)
class Setting:
    """The GPU of each night, and how many nights each boot lasts, on another host each.

    Each benchmark is measured in so many `pairs` in a `share` of the nights, with their `bases`.
    """

    gpus: NDArray[np.int64]
    boot: int
    pairs: int = 0
    share: float = 1.0
    bases: tuple[str, ...] = ("base",) * NIGHTS


_ONE = np.zeros(NIGHTS, dtype=int)
_TURNS = np.arange(NIGHTS) % 4
LONG_BOOTS = {
    "without pairs": Setting(_ONE, 20),
    "4 pairs": Setting(_ONE, 20, 4),
    "8 pairs in half": Setting(_ONE, 20, 8, 0.5),
}
SETTINGS = {
    "one GPU, one boot": Setting(_ONE, NIGHTS),
    "one GPU": Setting(_ONE, 1),
    "a GPU exchanged": Setting(np.repeat([0, 1], NIGHTS // 2), 1),
    "four GPUs in turn": Setting(_TURNS, 1),
    "one boot, 4 pairs": Setting(_ONE, NIGHTS, 4),
    "one boot, 8 pairs": Setting(_ONE, NIGHTS, 8),
    "many boots, 4 pairs": Setting(_ONE, 1, 4),
    "many boots, 8 pairs": Setting(_ONE, 1, 8),
    "one boot, 8 pairs in half": Setting(_ONE, NIGHTS, 8, 0.5),
    "many boots, 8 pairs in half": Setting(_ONE, 1, 8, 0.5),
    "a GPU exchanged, 8 pairs": Setting(np.repeat([0, 1], NIGHTS // 2), 1, 8),
    "many boots, 8 pairs, two bases": Setting(
        _ONE, 1, 8, bases=("a",) * (NIGHTS // 2) + ("b",) * (NIGHTS // 2)
    ),
    "four GPUs in turn, 8 pairs, a base each": Setting(
        _TURNS, 1, 8, bases=tuple(f"base of {gpu}" for gpu in _TURNS)
    ),
}


@cache
def recorded_pairs() -> tuple[Array, dict[bool, Array]]:
    """How far pairs scatter, by recorded benchmark, and in units of that, by whether the host's.

    The file has log ratios of lock-step pairs of two commits, by benchmark, of one night on an
    H200. What scattered little got few pairs: the units are of those with 14 or more.
    """
    told = json.loads(Path(__file__).with_name("pairs_of_one_night.json").read_text())
    noise = recorded()
    host = dict(zip(noise.names, noise.host, strict=True))
    logs = {name: np.array(those) for name, those in told.items() if name in host}
    sd = {name: float(np.std(those, ddof=1)) for name, those in logs.items()}
    units = {}
    for kind in (False, True):
        many = [name for name in logs if host[name] == kind and len(logs[name]) >= 14]
        units[kind] = np.concatenate([(logs[one] - logs[one].mean()) / sd[one] for one in many])
    typical = {kind: float(np.median([sd[name] for name in logs if host[name] == kind]))
               for kind in units}  # fmt: skip
    return np.array([sd.get(name, typical[host[name]]) for name in noise.names]), units


def pair_noise(source: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Log ratios of lock-step pairs of equal code; a row a benchmark."""
    sd, units = recorded_pairs()
    drawn = [source.choice(units[bool(host)], shape[1:]) for host in recorded().host]
    return np.asarray(sd.reshape(-1, 1, 1) * np.stack(drawn))


def history(
    source: np.random.Generator, setting: str, changed: bool, lasting: int = NIGHTS
) -> History:
    """Of all recorded benchmarks."""
    of = {**SETTINGS, **LONG_BOOTS}[setting]
    noise = recorded()
    count = len(noise.names)
    own = source.normal(size=(count, NIGHTS)) * np.hypot(
        SESSION_SD, noise.process_sd * math.sqrt(SHARE_OF_PROCESSES)
    ).reshape(-1, 1)
    boots = draws(source, noise.deviations, NIGHTS)[:, :: of.boot].repeat(of.boot, axis=1)
    cards = draws(source, noise.deviations, max(of.gpus) + 1)[:, of.gpus]
    logs = np.stack([source.choice(one, (NIGHTS, PROCESSES)) for one in noise.processes])
    alone = np.where(noise.host[:, None], 0.0, own) + centre(logs)
    values = alone + np.where(noise.host[:, None], boots[:, :NIGHTS], cards)
    errors = standard_error(logs.std(axis=2, ddof=1), np.array([float(PROCESSES)]))
    at = source.integers(EDGE, NIGHTS - EDGE, count)
    sizes = np.where(noise.host, *(math.log1p(CHANGE[one]) for one in (Clock.HOST, Clock.DEVICE)))
    steps = sizes * source.choice([-1.0, 1.0], count) * changed
    night = np.arange(NIGHTS) - at[:, None]
    code = steps[:, None] * ((night >= 0) & (night < lasting))
    ratios, ratio_errors = _ratios(source, code, of)
    both = zip(of.gpus, of.bases, strict=True)
    nights = tuple(of_commit(f"{at:040x}", {"gpu_uuid": f"GPU-{gpu}"}, base)
                   for at, (gpu, base) in enumerate(both))  # fmt: skip
    tables = values + code, errors, ratios, ratio_errors
    return History(times(nights, noise.names, noise.host, *tables), at, steps, alone)


def _ratios(source: np.random.Generator, code: Array, of: Setting) -> tuple[Array, Array]:
    """With standard errors; NaN in nights without pairs. Bases differ by about 5 %."""
    if not of.pairs:
        return np.full_like(code, np.nan), np.full_like(code, np.nan)
    names, number = np.unique(of.bases, return_inverse=True)
    levels = source.normal(0.0, 0.05, (len(code), len(names)))[:, number]
    pairs = pair_noise(source, (*code.shape, of.pairs)) + (code - levels)[..., None]
    errors = standard_error(pairs.std(axis=2, ddof=1), np.array([float(of.pairs)]))
    measured = source.random(code.shape) < of.share
    return np.where(measured, centre(pairs), np.nan), np.where(measured, errors, np.nan)


def ceiling(one: History) -> Array:
    """Where a change is placed by who knows both levels, and what boots and GPUs add.

    In the middle of the three neighbouring nights that are the likeliest, if noise is normal.
    """
    night = np.arange(NIGHTS)
    alone = one.alone - one.alone.mean(axis=1, keepdims=True)
    steps = one.steps[:, None]
    values = alone + steps * (night >= one.at[:, None])
    gains = (steps * values - steps**2 / 2.0) / alone.var(axis=1, keepdims=True)
    logs = np.cumsum(gains[:, ::-1], axis=1)[:, ::-1]  # of a change in each night
    chances = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.array([np.argmax(np.convolve(row, np.ones(3), "same")) for row in chances])


@dataclass
class Count:
    rows: int = 0
    found: int = 0
    near: int = 0
    false: int = 0
    alarms: int = 0
    possible: int = 0  # within a night by `ceiling`
    ended: int = 0  # both ends of a change that does not last are found


def counted(
    setting: str,
    changed: bool,
    histories: int = HISTORIES,
    *,
    seed: int = 3,
    lasting: int = NIGHTS,
) -> dict[str, Count]:
    """By clock. Change points where the GPU was exchanged are true, and not counted."""
    source = np.random.default_rng(seed)
    noise = recorded()
    counts = {clock.value: Count() for clock in Clock}
    exchange = NIGHTS // 2 if setting.startswith("a GPU exchanged") else -NIGHTS
    for _ in range(histories):
        one = history(source, setting, changed, lasting)
        possible = np.abs(ceiling(one) - one.at) <= 1
        seen = changes.found(one.times)
        for row, name in enumerate(noise.names):
            count = counts[noise.clocks[name].value]
            points = [change.point for change in seen if change.benchmark == name]
            placed = [point for point in points if point.placed
                      and abs(point.index - exchange) > 10]  # fmt: skip
            at = one.at[row]
            near = [abs(point.index - at) for point in placed if changed]
            holds = [changed and point.first <= at <= point.last for point in placed]
            found = any(holds) or any(away <= 10 for away in near)
            count.rows += 1
            count.alarms += len([point for point in points if not point.placed])
            count.found += found
            count.near += any(away <= 1 for away in near)
            ends = [abs(point.index - at - lasting) <= 2 for point in placed]
            count.ended += any(ends) and any(away <= 2 for away in near)
            count.possible += bool(possible[row])
            count.false += len(placed) - found
    return counts


def causes(setting: str, histories: int, seed: int) -> Counter[Cause]:
    """Of what changes in unchanged host times by the minimum effect or more."""
    source = np.random.default_rng(seed)
    clocks, told = recorded().clocks, Counter[Cause]()
    for _ in range(histories):
        one = history(source, setting, False)
        seen = changes.found(one.times)
        host = [change for change in seen if clocks.get(change.benchmark) is Clock.HOST]
        least = changes.MINIMUM_EFFECT[Clock.HOST]
        told.update(one.cause for one in host if abs(math.expm1(one.point.change)) >= least)
    return told
