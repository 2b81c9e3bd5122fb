# SPDX-License-Identifier: Apache-2.0
"""What commands that measure share: options, the files of a run, and locks around its steps."""

from __future__ import annotations

import re
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, fields, replace
from datetime import date, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from rich.console import Console

from warpgauge.commands import measuring_lines
from warpgauge.commands.arguments import EVERY_GPU, FILE, MANIFEST, PYTHON, contradiction
from warpgauge.commands.output import Conclusion, Formats
from warpgauge.commands.output_file import check_file
from warpgauge.measure import gpu_watch, python_file, run_file
from warpgauge.measure import options as measurement
from warpgauge.measure.ab_run import AbRun, Looks, Side, open_rows
from warpgauge.measure.gpu_watch import GpuWatch, keep_open
from warpgauge.measure.journal import SUFFIX
from warpgauge.measure.measuring import Budget, Measuring
from warpgauge.measure.options import MeasurementOptions
from warpgauge.records.benchmark_filter import matches
from warpgauge.reports.format import FORMATS, Format
from warpgauge.system import command_log
from warpgauge.system.command_log import CommandLog
from warpgauge.system.errors import ExitStatus
from warpgauge.system.layout import Output, print_line
from warpgauge.system.locks import Holder, alone, alone_on
from warpgauge.verdict.comparison import Comparison
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.incompatibility import Override
from warpgauge.verdict.policy import Policy
from warpgauge.why import explain
from warpgauge.why.explain import Sides


@dataclass(frozen=True, kw_only=True)
class Options(MeasurementOptions):
    """The options of a measuring command; what only that command has is in `own`."""

    out: Path | None
    formats: Formats
    policy: Path | None
    allow: frozenset[Override]
    own: Namespace


def options_of(
    given: Namespace, formats: Mapping[str, Format] = FORMATS, **fixed: object
) -> Options:
    """Return the options of a measuring command, with bench's defaults for missing ones.

    `formats` are those of --format; `fixed` replace what was given. Raises UserError.
    """
    values = {**vars(measuring_lines.bench().parse_args([])), **vars(given), **fixed}
    matches(values["filter"], "", "--filter")
    if values["device"] not in (None, EVERY_GPU):
        gpu_watch.require(values["device"])
    source, build_dir = values["source"], values["build_dir"]
    file = source if source is not None and source.suffix == PYTHON else values.get("file")
    kernels = source if source is not None and source.suffix == MANIFEST else None
    if file is not None:
        if build_dir is not None or not values["build"]:
            raise contradiction(FILE, "--build-dir or --no-build")
        build_dir = python_file.provide(file)
    baselines, beside = None, file or kernels
    if beside is not None:
        baselines = beside.parent / measuring_lines.BASELINES
    elif build_dir is not None:
        baselines = measuring_lines.BASELINES
    values |= {
        "file": file,
        "kernels": kernels,
        "build_dir": build_dir,
        "baselines": baselines,
        **{name: values[name] or "" for name in ("against", "inject")},
        # Another commit of the programs can be built.
        "confirm": values["confirm"] and (file is not None or baselines is None),
        "build": values["build"] and build_dir is None,
        "seed": measurement.new_seed(),
        "formats": Formats.parse(values["format"], formats),
        "allow": frozenset(values["allow"]),
        "own": given,
    }
    return Options(**{field.name: values[field.name] for field in fields(Options)})


RUN_FILE = re.compile(rb'"warpgauge_format"\s*:\s*"run/')


@dataclass(frozen=True)
class RunPaths:
    """The files of a run, named after the run file, such as ``2026-11-20-090507.json``."""

    run: Path

    @property
    def pair(self) -> tuple[Path, Path]:
        return self.of("base").run, self.run

    @property
    def confirming(self) -> tuple[Path, Path]:
        """Run files, base first, of flagged benchmarks that were measured again."""
        return self.of("confirm-base").run, self.of("confirm").run

    @property
    def why(self) -> Path:
        """The folder for the evidence of what made benchmarks slower."""
        return self.of("why").folder

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
        return RunPaths(self.run.with_stem(f"{self.run.stem}-{what}"))

    def check(self, options: Options, baselines: Path, runs: Sequence[Path]) -> None:
        """Raise UserError unless the runs, the log and all reports may be written."""
        for path in runs:
            check_file(path, baselines, [self.log], RUN_FILE, "run file")
        check_file(self.log, baselines, [], command_log.OWN, "log of scripts/bench")
        options.formats.check(baselines, [self.log, *runs])


