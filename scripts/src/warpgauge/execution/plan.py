# SPDX-License-Identifier: Apache-2.0
"""The plan of a run: programs, their command lines, rounds and order."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from warpgauge.execution import selection
from warpgauge.execution.crash_recovery import Names
from warpgauge.execution.discovery import Binary
from warpgauge.execution.shuffle import shuffled
from warpgauge.system.process import Ending


@dataclass(frozen=True)
class Lane:
    """Programs and how they are called. Two lanes are two sides, whose processes alternate."""

    binaries: tuple[Binary, ...]
    arguments: tuple[str, ...] = ()
    side: str = ""  # which side it is, where there are two
    filters: Mapping[str, str] = field(default_factory=dict)  # by family, of what to run of it


@dataclass(frozen=True)
class Plan:
    """What to run. `seed` alone decides the order of the families within the rounds.

    Benchmarks that are `apart` run in alternating processes; the runner adds to them.
    """

    lanes: tuple[Lane, ...]
    rounds: range
    seed: int
    folder: Path  # gets every process's JSON
    gpu_arguments: tuple[str, ...] = ()  # only for the binaries that need a GPU
    deadline_s: float = 120.0  # of a benchmark
    environment: Mapping[str, str] = field(default_factory=dict)  # beside our own
    settle: Callable[[Sequence[str]], None] = lambda names: None  # before these run once more
    freed: Callable[[Ending], None] = lambda ending: None  # after a bad end, before what is next
    apart: set[str] = field(default_factory=set)  # benchmarks that lock-step could not measure
    unchanged: Callable[[], None] = lambda: None  # raises UserError if an input was replaced


@dataclass(frozen=True)
class Turn:
    """One program's run in one round; a process, or several where the first ends badly."""

    round: int
    lane: Lane
    binary: Binary


def gpu_arguments(device: int | str | None) -> tuple[str, ...]:
    """The option that selects the GPU with this index."""
    return (f"--device={device}",) if isinstance(device, int) else ()


def gpu_environment(device: int | str | None) -> dict[str, str]:
    """For the GPUs with these UUIDs (``GPU-1,GPU-2``), whatever becomes of the others."""
    return {"CUDA_VISIBLE_DEVICES": device} if isinstance(device, str) else {}


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


def order(plan: Plan) -> list[list[Turn]]:
    """For each round its turns, families shuffled; the same seed gives the same order everywhere.

    The lanes' processes of a family follow each other directly, in odd rounds the first lane's
    first (A B, B A, A B, ...): what drifts in time then falls on both sides alike.
    """
    able = [(lane, one) for lane in plan.lanes for one in lane.binaries if one.runs]
    families = list(dict.fromkeys(binary.family for _, binary in able))

    def turns(number: int) -> list[Turn]:
        # By the number too: a round has the same order whichever round a run begins with.
        generator = random.Random(f"{plan.seed} {number}")
        return [
            Turn(number, lane, binary)
            for family in generator.sample(families, len(families))
            for lane, binary in (able if number % 2 else able[::-1])
            if binary.family == family
        ]

    return [turns(number) for number in plan.rounds]


def sequence(plan: Plan, turn: Turn) -> Names:
    """A program's benchmarks in the order that it runs them in: shuffled, or else as it lists them.

    The lanes of a round have the same order.
    """
    names = turn.binary.names
    return shuffled(names, seed_of(plan, turn)) if is_shuffled(plan, turn) else names


def is_shuffled(plan: Plan, turn: Turn) -> bool:
    """Whether this family's programs can all be told an order.

    What runs before a benchmark moves some by a percent: with one side alone in another order, that
    would look like a change.
    """
    everything = (binary for lane in plan.lanes for binary in lane.binaries)
    return all(one.shuffles for one in everything if one.family == turn.binary.family)


def seed_of(plan: Plan, turn: Turn) -> int:
    """Of the order within the programs in this round; it has 64 bits."""
    return (plan.seed << 16 | turn.round) & (1 << 64) - 1
