# SPDX-License-Identifier: Apache-2.0
"""What all measuring commands share: names of files, setup, and locks on tree and GPU."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from rich.console import Console

from warpgauge.commands.bench_options import Options
from warpgauge.measure.budget import Budget
from warpgauge.measure.discovery import Binary
from warpgauge.measure.gpu_watch import GpuWatch, keep_open
from warpgauge.measure.journal import SUFFIX
from warpgauge.measure.measuring import Measuring
from warpgauge.system import command_log, output_file, streams
from warpgauge.system.command_log import CommandLog
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.layout import print_line
from warpgauge.system.locks import Holder, alone, alone_on
from warpgauge.system.text import inert


@dataclass(frozen=True)
class RunPaths:
    """The files of a run, named after the run file, such as ``2026-11-20-090507.json``."""

    run: Path

    @property
    def pair(self) -> tuple[Path, Path]:
        return self._beside("base"), self.run

    @property
    def confirming(self) -> tuple[Path, Path]:
        """Run files, base first, of flagged benchmarks that were measured again."""
        return self._beside("confirm-base"), self._beside("confirm")

    @property
    def why(self) -> Path:
        """The folder for the evidence of --why."""
        return self._beside("why").with_suffix("")

    @property
    def folder(self) -> Path:
        """The folder for the run files of --self-check."""
        return self.run.with_suffix("")

    @property
    def log(self) -> Path:
        return self.run.with_suffix(command_log.SUFFIX)

    @property
    def report(self) -> Path:
        """The HTML page of the comparison."""
        return self.run.with_suffix(".html")

    @property
    def journal(self) -> Path:
        """The folder of the journal, which exists until the run is complete."""
        return self.run.with_name(f"{self.run.stem}{SUFFIX}")

    def of(self, what: str) -> RunPaths:
        """Return the paths of one of several runs."""
        return RunPaths(self._beside(what))

    def _beside(self, what: str) -> Path:
        return self.run.with_stem(f"{self.run.stem}-{what}")

    def measured(self, options: Options) -> list[Path]:
        """Return the run files that scripts/bench may write."""
        if options.against:
            return [*self.pair]
        if options.record or not options.confirm:
            return [self.run]
        return [*self.pair, *self.confirming]

    def check(self, options: Options, baselines: Path, runs: Sequence[Path]) -> None:
        """Raise UserError unless the runs, the log and all reports may be written."""
        for path in runs:
            output_file.check_run_file(path, baselines, [self.log])
        command_log.require_ours(self.log)
        options.formats.check(baselines, [self.log, *runs])


def named_after(folder: Path, now: datetime) -> RunPaths:
    """Make `folder`, and return the default paths of a run in it.

    Two runs in the same second get different names.
    """
    folder.mkdir(parents=True, exist_ok=True)
    name, number = f"{now:%Y-%m-%d-%H%M%S}", 1
    stem = name
    while any(path.stem == stem or path.stem.startswith(f"{stem}-") for path in folder.iterdir()):
        number += 1
        stem = f"{name}-{number}"
    return RunPaths(folder / f"{stem}.json")


def print_names(names: Iterable[str]) -> None:
    """Print each name once, one per line."""
    streams.write("".join(f"{inert(name)}\n" for name in dict.fromkeys(names)))


@dataclass(frozen=True)
class MeasuringCommand:
    """One invocation: options, the repository, and consoles for output."""

    options: Options
    root: Path
    results: Console
    notes: Console  # standard error: progress and remarks
    argv: Sequence[str]

    command: ClassVar[str]  # name in the command log
    in_tree: ClassVar[str] = "command that measures in this tree"  # that this one waits for
    on_gpu: ClassVar[str] = "command that measures on this GPU"

    @property
    def work(self) -> Path:
        """The build folder, which one command at a time uses."""
        named = self.options.build_dir
        return self.root / "build" if named is None else named.resolve()

    @property
    def runs(self) -> Path:
        """The folder of runs, in which one command at a time measures."""
        return self.work / "runs"

    def run_paths(self) -> RunPaths:
        """Return the run's paths: given by the user, or new ones in `runs`."""
        out = self.options.out
        return RunPaths(out) if out else named_after(self.runs, datetime.now())

    @contextmanager
    def begun(
        self, options: Options, log: Path | None = None, *, resumed: bool = False
    ) -> Iterator[tuple[Measuring, ExitStack]]:
        """Yield a Measuring with a scratch folder, and a stack of contexts held to the end.

        Commands are logged to `log`, if given. Raises UserError.
        """
        with tempfile.TemporaryDirectory(prefix="warpgauge-") as scratch, ExitStack() as held:
            budget = Budget(options.budget_s)
            measuring = Measuring(options, self.root, Path(scratch), self.notes, budget)
            if log is not None:
                commands = CommandLog(log, self.argv, goes_on=resumed, command=self.command)
            with nullcontext() if log is None else commands.used(measuring.note):
                yield measuring, held

    def print_names(self, programs: Sequence[Binary]) -> ExitStatus:
        """Print the benchmarks of `programs`, one per line; a listing error is NOT_MEASURED."""
        print_names(name for program in programs for name in program.names)
        faults = [f"{one.path.name}: {one.fault}" for one in programs if one.fault is not None]
        for fault in dict.fromkeys(faults):  # two sides may have the same
            print_line(self.notes, inert(fault))
        return ExitStatus.NOT_MEASURED if faults else ExitStatus.OK

    def alone_in(self, folder: Path) -> AbstractContextManager[None]:
        """Lock `work` or `runs`; wait for another command that holds it. Raises UserError."""
        return alone(folder, self._waiting(self.in_tree))

    def alone_on(self, uuid: str) -> AbstractContextManager[None]:
        """Lock these GPUs, if any."""
        return alone_on(uuid.split(",") if uuid else (), self._waiting(self.on_gpu))

    def watched(self, measuring: Measuring, uuid: str, held: ExitStack) -> Measuring:
        """Lock, keep open and watch these GPUs, if any, and wait until nobody else uses them."""
        held.enter_context(self.alone_on(uuid))
        if uuid:
            keep_open()
            measuring = replace(measuring, watch=GpuWatch(uuid, measuring.note))
        measuring.wait_for_gpu()
        return measuring

    def _waiting(self, what: str) -> Callable[[Holder], None]:
        """Return what to do while another command holds a lock: say so and wait, or raise."""

        def wait(holder: Holder) -> None:
            who = f"another {what}" + (f" (pid {holder})" if holder else "")
            if not self.options.wait:
                raise UserError(
                    f"{who} is running: wait until it ends, or omit --no-wait",
                    ExitStatus.NOT_MEASURED,
                )
            print_line(self.notes, f"Waiting for {who} to end ...")

        return wait
