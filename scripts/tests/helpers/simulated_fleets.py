# SPDX-License-Identifier: Apache-2.0
"""Fleets of nodes with GPUs whose sick ones are known, with the noise of the recorded H200s.

`WARPGAUGE_SIMULATIONS=whole python scripts/tests/helpers/simulated_fleets.py` prints how many of
the sick GPUs are found, and how many healthy ones are called sick, in fleets of 8,000.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from simulated_histories import draws, recorded
from simulation import Array, markdown, size
from warpgauge.records.counters import Clock
from warpgauge.statistics.fleets import Fleet, Judged, judged
from warpgauge.verdict.comparability import TOLERANCE

GPUS_A_NODE, PROCESSES, ROWS = 8, 7, 150
SHARED = 0.5  # of the recorded variance between GPUs: by the recorded sessions' correlation


@dataclass(frozen=True)
class Simulated:
    """`sick` GPUs are slower where `slow` (GPUs x rows)."""

    names: tuple[str, ...]
    fleet: Fleet
    sick: NDArray[np.bool_]
    slow: NDArray[np.bool_]


def rows_like_recorded(source: np.random.Generator, rows: int = ROWS) -> NDArray[np.intp]:
    """Numbers of recorded benchmarks: each once, then some again."""
    every = np.arange(len(recorded().names))
    more = source.choice(every, max(rows - len(every), 0))
    return np.concatenate([every, more])[:rows]


def simulated(
    source: np.random.Generator, nodes: int, sick: int, effects: tuple[float, float],
    slow_rows: int = 5, tails: float | None = None, device_rows_only: bool = False,
    correlation: float | None = None, states: bool = False, rows: int = ROWS,
) -> Simulated:  # fmt: skip
    """`sick` GPUs are slower by a fraction from the range `effects` in `slow_rows` rows each.

    What GPUs of a node share is what rows of the host's clock vary by; rows of device time vary by
    the GPU. `tails` are degrees of freedom of Student's t in place of normal noise. `correlation`
    is that of any two rows, in place of the recorded ones. With `states` one unit in five is slower
    by three standard deviations, in each row others.
    """
    noise = recorded()
    at = rows_like_recorded(source, rows)
    host, deviations = noise.host[at].astype(bool), noise.deviations[at]
    gpus = nodes * GPUS_A_NODE
    sd = np.sqrt(np.mean(deviations**2, axis=1) * 8 / 7)

    def noises(shape: tuple[int, ...]) -> Array:
        if tails is None:
            return np.asarray(source.normal(size=shape))
        return np.asarray(source.standard_t(tails, shape) / math.sqrt(tails / (tails - 2)))

    def levels(count: int) -> Array:
        alone = noises((count, len(at))) * sd
        if states:
            alone += 3.0 * sd * (source.random(alone.shape) < 0.2)
        if correlation is None:
            shared, share = draws(source, deviations, count).T, SHARED
        else:
            shared, share = source.normal(size=(count, 1)) * sd, correlation
        return np.asarray(math.sqrt(share) * shared + math.sqrt(1 - share) * alone)

    logs = np.where(host, np.repeat(levels(nodes), GPUS_A_NODE, axis=0), levels(gpus))
    process = noises((gpus, len(at))) * noise.process_sd[at] * math.sqrt(math.pi / 2 / PROCESSES)
    spread = source.chisquare(PROCESSES - 1, (gpus, len(at))) / (PROCESSES - 1)
    own = spread * noise.process_sd[at] ** 2 * math.pi / 2 / PROCESSES
    chosen = source.choice(gpus, sick, replace=False)
    slow = np.zeros((gpus, len(at)), dtype=bool)
    eligible = np.flatnonzero(~host) if device_rows_only else np.arange(len(at))
    for gpu in chosen:
        slow[gpu, source.choice(eligible, slow_rows, replace=False)] = True
    sizes = np.log1p(source.uniform(*effects, gpus))
    names = tuple(f"{noise.names[n]}/copy:{i}" for i, n in enumerate(at))
    is_sick = np.zeros(gpus, dtype=bool)
    is_sick[chosen] = True
    tolerances = np.where(host, TOLERANCE[Clock.HOST], TOLERANCE[Clock.DEVICE])
    made = Fleet(
        logs + process + slow * sizes[:, None],
        own,
        np.repeat(np.arange(nodes), GPUS_A_NODE),
        host,
        np.log1p(tolerances),
        [(name.split("/")[0], bool(by_host)) for name, by_host in zip(names, host, strict=True)],
        {},
    )
    return Simulated(names, made, is_sick, slow)


@dataclass
class Count:
    """GPUs and nodes, and rows of GPUs."""

    sick: int = 0
    found: int = 0
    false: int = 0
    false_nodes: int = 0
    rows: int = 0
    true_rows: int = 0

    def add(self, one: Simulated, found: Judged) -> None:
        gpus, nodes = found.gpus, found.nodes
        assert gpus is not None
        self.sick += int(one.sick.sum())
        self.found += int((gpus.chosen & one.sick).sum())
        self.false += int((gpus.chosen & ~one.sick).sum())
        self.false_nodes += int(nodes.chosen.sum()) if nodes is not None else 0
        self.rows += int(gpus.slower.sum())
        self.true_rows += int((gpus.slower & one.slow).sum())


def counted(fleets: int, nodes: int, seed: int = 7, **terms: Any) -> Count:  # noqa: ANN401 - those of `simulated`
    source, count = np.random.default_rng(seed), Count()
    for _ in range(fleets):
        one = simulated(source, nodes, **terms)
        count.add(one, judged(one.fleet))
    return count


SETTINGS = {
    "3 % in 5 device rows": {"sick": 10, "effects": (0.03, 0.03), "device_rows_only": True},
    "3 % in 5 of all rows": {"sick": 10, "effects": (0.03, 0.03)},
    "2 to 10 % in 5 of all rows": {"sick": 10, "effects": (0.02, 0.10)},
    "2 % in 20 device rows": {
        "sick": 10, "effects": (0.02, 0.02), "slow_rows": 20, "device_rows_only": True},
    "160 sick, 3 % in 5 device rows": {
        "sick": 160, "effects": (0.03, 0.03), "device_rows_only": True},
    "800 sick, 5 % in 10 device rows": {
        "sick": 800, "effects": (0.05, 0.05), "slow_rows": 10, "device_rows_only": True},
    "none sick": {"sick": 0, "effects": (0.0, 0.0)},
    "none sick, correlation 0.3": {"sick": 0, "effects": (0.0, 0.0), "correlation": 0.3},
    "none sick, two states": {"sick": 0, "effects": (0.0, 0.0), "states": True},
    **{
        f"none sick, t with {tails:.0f} degrees": {
            "sick": 0, "effects": (0.0, 0.0), "tails": tails}
        for tails in (3.0, 5.0, 10.0)
    },
    **{
        f"3 % in 5 device rows, t with {tails:.0f} degrees": {
            "sick": 10, "effects": (0.03, 0.03), "device_rows_only": True, "tails": tails}
        for tails in (3.0, 5.0, 10.0)
    },
}  # fmt: skip


# Of few nodes, one GPU of each fleet sick in five rows.
SMALL = {
    "3 % in 5 device rows": {"sick": 1, "effects": (0.03, 0.03), "device_rows_only": True},
    "10 % in 5 device rows": {"sick": 1, "effects": (0.10, 0.10), "device_rows_only": True},
    "none sick": {"sick": 0, "effects": (0.0, 0.0)},
    "none sick, t with 5 degrees": {"sick": 0, "effects": (0.0, 0.0), "tails": 5.0},
}


def table(fleets: int, nodes: int, settings: Mapping[str, Any], seed: int) -> str:
    heads = ("sick GPUs", "found", "false GPUs", "false nodes", "rows named", "of these true")
    rows = []
    for name, terms in settings.items():
        rows.append((name, *map(str, astuple(counted(fleets, nodes, seed, **terms)))))
    return markdown((f"{fleets} fleets of {nodes * GPUS_A_NODE} GPUs", *heads), rows)


if __name__ == "__main__":
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    print(table(size(100), 1, SMALL, seed))
    print(table(size(100), 8, SMALL, seed))
    print(table(size(10) or 1, 1000, SETTINGS, seed))
