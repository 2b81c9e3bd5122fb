# SPDX-License-Identifier: Apache-2.0
"""What all commands that measure do alike: name their files, begin, and lock tree and GPU."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from rich.console import Console

from warpgauge.commands.bench_options import Options
from warpgauge.execution.gpu_watch import GpuWatch
from warpgauge.files import output_file
from warpgauge.measurement.budget import Budget
from warpgauge.measurement.journal import SUFFIX
from warpgauge.measurement.measuring import Measuring
from warpgauge.system import command_log
from warpgauge.system.command_log import CommandLog
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.layout import print_line
from warpgauge.system.locks import Holder, alone, alone_on


@dataclass(frozen=True)
class RunPaths:
    """All are named after the run file, ``2026-11-20-090507.json``."""

    run: Path

    @property
    def pair(self) -> tuple[Path, Path]:
        return self._beside("base"), self.run

    @property
    def confirming(self) -> tuple[Path, Path]:
        """Base and candidate of what was flagged and measured again."""
        return self._beside("confirm-base"), self._beside("confirm")

    @property
    def why(self) -> Path:
        """The folder of what --why gathered."""
        return self._beside("why").with_suffix("")

    @property
    def folder(self) -> Path:
        """The folder of the sides of --self-check."""
        return self.run.with_suffix("")

    @property
    def log(self) -> Path:
        return self.run.with_suffix(command_log.SUFFIX)

    @property
    def report(self) -> Path:
        """The page of what the run was compared with."""
        return self.run.with_suffix(".html")

    @property
    def journal(self) -> Path:
        """The journal's folder, until the run is complete."""
        return self.run.with_name(f"{self.run.stem}{SUFFIX}")

    def of(self, what: str) -> RunPaths:
        """The paths of one of several runs."""
        return RunPaths(self._beside(what))

    def _beside(self, what: str) -> Path:
        return self.run.with_stem(f"{self.run.stem}-{what}")

    def measured(self, options: Options) -> list[Path]:
        """The run files that scripts/bench may write."""
        runs = [*self.pair] if options.against else [self.run]
        if options.confirm and not options.record and not options.against:
            runs += self.confirming
        return runs

    def check(self, options: Options, baselines: Path, runs: Sequence[Path]) -> None:
        """Raise UserError unless these, the log and all reports may be written."""
        inputs = [self.log, *([options.baseline] if options.baseline else [])]
        for path in runs:
            output_file.check_run_file(path, baselines, inputs)
        command_log.require_ours(self.log)
        options.formats.check(baselines, [*inputs, *runs])


def named_after(folder: Path, now: datetime) -> RunPaths:
    """Where a run goes, in `folder`, when the user names no file; the folder is made.

    Two runs of one second get two names.
    """
    folder.mkdir(parents=True, exist_ok=True)
    name, number = f"{now:%Y-%m-%d-%H%M%S}", 1
    stem = name
    while any(path.stem == stem or path.stem.startswith(f"{stem}-") for path in folder.iterdir()):
        number += 1
        stem = f"{name}-{number}"
    return RunPaths(folder / f"{stem}.json")


@dataclass(frozen=True)
class MeasuringCommand:
    """One invocation: how to measure, where the repository is, and where output goes."""

    options: Options
    root: Path
    results: Console
    notes: Console  # standard error: progress and remarks
    argv: Sequence[str]

    command: ClassVar[str]  # as the log of its commands names it
    in_tree: ClassVar[str] = "command that measures in this tree"  # which it waits for
    on_gpu: ClassVar[str] = "command that measures on this GPU"

    @property
    def work(self) -> Path:
        """The build folder; one command at a time uses it."""
        named = self.options.build_dir
        return self.root / "build" if named is None else named.resolve()

    @property
    def runs(self) -> Path:
        """Where runs are kept; one command at a time measures."""
        return self.work / "runs"

    def run_paths(self) -> RunPaths:
        """Where this run goes: where the user says, or into `runs`."""
        out = self.options.out
        return RunPaths(out) if out else named_after(self.runs, datetime.now())

    @contextmanager
    def begun(
        self, options: Options, log: Path | None = None, *, resumed: bool = False
    ) -> Iterator[tuple[Measuring, ExitStack]]:
        """How to measure, with a scratch folder; and what is to be held until the command ends.

        The commands that it runs are written to `log`. Raises UserError.
        """
        with tempfile.TemporaryDirectory(prefix="warpgauge-") as scratch, ExitStack() as held:
            budget = Budget(options.budget_s)
            measuring = Measuring(options, self.root, Path(scratch), self.notes, self.notes, budget)
            if log is not None:
                commands = CommandLog(log, self.argv, goes_on=resumed, command=self.command)
            with nullcontext() if log is None else commands.used(measuring.note):
                yield measuring, held

    def alone_in(self, folder: Path) -> AbstractContextManager[None]:
        """Hold `work` or `runs`; waits for another command that does. Raises UserError."""
        return alone(folder, self._waiting(self.in_tree))

    def alone_on(self, uuid: str) -> AbstractContextManager[None]:
        """Hold these GPUs, if any."""
        return alone_on(uuid.split(",") if uuid else (), self._waiting(self.on_gpu))

    def watched(self, measuring: Measuring, uuid: str, held: ExitStack) -> Measuring:
        """Hold these GPUs, if any, watch them, and wait until nobody else uses them."""
        held.enter_context(self.alone_on(uuid))
        if uuid:
            measuring = replace(measuring, watch=GpuWatch(uuid, measuring.note))
        measuring.wait_for_gpu()
        return measuring

    def _waiting(self, what: str) -> Callable[[Holder], None]:
        """What to do while another of `what` holds what this one needs: tell, or refuse."""

        def wait(holder: Holder) -> None:
            who = f"another {what}" + (f" (pid {holder})" if holder else "")
            if not self.options.wait:
                raise UserError(
                    f"{who} is running: wait until it ends, or omit --no-wait",
                    ExitStatus.NOT_MEASURED,
                )
            print_line(self.notes, f"Waiting for {who} to end ...")

        return wait
