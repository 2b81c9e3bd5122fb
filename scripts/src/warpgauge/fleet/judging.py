# SPDX-License-Identifier: Apache-2.0
"""Judge a fleet's run files: outlying levels, nodes and GPUs, each with rows and advice."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from warpgauge.fleet.reading import CONTEXT, Gpu, Measured, factors
from warpgauge.records.counters import OTHER_PROCESSES, SM_CLOCK, THROTTLED, Clock
from warpgauge.records.load import load
from warpgauge.records.row import Row
from warpgauge.reports.formats.json import Chance, Count
from warpgauge.statistics import fleets
from warpgauge.statistics.error_rates import ALPHA
from warpgauge.statistics.log_ratios import Array
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import inert, listed, plural, quantity
from warpgauge.verdict.comparability import TOLERANCE
from warpgauge.verdict.incompatibility import lowered_clock

_HEALTHY = 5  # GPUs that represent the fleet's counters
# SM clocks come in steps of 15 MHz, 0.76 % of 1.98 GHz.
_LOWER_CLOCK = 0.0075
_LINK = ("memcpy/h2d", "memcpy/d2h", "p2p/", "nccl/")
_OF_HOST = (
    "host: compare CPU governor, NUMA binding, BIOS, cooling and load with those of another node"
)
_OF_LINK = (
    "link: compare width and generation (nvidia-smi -q -d PCIE, nvidia-smi nvlink -s), and check "
    "replay counts"
)
_OF_GROUP = (
    "so many GPUs may be sick, or configured differently: compare their settings, and all with a "
    "baseline (--baseline)"
)
_OF_MODEL = (
    "most GPUs are slower than the baseline's: compare commit, driver, clocks and power limits"
)
_OF_MEMORY = (
    "memory: check remapped rows and ECC errors (nvidia-smi -q -d ROW_REMAPPER,ECC), and run dcgmi "
    "diag -r 3"
)


class Kind(Enum):
    """The kind of an outlier."""

    MODEL = "model"
    LEVEL = "level"
    NODE = "node"
    GPU = "GPU"
    GROUP = "group"


class Slower(msgspec.Struct, frozen=True):
    """A benchmark, and its slowdown as a fraction of the fleet's median, or the baseline's."""

    benchmark: str
    slowdown: float


class Outlier(msgspec.Struct, frozen=True):
    """`kind`: a GPU, a node, a level (something shared by several nodes or GPUs), a group of GPUs
    that no factor explains, or a model most of whose GPUs are slower than the baseline's.

    `name` is a UUID, a node's name, or ``rack=7``. `gpus` counts the GPUs concerned; `members` are
    a group's UUIDs. `p` is the probability that a healthy one looks like this, not adjusted for
    their number. `rows` begin with the slowest.
    """

    kind: Kind
    name: str
    model: str
    gpus: Count
    p: Chance
    rows: tuple[Slower, ...]
    advice: tuple[str, ...]
    node: str = ""
    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class Baseline:
    """Limits of the `models`: seconds, and the share by which no healthy GPU exceeds them."""

    models: tuple[str, ...]
    limits: Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class Model:
    """The GPUs of one model; `found` is None if there are too few to judge them.

    `excess` has for each outlier the log ratios of all benchmarks, NaN if not measured.
    """

    name: str
    measured: Measured
    found: fleets.Judged | None
    outliers: tuple[Outlier, ...] = ()
    excess: tuple[Array, ...] = ()

    @cached_property
    def nodes(self) -> int:
        return len({gpu.node for gpu in self.measured.gpus})

    @cached_property
    def incomplete(self) -> dict[Gpu, list[str]]:
        """GPUs that lack benchmarks which most others have, with these benchmarks."""
        lacks = np.isnan(self.measured.logs)
        lacks &= 2 * lacks.sum(axis=0) < len(lacks)
        names = self.measured.names
        return {
            self.measured.gpus[at]: [names[i] for i in np.flatnonzero(lacks[at])]
            for at in np.flatnonzero(lacks.any(axis=1))
        }


@dataclass(frozen=True)
class Report:
    """All models of a folder, and the files that were left out."""

    models: tuple[Model, ...]
    faults: tuple[str, ...]
    older: tuple[Path, ...]

    @property
    def outliers(self) -> list[Outlier]:
        return [outlier for model in self.models for outlier in model.outliers]

    @property
    def exit_status(self) -> ExitStatus:
        if self.outliers:
            return ExitStatus.OUTSIDE
        complete = all(model.found is not None and not model.incomplete for model in self.models)
        return ExitStatus.OK if complete and not self.faults else ExitStatus.NOT_MEASURED


def judged(measured: Measured, table: Path | None, baseline: Baseline | None = None) -> Report:
    """Return the report; `table` is a CSV of factors. Raise UserError if that cannot be read.

    Most GPUs of the model that `baseline` has may be slow: their medians are compared with it.
    """
    levels = factors(measured.gpus, table)
    models = []
    for name in sorted({gpu.model for gpu in measured.gpus}):
        at = [i for i, gpu in enumerate(measured.gpus) if gpu.model == name]
        some = {factor: [held[i] for i in at] for factor, held in levels.items()}
        held = np.flatnonzero(~np.isnan(measured.logs[at]).all(axis=0))
        model = _model(name, measured.of(at, held.tolist()), some)
        if baseline is not None and name in baseline.models:
            model = _against(baseline, model)
        models.append(model)
    if baseline is not None and not any(model.name in baseline.models for model in models):
        known = listed(baseline.models)
        raise UserError(f"the baseline has {known}; the folder has none of it: give another")
    return Report(tuple(models), measured.faults, measured.older)


def _against(baseline: Baseline, model: Model) -> Model:
    """Return the model with the rows in which its median GPU exceeds the baseline's limit."""
    names = model.measured.names
    limits = [baseline.limits.get(name, (math.nan, math.nan)) for name in names]
    seconds, shares = np.array(limits).T
    excess = fleets.medians(model.measured.logs) - np.log(seconds)
    if not (over := excess > np.log1p(shares)).any():
        return model
    rows, gpus = _slower(names, over, excess), len(model.measured.gpus)
    one = Outlier(Kind.MODEL, model.name, model.name, gpus, ALPHA, rows, (_OF_MODEL,))
    return replace(model, outliers=(one, *model.outliers), excess=(excess, *model.excess))


