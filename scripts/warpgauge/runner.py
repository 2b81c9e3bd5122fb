# SPDX-License-Identifier: Apache-2.0
"""Runs every binary in several fresh processes, in shuffled order, and survives each of them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from warpgauge import process
from warpgauge.discovery import Binary

# One process of the slowest family takes about 10 s; only a hang takes this long.
DEADLINE_S = 300.0

Report = Mapping[str, Any]  # Google Benchmark's JSON, as it was read


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
    deadline_s: float = DEADLINE_S
    environment: Mapping[str, str] = field(default_factory=dict)  # beside our own


@dataclass(frozen=True)
class Turn:
    """One process to come."""

    round: int
    lane: Lane
    binary: Binary


@dataclass(frozen=True)
class Outcome:
    """What one process delivered; `fault` holds for every benchmark that `report` lacks."""

    binary: Binary
    round: int
    report: Report
    fault: str
    seconds: float
    suspect: bool = False  # it ended badly after a complete report: nothing of it counts
    side: str = ""


class Observer(Protocol):
    """Sees the run go on."""

    def begins(self, turn: Turn) -> None: ...

    def ended(self, outcome: Outcome) -> None: ...


def order(plan: Plan) -> list[list[Turn]]:
    """For each round its turns, families shuffled; the same seed gives the same order everywhere.

    The lanes' processes of a family follow each other directly, in odd rounds the first lane's
    first (A B, B A, A B, ...): what drifts in time then falls on both sides alike.
    """
    return [_turns(plan, number) for number in plan.rounds]


def _turns(plan: Plan, number: int) -> list[Turn]:
    lanes = plan.lanes if number % 2 else plan.lanes[::-1]
    turns: dict[str, list[Turn]] = {
        binary.family: [] for lane in plan.lanes for binary in lane.binaries if binary.fault is None
    }
    for lane in lanes:
        for binary in lane.binaries:
            if binary.fault is None:
                turns[binary.family].append(Turn(number, lane, binary))
    # By the number too: a round has the same order whichever round a run begins with.
    generator = random.Random(f"{plan.seed} {number}")
    families = generator.sample(list(turns), len(turns))
    return [turn for family in families for turn in turns[family]]


def run(plan: Plan, observer: Observer) -> list[Outcome]:
    """One outcome for each process; its JSON is on disk before the next process begins."""
    return list(one_by_one(plan, observer))


def one_by_one(plan: Plan, observer: Observer) -> Iterator[Outcome]:
    """The same, each when its process has ended: an interrupt takes none back."""
    for turns in order(plan):
        for turn in turns:
            observer.begins(turn)
            outcome = _run_once(plan, turn)
            observer.ended(outcome)
            yield outcome


def command(plan: Plan, lane: Lane, binary: Binary) -> list[str]:
    """The command of one process but for its output file: it can be repeated by hand."""
    chosen = lane.filters.get(binary.family)
    filtered = [] if chosen is None else [f"--benchmark_filter={chosen}"]
    device = plan.gpu_arguments if binary.needs_gpu else ()
    return [str(binary.path), *filtered, *lane.arguments, *device]


def _run_once(plan: Plan, turn: Turn) -> Outcome:
    binary = turn.binary
    folder = plan.folder / f"round{turn.round}" / turn.lane.side / binary.family
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / "out.json"
    output = [f"--benchmark_out={out}", "--benchmark_out_format=json"]
    whole = [*command(plan, turn.lane, binary), *output]
    ending = process.run(whole, plan.deadline_s, folder, plan.environment)
    report, complete = read(out)
    rows = report.get("benchmarks", [])
    errored = any(row.get("error_occurred") for row in rows)
    # Status 1 tells of errored rows, and those speak for themselves.
    good = ending.deadline_s is None and (ending.status == 0 or (ending.status == 1 and errored))
    fault = ending.description
    if good:
        fault = f"{ending.program} " + ("did not report it" if complete else "left no valid JSON")
    missing = set(binary.names) - {row["name"] for row in rows}
    return Outcome(
        binary,
        turn.round,
        report,
        fault,
        ending.seconds,
        suspect=not good and not missing,
        side=turn.lane.side,
    )


def read(path: Path) -> tuple[Report, bool]:
    """A process's JSON and whether it is complete.

    A crash leaves it without its end; the rows before it were flushed one by one and still count.
    """
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return {}, False
    # Google Benchmark indents a row's closing brace by exactly four spaces.
    mended = text[: text.rfind("\n    }") + 6] + "]}"
    for candidate, complete in ((text, True), (mended, False)):
        try:
            document = json.loads(candidate)
        except ValueError:
            continue
        if _is_report(document):
            return document, complete
    return {}, False


def _is_report(document: object) -> bool:
    return (
        isinstance(document, dict)
        and isinstance(document.get("context"), dict)
        and isinstance(document.get("benchmarks"), list)
        and all(isinstance(row, dict) and "name" in row for row in document["benchmarks"])
    )
