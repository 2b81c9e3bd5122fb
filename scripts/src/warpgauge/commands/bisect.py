# SPDX-License-Identifier: Apache-2.0
"""warpgauge bisect: finds the commit or the version that made a benchmark slower."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path

from warpgauge.commands import measuring_lines
from warpgauge.commands.arguments import files_among
from warpgauge.commands.measuring_command import MeasuringCommand, Options, RunPaths, options_of
from warpgauge.history import bisect, commit_builds
from warpgauge.history.bisect import CommitPairs, Found
from warpgauge.history.commit_builds import Builds, CommitBuilds, VersionBuilds
from warpgauge.measure import journal, machine_context, toolkit
from warpgauge.measure.journal import Journal, Start
from warpgauge.records.names import FULL_SUITE
from warpgauge.records.sessions import FEWEST_OF_A_CHANGE
from warpgauge.statistics.error_rates import ALPHA
from warpgauge.system import environment, git
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.git import short
from warpgauge.system.layout import print_line
from warpgauge.system.text import file_name, inert, plural


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    began, options = time.monotonic(), parse(argv)
    # The budget covers the whole search, including builds.
    budget_s = options.budget_s
    until = float("inf") if budget_s is None else began + budget_s
    options = replace(options, budget_s=None)
    command = _BisectCommand(options, options.project or root, argv, until)
    with command.alone_in(command.work):
        return command.run()


def parse(argv: Sequence[str]) -> Options:
    """Parse `argv`. Raises UserError for bad usage."""
    given = measuring_lines.bisect().parse_args(argv)
    words = [word for word in (given.good, given.bad, *given.rows) if word is not None]
    given.ends = () if given.axis else tuple(words[:2])
    _, given.file, rows = files_among(words[len(given.ends) :], len(words))
    given.rows = tuple(dict.fromkeys(rows))
    if not rows:
        raise UserError("the name of a benchmark is missing: add it at the end")
    axis, versions = given.axis or ("", ())
    if axis:
        toolkit.require_axis(axis, versions, of_file=given.file is not None)
    # Begin with as many pairs as a change needs: fewer cannot decide about a commit.
    return options_of(given, suite=FULL_SUITE, processes=FEWEST_OF_A_CHANGE)


@dataclass(frozen=True)
class _BisectCommand(MeasuringCommand):
    """A search; `until` is when its budget ends, on the monotonic clock."""

    until: float

    command = "bisect"

    @cached_property
    def names(self) -> Sequence[str]:
        """The names of all builds from the good to the bad one. Raises UserError."""
        own = self.options.own
        return own.axis[1] if own.axis else commit_builds.between(self.root, *own.ends)

    @cached_property
    def paths(self) -> RunPaths:
        """The same for each search between these, so that it can go on."""
        good, bad = short(self.names[0]), short(self.names[-1])
        tree = (*self.names, machine_context.source(self.root)) if self.options.own.axis else ()
        return RunPaths(self.runs / f"{file_name(f'bisect-{good}-{bad}', *tree)}.json")

    def run(self) -> ExitStatus:
        """Search, and show the result. Raises UserError."""
        rows, paths, there = self.options.own.rows, self.paths, Journal(self.paths.journal)
        self.runs.mkdir(parents=True, exist_ok=True)
        before = journal.opened(paths.journal)[1] if journal.is_begun(paths.journal) else None
        if before is not None and before.argv != rows:
            before = None
        with self.begun(resumed=before is not None) as (measuring, held):
            if before is not None:
                measuring = replace(measuring, options=replace(self.options, seed=before.seed))
            measuring.require_gpu(rows)
            if self.options.file is None:
                environment.provide(environment.BUILD, measuring.note)
            most = bisect.most_steps(len(self.names) - 1)
            search, axis = (measuring, there, self.names, rows), self.options.own.axis
            builds: Builds = (
                VersionBuilds(*search, axis=axis[0]) if axis else CommitBuilds(*search, kept=most)
            )
            suite = measuring.suite_of(builds.programs(self.names[0]))
            uuid = suite.known.get("gpu_uuid", "")
            measuring = self.ready(measuring, uuid, held)
            if before is None:
                seed = self.options.seed
                start = Start(rows, seed, str(paths.run), str(Path.cwd()), gpu=uuid)
                journal.begin(paths.journal, start)
            else:
                measuring.note(f"Continuing the search in {os.path.relpath(paths.journal)}.")
                if before.gpu != uuid:
                    raise UserError(
                        "the search was begun on another GPU: name that with --device, or remove "
                        f"{os.path.relpath(paths.journal)} to start again"
                    )
            error = ALPHA / (most * len(rows))
            pairs = CommitPairs(measuring, suite, builds, there, paths.folder, error, self.until)
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
        certain = all(len(its.suspects) == 1 for its in found)
        if certain:
            there.remove()
        for line in chain.from_iterable(self._lines(its, builds) for its in found):
            print_line(self.results, line)
        return ExitStatus.OK if certain else ExitStatus.NOT_MEASURED

    def _lines(self, found: Found, builds: Builds) -> Iterator[str]:
        good, bad = (inert(builds.shown(self.names[at])) for at in (0, -1))
        yield f"{inert(found.row)}: {found.whole} from {good} to {bad}"
        if found.slower is None or found.files is None:
            yield f"  Not certain: {inert(found.why)}."
            yield f"  The cause is one of {plural(len(found.suspects), builds.what)}:"
            yield from (f"    {self._named(builds, name)}" for name in found.suspects)
        else:
            (name,) = found.suspects
            yield f"  Slower since {self._named(builds, name)}"
            before = "equals GOOD" if found.before is None else str(found.before)
            yield f"  Compared with {good}: {found.slower}; the {builds.what} before it: {before}"
            yield f"  Likely cause: {'; '.join(found.causes) or 'nothing that is counted differs'}"
            if not self.options.own.axis:
                yield f"  git show {short(name)}"
            pair = shlex.join(os.path.relpath(path) for path in found.files)
            yield f"  {environment.started(f'compare {pair}')}"
        for name, why in found.skipped.items():
            yield f"  Skipped: {self._named(builds, name)}: {inert(why)}"

    def _named(self, builds: Builds, name: str) -> str:
        if self.options.own.axis:
            return inert(builds.shown(name))
        subject = git.require(self.root, "show", "--no-patch", "--format=%as %s", name)
        return f"{short(name)} {inert(subject)}"
