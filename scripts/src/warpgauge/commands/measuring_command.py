# SPDX-License-Identifier: Apache-2.0
"""What commands that measure share: options, the files of a run, and locks around its steps."""

from __future__ import annotations

import math
import os
import re
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from datetime import date, datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import ClassVar

from rich.console import Console

from warpgauge.commands import measuring_lines
from warpgauge.commands.arguments import EVERY_GPU, FILE, MANIFEST, PYTHON, contradiction
from warpgauge.commands.output import Conclusion, Formats
from warpgauge.commands.output_file import check_file
from warpgauge.history import hunks
from warpgauge.history.bisect import Ends
from warpgauge.history.commit_builds import Variants
from warpgauge.history.hunks import Answer, Cause
from warpgauge.measure import gpu_watch, journal, python_file, run_file
from warpgauge.measure import options as measurement
from warpgauge.measure.ab_run import AbRun, Looks, Side, open_rows
from warpgauge.measure.discovery import Suite
from warpgauge.measure.gpu_watch import GpuWatch, keep_open
from warpgauge.measure.journal import SUFFIX, Journal
from warpgauge.measure.measuring import Budget, Measuring
from warpgauge.measure.options import MeasurementOptions
from warpgauge.measure.runner import PersistentThrottling
from warpgauge.measure.selection import only
from warpgauge.records import load
from warpgauge.records.benchmark_filter import matches
from warpgauge.records.model import Record
from warpgauge.records.row import MOST_LINES, MOST_PROVED, Proved, Why
from warpgauge.records.sessions import FEWEST_OF_A_CHANGE
from warpgauge.reports.format import FORMATS, Format
from warpgauge.system import command_log, environment, git, process
from warpgauge.system.command_log import CommandLog
from warpgauge.system.errors import ExitStatus, UserError, of_system
from warpgauge.system.layout import Output, print_line
from warpgauge.system.locks import Holder, alone, alone_on
from warpgauge.system.text import LONGEST_NAME, cut, inert, listed, plural
from warpgauge.verdict.comparison import Comparison
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.incompatibility import Override
from warpgauge.verdict.note import Note, sentence
from warpgauge.verdict.policy import Policy
from warpgauge.why import explain
from warpgauge.why.explain import Sides

