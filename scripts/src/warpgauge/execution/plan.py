# SPDX-License-Identifier: Apache-2.0
"""What runs: programs, how they are called, and in which rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from warpgauge.execution import selection
from warpgauge.execution.crash_recovery import Names
from warpgauge.execution.discovery import Binary
from warpgauge.system.process import Ending

# A benchmark takes about a second, the first of a process a few more, with libraries that come from
# a slow disk a minute; only a hang takes this long.
DEADLINE_S = 120.0


@dataclass(frozen=True)
class Lane:
    """Programs and how they are called. Two lanes are two sides, whose processes alternate."""

    binaries: tuple[Binary, ...]
    arguments: tuple[str, ...] = ()
    side: str = ""  # which side it is, where there are two
    filters: Mapping[str, str] = field(default_factory=dict)  # by family, of what to run of it


@dataclass(frozen=True)
class Plan:
    """What to run. `seed` alone decides the order of the families within the rounds."""

    lanes: tuple[Lane, ...]
    rounds: range
    seed: int
    folder: Path  # gets every process's JSON
    gpu_arguments: tuple[str, ...] = ()  # only for the binaries that need a GPU
    deadline_s: float = DEADLINE_S  # of a benchmark
    environment: Mapping[str, str] = field(default_factory=dict)  # beside our own
    settle: Callable[[Sequence[str]], None] = lambda names: None  # before these run once more
    freed: Callable[[Ending], None] = lambda ending: None  # after a bad end, before what is next


@dataclass(frozen=True)
class Turn:
    """One program's run in one round; a process, or several where the first ends badly."""

    round: int
    lane: Lane
    binary: Binary


def command(plan: Plan, lane: Lane, binary: Binary, names: Names | None = None) -> list[str]:
    """The command of one process but for its output file: it can be repeated by hand.

    For some `names` of the binary only, where they are given.
    """
    chosen = (
        lane.filters.get(binary.family) if names is None else selection.exactly(binary.own(names))
    )
    filtered = [] if chosen is None else [f"--benchmark_filter={chosen}"]
    device = plan.gpu_arguments if binary.needs_gpu else ()
    return [str(binary.path), *binary.arguments, *filtered, *lane.arguments, *device]
