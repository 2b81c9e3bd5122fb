# SPDX-License-Identifier: Apache-2.0
"""The plan of a run: programs, their command lines, rounds and order; and what comes of a turn."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from warpgauge.measure import selection
from warpgauge.measure.discovery import Binary, Names
from warpgauge.measure.journal import Journal
from warpgauge.records.document import Failure
from warpgauge.records.program_report import Report
from warpgauge.records.row import MOST_ROUNDS
from warpgauge.system.process import Ending


@dataclass(frozen=True)
class Lane:
    """One side's programs and their options. With two lanes, the processes alternate."""

    binaries: tuple[Binary, ...]
    arguments: tuple[str, ...] = ()
    side: str = ""  # name of the side, if there are several


@dataclass(frozen=True)
class Plan:
    """What to run. `seed` alone determines the order of families, and of benchmarks in them.

    Benchmarks in `apart` run in alternating processes, and what `failed` on a side does not run
    there again; the runner adds to both. Before the programs of one or more rounds start,
    `rounds_left` returns how many more rounds may run.
    """

    lanes: tuple[Lane, ...]
    rounds: range
    seed: int
    journal: Journal  # what it has is not measured again
    gpu_arguments: tuple[str, ...] = ()  # only for programs that need a GPU
    deadline_s: float = 120.0  # per benchmark
    isolate: bool = False  # the programs from the machine
    environment: Mapping[str, str] = field(default_factory=dict)  # added to our own
    settle: Callable[[Sequence[str]], None] = lambda names: None  # called before these repeat
    freed: Callable[[Ending], None] = lambda ending: None  # waits for the GPU after a bad end
    apart: set[str] = field(default_factory=set)  # benchmarks that lock-step could not measure
    failed: set[tuple[str, str]] = field(default_factory=set)  # sides and benchmarks
    rounds_left: Callable[[], int] = lambda: MOST_ROUNDS
    audit: Callable[[TurnResult], TurnResult] = lambda outcome: outcome  # may add faults
    unchanged: Callable[[], None] = lambda: None  # raises UserError if an input was replaced


@dataclass(frozen=True)
class Turn:
    """One program's run in one round: one process, or several if the first ends badly."""

    round: int
    lane: Lane
    binary: Binary  # with its benchmarks in the order in which they run
    options: tuple[str, ...] = ()  # of its process in this round


@dataclass(frozen=True)
class TurnResult:
    """A row or a fault, or both, for each benchmark of `binary`; a fault takes precedence.

    The rows of a candidate in lock-step have their pair.
    """

    binary: Binary
    round: int
    report: Report
    faults: Mapping[str, str]
    seconds: float
    side: str = ""
    remarks: Sequence[str] = ()  # problems that cost no benchmark

    @property
    def missing(self) -> Names:
        """The benchmarks with neither row nor fault."""
        known = self.report.rows.keys() | self.faults.keys()
        return tuple(name for name in self.binary.names if name not in known)

    @cached_property
    def failures(self) -> Mapping[str, Failure]:
        """Why benchmarks have no result in this turn: faults, errors and skips."""
        rows = self.report.rows.values()
        found = {row.name: Failure(row.error, row.skipped) for row in rows if row.error is not None}
        return {**found, **{name: Failure(why) for name, why in self.faults.items()}}


def gpu_arguments(device: int | str | None) -> tuple[str, ...]:
    """Return the option that selects the GPU with this index."""
    return (f"--device={device}",) if isinstance(device, int) else ()


def gpu_environment(device: int | str | None) -> dict[str, str]:
    """Return the environment that selects GPUs by UUID, ``GPU-1,GPU-2``, whatever others exist."""
    return {"CUDA_VISIBLE_DEVICES": device} if isinstance(device, str) else {}


def called(lane: Lane, binary: Binary, device: Sequence[str]) -> list[str]:
    """Return a program's command line, without what to measure and where to report it.

    `device` are the options that select the GPU.
    """
    own = [str(binary.path), *binary.arguments, *lane.arguments]
    return [*own, *device] if binary.needs_gpu else own


def command(lane: Lane, binary: Binary, device: Sequence[str], names: Names) -> list[str]:
    """Return the command that measures `names` by hand.

    It has no filter if these are all, or too many for one argument.
    """
    chosen = selection.exactly(binary.own(names))
    is_whole = len(names) == binary.total
    is_long = len(chosen.encode(errors="surrogateescape")) > selection.LONGEST_FILTER
    filtered = [] if is_whole or is_long else [f"--benchmark_filter={chosen}"]
    return [*called(lane, binary, device), *filtered]


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
            turn
            for family in generator.sample(families, len(families))
            for turn in _turns(plan, number, [one for one in able if one[1].family == family])
        ]

    return [turns(number) for number in plan.rounds]


def _turns(plan: Plan, number: int, of_lanes: Sequence[tuple[Lane, Binary]]) -> list[Turn]:
    """Return a family's turns in a round; benchmarks have the same order in all lanes.

    It is random if all programs are driven, or else as listed. What a process did before a
    benchmark can change it by a percent: if only one side did something else, that would look like
    a change. For that reason, too, pairs measure the ceilings of the GPU in the first round only
    (they take a tenth of a round). A process alone measures them always, as it is compared with a
    baseline whose processes did.
    """
    names = [*dict.fromkeys(name for _, one in of_lanes for name in one.names)]
    options: tuple[str, ...] = ()
    if all(one.driven for _, one in of_lanes):
        random.Random(f"{plan.seed} {number} {of_lanes[0][1].family}").shuffle(names)
        options = ("--no-ceilings",) if len(plan.lanes) > 1 and number > 1 else ()
    place = {name: index for index, name in enumerate(names)}
    return [
        Turn(
            number,
            lane,
            replace(one, names=tuple(sorted(one.names, key=place.__getitem__))),
            options,
        )
        for lane, one in (of_lanes if number % 2 else of_lanes[::-1])
    ]