# Of explaining what a run found slower, and of these for the lines of the change.
_EXPLAINED_S, _LINES_S = 360.0, 300.0
_LEAST_S = 60.0  # for counters, where building variants took longer
_MOST_LOOKED_INTO = 3
_MOST_HUNKS, _MOST_PLACES = 5, 3  # of a cause of a run, and places that are not only counted


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
    if values["device"] == EVERY_GPU:
        process.require_gpu()
    elif values["device"] is not None:
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

    command: ClassVar[str]  # its name

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

    @cached_property
    def paths(self) -> RunPaths:
        """The run's paths: given by the user, or new ones in `runs`."""
        out = self.options.out
        return RunPaths(out) if out else named_after(self.runs, datetime.now())

    @cached_property
    def tree(self) -> str:
        """A commit of the working tree as it is at first; later edits are not in what is measured.

        Raises UserError.
        """
        return git.working_tree(self.root)

    @property
    def baselines(self) -> Path:
        """The baselines of this tree, of the --build-dir project, or beside the FILE."""
        named = self.options.baselines
        return self.root / "baselines" if named is None else named.absolute()

    @property
    def rules(self) -> Policy | None:
        """The policy that results are judged by. Raises UserError."""
        return None

    @cached_property
    def show(self) -> Conclusion:
        """How results are judged and shown. Raises UserError for a wrong policy."""
        own, page = self.options, self.paths.report
        settings = ComparisonSettings(allow=own.allow, policy=self.rules, today=date.today())
        return Conclusion(self.results, settings, own.formats, self.baselines, page)

    def check(self, runs: Sequence[Path]) -> None:
        """Raise UserError unless these run files, the log and all reports may be written."""
        log = self.paths.log
        for path in runs:
            check_file(path, self.baselines, [log], RUN_FILE, "run file")
        check_file(log, self.baselines, [], command_log.OWN, "log of warpgauge")
        self.options.formats.check(self.baselines, [log, *runs])

    def require_families(self, names: Iterable[str]) -> None:
        """Raise UserError before a build of this tree that has no program for one of `names`."""
        folder = self.root / "benchmarks"
        known = {path.stem for path in folder.glob("*") if path.suffix in (".cu", ".cpp")}
        unknown = [name for name in names if name.partition("/")[0] not in known]
        if known and unknown and self.options.build:
            there = listed(sorted(known))
            raise UserError(f"{listed(unknown)}: unknown family; the families are {there}")

    @contextmanager
    def begun(
        self, *, logs: bool = True, resumed: bool = False
    ) -> Iterator[tuple[Measuring, ExitStack]]:
        """Yield a Measuring with a scratch folder, and a stack of contexts held to the end.

        Commands are logged beside the run if it `logs`. Raises UserError.
        """
        with tempfile.TemporaryDirectory(prefix="warpgauge-") as scratch, ExitStack() as held:
            budget = Budget(self.options.budget_s)
            measuring = Measuring(self.options, self.root, Path(scratch), self.notes, budget)
            if logs:
                command = environment.started(self.command)
                log = CommandLog(self.paths.log, self.argv, goes_on=resumed, command=command)
                held.enter_context(log.used(measuring.note))
            yield measuring, held

    def alone_in(self, folder: Path) -> AbstractContextManager[None]:
        """Lock `work` or `runs`; wait for another command that holds it. Raises UserError."""
        return alone(folder, partial(self._wait, "in this tree"))

    def ready(self, measuring: Measuring, uuid: str, held: ExitStack) -> Measuring:
        """Lock the folder of runs and these GPUs, if any; watch them, and wait until they are free.

        Raises UserError.
        """
        held.enter_context(self.alone_in(self.runs))
        if uuid:
            held.enter_context(alone_on(uuid.split(","), partial(self._wait, "on this GPU")))
            keep_open()
            measuring = replace(measuring, watch=GpuWatch(uuid, measuring.note))
        measuring.wait_for_gpu()
        return measuring

    def _wait(self, where: str, holder: Holder) -> None:
        pid = f" (pid {holder})" if holder else ""
        print_line(self.notes, f"Waiting for another command that measures {where}{pid} ...")

    def measured(self, run: AbRun, processes: int) -> tuple[Record, PersistentThrottling | None]:
        """Measure this build alone, and write the run file.

        Return it, and the throttling that ended the run, if any. Raises UserError.
        """
        content, tired = run.alone(processes)
        run_file.write({self.paths.run: content})
        run.measuring.note(f"run file: {os.path.relpath(self.paths.run)}")
        return load.load(self.paths.run), tired

    def in_pairs(self, run: AbRun, sides: tuple[Side, Side], filter: str) -> Looks[Comparison]:
        """Measure both sides, base first, until every row is decided. Raises UserError."""
        return run.compared(*sides, filter, self.paths.pair, self.show.judged, open_rows)

    def searched(
        self,
        measuring: Measuring,
        suite: Suite,
        rows: Mapping[str, Path],
        base: str,
        folder: Path,
        steps: Journal,
        until: float = math.inf,
        ends: Ends = None,
    ) -> tuple[Answer, Variants]:
        """Search the lines that made rows of these programs slower. Raises UserError."""
        targets = sorted({path.name for path in rows.values()})
        builds = Variants(measuring, steps, [self.tree], [*rows], base=base, targets=targets)
        return hunks.find(builds, suite, folder, until, ends), builds

    def look_into(self, found: Answer, builds: Variants) -> None:
        """Add what the largest cause of the slowest rows did, between builds that differ in it.

        Rows of which no such pair was measured are left as they are.
        """
        measuring, candidate = builds.measuring, builds.names[-1]
        difference = hunks.Difference.between(measuring.root, builds.base, candidate)
        keys = dict(zip(builds.names, builds.keys, strict=True))
        slowest = sorted(found.rows, key=lambda row: -row.whole.change)
        largest = {row.largest.hunks: row for row in reversed(slowest) if row.largest is not None}
        for guilty, row in [*reversed(largest.items())][:_MOST_LOOKED_INTO]:
            key = keys.get(difference.without(guilty, measuring.scratch))
            alike = [ends for ends in builds.pairs if ends[1] == candidate and keys[ends[0]] == key]
            having = (ends for ends in alike if row.name in builds.pairs[ends][0].rows)
            ends = next(having, None)
            if ends is None:
                continue
            measuring.note(f"Looking into {inert(row.name)}")
            try:
                old, new = (only(builds.programs(name), [row.name])[0] for name in ends)
                judged = self.show.judged(*builds.pairs[ends])
                row.did = explain.of_pairs(row.name, (old, new), judged, measuring).paragraph
            except (UserError, OSError) as fault:  # the search has its answer without this
                measuring.note(f"{inert(row.name)} is not looked into: {fault}")

    def concluded(
        self,
        found: Comparison,
        looks: Looks[Comparison],
        run: AbRun,
        sides: tuple[Side, Side],
        commit: str = "",
    ) -> ExitStatus:
        """Explain and show what was `found` in these pairs, with the base's `commit` if known.

        An interrupt in a further look or here is raised after that. Raises UserError.
        """
        if looks.stop is None:
            began = time.monotonic()
            pair = Sides(sides, (looks.found.baseline, looks.found.candidate))
            try:
                if commit and self.options.file is None:
                    found = self._with_lines(found, run, pair, commit)
                left = max(_EXPLAINED_S - (time.monotonic() - began), _LEAST_S)
                found = explain.of_regressions(found, lambda: pair, run.measuring, left)
            except KeyboardInterrupt as stop:
                looks = replace(looks, stop=stop)
            if reasons := {row.name: row.why for row in found.verdicts if row.why is not None}:
                run_file.explain(self.paths.pair[1], reasons)
        status = self.show.compared(found)
        if looks.stop is not None:
            raise looks.stop
        return status

    def _with_lines(self, found: Comparison, run: AbRun, pair: Sides, commit: str) -> Comparison:
        """Return `found` with the lines that are proved to be the cause of a regression.

        Faults here do not change a verdict.
        """
        slower = {row.name for row in explain.regressions(found, run.measuring)}
        if not slower:
            return found
        run.measuring.note(f"Searching the lines that slow {plural(len(slower), 'benchmark')}")
        until, options = time.monotonic() + _LINES_S, run.measuring.options
        options = replace(options, processes=FEWEST_OF_A_CHANGE)  # for a part of the change
        measuring, binaries = replace(run.measuring, options=options), pair.programs[1].binaries
        its = {name: one.path for one in binaries for name in slower.intersection(one.names)}
        where = commit, self.paths.why, journal.scratch(measuring.scratch), until, pair.records
        reasons, why = dict[str, Why](), ""
        try:
            answer, _ = self.searched(measuring, run.suite, its, *where)
            for row in answer.rows:
                # Where a search was stopped, several hunks may be what was left.
                if proofs := _proofs(row.causes, 1 if answer.stopped else _MOST_HUNKS):
                    reasons[row.name] = Why("", (), proofs)
            if missing := len(slower - reasons.keys()):
                of = f"{missing} of {plural(len(slower), 'slower benchmark')}"
                longer = f"{environment.started('explain --hunks')} searches longer"
                why = f"No lines were found for {of}{f': {longer}' if answer.stopped else ''}."
        except (UserError, OSError) as fault:
            words = str(of_system(fault) if isinstance(fault, OSError) else fault)
            why = f"The lines of the change that cost time are not known: {sentence(words)}."
        verdicts = tuple(replace(row, why=reasons.get(row.name, row.why)) for row in found.verdicts)
        notes = (*found.notes, *([Note("lines", why)] if why else []))
        return replace(found, verdicts=verdicts, notes=notes)


def _proofs(causes: Iterable[Cause], most: int) -> tuple[Proved, ...]:
    """Return the largest of these causes, of those with at most so many hunks."""
    few = [proved(cause) for cause in causes if len(cause.hunks) <= most]
    return tuple(sorted(few, key=lambda cause: -cause.share)[:MOST_PROVED])


def proved(cause: Cause) -> Proved:
    """Return what outputs show of a cause; its first new line stands for words that are missing."""
    lines = [cut(line, LONGEST_NAME) for hunk in cause.hunks for line in hunk.lines]
    added = [line for line in lines if line.startswith("+")]
    words = cause.hunks[0].words or (added or lines or ["changed"])[0]
    words += f" and {len(cause.hunks) - 1} more" if len(cause.hunks) > 1 else ""
    places = [hunk.place for hunk in cause.hunks]
    more = f" and {len(places) - _MOST_PLACES} more" if len(places) > _MOST_PLACES else ""
    place = f"{', '.join(places[:_MOST_PLACES])}{more}"
    share = cause.share.part, cause.share.low, cause.share.high
    return Proved(words, place, tuple(lines[:MOST_LINES]), *share, cause.note)
