# SPDX-License-Identifier: Apache-2.0
"""Which files one invocation of scripts/bench writes, and whether it may."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from warpgauge.commands.bench_options import Options
from warpgauge.files import output_file
from warpgauge.measurement.journal import SUFFIX
from warpgauge.system import command_log

# In a tree: where runs are kept, and what who measures there holds.
MEASURING = Path("build", "runs")


@dataclass(frozen=True)
class RunPaths:
    """All are named after the run file, ``2026-11-20-090507.json``."""

    run: Path

    @property
    def pair(self) -> tuple[Path, Path]:
        """Base and candidate of --against."""
        return self._beside("base"), self.run

    @property
    def confirming(self) -> tuple[Path, Path]:
        """Base and candidate of what was flagged and measured again."""
        return self._beside("confirm-base"), self._beside("confirm")

    @property
    def why(self) -> Path:
        """The folder of what --why looked into."""
        return self._beside("why").with_suffix("")

    @property
    def folder(self) -> Path:
        """For the many sides of --self-check."""
        return self.run.with_suffix("")

    @property
    def log(self) -> Path:
        """Every command that was run."""
        return self.run.with_suffix(command_log.SUFFIX)

    @property
    def report(self) -> Path:
        """The page of what the run was compared with."""
        return self.run.with_suffix(".html")

    @property
    def journal(self) -> Path:
        """The folder of what was delivered, until the run is done."""
        return self.run.with_name(f"{self.run.stem}{SUFFIX}")

    def of(self, what: str) -> RunPaths:
        """Those of one of several runs."""
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


def chosen(options: Options, folder: Path) -> RunPaths:
    """Where a run goes: where the user says, or into `folder`."""
    return RunPaths(options.out) if options.out else named_after(folder, datetime.now())


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
