# SPDX-License-Identifier: Apache-2.0
"""Fleets whose slow GPUs are known: how often healthy ones show a finding, and what is found.

The rows are those of the recorded H200s, with their variances between sessions and between
processes. What sessions shared there, GPUs (and nodes, in rows of the host's clock) share here.
Half of the recorded device rows are quieter than 0.1 %, so fleets whose device rows all scatter
alike are simulated, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from devtools.simulations.table import Size, Table, percent
from warpgauge.records.counters import Clock
from warpgauge.records.load import load
from warpgauge.statistics.fleets import Fleet, Judged, judged
from warpgauge.statistics.log_ratios import Array
from warpgauge.system.environment import ROOT
from warpgauge.verdict.comparability import TOLERANCE

GPUS_A_NODE, PROCESSES, ROWS = 8, 7, 150
# The median of n normal values has pi/2 times the variance of their mean.
_OF_MEDIAN = math.pi / 2.0 / PROCESSES

Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]


@dataclass(frozen=True)
class Noise:
    """Draws values of variance 1, of which rows of a unit share `shared`.

    Shared values are normal, with the recorded correlation, or of the same kind and alike for all
    rows. `device_sd` replaces the recorded scatter between GPUs in rows of the device's clock.
    """

    draw: Draw
    shared: float = 0.5
    as_recorded: bool = True
    device_sd: float | None = None


def _student(freedom: float, source: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.asarray(source.standard_t(freedom, shape) / math.sqrt(freedom / (freedom - 2.0)))


def _normal(source: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return source.normal(size=shape)


def _exponential(source: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return source.exponential(size=shape) - 1.0


def _lognormal(source: np.random.Generator, shape: tuple[int, ...]) -> Array:
    e = math.e
    return np.asarray((np.exp(source.normal(size=shape)) - math.sqrt(e)) / math.sqrt(e * (e - 1)))


def _two_states(source: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """One value in five is higher by 3 standard deviations of the others."""
    values = source.normal(size=shape) + 3.0 * (source.random(shape) < 0.2)
    return np.asarray((values - 0.6) / math.sqrt(1.0 + 9.0 * 0.2 * 0.8))


_DRAWS: Mapping[str, Draw] = {
    "normal": _normal,
    "t5": partial(_student, 5.0),
    "t3": partial(_student, 3.0),
    "exponential": _exponential,
    "lognormal": _lognormal,
    "two states": _two_states,
}
NOISES: Mapping[str, Noise] = {
    **{name: Noise(draw) for name, draw in _DRAWS.items()},
    **{f"{name}, correlated": Noise(draw, 0.3, as_recorded=False) for name, draw in _DRAWS.items()},
}
# Scatter of processes in device rows that scatter alike (log).
_DEVICE_SCATTER = 0.002
ALIKE: Mapping[str, Noise] = {
    f"{name}, all device rows {sd:.1%}": Noise(_DRAWS[name], device_sd=sd)
    for name in ("t3", "exponential", "lognormal")
    for sd in (0.003, 0.005)
}


@dataclass(frozen=True)
class Sick:
    """So many GPUs are slower by `effect` in so many rows: the `same` ones, or each in others."""

    gpus: int = 0
    effect: float = 0.03
    rows: int = 5
    same: bool = False


@cache
def _recorded() -> tuple[NDArray[np.bool_], Array, Array]:
    """Return by recorded benchmark: host's clock, deviations of sessions, scatter of processes."""
    host, deviations, scatter = [], [], []
    record = load(ROOT / "baselines" / "nvidia-h200")
    for row in record.rows.values():
        if len(row.process_medians) < len(record.sessions):
            continue
        logs = [np.log(times) for times in row.process_medians.values()]
        medians = np.array([np.median(of_session) for of_session in logs])
        medians -= medians.mean()
        own = float(np.mean([np.var(of_session, ddof=1) for of_session in logs]))
        added = math.pi / 2.0 * own / np.mean([len(of_session) for of_session in logs])
        between = float(np.sum(medians**2)) / (len(medians) - 1)
        host.append(row.clock is Clock.HOST)
        deviations.append(medians * math.sqrt(max(1.0 - added / between, 0.0)))
        scatter.append(math.sqrt(own))
    return np.array(host), np.array(deviations), np.array(scatter)


@dataclass(frozen=True)
class Simulated:
    """`slow` marks rows of GPUs (GPUs x rows)."""

    fleet: Fleet
    slow: NDArray[np.bool_]

    @property
    def sick(self) -> NDArray[np.bool_]:
        return np.asarray(self.slow.any(axis=1))


