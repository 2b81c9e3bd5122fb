# SPDX-License-Identifier: Apache-2.0
"""Measures programs through the driver: alone, or both sides in lock-step.

In lock-step both processes are alive, and one works at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import msgspec

from warpgauge.measure import drive_lines
from warpgauge.measure.description import BAD_USAGE
from warpgauge.measure.discovery import Names
from warpgauge.measure.drive_lines import Begin, Line, Lines
from warpgauge.measure.driven_program import DrivenProgram
from warpgauge.measure.plan import Plan, Turn
from warpgauge.measure.turn_result import Running, TurnResult, require_room
from warpgauge.system import interrupts, process
from warpgauge.system.errors import UserError
from warpgauge.system.process import NOT_EXECUTABLE, Ending
from warpgauge.system.text import inert

# Called with the turns of the program that begins.
Begins = Callable[..., None]


def alone(plan: Plan, turn: Turn, names: Names, running: Running) -> TurnResult:
    """Measure `names` of one turn's program: each gets a row or a fault."""
    [[found]] = deliver(plan, [([turn], names)], lambda *_: None, running)
    return found


def deliver(
    plan: Plan, asked: Sequence[tuple[Sequence[Turn], Names]], begins: Begins, running: Running
) -> Iterator[list[TurnResult]]:
    """Measure programs of one round: of each, the turns (one, or both sides) and their benchmarks.

    The first turn's process starts first. Yield one result per turn of each program, in order; if
    interrupted, first those of programs that have ended well. A benchmark that both sides measured
    gets a row and, in the candidate's result, a ratio; one in which a side failed gets a fault. All
    others of a pair are missing (`TurnResult.missing`) and must be measured by themselves.
    """
    programs = [DrivenProgram(plan, turns, names) for turns, names in asked]
    shown = set[str]()

    def show(program: DrivenProgram, name: str) -> None:
        if program.binary.family not in shown:
            shown.add(program.binary.family)
            begins(*program.turns)
        running(name)

    while left := [one for one in programs if one.left]:
        run = _Run(plan, left, show)
        try:
            run.drive()
        except BaseException:
            whole = takewhile(lambda one: one.is_ended or not one.names, programs)
            found = (one.results() for one in whole)
            yield from takewhile(lambda turns: not any(one.missing for one in turns), found)
            raise
    yield from (one.results() for one in programs)


@dataclass
class _Run:
    """One run of the driver, which measures what is left of `programs`."""

    plan: Plan
    programs: Sequence[DrivenProgram]
    show: Callable[[DrivenProgram, str], None]

    def drive(self) -> None:
        """Run the driver, and give its results to the programs. Raises UserError."""
        folder = self.plan.folder / f"round{self.programs[0].turns[0].round}"
        folder.mkdir(parents=True, exist_ok=True)
        number = len([*folder.glob("*.plan")]) + 1
        planned, told = folder / f"{number}.plan", folder / f"{number}.lines"
        self._lines = Lines(told)
        for program in self.programs:
            program.begin()
        before = sum(one.seconds for one in self.programs)
        try:
            ending = self._driven(planned, told)
            self._take_and_show()
        except BaseException:
            self._take()
            for program in self.programs:
                if program.is_ended:
                    program.settle()
            raise
        for program in self.programs:
            program.settle()
        of_programs = sum(one.seconds for one in self.programs) - before
        self.programs[0].seconds += ending.seconds - of_programs
        self._judge(ending, folder)
        self._free(ending)

    def _driven(self, planned: Path, told: Path) -> Ending:
        plan, turns = self.plan, [side.turn for side in self.programs[0].sides]
        whole = drive_lines.Plan(
            seed=f"{plan.seed} {turns[0].round}",
            deadline_s=plan.deadline_s,
            programs=[one.planned for one in self.programs],
        )
        try:
            planned.write_bytes(msgspec.json.encode(whole))
        except UnicodeEncodeError:  # JSON cannot hold it
            paths = ", ".join(sorted({inert(str(one.binary.path)) for one in self.programs}))
            raise UserError(f"{paths}: the path is not UTF-8: rename the folder") from None
        sides = " and ".join(turn.lane.side for turn in turns)
        # The driver ends late sides; each may be late in starting, preparing, measuring and ending,
        # and those of the program before may be late in ending, too. A plain program tells of its
        # benchmarks at its end.
        silent = [len(one.asked) for one in self.programs if not one.binary.driven]
        return process.run(
            [str(drive_lines.driver()), str(planned)],
            (6 * len(turns) + max(silent, default=0)) * plan.deadline_s + 60.0,
            planned.parent,
            plan.environment,
            into=told,
            grown=self._take_and_show,
            told=f"round {turns[0].round}" + (f", {sides}" if sides else ""),
            by_hand=[words for one in self.programs for words in one.by_hand],
        )

    def _take(self) -> list[Line]:
        """Give new lines to the programs: all or, if interrupted before, none."""
        with interrupts.postponed():
            lines = self._lines.new()
            for line in lines:
                self.programs[line.program].take(line)
        return lines

    def _take_and_show(self) -> None:
        for line in self._take():
            if isinstance(line, Begin):
                program = self.programs[line.program]
                self.show(program, program.ours(line.benchmark))

    def _judge(self, ending: Ending, folder: Path) -> None:
        """Find out what a driver that ended too early costs. Raises UserError."""
        if ending.status in (BAD_USAGE, NOT_EXECUTABLE):
            raise UserError(f"{drive_lines.driver()}: {ending.described()}: {drive_lines.REMEDY}")
        is_bad = bool(ending.status or ending.ended_for)
        if is_bad:
            require_room(folder)
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
