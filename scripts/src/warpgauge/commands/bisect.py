# SPDX-License-Identifier: Apache-2.0
"""warpgauge bisect: finds the commit that made a benchmark slower."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warpgauge.commands import measuring_lines
from warpgauge.commands.arguments import files_among
from warpgauge.commands.measuring_command import MeasuringCommand, Options, RunPaths, options_of
from warpgauge.history import bisect, commit_builds
from warpgauge.history.bisect import CommitPairs, Found
from warpgauge.history.commit_builds import CommitBuilds
from warpgauge.measure import journal
from warpgauge.measure.journal import Journal, Start
from warpgauge.records.names import FULL_SUITE
from warpgauge.records.sessions import FEWEST_OF_A_CHANGE
from warpgauge.statistics.error_rates import ALPHA
from warpgauge.system import environment, git
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.git import short
from warpgauge.system.layout import print_line
from warpgauge.system.text import inert, plural


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    began, options = time.monotonic(), parse(argv)
    one = _BisectCommand(options, options.project or root, argv, began)
    with one.alone_in(one.work):
        return one.run()


def parse(argv: Sequence[str]) -> Options:
    """Parse `argv`. Raises UserError for bad usage."""
    given = measuring_lines.bisect().parse_args(argv)
    _, given.file, given.rows = files_among(given.rows, len(given.rows))
    if not given.rows:
        raise UserError("the name of a benchmark is missing: add it after the file")
    # Begin with as many pairs as a change needs: fewer cannot decide about a commit.
    return options_of(given, suite=FULL_SUITE, processes=FEWEST_OF_A_CHANGE)


@dataclass(frozen=True)
class _BisectCommand(MeasuringCommand):
    """A search for the commit; `began` is its start on the monotonic clock."""

    began: float

    command = "scripts/warpgauge bisect"

    @property
    def rows(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.options.own.rows))

    def run(self) -> ExitStatus:
        """Search, and show the result. Raises UserError."""
        commits = commit_builds.between(self.root, self.options.own.good, self.options.own.bad)
        ends = short(commits[0]), short(commits[-1])
        self.runs.mkdir(parents=True, exist_ok=True)
        paths = RunPaths(self.runs / f"bisect-{ends[0]}-{ends[1]}.json")
        before = self._before(paths)
        # The budget covers the whole search, including builds.
        options = replace(self.options, budget_s=None)
        if before is not None:
            options = replace(options, seed=before.seed)
        with self.begun(options, paths.log, resumed=before is not None) as (measuring, held):
            measuring.require_gpu(self.rows)
            if options.file is None:
                environment.provide(environment.BUILD, measuring.note)
            most = bisect.most_steps(len(commits) - 1)
            there = Journal(paths.journal)
            builds = CommitBuilds(measuring, there, commits, self.rows, kept=most)
            suite = measuring.suite_of(builds.programs(commits[0]))
            held.enter_context(self.alone_in(self.runs))
            uuid = suite.known.get("gpu_uuid", "")
            measuring = self.watched(measuring, uuid, held)
            if before is None:
                start = Start(self.rows, options.seed, str(paths.run), str(Path.cwd()), gpu=uuid)
                journal.begin(paths.journal, start)
            else:
                measuring.note(f"Continuing the search in {os.path.relpath(paths.journal)}.")
                if before.gpu != uuid:
                    raise UserError(
                        "the search was begun on another GPU: name that with --device, or remove "
                        f"{os.path.relpath(paths.journal)} to start again"
                    )
            budget_s = self.options.budget_s
            until = float("inf") if budget_s is None else self.began + budget_s
            error = ALPHA / (most * len(self.rows))
            pairs = CommitPairs(measuring, suite, builds, there, paths.folder, error, until)
            try:
                found = bisect.find(pairs)
            except KeyboardInterrupt:
                measuring.note(
                    "The builds and measurements are kept: the same command continues from there."
                )
                raise
            except UserError as fault:
                if fault.status is ExitStatus.BAD_USAGE:
                    there.remove()
                raise
            return self._concluded(found, ends, there)

    def _before(self, paths: RunPaths) -> Start | None:
        """Return the unfinished search for these rows between these commits, or None."""
        if not journal.is_begun(paths.journal):
            return None
        _, began = journal.opened(paths.journal)
        return began if began.argv == self.rows else None

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
            yield f"  The cause is one of {plural(len(one.suspects), 'commit')}:"
            yield from (f"    {self._named(commit)}" for commit in one.suspects)
        else:
            (commit,) = one.suspects
            yield f"  Slower since {self._named(commit)}"
            before = "equals GOOD" if one.before is None else str(one.before)
            yield f"  Compared with {good}: {one.slower}; the commit before it: {before}"
            yield f"  Likely cause: {'; '.join(one.causes) or 'nothing that is counted differs'}"
            yield f"  git show {short(commit)}"
            pair = shlex.join(os.path.relpath(path) for path in one.files)
            yield f"  scripts/compare.py {pair}"
        for commit, why in one.skipped.items():
            yield f"  Skipped: {self._named(commit)}: {inert(why)}"

    def _named(self, commit: str) -> str:
        told = git.require(self.root, "show", "--no-patch", "--format=%as %s", commit)
        return f"{short(commit)} {inert(told)}"
