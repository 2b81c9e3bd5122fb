# SPDX-License-Identifier: Apache-2.0
"""Shows the progress of builds and runs: a live bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column

from warpgauge.measure.plan import Lane, Plan, Turn, TurnResult
from warpgauge.system.layout import print_line
from warpgauge.system.text import cut, inert, plural

LONG_BUILD_S = 10.0
ROUND_LINES_S = 10.0  # shortest time between two lines of plain output
_LONGEST_NAME = 60  # characters of a benchmark name on a terminal


@contextmanager
def status(console: Console) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows one status line; plain output shows each kind of step once."""
    if console.is_terminal:
        with console.status("") as spinner:
            yield lambda line: spinner.update(f"{line} ...")
        return
    plain: set[str] = set()

    def say(line: str) -> None:
        kind = line.partition(",")[0]  # "building, step 3 of 40" is shown once, as "building"
        if kind not in plain:
            plain.add(kind)
            console.print(f"{kind} ...", markup=False, highlight=False)

    yield say


@contextmanager
def build_status(console: Console) -> Iterator[Callable[[str], None]]:
    """Like `status`, and report the build time at the end if it was long."""
    began = time.monotonic()
    with status(console) as say:
        yield say
    if (seconds := time.monotonic() - began) >= LONG_BUILD_S:
        print_line(console, f"built in {clock(seconds)}")


def new_faults(lanes: Sequence[Lane], reported: set[str]) -> list[str]:
    """Return a line for each program that cannot be listed: one if it is the same on all sides.

    Lines in `reported` are left out, and the others are added to it.
    """
    sides: dict[str, list[str]] = {}
    for lane in lanes:
        for binary in (one for one in lane.binaries if one.fault):
            sides.setdefault(f"{binary.path.name}: {binary.fault}", []).append(lane.side)
    lines = (
        fault if len(of) == len(lanes) else "".join(f"{side}: " for side in of) + fault
        for fault, of in sides.items()
    )
    new = [line for line in lines if line not in reported]
    reported.update(new)
    return new


class RunProgress:
    """A runner.Observer and context manager that shows the run on `console`.

    The time left is estimated from what a benchmark took so far. Rounds that are measured at once
    end together, so what began before the present turn is done.
    """

    def __init__(self, plan: Plan, console: Console) -> None:
        sides = [lane.side for lane in plan.lanes if lane.side]
        self._of_sides = f", {' and '.join(sides)}" if sides else ""
        self._last, self._round = plan.rounds[-1], 0
        self._console = console
        self._turn = ""
        self._began = time.monotonic()
        self._next_line = self._began
        able = [one for lane in plan.lanes for one in lane.binaries if one.runs]
        self._sizes = {one.family: len(one.names) for one in able}  # equal on all sides, about
        self._total = len(plan.rounds) * sum(self._sizes[one.family] for one in able)
        self._done, self._ended, self._took = 0, 0, 0.0
        self._begun: dict[tuple[int, str, str], int] = {}  # sizes of turns
        self._bar = Progress(
            _text("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total}", table_column=Column(min_width=5)),
            TimeElapsedColumn(table_column=Column(no_wrap=True, min_width=7)),
            _text("{task.fields[left]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("starting", total=self._total, left="")

    def __enter__(self) -> RunProgress:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._bar.stop()
        if kind is None:
            print_line(self._console, f"measured in {clock(time.monotonic() - self._began)}")

    def begins(self, *turns: Turn) -> None:
        turn, sides = turns[0], " and ".join(turn.lane.side for turn in turns)
        new = {(one.round, one.binary.family, one.lane.side) for one in turns}
        before = sum(size for key, size in self._begun.items() if key not in new)
        self._done = max(self._done, before)
        self._begun.update(dict.fromkeys(new, self._sizes[turn.binary.family]))
        where = f"round {turn.round} of {self._last}"
        if turn.round != self._round:
            self._round = turn.round
            now = time.monotonic()
            if not self._console.is_terminal and now >= self._next_line:
                self._next_line = now + ROUND_LINES_S
                elapsed = f"{clock(now - self._began)} elapsed"
                times = ", ".join(filter(None, (elapsed, self._left_text())))
                print_line(self._console, f"{where}{self._of_sides}: {times}")
        self._turn = f"{where}, {turn.binary.family} {sides}".rstrip()
        self._update(self._turn)

    def runs(self, benchmark: str) -> None:
        """Show the benchmark that runs now."""
        name = benchmark.partition("/")[2] or benchmark
        self._update(f"{self._turn}: {cut(inert(name), _LONGEST_NAME)}")

    def ended(self, outcome: TurnResult) -> None:
        self._ended += self._sizes[outcome.binary.family]
        self._done = max(self._done, self._ended)
        self._took += outcome.seconds
        self._update(self._turn)
        self.repeated(outcome)

    def repeated(self, outcome: TurnResult) -> None:
        """Print faults and remarks, one line per cause, without advancing the bar."""
        side = f", {outcome.side}" if outcome.side else ""
        names = defaultdict[str, list[str]](list)
        for name, fault in outcome.faults.items():
            names[fault].append(name)
        for fault, of in names.items():
            who = of[0] if len(of) == 1 else plural(len(of), "benchmark")
            print_line(self._console, inert(f"round {outcome.round}{side}: {who}: {fault}"))
        for remark in outcome.remarks:
            print_line(self._console, inert(f"round {outcome.round}{side}: {remark}"))

    def _update(self, description: str) -> None:
        left = self._left_text()
        self._bar.update(self._task, completed=self._done, description=description, left=left)

    def _left_text(self) -> str:
        took = max(self._took, time.monotonic() - self._began)
        if not self._done or not took:
            return ""
        seconds = (self._total - self._done) * took / self._done
        return f"about {clock(seconds)} left"


def _text(shown: str) -> TextColumn:
    """Return a column of one line; text that does not fit is cut."""
    return TextColumn(shown, markup=False, table_column=Column(no_wrap=True, overflow="ellipsis"))


def clock(seconds: float) -> str:
    """Format seconds as minutes and seconds: 1:05."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"
