# SPDX-License-Identifier: Apache-2.0
"""Measures programs through the driver: alone, or both sides in lock-step.

In lock-step both processes are alive, and one works at a time.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from warpgauge.measure import drive_lines
from warpgauge.measure.discovery import BAD_USAGE, Names
from warpgauge.measure.drive_lines import Begin, Line, Lines
from warpgauge.measure.driven_program import DrivenProgram
from warpgauge.measure.plan import Plan, Turn, TurnResult
from warpgauge.system import process
from warpgauge.system.errors import UserError
from warpgauge.system.process import NOT_EXECUTABLE, Ending
from warpgauge.system.text import inert

# Bytes needed for the report of a large program.
_ROOM = 128 * 1024


def deliver(
    plan: Plan,
    asked: Sequence[tuple[Sequence[Turn], Names]],
    begins: Callable[..., None],
    running: Callable[[str], None],
) -> list[list[TurnResult]]:
    """Measure programs of one round: of each, the turns (one, or both sides) and their benchmarks.

    The first turn's process starts first. `begins` is called with the turns of a program, `running`
    with the name of a benchmark. Return one result per turn of each program, in order. A benchmark
    that both sides measured gets a row and, in the candidate's result, a ratio; one in which a side
    failed gets a fault. All others of a pair are missing (`TurnResult.missing`) and must be
    measured by themselves.

    What the plan's journal has is not measured again. Where a run was interrupted within a round,
    the next run of the driver measures the rest, as after a driver that left early.
    """
    programs = [DrivenProgram(plan, turns, names) for turns, names in asked]
    shown = set[str]()

    def show(program: DrivenProgram, name: str) -> None:
        if program.binary.family not in shown:
            shown.add(program.binary.family)
            begins(*program.turns)
        running(name)

    while left := [one for one in programs if one.left]:
        _Run(plan, left, show).drive()
    return [one.results() for one in programs]


@dataclass
class _Run:
    """One run of the driver, which measures what is left of `programs`."""

    plan: Plan
    programs: Sequence[DrivenProgram]
    show: Callable[[DrivenProgram, str], None]

    def drive(self) -> None:
        """Run the driver or read its lines, and give its results to the programs.

        Raises UserError, also if an input of the programs was replaced meanwhile.
        """
        for program in self.programs:
            program.begin()
        journal, plan = self.plan.journal, self._encoded()
        recorded = journal.recorded(plan)
        if recorded is not None:
            self._take(recorded)
            for program in self.programs:
                program.settle()
            return
        before = sum(one.seconds for one in self.programs)
        path, written = journal.begin(plan)
        lines = Lines(written)
        ending = self._driven(path, written, lambda: self._take(lines.new()))
        self._take(lines.new())
        for program in self.programs:
            program.settle()
        of_programs = sum(one.seconds for one in self.programs) - before
        self.programs[0].seconds += ending.seconds - of_programs
        self._judge(ending)
        self._free(ending)
        try:
            self.plan.unchanged()
        except UserError:
            journal.forget(-1)
            raise

    def _encoded(self) -> bytes:
        """Return what the driver is asked."""
        whole = drive_lines.Plan(
            seed=f"{self.plan.seed} {self.programs[0].turns[0].round}",
            deadline_s=self.plan.deadline_s,
            programs=[one.planned for one in self.programs],
            isolate=self.plan.isolate,
        )
        try:
            return msgspec.json.encode(whole)
        except UnicodeEncodeError:  # JSON cannot hold it
            paths = ", ".join(sorted({inert(str(one.binary.path)) for one in self.programs}))
            raise UserError(f"{paths}: the path is not UTF-8: rename the folder") from None

    def _driven(self, planned: Path, lines: Path, grown: Callable[[], None]) -> Ending:
        plan, turns = self.plan, [side.turn for side in self.programs[0].sides]
        sides = " and ".join(turn.lane.side for turn in turns)
        # The driver ends late sides; each may be late in starting, preparing, measuring and ending,
        # and those of the program before may be late in ending, too. A plain program reports its
        # benchmarks at its end.
        silent = [len(one.asked) for one in self.programs if not one.binary.driven]
        return process.run(
            [str(drive_lines.driver()), str(planned)],
            (6 * len(turns) + max(silent, default=0)) * plan.deadline_s + 60.0,
            planned.parent,
            plan.environment,
            into=lines,
            grown=grown,
            told=f"round {turns[0].round}" + (f", {sides}" if sides else ""),
            by_hand=[words for one in self.programs for words in one.by_hand],
        )

    def _take(self, lines: Iterable[Line]) -> None:
        for line in lines:
            program = self.programs[line.program]
            program.take(line)
            if isinstance(line, Begin):
                self.show(program, program.ours(line.benchmark))

    def _judge(self, ending: Ending) -> None:
        """Find out what a driver that ended too early costs. Raises UserError."""
        if ending.status in (BAD_USAGE, NOT_EXECUTABLE):
            raise UserError(f"{drive_lines.driver()}: {ending.described()}: {drive_lines.REMEDY}")
        is_bad = bool(ending.status or ending.ended_for)
        if is_bad:
            _require_room(self.plan.journal.folder)
        first = next((one for one in self.programs if one.left), None)
        # After a fault the driver leaves the others, and what must wait, to its next run.
        has_progress = any(program.has_progress for program in self.programs)
        if first is not None and (is_bad or not has_progress):
            why = ending.described()
            if not first.retries(why):
                first.give_up(self._cost(first, ending), why)

    def _cost(self, first: DrivenProgram, ending: Ending) -> Names:
        """Return the benchmarks of a program that a driver which ended in it costs."""
        if first.begun in first.left:
            return (first.begun,)
        was_killed = ending.status < 0 and not ending.ended_for
        return first.left[:1] if was_killed else first.left

    def _free(self, ending: Ending) -> None:
        """Wait for the GPU if a process may still be on it."""
        bad = [one.bad for one in self.programs if one.bad and one.binary.needs_gpu]
        if ending.ended_for or ending.status:
            bad += [ending] * any(one.binary.needs_gpu for one in self.programs)
        if bad:
            self.plan.freed(bad[-1])


def _require_room(folder: Path) -> None:
    """Raise UserError if a full disk, rather than a benchmark, may have cost a report."""
    with suppress(OSError):  # the folder may be gone
        if shutil.disk_usage(folder).free < _ROOM:
            raise UserError(
                f"{folder} has too little space for what the programs report: free some, or use "
                "another folder (--out, TMPDIR)"
            )
