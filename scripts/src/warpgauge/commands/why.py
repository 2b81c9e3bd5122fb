# SPDX-License-Identifier: Apache-2.0
"""warpgauge why: finds the reason why a benchmark is slower than in another build."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from warpgauge.commands import measuring_lines
from warpgauge.commands.arguments import (
    FILE,
    MANIFEST,
    contradiction,
    file_among,
    refuse_together,
)
from warpgauge.commands.measuring_command import MeasuringCommand, Options, options_of
from warpgauge.external.program import ExternalKernels
from warpgauge.measure import selection
from warpgauge.measure.ab_run import AbRun, Side, open_rows
from warpgauge.measure.discovery import Binary, Suite
from warpgauge.measure.measuring import Built, Measuring
from warpgauge.records import load
from warpgauge.records.benchmark_filter import hint
from warpgauge.records.model import Record
from warpgauge.records.names import FULL_SUITE
from warpgauge.records.sessions import BASE, CANDIDATE
from warpgauge.reports.format import TERMINAL, Format
from warpgauge.system import git, process, streams
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.git import short
from warpgauge.system.locks import alone
from warpgauge.system.text import clause, typed
from warpgauge.verdict.comparison import Comparison, Outcome
from warpgauge.why import explain, reason
from warpgauge.why.explain import Measured
from warpgauge.why.reason import Reason

_BASE = "-base.json"  # suffix of the base's run file

_TITLE = reason.TITLE.encode()
_JSON = rb'"format"\s*:\s*"' + re.escape(reason.FORMAT.encode())
_TEXTS = (
    Format(TERMINAL, reason.plain, "reasons in plain text", re.compile(rb"\A" + _TITLE)),
    Format("markdown", reason.markdown, "Markdown of reasons", re.compile(rb"\A### " + _TITLE)),
    Format("json", reason.document, "JSON of reasons", re.compile(_JSON)),
)
FORMATS: Mapping[str, Format] = {one.name: one for one in _TEXTS}


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    options = parse(argv)
    one = MeasuringCommand(options, options.project or root, argv)
    formats = options.formats
    formats.check(one.root / "baselines", [])
    with one.begun(options) as (measuring, held):
        held.enter_context(one.alone_in(one.work))
        found = _Why(one, options, measuring).found()
    measured = bool(found) and all(one.slowdown is not None for one in found)
    status = ExitStatus.OK if measured else ExitStatus.NOT_MEASURED
    return formats.deliver(found, status, lambda: streams.write(reason.plain(found)))


def parse(argv: Sequence[str]) -> Options:
    """Parse `argv`. Raises UserError for bad usage."""
    parser = measuring_lines.why()
    given = parser.parse_args(argv)
    given.file, names = file_among(given.name, 1)
    given.name = names[0] if names else None
    given.external = ExternalKernels.single(given.name or "")
    if given.external is not None:
        given.name = given.external.cases[0].name
    if given.base_build_dir is not None and (given.file or given.external):
        what = f"a manifest (*{MANIFEST})" if given.external else FILE
        raise contradiction(what, "--base-build-dir")
    refuse_together(parser.given(given), "--against", "--base-build-dir")
    refuse_together(parser.given(given), "--budget", "--processes")
    return options_of(given, FORMATS, suite=FULL_SUITE)


@dataclass(frozen=True)
class _Pair:
    """A base and a candidate that were measured in pairs, and their comparison."""

    base: Record
    candidate: Record
    verdicts: Comparison

    def measured(self, name: str) -> Measured | None:
        """Return what was measured; None if a side has no time."""
        sides = self.base.rows[name], self.candidate.rows[name]
        for one in self.verdicts.verdicts:
            if one.name == name and one.change is not None:
                return Measured(*sides, one.change.ratio, not one.change.low > 0.0)
        times = (sorted(chain.from_iterable(row.process_medians.values())) for row in sides)
        before, after = (each[len(each) // 2] if each else None for each in times)
        return Measured(*sides, after / before - 1.0, True) if before and after else None


@dataclass(frozen=True)
class _Why:
    command: MeasuringCommand
    options: Options
    measuring: Measuring

    @property
    def kernels(self) -> ExternalKernels | None:
        """The kernel of a manifest, if that is what the user named."""
        external: ExternalKernels | None = self.options.own.external
        return external

    def found(self) -> Sequence[Reason]:
        options, measuring = self.options, self.measuring
        given = self._given()
        verdicts = given.verdicts.verdicts if given else ()
        flagged = [one.name for one in verdicts if one.outcome is Outcome.REGRESSION]
        names = flagged if options.own.name is None else [options.own.name]
        if not names:
            measuring.note("The newest run of pairs found nothing slower: name a benchmark.")
            return ()
        commit = self._commit(given)
        if self.kernels is not None:
            measuring.require_gpu()
        here = measuring.built(self._targets(names))
        built = here if self.kernels is None else self._built(self.kernels, here)
        candidate = measuring.found(built.programs)
        new = {name: _owner("this build", candidate, name) for name in names}
        if self.kernels is None:
            base = self._base(commit, sorted({owner.path.name for owner in new.values()}))
        else:
            base = self._base_of(self.kernels, commit, here)
        pairs = {name: (_owner("the base", base, name), new[name]) for name in names}
        try:
            suite = measuring.suite_of(list({two.path: two for _, two in pairs.values()}.values()))
        except UserError as fault:
            if fault.status is not ExitStatus.NOT_MEASURED or self.kernels is not None:
                raise
            told = clause(str(fault))
            why = f"{told[:1].upper()}{told[1:]}. Only the machine code can be compared."
            return [explain.by_code(name, two, why) for name, two in pairs.items()]
        with ExitStack() as held:
            held.enter_context(self.command.alone_in(self.command.runs))
            held.enter_context(self.command.alone_on(suite.known.get("gpu_uuid", "")))
            reasons = [
                self._reason(name, two, given or self._measured(name, two, suite, built.source))
                for name, two in pairs.items()
            ]
        if given is None:
            measuring.tell_budget()
        return reasons

    def _targets(self, names: Sequence[str]) -> Sequence[str]:
        """Return the programs to build: without a GPU, nothing is traced, so those of `names`."""
        families = {name.partition("/")[0] for name in names}
        sources = [self.measuring.root / "benchmarks" / f"{family}.cu" for family in families]
        if process.has_gpu() or not all(source.exists() for source in sources):
            return ()
        return sorted(f"bench_{family}" for family in families)

    def _given(self) -> _Pair | None:
        """Return the given pair, or the newest if no benchmark is named. Raises UserError."""
        path = self.options.own.run
        if path is None and self.options.own.name is None:
            bases = self.command.runs.glob(f"*{_BASE}")
            pairs = [one.with_name(one.name.replace(_BASE, ".json")) for one in bases]
            there = [one for one in pairs if one.exists()]
            path = max(there, key=lambda one: one.stat().st_mtime, default=None)
            if path is None:
                raise UserError(
                    "there is no run of pairs yet: name a benchmark and --against REF, or run "
                    "scripts/bench --against REF"
                )
        if path is None:
            return None
        base = load.load(path.with_stem(f"{path.stem}-base"))
        candidate = load.load(path)
        return _Pair(base, candidate, self._judged(base, candidate))

    def _judged(self, base: Record, candidate: Record) -> Comparison:
        return self.command.conclusion(None, self.command.root).judged(base, candidate)

    def _commit(self, given: _Pair | None) -> str:
        """Return the base's commit; "" with --base-build-dir. Raises UserError."""
        if self.options.own.base_build_dir is not None:
            return ""
        if self.options.against:
            kernels = self.kernels
            root = kernels.path.absolute().parent if kernels else self.measuring.root
            return git.commit_of(root, self.options.against)
        contexts = [one.context for one in given.base.sessions.values()] if given else []
        for context in contexts:
            if commit := context.get("commit"):
                return commit
        raise UserError("nothing to compare with: give --against REF or --base-build-dir DIR")

    def _base(self, commit: str, targets: Sequence[str]) -> Sequence[Binary]:
        """Return the base's programs; of a commit only `targets` if possible. Raises UserError."""
        folder, measuring = self.options.own.base_build_dir, self.measuring
        if folder is not None:
            return measuring.found(folder)
        try:
            return measuring.of_commit(commit, "Base", targets=targets)
        except UserError:  # other programs may have had the benchmarks then
            return measuring.of_commit(commit, "Base")

    def _built(self, kernels: ExternalKernels, here: Built) -> Built:
        """Return the program of this build with the kernels as they are. Raises UserError."""
        programs = kernels.provide(here.programs, self.measuring.scratch / CANDIDATE)
        return Built(programs, kernels.source(self.measuring))

    def _base_of(self, kernels: ExternalKernels, commit: str, here: Built) -> Sequence[Binary]:
        """Return the program with the kernels of a commit of their manifest. Raises UserError."""
        folder, measuring = kernels.path.absolute().parent, self.measuring
        work = measuring.root / "build" / "external"
        with alone(work / "base"):
            there = git.check_out(folder, commit, work=work) / kernels.path.name
        measuring.note(f"Base: commit {short(commit)}, {os.path.relpath(there)}")
        old = ExternalKernels.single(f"{there}:{kernels.cases[0].short_name}")
        assert old is not None
        return measuring.found(old.provide(here.programs, measuring.scratch / BASE))

    def _measured(
        self, name: str, pair: tuple[Binary, Binary], suite: Suite, source: Mapping[str, str]
    ) -> _Pair:
        """Measure both sides in pairs of processes. Raises UserError."""
        self.measuring.note(f"Measuring {name} in pairs")
        base, candidate = (
            Side((one,), facts).only([name])
            for one, facts in zip(pair, ({}, dict(source)), strict=True)
        )
        paths = self.command.run_paths()
        looks = AbRun(self.measuring, suite, source).compared(
            base, candidate, selection.exactly([name]), paths.pair, self._judged, open_rows
        )
        if looks.stop is not None:
            raise looks.stop
        return _Pair(looks.found.baseline, looks.found.candidate, looks.found)

    def _reason(self, name: str, pair: tuple[Binary, Binary], measured: _Pair) -> Reason:
        rows = [record.rows.get(name) for record in (measured.base, measured.candidate)]
        found = measured.measured(name) if all(rows) else None
        if found is None:
            fault = next((row.error for row in rows if row is not None and row.error), None)
            why = f"{name} has no time on both sides{(f': {fault}' if fault else '')}."
            if self.kernels is not None:  # both sides are of the same program
                return Reason(name, missing=(why,))
            return explain.by_code(name, pair, why)
        return explain.explained(name, pair, found, self.measuring, self.options.own.gather_s)


def _owner(side: str, binaries: Sequence[Binary], name: str) -> Binary:
    """Return a benchmark's program, with only that benchmark. Raises UserError."""
    for binary in binaries:
        if name in binary.names:
            return replace(binary, names=(name,))
    if faults := [f"{one.path.name} {one.fault}" for one in binaries if one.fault is not None]:
        raise UserError(f"{side} may have {typed(name)}: {faults[0]}", ExitStatus.NOT_MEASURED)
    known = [own for binary in binaries for own in binary.names]
    raise UserError(f"{side} has no benchmark named {typed(name)}{hint(name, known)}")