def _model(name: str, some: Measured, levels: fleets.Levels) -> Model:
    if len(some.gpus) < fleets.FEWEST_UNITS or not some.names:
        return Model(name, some, None)
    nodes = [*dict.fromkeys(gpu.node for gpu in some.gpus)]
    numbers = {node: number for number, node in enumerate(nodes)}
    kinds = [Clock.HOST if by_host else Clock.DEVICE for by_host in some.host]
    fleet = fleets.Fleet(
        some.logs,
        some.own,
        np.array([numbers[gpu.node] for gpu in some.gpus]),
        some.host,
        np.array([math.log1p(TOLERANCE[clock]) for clock in kinds]),
        levels,
    )
    found = fleets.judged(fleet)
    pairs = [*_outliers(name, some, fleet.node, found)]
    return Model(name, some, found, tuple(its for its, _ in pairs), tuple(its for _, its in pairs))


def _slower(names: Sequence[str], slower: NDArray[np.bool_], excess: Array) -> tuple[Slower, ...]:
    at = sorted(np.flatnonzero(slower).tolist(), key=lambda i: -excess[i])
    return tuple(Slower(names[i], math.expm1(excess[i])) for i in at)


def _outliers(
    model: str, some: Measured, node_of: NDArray[np.intp], found: fleets.Judged
) -> Iterator[tuple[Outlier, Array]]:
    """Yield levels, nodes, GPUs and groups, strongest evidence first; and their excess."""
    of_nodes = [(level, level.members[node_of]) for level in found.levels]
    for level, members in [*of_nodes, *((level, level.members) for level in found.gpu_levels)]:
        name = ", ".join(f"{factor}={value}" for factor, value in level.names)
        words = "all that have it are slower than the others: check what else they have in common"
        if len(level.names) > 1:
            words += "; the same GPUs have these, so the cause cannot be distinguished"
        slower, count = _slower(some.names, level.slower, level.excess), int(members.sum())
        yield Outlier(Kind.LEVEL, name, model, count, level.p, slower, (words,)), level.excess

    grouped = sum((group.members for group in found.groups), np.zeros(len(node_of), dtype=bool))
    advisor = _Advisor(some.gpus, np.flatnonzero(~found.gpus.chosen & ~grouped))
    for kind, units in ((Kind.NODE, found.nodes), (Kind.GPU, found.gpus)):
        if units is None:
            continue
        for at in sorted(np.flatnonzero(units.chosen), key=lambda at: units.p[at]):
            numbers = np.flatnonzero(node_of == at) if kind is Kind.NODE else np.array([at])
            gpu, count = some.gpus[numbers[0]], len(numbers)
            name = gpu.node_name if kind is Kind.NODE else gpu.uuid
            slower = _slower(some.names, units.slower[at], units.excess[at])
            advice = advisor.advice(gpu, slower, of_node=kind is Kind.NODE)
            p, excess = float(units.p[at]), units.excess[at]
            yield Outlier(kind, name, model, count, p, slower, advice, gpu.node_name), excess
    for group in found.groups:
        numbers, slower = (
            np.flatnonzero(group.members),
            _slower(some.names, group.slower, group.excess),
        )
        advice = advisor.advice(some.gpus[numbers[0]], slower, of_node=False)
        name, uuids = "slower group", tuple(some.gpus[i].uuid for i in numbers)
        one = Outlier(Kind.GROUP, name, model, len(uuids), group.p, slower, (_OF_GROUP, *advice))
        yield msgspec.structs.replace(one, members=uuids), group.excess


