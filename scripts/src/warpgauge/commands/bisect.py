# SPDX-License-Identifier: Apache-2.0
"""warpgauge bisect: which commit made a benchmark slower."""

from __future__ import annotations

import os
import shlex
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rich.console import Console

from warpgauge.commands.bisect_options import BisectOptions, parse
from warpgauge.commands.one_gpu import BENCH_HERE, waiting
from warpgauge.commands.run_paths import MEASURING, RunPaths
from warpgauge.execution.gpu_watch import GpuWatch
from warpgauge.history import bisect, commit_builds
from warpgauge.history.bisect_run import Bisection, Found
from warpgauge.history.commit_builds import CommitBuilds
from warpgauge.history.commit_pairs import CommitPairs
from warpgauge.measurement import journal
from warpgauge.measurement.journal import Journal, Start
from warpgauge.measurement.measuring import Measuring
from warpgauge.statistics.error_rates import ALPHA
from warpgauge.system import git, packages
from warpgauge.system.command_log import CommandLog
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.git import short
from warpgauge.system.layout import Output, print_line
from warpgauge.system.locks import alone, of_gpu
from warpgauge.system.text import inert, plural

COMMAND = "scripts/warpgauge bisect"
_SHOWN = 10  # commits of a range


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    """Raises UserError for what the user can mend."""
    began, options = time.monotonic(), parse(argv)
    one = _Invocation(options, root, Output(highlight=False), Output(stderr=True), argv, began)
    with alone(root / "build", waiting(options.bench, BENCH_HERE, one.notes)):
        return one.run()


@dataclass(frozen=True)
class _Invocation:
    """What was asked for, where the repository is, where output goes, and when it began."""

    options: BisectOptions
    root: Path
    results: Console
    notes: Console
    argv: Sequence[str]
    began: float

    def run(self) -> ExitStatus:
        """Search, and show what was found. Raises UserError."""
        bench = self.options.bench
        commits = commit_builds.between(self.root, self.options.good, self.options.bad)
        ends = short(commits[0]), short(commits[-1])
        runs = self.root / MEASURING
        runs.mkdir(parents=True, exist_ok=True)
        paths = RunPaths(runs / f"bisect-{ends[0]}-{ends[1]}.json")
        before = self._before(paths)
        if before is not None:
            bench = replace(bench, seed=before[1].seed)
        with tempfile.TemporaryDirectory(prefix="warpgauge-") as scratch, ExitStack() as held:
            measuring = Measuring(bench, self.root, Path(scratch), self.notes, self.notes)
            resumed = before is not None
            log = CommandLog(paths.log, self.argv, goes_on=resumed, command=COMMAND)
            held.callback(lambda: measuring.note(f"commands: {os.path.relpath(log.path)}"))
            held.enter_context(log.used())
            packages.provide(packages.BUILD, measuring.note)
            most = bisect.most_steps(len(commits) - 1)
            builds = CommitBuilds(measuring, self.options.rows, kept=most)
            suite = measuring.suite_of(builds.of(commits[0]))
            wait = partial(waiting, bench, notes=self.notes)
            held.enter_context(alone(runs, wait(BENCH_HERE)))
            uuid = suite.known.get("gpu_uuid", "")
            if uuid:
                held.enter_context(alone(of_gpu(uuid), wait("command that measures on this GPU")))
                measuring = replace(measuring, watch=GpuWatch(uuid, measuring.note))
            there = self._journal(paths, before, uuid)
            measuring.wait_for_gpu()
            until = float("inf") if bench.budget_s is None else self.began + bench.budget_s
            rows = self.options.rows
            error = ALPHA / (most * len(rows))
            pairs = CommitPairs(
                measuring, suite, builds, commits[0], there, paths.folder, error, until
            )
            search = Bisection(measuring, builds, pairs, commits, rows, there)
            try:
                found = search.run()
            except KeyboardInterrupt:
                measuring.warn("What was built and measured is kept: --resume goes on from there.")
                raise
            except UserError as fault:
                if fault.status is ExitStatus.BAD_USAGE:
                    there.remove()
                raise
            return self._concluded(found, ends, there)

    def _before(self, paths: RunPaths) -> tuple[Journal, Start] | None:
        """What is to go on. Raises UserError where nothing is, or it is another search."""
        if not self.options.resume:
            return None
        if not journal.is_begun(paths.journal):
            raise UserError("there is no search between these commits to resume: begin one")
        there, began = journal.opened(paths.journal)
        if began.argv != self.options.rows:
            raise UserError(f"the search to resume is of {' '.join(began.argv)}: name these rows")
        return there, began

    def _journal(self, paths: RunPaths, before: tuple[Journal, Start] | None, uuid: str) -> Journal:
        if before is None:
            seed = self.options.bench.seed
            start = Start(self.options.rows, seed, str(paths.run), str(Path.cwd()), gpu=uuid)
            return journal.begin(paths.journal, start)
        if before[1].gpu != uuid:
            raise UserError("the search cannot go on: the GPU is another one; measure anew")
        return before[0]

    def _concluded(
        self, found: Sequence[Found], ends: tuple[str, str], there: Journal
    ) -> ExitStatus:
        certain = all(len(one.suspects) == 1 for one in found)
        if certain:
            there.remove()
        for one in found:
            for line in self._lines(one, ends):
                print_line(self.results, line)
        return ExitStatus.OK if certain else ExitStatus.NOT_MEASURED

    def _lines(self, one: Found, ends: tuple[str, str]) -> Iterator[str]:
        good, bad = ends
        yield f"{inert(one.row)}: {one.whole} from {good} to {bad}"
        if one.slower is None or one.files is None:
            yield f"  Not certain: {inert(one.why)}."
            yield f"  One of {plural(len(one.suspects), 'commit')} is to blame:"
            shown = one.suspects if len(one.suspects) <= _SHOWN else one.suspects[: _SHOWN - 1]
            yield from (f"    {self._named(commit)}" for commit in shown)
            if shown != one.suspects:
                yield f"    … up to {self._named(one.suspects[-1])}"
        else:
            (commit,) = one.suspects
            yield f"  Slower since {self._named(commit)}"
            before = "equals GOOD" if one.before is None else str(one.before)
            yield f"  Beside {good}: {one.slower}; the commit before it: {before}"
            yield f"  Likely cause: {'; '.join(one.causes) or 'nothing that is counted differs'}"
            yield f"  git show {short(commit)}"
            pair = shlex.join(os.path.relpath(path) for path in one.files)
            yield f"  scripts/compare.py {pair}"
        for commit, why in one.skipped.items():
            yield f"  Skipped: {self._named(commit)}: {inert(why)}"

    def _named(self, commit: str) -> str:
        """Its hash, its author's date, and its subject."""
        told = git.require(self.root, "show", "--no-patch", "--format=%as %s", commit)
        return f"{short(commit)} {inert(told)}"
