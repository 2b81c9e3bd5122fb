# SPDX-License-Identifier: Apache-2.0
"""Judge a fleet's run files: outlying levels, nodes and GPUs, each with rows and advice."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from warpgauge.fleet import advice
from warpgauge.fleet.factors import factors
from warpgauge.fleet.reading import Gpu, Measured
from warpgauge.records.load import load
from warpgauge.records.model import Clock
from warpgauge.statistics import fleets
from warpgauge.statistics.levels import Level
from warpgauge.statistics.log_ratios import Array
from warpgauge.statistics.outliers import FEWEST_UNITS, Outliers
from warpgauge.system.errors import ExitStatus
from warpgauge.verdict.comparability import TOLERANCE

# How many healthy GPUs represent the fleet's counters.
_HEALTHY = 5


class Kind(Enum):
    """The kind of an outlier."""

    LEVEL = "level"
    NODE = "node"
    GPU = "GPU"


@dataclass(frozen=True)
class Slower:
    """A benchmark, its slowdown as a fraction of the fleet's median, and its p."""

    benchmark: str
    slowdown: float
    p: float


@dataclass(frozen=True)
class Outlier:
    """`name` is a GPU's UUID, a node's name or ``rack=7``; `node` is the node of a GPU.

    `gpus` counts the GPUs concerned. `rows` begin with the slowest. `changes` are those of all
    benchmarks (fractions, NaN if not measured), in the model's order.
    """

    kind: Kind
    name: str
    node: str
    gpus: int
    p: float
    rows: tuple[Slower, ...]
    changes: tuple[float, ...]
    advice: tuple[str, ...]


@dataclass(frozen=True)
class Model:
    """The GPUs of one model, judged; `found.gpus` is None if there are too few."""

    name: str
    measured: Measured
    found: fleets.Judged
    outliers: tuple[Outlier, ...]

    @property
    def is_judged(self) -> bool:
        return self.found.gpus is not None

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
        return [one for model in self.models for one in model.outliers]

    @property
    def exit_status(self) -> ExitStatus:
        if self.outliers:
            return ExitStatus.OUTSIDE
        complete = all(one.is_judged and not one.incomplete for one in self.models)
        whole = complete and not self.faults
        return ExitStatus.OK if whole else ExitStatus.NOT_MEASURED


def judged(measured: Measured, table: Path | None) -> Report:
    """Return the report; `table` is a CSV of factors. Raise UserError if that cannot be read."""
    names = sorted({gpu.model for gpu in measured.gpus})
    levels = factors(measured.gpus, table)
    models = []
    for name in names:
        at = np.array([i for i, gpu in enumerate(measured.gpus) if gpu.model == name])
        some = {factor: [held[i] for i in at] for factor, held in levels.items()}
        held = np.flatnonzero(~np.isnan(measured.logs[at]).all(axis=0))
        models.append(_model(name, measured.of(at, held), some))
    return Report(tuple(models), measured.faults, measured.older)


def _model(name: str, some: Measured, levels: fleets.Levels) -> Model:
    nodes = [*dict.fromkeys(gpu.node for gpu in some.gpus)]
    numbers = {node: number for number, node in enumerate(nodes)}
    kinds = [Clock.HOST if by_host else Clock.DEVICE for by_host in some.host]
    fleet = fleets.Fleet(
        some.logs,
        some.own,
        np.array([numbers[gpu.node] for gpu in some.gpus]),
        some.host,
        np.array([math.log1p(TOLERANCE[clock]) for clock in kinds]),
        [(row.split("/")[0], clock) for row, clock in zip(some.names, kinds, strict=True)],
        levels,
    )
    if len(some.gpus) < FEWEST_UNITS or not some.names:
        return Model(name, some, fleets.Judged([], [], None, None), ())
    found = fleets.judged(fleet)
    return Model(name, some, found, tuple(_Told(some, fleet, found).all()))


