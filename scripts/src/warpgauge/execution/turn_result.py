# SPDX-License-Identifier: Apache-2.0
"""Runs one turn of a program that is not driven, in as many processes as needed."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from warpgauge.execution import crash_recovery, selection
from warpgauge.execution.crash_recovery import Names, Part
from warpgauge.execution.discovery import Binary
from warpgauge.execution.plan import Plan, Turn, command
from warpgauge.files.document import Failure
from warpgauge.records import partial_report
from warpgauge.records.partial_report import Report
from warpgauge.system import process
from warpgauge.system.errors import UserError

# Bytes needed for the report of a large program.
_ROOM = 128 * 1024

# Called with the name of the benchmark that is running.
Running = Callable[[str], None]


@dataclass(frozen=True)
class TurnResult:
    """A row or a fault, or both, for each benchmark of `binary`; a fault takes precedence.

    `pair_ratios` are times relative to the first lane's, by benchmark, if measured in lock-step.
    """

    binary: Binary
    round: int
    report: Report
    faults: Mapping[str, str]
    seconds: float
    side: str = ""
    remarks: Sequence[str] = ()  # problems that cost no benchmark
    pair_ratios: Mapping[str, float] = field(default_factory=dict)

    @property
    def missing(self) -> Names:
        """The benchmarks with neither row nor fault."""
        known = {row["name"] for row in self.report.get("benchmarks", [])} | self.faults.keys()
        return tuple(name for name in self.binary.names if name not in known)

    @cached_property
    def failures(self) -> Mapping[str, Failure]:
        """Why benchmarks have no result in this turn: faults, errors and skips."""
        found: dict[str, Failure] = {}
        for row in self.report.get("benchmarks", []):
            why = partial_report.fault_of(row) if partial_report.is_run(row) else None
            known = found.get(row["name"])
            if why is not None and (known is None or known.skipped):  # an error outranks a skip
                found[row["name"]] = why
        return {**found, **{name: Failure(why) for name, why in self.faults.items()}}


def deliver(plan: Plan, turn: Turn, names: Names, running: Running) -> TurnResult:
    """Run `names` of a turn's program, in as many processes as needed."""
    folder = plan.folder / f"round{turn.round}" / turn.lane.side / turn.binary.family
    outputs = (folder / f"out{number}.json" for number in itertools.count(1))

    def in_parts(asked: Names) -> Sequence[Names]:
        """Split into as few parts as possible; the whole program needs no filter."""
        return [asked] if len(asked) == turn.binary.total else selection.in_parts(asked)

    def start(asked: Names) -> Part:
        return _process(plan, turn, asked, next(outputs), running)

    found = crash_recovery.deliver(names, start, in_parts)
    return TurnResult(
        replace(turn.binary, names=names),
        turn.round,
        found.report,
        found.faults,
        found.seconds,
        turn.lane.side,
        found.remarks,
    )


def _process(plan: Plan, turn: Turn, asked: Names, out: Path, running: Running) -> Part:
    output = [f"--benchmark_out={out}", "--benchmark_out_format=json"]
    out.parent.mkdir(parents=True, exist_ok=True)  # a program may have removed it
    out.unlink(missing_ok=True)  # left by another run in the same folder

    def grown() -> None:
        """Report the benchmark that follows the last one written."""
        done = partial_report.last_name(out)
        if done in own[:-1]:
            running(asked[own.index(done) + 1])

    own = turn.binary.own(asked)
    running(asked[0])
    ending = process.run(
        [*command(plan, turn.lane, turn.binary, asked), *output],
        plan.deadline_s,
        out.parent,
        plan.environment,
        watched=out,
        grown=grown,
        told=f"round {turn.round}" + (f", {turn.lane.side}" if turn.lane.side else ""),
    )
    if turn.binary.needs_gpu and (ending.ended_for or ending.status < 0 or ending.left_behind):
        plan.freed(ending)
    report, complete = partial_report.read(out)
    part = Part(asked, turn.binary.normalized(report), complete, ending)
    if not (part.good and part.complete):
        require_room(out.parent)
    return part


def require_room(folder: Path) -> None:
    """Raise UserError if a full disk, rather than a benchmark, may have cost a report."""
    with suppress(OSError):  # the folder may be gone
        if shutil.disk_usage(folder).free < _ROOM:
            raise UserError(
                f"{folder} has too little space for the output of the programs: free some, or set "
                "TMPDIR to another folder"
            )