@dataclass(frozen=True)
class _Advisor:
    """Compares GPUs with the others of a fleet; `healthy` numbers those that are no outliers."""

    gpus: Sequence[Gpu]
    healthy: NDArray[np.intp]

    def advice(self, gpu: Gpu, slower: Sequence[Slower], *, of_node: bool) -> tuple[str, ...]:
        """Return what differs on this GPU and may be the cause, likeliest first, and what to do."""
        rows = load(gpu.path).rows
        slow = [rows[row.benchmark] for row in slower if row.benchmark in rows]
        words = [*self._clocks(gpu, slow), *self._context(gpu)]
        others = max((row.counters.get(OTHER_PROCESSES, 0.0) for row in slow), default=0.0)
        if others:
            count = plural(int(others), "other process", "other processes")
            words.append(f"{count} used the GPU: end them and measure again")
        if of_node or (slow and all(row.clock is Clock.HOST for row in slow)):
            words.append(_OF_HOST)
        elif any(row.name.startswith(_LINK) for row in slow):
            words.append(_OF_LINK)
        if not words and any("bytes_per_second" in row.counters for row in slow):
            words.append(_OF_MEMORY)
        return tuple(words or ["measure again; if it remains slow, run dcgmi diag -r 3"])

    def _clocks(self, gpu: Gpu, slow: Sequence[Row]) -> list[str]:
        throttled = [row for row in slow if row.counters.get(THROTTLED)]
        if throttled:
            how = lowered_clock(throttled[0].counters, gpu.session.sm_clock_target_hz)
            return [f"throttled: the SM clock was lowered{how}; check cooling and the power limit"]
        same = [its[row.name] for its in self._rows for row in slow if row.name in its]
        own, usual = _sm_clock(slow), _sm_clock(same)
        if not own < (1.0 - _LOWER_CLOCK) * usual:  # also if either is unknown
            return []
        reasons = lowered_clock({**slow[0].counters, SM_CLOCK: own}, usual).partition("(")[2]
        why = f" ({reasons}" if reasons else ""
        both = f"{quantity(own, 'Hz')}, elsewhere at {quantity(usual, 'Hz')}{why}"
        return [f"clocks: the SM ran at {both}; check cooling, power and clock limits"]

    def _context(self, gpu: Gpu) -> list[str]:
        context = gpu.session.context
        return [
            f"{key} is {inert(context[key])}, elsewhere {inert(value)}"
            for key, value in self._usual.items()
            if context.get(key, value) != value
        ]

    @cached_property
    def _usual(self) -> dict[str, str]:
        """The context values that more than half of the GPUs share."""
        found = {}
        for key in CONTEXT:
            values = (gpu.session.context.get(key, "") for gpu in self.gpus)
            ((value, count),) = Counter(values).most_common(1)
            if value and 2 * count > len(self.gpus):
                found[key] = value
        return found

    @cached_property
    def _rows(self) -> list[dict[str, Row]]:
        """The rows of some healthy GPUs that lie far apart in the fleet."""
        last, count = len(self.healthy) - 1, min(_HEALTHY, len(self.healthy))
        some = self.healthy[np.linspace(0, last, count).astype(int)]
        return [dict(load(self.gpus[at].path).rows) for at in some]


def _sm_clock(rows: Sequence[Row]) -> float:
    """Return the median SM clock in Hz; NaN if it is unknown."""
    clocks = [clock for row in rows if (clock := row.counters.get(SM_CLOCK))]
    return statistics.median(clocks) if clocks else math.nan