@dataclass(frozen=True)
class _Told:
    """The findings in words: levels first, then nodes, then GPUs, the strongest evidence first."""

    measured: Measured
    fleet: fleets.Fleet
    found: fleets.Judged

    def all(self) -> Iterator[Outlier]:
        for level in self.found.levels:
            yield self._level(level, level.members[self.fleet.node])
        for level in self.found.gpu_levels:
            yield self._level(level, level.members)
        if self.found.nodes is not None:
            for node in _by_evidence(self.found.nodes):
                yield self._node(self.found.nodes, node)
        if self.found.gpus is not None:
            for gpu in _by_evidence(self.found.gpus):
                yield self._gpu(self.found.gpus, gpu)

    def _level(self, level: Level, members: NDArray[np.bool_]) -> Outlier:
        name = ", ".join(f"{factor}={value}" for factor, value in level.names)
        words = "all that have it are slower than the others: check what else they have in common"
        if len(level.names) > 1:
            words += "; the same GPUs have these, so the cause cannot be distinguished"
        p = np.full(len(level.excess), level.p)
        return self._outlier(Kind.LEVEL, name, "", int(members.sum()), level.p,
                             (level.slower, level.excess, p), (words,))  # fmt: skip

    def _node(self, found: Outliers, node: int) -> Outlier:
        gpus = [self.measured.gpus[at] for at in np.flatnonzero(self.fleet.node == node)]
        words = self._advice(gpus[0], found.slower[node], of_node=True)
        name = node_name(gpus[0])
        rows = (found.slower[node], found.excess[node], found.p[node])
        return self._outlier(Kind.NODE, name, name, len(gpus), found.evidence[node], rows, words)

    def _gpu(self, found: Outliers, at: int) -> Outlier:
        gpu = self.measured.gpus[at]
        words = self._advice(gpu, found.slower[at])
        rows = (found.slower[at], found.excess[at], found.p[at])
        return self._outlier(Kind.GPU, gpu.uuid, node_name(gpu), 1, found.evidence[at], rows, words)

    def _outlier(
        self, kind: Kind, name: str, node: str, gpus: int, evidence: float,
        rows: tuple[NDArray[np.bool_], Array, Array], words: tuple[str, ...],
    ) -> Outlier:  # fmt: skip
        slower, excess, p = rows
        changes = tuple(map(float, np.expm1(excess)))
        named = [
            Slower(self.measured.names[i], changes[i], float(p[i])) for i in np.flatnonzero(slower)
        ]
        named.sort(key=lambda row: -row.slowdown)
        return Outlier(kind, name, node, gpus, float(evidence), tuple(named), changes, words)

    def _advice(
        self, gpu: Gpu, slower: NDArray[np.bool_], *, of_node: bool = False
    ) -> tuple[str, ...]:
        names = {self.measured.names[i] for i in np.flatnonzero(slower)}
        found = advice.advice(gpu, names, self._usual, self._healthy, of_node=of_node)
        return tuple(found)

    @cached_property
    def _usual(self) -> dict[str, str]:
        return advice.usual_context(self.measured.gpus)

    @cached_property
    def _healthy(self) -> list[advice.Rows]:
        """The rows of some healthy GPUs that lie far apart in the fleet."""
        assert self.found.gpus is not None
        fit = np.flatnonzero(~self.found.gpus.chosen)
        some = fit[np.linspace(0, len(fit) - 1, min(_HEALTHY, len(fit))).astype(int)]
        return [load(self.measured.gpus[at].path).rows for at in some]


def node_name(gpu: Gpu) -> str:
    """Return the name of a GPU's node: the host's, or the boot ID if the file has no host name."""
    return gpu.node[0] or gpu.node[1]


def _by_evidence(found: Outliers) -> Sequence[int]:
    at = np.flatnonzero(found.chosen)
    return [int(one) for one in at[np.argsort(found.evidence[at], kind="stable")]]
