# SPDX-License-Identifier: Apache-2.0
"""The plan of a run: programs, their command lines, rounds and order."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from warpgauge.execution import selection
from warpgauge.execution.crash_recovery import Names
from warpgauge.execution.discovery import Ability, Binary
from warpgauge.execution.shuffle import shuffled
from warpgauge.system.process import Ending


@dataclass(frozen=True)
class Lane:
    """One side's programs and their options. With two lanes, the processes alternate."""

    binaries: tuple[Binary, ...]
    arguments: tuple[str, ...] = ()
    side: str = ""  # name of the side, if there are several
    filters: Mapping[str, str] = field(default_factory=dict)  # filter of each family's program


@dataclass(frozen=True)
class Plan:
    """What to run. `seed` alone determines the order of families within the rounds.

    Benchmarks in `apart` run in alternating processes; the runner adds to them.
    """

    lanes: tuple[Lane, ...]
    rounds: range
    seed: int
    folder: Path  # for every process's JSON
    gpu_arguments: tuple[str, ...] = ()  # only for programs that need a GPU
    deadline_s: float = 120.0  # per benchmark
    environment: Mapping[str, str] = field(default_factory=dict)  # added to our own
    settle: Callable[[Sequence[str]], None] = lambda names: None  # called before these repeat
    freed: Callable[[Ending], None] = lambda ending: None  # waits for the GPU after a bad end
    apart: set[str] = field(default_factory=set)  # benchmarks that lock-step could not measure
    unchanged: Callable[[], None] = lambda: None  # raises UserError if an input was replaced


@dataclass(frozen=True)
class Turn:
    """One program's run in one round: one process, or several if the first ends badly."""

    round: int
    lane: Lane
    binary: Binary


def gpu_arguments(device: int | str | None) -> tuple[str, ...]:
    """Return the option that selects the GPU with this index."""
    return (f"--device={device}",) if isinstance(device, int) else ()


def gpu_environment(device: int | str | None) -> dict[str, str]:
    """Return the environment that selects GPUs by UUID, ``GPU-1,GPU-2``, whatever others exist."""
    return {"CUDA_VISIBLE_DEVICES": device} if isinstance(device, str) else {}


def command(plan: Plan, lane: Lane, binary: Binary, names: Names | None = None) -> list[str]:
    """Return the command of one process without its output file, for repeating it by hand.

    If `names` is given, run only those.
    """
    chosen = (
        lane.filters.get(binary.family) if names is None else selection.exactly(binary.own(names))
    )
    filtered = [] if chosen is None else [f"--benchmark_filter={chosen}"]
    device = plan.gpu_arguments if binary.needs_gpu else ()
    return [str(binary.path), *binary.arguments, *filtered, *lane.arguments, *device]


def order(plan: Plan) -> list[list[Turn]]:
    """Return each round's turns, with families shuffled reproducibly from the seed.

    The lanes' processes of a family follow each other directly; the first lane begins odd rounds
    (A B, B A, A B, ...). Drift over time then affects both sides alike.
    """
    able = [(lane, one) for lane in plan.lanes for one in lane.binaries if one.runs]
    families = list(dict.fromkeys(binary.family for _, binary in able))

    def turns(number: int) -> list[Turn]:
        # The number is part of the seed: a round's order does not depend on the first round.
        generator = random.Random(f"{plan.seed} {number}")
        return [
            Turn(number, lane, binary)
            for family in generator.sample(families, len(families))
            for lane, binary in (able if number % 2 else able[::-1])
            if binary.family == family
        ]

    return [turns(number) for number in plan.rounds]


def sequence(plan: Plan, turn: Turn) -> Names:
    """Return a program's benchmarks in the order in which it runs them.

    The lanes of a round use the same order: shuffled if all of them can, or else as listed.
    """
    names = turn.binary.names
    can_shuffle = _all_can(Ability.SHUFFLE, plan, turn)
    return shuffled(names, seed_of(plan, turn)) if can_shuffle else names


def of_round(plan: Plan, turn: Turn) -> list[str]:
    """Return the options of a turn's process that depend on its round.

    Pairs measure the ceilings of the GPU in the first round only: they take a tenth of a round. A
    process alone measures them always, as it is compared with a baseline whose processes did.
    """
    order = [f"--shuffle={seed_of(plan, turn)}"] if _all_can(Ability.SHUFFLE, plan, turn) else []
    omits = len(plan.lanes) > 1 and _all_can(Ability.OMIT_CEILINGS, plan, turn)
    return [*order, "--no-ceilings"] if omits and turn.round > 1 else order


def _all_can(ability: Ability, plan: Plan, turn: Turn) -> bool:
    """Return whether all programs of this family have an ability.

    What a process did before a benchmark can change it by a percent. If only one side did something
    else, that would look like a change.
    """
    everything = (binary for lane in plan.lanes for binary in lane.binaries)
    return all(one.ability >= ability for one in everything if one.family == turn.binary.family)


def seed_of(plan: Plan, turn: Turn) -> int:
    """Return the 64-bit seed of the order within programs in this round."""
    return (plan.seed << 16 | turn.round) & (1 << 64) - 1