def simulated(source: np.random.Generator, gpus: int, noise: Noise, sick: Sick) -> Simulated:
    """Return a fleet of nodes of eight GPUs, of which `sick` ones are slow in device rows."""
    host, deviations, scatter = _recorded()
    at = np.arange(ROWS) % len(host)
    host, deviations, scatter = host[at], deviations[at], scatter[at]
    sessions = deviations.shape[1]
    sd = np.sqrt(np.sum(deviations**2, axis=1) / (sessions - 1))
    if noise.device_sd is not None:
        deviations = np.where(
            host[:, None],
            deviations,
            deviations * (noise.device_sd / np.maximum(sd, 1e-12))[:, None],
        )
        sd = np.where(host, sd, noise.device_sd)
        scatter = np.where(host, scatter, _DEVICE_SCATTER)

    def levels(units: int) -> Array:
        alone = noise.draw(source, (units, ROWS)) * sd
        if noise.as_recorded:
            together = source.normal(size=(units, sessions)) @ deviations.T
            together /= math.sqrt(sessions - 1)
        else:
            together = noise.draw(source, (units, 1)) * sd
        return np.asarray(
            math.sqrt(noise.shared) * together + math.sqrt(1.0 - noise.shared) * alone
        )

    nodes = gpus // GPUS_A_NODE
    logs = np.where(host, np.repeat(levels(nodes), GPUS_A_NODE, axis=0), levels(gpus))
    logs += noise.draw(source, (gpus, ROWS)) * scatter * math.sqrt(_OF_MEDIAN)
    spread = source.chisquare(PROCESSES - 1, (gpus, ROWS)) / (PROCESSES - 1)
    slow = np.zeros((gpus, ROWS), dtype=bool)
    device = np.flatnonzero(~host)
    rows = source.choice(device, sick.rows, replace=False)
    for gpu in source.choice(gpus, sick.gpus, replace=False):
        slow[gpu, rows if sick.same else source.choice(device, sick.rows, replace=False)] = True
    fleet = Fleet(
        logs + slow * math.log1p(sick.effect),
        spread * scatter**2 * _OF_MEDIAN,
        np.repeat(np.arange(nodes), GPUS_A_NODE),
        host,
        np.log1p(np.where(host, TOLERANCE[Clock.HOST], TOLERANCE[Clock.DEVICE])),
        {},
    )
    return Simulated(fleet, slow)


def any_finding(found: Judged) -> bool:
    nodes = found.nodes is not None and bool(found.nodes.chosen.any())
    return bool(
        nodes or found.gpus.chosen.any() or found.levels or found.gpu_levels or found.groups
    )


def healthy(noise: Noise, gpus: int, size: Size, fleets: tuple[int, int]) -> float:
    """Return the share of healthy fleets that show a finding."""
    source, count = size.source(), size.count(*fleets)
    judgements = (judged(simulated(source, gpus, noise, Sick()).fleet) for _ in range(count))
    return sum(map(any_finding, judgements)) / count


@dataclass(frozen=True)
class Found:
    """Shares: of the sick GPUs that are named, of the named GPUs and rows that are wrong."""

    named: float
    wrong_gpus: float
    wrong_rows: float


def found(noise: Noise, gpus: int, sick: Sick, size: Size, fleets: tuple[int, int]) -> Found:
    source, count = size.source(), size.count(*fleets)
    named = true = rows = true_rows = 0
    for _ in range(count):
        one = simulated(source, gpus, noise, sick)
        units = judged(one.fleet).gpus
        named += int(units.chosen.sum())
        true += int((units.chosen & one.sick).sum())
        rows += int(units.slower.sum())
        true_rows += int((units.slower & one.slow).sum())
    wrong = 1.0 - true / max(named, 1), 1.0 - true_rows / max(rows, 1)
    return Found(true / (count * sick.gpus), *(wrong if named else (0.0, 0.0)))


def reported(noise: Noise, gpus: int, sick: Sick, size: Size, fleets: tuple[int, int]) -> float:
    """Return the share of fleets whose report accounts for the sick GPUs.

    80 % of them are named or belong to a group, and at most 5 % of the others do.
    """
    source, count = size.source(), size.count(*fleets)
    good = 0
    for _ in range(count):
        one = simulated(source, gpus, noise, sick)
        judgement = judged(one.fleet)
        of = judgement.gpus.chosen.copy()
        for group in judgement.groups:
            of |= group.members
        good += float(np.mean(of[one.sick])) >= 0.8 and float(np.mean(of[~one.sick])) <= 0.05
    return good / count


# GPUs: fleets to simulate for the large set, and for the small one.
_HEALTHY = {8: (4000, 100), 16: (2000, 40), 64: (1000, 30), 512: (60, 2)}
_SICK = {64: (400, 15), 512: (20, 2)}
_COMMON = {64: (400, 8), 200: (100, 4)}
_SHARES = (0.03, 0.1, 0.2, 0.4)


def _healthy_row(noise: Noise, size: Size) -> Sequence[float]:
    return [percent(healthy(noise, gpus, size, fleets)) for gpus, fleets in _HEALTHY.items()]


def _found_row(noise: Noise, size: Size) -> Sequence[float]:
    each = [
        found(noise, gpus, Sick(max(gpus // 400, 1)), size, fleets)
        for gpus, fleets in _SICK.items()
    ]
    worst = max(one.wrong_gpus for one in each), max(one.wrong_rows for one in each)
    return [percent(share) for share in (*(one.named for one in each), *worst)]


def _common_row(noise: Noise, share: float, size: Size) -> Sequence[float]:
    return [
        percent(reported(noise, gpus, Sick(max(2, round(share * gpus)), same=True), size, fleets))
        for gpus, fleets in _COMMON.items()
    ]


TABLES = (
    Table(
        "fleets-healthy",
        ("noise", *(f"{gpus} GPUs: % with a finding" for gpus in _HEALTHY)),
        {name: partial(_healthy_row, noise) for name, noise in NOISES.items()},
    ),
    *(
        Table(
            name,
            (
                "3 % slow in five device rows; noise",
                *(f"% found of {gpus} GPUs" for gpus in _SICK),
                "% of named GPUs wrong",
                "% of named rows wrong",
            ),
            {noise: partial(_found_row, its) for noise, its in noises.items()},
        )
        for name, noises in {"fleets-found": NOISES, "fleets-found-alike": ALIKE}.items()
    ),
    Table(
        "fleets-commonly-sick",
        ("GPUs 3 % slow in the same five rows", *(f"% of fleets of {gpus}" for gpus in _COMMON)),
        {
            f"{share:.0%}, {name}": partial(_common_row, NOISES[name], share)
            for name in ("normal", "t3", "exponential")
            for share in _SHARES
        },
    ),
)