def named_after(folder: Path, now: datetime) -> RunPaths:
    """Make `folder`, and return the default paths of a run in it.

    A run in the same second as another gets the name of the next one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    while any(folder.glob(f"{now:%Y-%m-%d-%H%M%S}*")):
        now += timedelta(seconds=1)
    return RunPaths(folder / f"{now:%Y-%m-%d-%H%M%S}.json")


@dataclass(frozen=True)
class MeasuringCommand:
    """One invocation: its options, the repository, and the words of the command line."""

    options: Options
    root: Path
    argv: Sequence[str]

    command: ClassVar[str]  # name in the command log

    @cached_property
    def results(self) -> Console:
        """Where results go: standard error if standard output has a format for programs."""
        return Output(stderr=not self.options.formats.is_for_people, highlight=False)

    @cached_property
    def notes(self) -> Console:
        """Standard error: progress and remarks."""
        return Output(stderr=True)

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

    def conclusion(self, rules: Policy | None, baselines: Path, filter: str = "") -> Conclusion:
        """Return how this command judges and shows results.

        `filter` is needed where the run files do not record what was selected.
        """
        options = self.options
        settings = ComparisonSettings(
            filter=filter or None,
            allow=options.allow,
            policy=rules,
            today=date.today(),
        )
        return Conclusion(self.results, settings, options.formats, baselines)

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders of the programs, if another project built them."""
        return ()

    @contextmanager
    def begun(
        self, options: Options, log: Path | None = None, *, resumed: bool = False
    ) -> Iterator[tuple[Measuring, ExitStack]]:
        """Yield a Measuring with a scratch folder, and a stack of contexts held to the end.

        Commands are logged to `log`, if given. Raises UserError.
        """
        with tempfile.TemporaryDirectory(prefix="warpgauge-") as scratch, ExitStack() as held:
            budget = Budget(options.budget_s)
            where = (self.root, Path(scratch))
            measuring = Measuring(options, *where, self.notes, budget, self.folders)
            if log is not None:
                commands = CommandLog(log, self.argv, goes_on=resumed, command=self.command)
            with nullcontext() if log is None else commands.used(measuring.note):
                yield measuring, held

    def in_pairs(
        self,
        beside: AbRun,
        sides: tuple[Side, Side],
        paths: RunPaths,
        show: Conclusion,
        settled: Callable[[Looks[Comparison]], Comparison],
    ) -> ExitStatus:
        """Measure `sides` in pairs, base first; explain and show what `settled` makes of them.

        An interrupt in a further look is raised after that. Raises UserError.
        """
        measuring, filter = beside.measuring, beside.measuring.options.filter
        both = beside.compared(*sides, filter, paths.pair, show.judged, open_rows)
        found = settled(both)
        if both.stop is None:
            pair = Sides(sides, (both.found.baseline, both.found.candidate))
            found = explain.of_regressions(found, lambda: pair, measuring, paths.why)
            if reasons := {row.name: row.why for row in found.verdicts if row.why is not None}:
                run_file.explain(paths.pair[1], reasons)
        status = show.compared(found)
        if both.stop is not None:
            raise both.stop
        return status

    def alone_in(self, folder: Path) -> AbstractContextManager[None]:
        """Lock `work` or `runs`; wait for another command that holds it. Raises UserError."""
        return alone(folder, self._waiting("in this tree"))

    def alone_on(self, uuid: str) -> AbstractContextManager[None]:
        """Lock these GPUs, if any."""
        return alone_on(uuid.split(",") if uuid else (), self._waiting("on this GPU"))

    def watched(self, measuring: Measuring, uuid: str, held: ExitStack) -> Measuring:
        """Lock, keep open and watch these GPUs, if any, and wait until nobody else uses them."""
        held.enter_context(self.alone_on(uuid))
        if uuid:
            keep_open()
            measuring = replace(measuring, watch=GpuWatch(uuid, measuring.note))
        measuring.wait_for_gpu()
        return measuring

    def _waiting(self, where: str) -> Callable[[Holder], None]:
        """Return what to say while another command holds a lock."""

        def say(holder: Holder) -> None:
            pid = f" (pid {holder})" if holder else ""
            print_line(self.notes, f"Waiting for another command that measures {where}{pid} ...")

        return say
