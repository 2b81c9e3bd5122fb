# SPDX-License-Identifier: Apache-2.0
"""Shows how a build and a run go on: a live bar on a terminal, plain lines anywhere else."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import fmean
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from warpgauge.discovery import Binary
from warpgauge.runner import Outcome, Plan
from warpgauge.text import inert


@contextmanager
def status(console: Console) -> Iterator[Callable[[str], None]]:
    """A function that shows one short line at a time; plain output gets only the coarse ones."""
    if console.is_terminal:
        with console.status("") as spinner:
            yield lambda line: spinner.update(f"{line} ...")
        return
    plain: set[str] = set()

    def say(line: str) -> None:
        kind = line.partition(",")[0]  # "building, step 3 of 40" is "building" once
        if kind not in plain:
            plain.add(kind)
            console.print(f"{kind} ...", markup=False, highlight=False)

    yield say


class TimeLeft:
    """Guesses the rest of a run from how long each binary's processes took so far."""

    def __init__(self, plan: Plan) -> None:
        self._left = {b: plan.processes for b in plan.binaries if b.fault is None}
        self._seconds: dict[Binary, list[float]] = {binary: [] for binary in self._left}

    def ended(self, binary: Binary, seconds: float) -> None:
        self._left[binary] -= 1
        self._seconds[binary].append(seconds)

    def seconds(self) -> float | None:
        """None before the first process has ended.

        A binary that has not run yet is taken to need the others' time for one benchmark.
        """
        known = {b: fmean(times) for b, times in self._seconds.items() if times}
        if not known:
            return None
        each = sum(known.values()) / sum(max(1, len(b.names)) for b in known)
        return sum(
            count * known.get(binary, each * len(binary.names))
            for binary, count in self._left.items()
        )


class RunProgress:
    """A runner.Observer that shows the run on `console`; a context manager."""

    def __init__(self, plan: Plan, console: Console) -> None:
        self._rounds = plan.processes
        self._round = 0
        self._console = console
        self._began = time.monotonic()
        self._left = TimeLeft(plan)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        runs = sum(self._rounds for binary in plan.binaries if binary.fault is None)
        self._task = self._bar.add_task("starting", total=runs, left="")

    def __enter__(self) -> RunProgress:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def begins(self, round_number: int, binary: Binary) -> None:
        where = f"round {round_number} of {self._rounds}"
        self._bar.update(self._task, description=f"{where}, {binary.family}")
        if not self._console.is_terminal and round_number != self._round:
            elapsed = clock(time.monotonic() - self._began)
            self._line(f"{where}: {elapsed} elapsed{self._left_text(', ')}")
        self._round = round_number

    def ended(self, outcome: Outcome) -> None:
        self._left.ended(outcome.binary, outcome.seconds)
        self._bar.update(self._task, advance=1, left=self._left_text())
        reported = {row.get("name") for row in outcome.report.get("benchmarks", [])}
        if outcome.suspect or not reported >= set(outcome.binary.names):
            self._line(f"round {outcome.round}: {outcome.fault}")

    def _left_text(self, before: str = "") -> str:
        seconds = self._left.seconds()
        return "" if seconds is None else f"{before}about {clock(seconds)} left"

    def _line(self, text: str) -> None:
        self._console.print(inert(text), markup=False, highlight=False, soft_wrap=True)


def clock(seconds: float) -> str:
    """Minutes and seconds, as in 1:05."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"
