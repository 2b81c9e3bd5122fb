# SPDX-License-Identifier: Apache-2.0
"""warpgauge explain: what a benchmark launches, and why it is slower than in another build."""

from __future__ import annotations

import os
import re
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from warpgauge.baselines import store
from warpgauge.commands import measuring_lines, output_file
from warpgauge.commands.arguments import RUN, files_among
from warpgauge.commands.measuring_command import (
    MeasuringCommand,
    Options,
    RunPaths,
    options_of,
    proved,
)
from warpgauge.commands.output_file import check_report
from warpgauge.external.program import ExternalKernels
from warpgauge.history.commit_builds import SameCode, VersionBuilds
from warpgauge.history.hunks import Answer, Cause, Hunk, RowCauses
from warpgauge.measure import discovery, journal, machine_context, selection, toolkit
from warpgauge.measure.ab_run import AbRun, Side
from warpgauge.measure.discovery import Binary
from warpgauge.measure.journal import Journal
from warpgauge.measure.measuring import Built, Measuring
from warpgauge.records import load
from warpgauge.records.benchmark_filter import hint, matches, matching
from warpgauge.records.names import FULL_SUITE
from warpgauge.records.sessions import BASE, CANDIDATE, FEWEST_OF_A_CHANGE, newest
from warpgauge.reports.format import TERMINAL, Format
from warpgauge.system import environment, git, streams
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.git import short
from warpgauge.system.locks import alone
from warpgauge.system.text import file_name, inert, listed, named, plain, typed
from warpgauge.verdict.comparison import Comparison, ContextDifference, Outcome
from warpgauge.verdict.incompatibility import newest_of
from warpgauge.why import cupti, explain, reason, trace_views
from warpgauge.why.machine_code import listing
from warpgauge.why.profiling import NCU, NSYS, Profiler, Profiling
from warpgauge.why.reason import Reason

_SHOWN = ("--sass", "--trace", "--report")  # options that show one build

_HUNKS = "hunks/1"
_JSON = re.compile(rf'"format"\s*:\s*"({reason.FORMAT}|{_HUNKS})"'.encode())
_TEXT = re.compile(rb"\A" + reason.TITLE.encode())
# The names of runs in pairs, and of those that confirm another run.
_CONFIRMING, _OF_PAIRS = "-confirm", re.compile("-(base|confirm)$")
_UNEXPLAINED = 0.05  # a share without a cause is shown from here on


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    options = parse(argv)
    command = _ExplainCommand(options, options.project or root, argv)
    return command.compare() if options.own.compares else command.profile()


def parse(argv: Sequence[str]) -> Options:
    """Parse `argv`. Raises UserError for bad usage."""
    parser = measuring_lines.explain()
    given = parser.parse_args(argv)
    given.run, given.file, names = files_among(given.what, 1)
    given.name = names[0] if names else ""  # of a file, its only benchmark
    given.external = ExternalKernels.single(given.name)
    if given.external is not None:
        given.name = given.external.cases[0].name
    matches(given.name, "", "BENCHMARK")
    given.compares = bool(given.against or given.axis or given.run or not given.what)
    if given.format and not given.compares:
        raise UserError("--format writes why a benchmark is slower: add --against or --axis")
    shown = [option for option in parser.given(given) if option in _SHOWN]
    if given.compares and shown:
        remedy = "omit --against, --axis and the run file" if given.what else "name a benchmark"
        raise UserError(f"{shown[0]} shows one build: {remedy}")
    given.base = None  # a build folder
    if given.against and Path(given.against).is_dir():
        given.base, given.against = Path(given.against), None
    if given.axis:
        axis, versions = given.axis
        builds = axis == toolkit.NVCC and given.build_dir is not None
        more = (given.against, given.base, given.run, given.hunks, given.external, builds)
        if any(more) or not given.what:
            raise UserError(
                "--axis compares this tree or a FILE.py with itself: name one benchmark, and no "
                "other base, no run, no manifest and, for nvcc, no --build-dir"
            )
        toolkit.require_axis(axis, versions, of_file=given.file is not None)
    other = (given.base, given.build_dir, given.file, given.external)
    if given.hunks and (any(other) or not given.compares):
        raise UserError(
            "--hunks puts parts of a change of this tree back, and builds them: name a benchmark "
            "of this tree or a run, and the commit before the change with --against"
        )
    if given.hunks:
        given.processes = FEWEST_OF_A_CHANGE  # fewer pairs cannot decide about a part of the change
    return options_of(given, FORMATS, suite=FULL_SUITE)


def _reports(own: Namespace, baselines: Path) -> Mapping[Path, Profiler]:
    """Return the reports to write, if they can be made and written. Raises UserError."""
    tools = {f".{tool.name}-rep": tool for tool in (NCU, NSYS)}
    if others := [path for path in own.report if path.suffix not in tools]:
        raise UserError(f"{inert(str(others[0]))} ends in none of {', '.join(tools)}")
    reports = {path: tools[path.suffix] for path in own.report}
    for path, tool in reports.items():
        check_report(path, baselines, [], tool.own, f"report of {tool.name}")
    if own.trace is not None:
        check_report(own.trace, baselines, [], trace_views.OWN, "trace of warpgauge explain")
    paths = [*own.report, *filter(None, [own.trace])]
    if len({path.resolve() for path in paths}) < len(paths):
        raise UserError("two reports would be written to one file: name another one")
    disassemblers = ("cuobjdump", "nvdisasm") if own.sass else ()
    for name in (*disassemblers, *(tool.name for tool in reports.values())):
        toolkit.tool(name)
    return reports


@dataclass(frozen=True)
class _ExplainCommand(MeasuringCommand):
    command = "explain"

    @property
    def kernels(self) -> ExternalKernels | None:
        """The kernel of a manifest, if that is what the user named."""
        external: ExternalKernels | None = self.options.own.external
        return external

    def profile(self) -> ExitStatus:
        """Run the benchmark under the requested profilers, and show what it launches."""
        own, reports = self.options.own, _reports(self.options.own, self.baselines)
        with self.begun(logs=False) as (measuring, held):
            measuring.require_gpu()
            held.enter_context(self.alone_in(self.work))
            binaries = measuring.found(self._built(measuring, [own.name]).programs)
            name = _full_name(own.name, binaries)
            binary = _owner("this build", binaries, name, measuring)
            suite = measuring.suite_of([binary])
            measuring = self.ready(measuring, suite.known.get("gpu_uuid", ""), held)
            if not binary.needs_gpu:
                raise UserError(f"{name} runs only on the host: there is nothing to profile")
            profiling = Profiling(measuring, binary, lambda: self.options.timeout_s)
            trace: Sequence[cupti.Activity] = ()
            if own.sass or own.trace or not reports:
                trace = profiling.trace(cupti.trace_library(binary.path, measuring.tree))
            if own.trace:
                context = {"benchmark": name, "gpu_name": suite.known.get("gpu_name", "")}
                _write(own.trace, trace_views.chrome_trace(trace, context), measuring)
            for path, tool in reports.items():
                _write(path, profiling.report(tool), measuring)
            if not (own.sass or own.trace or reports):
                trace_views.print_table(trace, self.results)
            if own.sass:
                kernels = cupti.kernels_in(cupti.device_of(trace))
                if not kernels:
                    raise UserError(f"{name} runs no kernel", ExitStatus.NOT_MEASURED)
                streams.write(listing(binary.path, kernels, profiling.architecture))
        return ExitStatus.OK

    def compare(self) -> ExitStatus:
        """Explain what is slower than in the other build."""
        formats, own = self.options.formats, self.options.own
        formats.check(self.baselines, [])
        found: Sequence[Reason] | Answer = Answer() if own.hunks else ()
        with self.begun(logs=False) as (measuring, held):
            held.enter_context(self.alone_in(self.work))
            try:
                given = self._given()
                names = [own.name]
                if given is not None and not own.name:
                    slower = (row for row in given.verdicts if row.outcome is Outcome.REGRESSION)
                    names = [row.name for row in slower]
                moved = self._by_environment(given) if given is not None else []
                if moved and (own.name or not names):
                    found = moved
                elif given is None or names:
                    explained = self._by_hunks if own.hunks else self._reasons
                    found = explained(measuring, held, given, names)
                else:
                    path = inert(os.path.relpath(given.candidate.path))
                    measuring.note(f"{path} found nothing slower: there is nothing to explain.")
            except SameCode:
                if not (found := self._by_environment()):
                    raise
        if isinstance(found, Answer):
            measured = not any(row.whole.fault for row in found.rows)
        else:
            measured = all(row.slowdown is not None for row in found)
        status = ExitStatus.OK if measured else ExitStatus.NOT_MEASURED
        return formats.deliver(found, status, lambda: streams.write(_plain(found)))

    def _by_hunks(
        self, measuring: Measuring, held: ExitStack, given: Comparison | None, names: Sequence[str]
    ) -> Answer:
        """Search the lines of the change that made these benchmarks slower. Raises UserError."""
        commit, tree = self._commit(given), self.tree
        here = machine_context.source(self.root)["commit"]
        for context in (its.context for its in given.candidate.sessions.values()) if given else ():
            if context.get("dirty") == "false" and (ran := context.get("commit", here)) != here:
                raise UserError(f"the run measured commit {short(ran)}: check it out first")
        measuring.require_gpu(names)
        programs = measuring.found(self._built(measuring, names).programs)
        names = [_full_name(name, programs) for name in names]
        owners = {name: _owner("this build", programs, name, measuring).path for name in names}
        suite = measuring.suite_of([its for its in programs if its.path in owners.values()])
        uuid = suite.known.get("gpu_uuid", "")
        measuring = self.ready(measuring, uuid, held)
        name = file_name(f"hunks-{short(commit)}-{short(tree)}", uuid, *names)
        there = Journal(RunPaths(self.runs / f"{name}.json").journal)
        if there.folder.exists():
            measuring.note(f"Continuing the search in {os.path.relpath(there.folder)}.")
        where = self.paths.folder, there
        try:
            found, builds = self.searched(measuring, suite, owners, commit, *where)
            self.look_into(found, builds)
        except SameCode:
            there.remove()
            raise
        if not found.following:
            there.remove()
        return found

    def _reasons(
        self, measuring: Measuring, held: ExitStack, given: Comparison | None, names: Sequence[str]
    ) -> Sequence[Reason]:
        """Build both sides, measure the benchmark unless a run is `given`, and explain."""
        axis = self.options.own.axis
        if axis:
            source = machine_context.source(self.root)
            base, candidate = self._versions(measuring, names)
        else:
            commit = self._commit(given)
            measuring.require_gpu(() if self.kernels is not None else names)
            built = self._built(measuring, names)
            candidate, source = measuring.found(built.programs), dict(built.source)
        names = [_full_name(name, candidate) for name in names]
        new = {name: _owner("this build", candidate, name, measuring) for name in names}
        if not axis:
            targets = sorted({owner.path.name for owner in new.values()})
            base = self._base(measuring, commit, targets)
        pairs = {name: (_owner("the base", base, name, measuring), new[name]) for name in names}
        suite = measuring.suite_of(list({two.path: two for _, two in pairs.values()}.values()))
        measuring = self.ready(measuring, suite.known.get("gpu_uuid", ""), held)
        if given is None:
            [(name, (one, other))] = pairs.items()
            measuring.note(f"Measuring {name} in pairs")
            sides = Side((one,), {}), Side((other,), source)
            run = AbRun(measuring, suite, source)
            looks = self.in_pairs(run, sides, selection.exactly([name]))
            if looks.stop is not None:
                raise looks.stop
            given = looks.found
        reasons = [explain.of_pairs(name, two, given, measuring) for name, two in pairs.items()]
        if not axis:
            return reasons
        differs = ContextDifference(axis[0], *(value or "empty" for value in axis[1]))
        return [explain.of_axis(its, differs, pairs[its.name], given, measuring) for its in reasons]

    def _versions(self, measuring: Measuring, names: Sequence[str]) -> list[Sequence[Binary]]:
        """Return the programs of both sides of --axis. Raises UserError."""
        axis, values = self.options.own.axis
        if self.options.build_dir is None:
            environment.provide(environment.BUILD, measuring.note)
        own = journal.scratch(measuring.scratch)
        builds = VersionBuilds(measuring, own, values, names, axis=axis)
        targets = self._targets(names) if self.options.build_dir is None else []
        return [builds.made(value, targets) for value in values]

    def _targets(self, names: Sequence[str]) -> list[str]:
        """Return the programs of these benchmarks, or nothing if they are not known."""
        families = sorted({name.partition("/")[0] for name in names})
        known = all((self.root / "benchmarks" / f"{family}.cu").exists() for family in families)
        return [f"bench_{family}" for family in families] if known else []

    def _built(self, measuring: Measuring, names: Sequence[str]) -> Built:
        """Build this tree: only the programs of `names` if nothing else is asked."""
        targets = self._targets(names) if self.options.own.hunks else []
        built = measuring.built(targets)
        if self.kernels is None:
            return built
        programs = self.kernels.provide(built.programs, measuring.scratch / CANDIDATE)
        return Built(programs, self.kernels.source(measuring))

    def _given(self) -> Comparison | None:
        """Return the comparison of the given run, or of the newest in pairs if nothing is named.

        Raises UserError.
        """
        own = self.options.own
        if own.run is not None:
            runs = [RunPaths(own.run).pair, RunPaths(own.run).confirming]
        elif own.what:
            return None
        else:
            bases = self.runs.glob(f"*-base{RUN}")
            runs = [(base, base.with_name(base.name.replace("-base", ""))) for base in bases]
        pairs = [two for two in runs if all(path.exists() for path in two)]
        if not pairs:
            what = f"{own.run} has no base beside it" if own.run else "there is no run in pairs yet"
            if own.run is not None:
                load.load(own.run)  # raises for a fault of its own
            raise SameCode(f"{what}: name a benchmark, and compare with --against REF")
        newest = max(pairs, key=lambda two: two[1].stat().st_mtime)
        return self.show.judged(*map(load.load, newest))

    def _by_environment(self, pairs: Comparison | None = None) -> list[Reason]:
        """Return why a run is slower than its baseline, where the source is not the cause.

        That is where the `pairs` that confirmed the run are not slower; without pairs, where the
        baseline is of the same source.
        """
        own = self.options.own
        if pairs is not None:
            path = pairs.candidate.path
            screened = path.with_stem(path.stem.removesuffix(_CONFIRMING))
            paths = [screened] if path != screened and screened.exists() else []
        else:
            every = (run for run in self.runs.glob(f"*{RUN}") if not _OF_PAIRS.search(run.stem))
            paths = [own.run] if own.run else sorted(every)[-1:]
        run = load.load(paths[0]) if paths else None
        baseline = store.of_run(self.baselines, run) if run else None
        if run is None or baseline is None:
            return []
        commits = {newest(run).context.get("commit", "")}
        if own.against:
            here = machine_context.source(self.root)["commit"]
            both = {git.commit_of(self.root, own.against), here}
            commits = both if commits <= both else set()
        equal = (Outcome.PASS, Outcome.IMPROVED)
        passed = {row.name for row in pairs.verdicts if row.outcome in equal} if pairs else ()
        words = [str(own.file)] if own.file else []
        found = []
        for row in self.show.judged(baseline, run).verdicts:
            if row.outcome is not Outcome.REGRESSION or not matching(own.name, [row.name]):
                continue
            base = newest_of(baseline.rows[row.name], baseline.sessions)
            candidate = newest_of(run.rows[row.name], run.sessions)
            contexts = base.context, candidate.context
            changed = any(it.get("dirty") == "true" or it.get("inject") for it in contexts)
            same = not changed and base.context.get("commit", "") in commits - {""}
            if row.name in passed or (pairs is None and same):
                line = [*words, row.name]
                found.append(explain.by_environment(row, base, candidate, line, bool(pairs)))
        return found

    def _commit(self, given: Comparison | None) -> str:
        """Return the base's commit; "" if it is a folder. Raises UserError."""
        options = self.options
        if options.own.base is not None:
            discovery.programs_of(options.own.base)  # before a build that takes minutes
            return ""
        if options.against:
            root = self.kernels.path.absolute().parent if self.kernels else self.root
            asked = git.commit_of(root, options.against)
            if machine_context.source(root) == {"commit": asked, "dirty": "false"}:
                raise SameCode(f"commit {short(asked)} is this tree: name an earlier one")
            return asked
        for session in given.baseline.sessions.values() if given else ():
            if commit := session.context.get("commit"):
                return commit
        raise UserError("the run file names no commit of its base: add --against REF")

    def _base(self, measuring: Measuring, commit: str, targets: Sequence[str]) -> Sequence[Binary]:
        """Return the base's programs; of a commit only `targets` if possible. Raises UserError."""
        if self.options.own.base is not None:
            return measuring.found(self.options.own.base)
        if self.kernels is not None:  # of its manifest in the commit
            folder, work = self.kernels.path.absolute().parent, measuring.root / "build"
            with alone(work / "external" / "base"):
                there = git.check_out(folder, commit, work=work / "external")
            path = there / self.kernels.path.name
            measuring.note(f"Base: commit {short(commit)}, {os.path.relpath(path)}")
            old = ExternalKernels.single(f"{path}:{self.kernels.cases[0].short_name}")
            assert old is not None
            here = self.options.build_dir or work / "release"
            return measuring.found(old.provide(here, measuring.scratch / BASE))
        try:
            return measuring.of_commit(commit, "Base", targets=targets)
        except UserError:  # other programs may have had the benchmarks then
            return measuring.of_commit(commit, "Base")


def _write(path: Path, content: bytes, measuring: Measuring) -> None:
    output_file.write(path, content)
    if not output_file.is_stream(path):
        measuring.note(f"written: {os.path.relpath(path)}")


def _full_name(name: str, binaries: Sequence[Binary]) -> str:
    """Return the only benchmark in whose name `name` is found; itself if none. Raises UserError."""
    names = [own for binary in binaries for own in binary.names]
    found = [name] if name in names else matching(name, names, "BENCHMARK")
    if len(found) > 1:
        raise UserError(f"{typed(name)} matches {named(found)}: name only one")
    return found[0] if found else name


def _owner(side: str, binaries: Sequence[Binary], name: str, measuring: Measuring) -> Binary:
    """Return a benchmark's program, with only that benchmark. Raises UserError."""
    for binary in binaries:
        if name in binary.names:
            return replace(binary, names=(name,))
    family = name.partition("/")[0]
    likely = [binary for binary in binaries if binary.family == family] or binaries
    measuring.require_built(likely)
    if faults := [f"{binary.path.name} {binary.fault}" for binary in likely if binary.fault]:
        raise UserError(f"{side} may have {typed(name)}: {faults[0]}", ExitStatus.NOT_MEASURED)
    known = [own for binary in binaries for own in binary.names]
    raise UserError(f"{side} has no benchmark named {typed(name)}{hint(name, known)}")


def _hunk_lines(found: Answer) -> Iterator[str]:
    yield f"{reason.TITLE} than in {found.base}"
    rows = sorted(found.rows, key=lambda row: -row.whole.change)
    by_hunks: dict[tuple[Hunk, ...], list[tuple[RowCauses, Cause]]] = {}
    for row in rows:
        for cause in row.causes:
            by_hunks.setdefault(cause.hunks, []).append((row, cause))
    for both in by_hunks.values():
        yield ""
        first = proved(both[0][1])
        yield plain(first.head)
        yield from (f"  {line}" for line in first.lines)
        for row, own in both:
            note = own.note and f" ({own.note})"
            yield f"  {row.name} {row.whole}: {proved(own).size} of it{note}"
        yield from (row.did for row, own in both if row.did and own == row.largest)
    others = [line for row in rows if (line := _rest(row))]
    yield from ["", *others] if others else []
    yield from (f"In all: {words}" for words in found.code)
    if found.left_out:
        yield f"Left out, because these programs are not built from it: {listed(found.left_out)}"
    if found.stopped:
        following = listed([hunk.place for hunk in found.following])
        more = f". The same command goes on, with {following} put back" if following else ""
        yield f"Stopped: {found.stopped}{more}"
    for back, fault in found.broken:
        places = [hunk.place for hunk in back]
        yield f"With {listed(places)} put back, {fault}"


def _rest(row: RowCauses) -> str:
    """What is to be said of a row beside its causes, if anything."""
    if row.whole.is_slower:
        left = row.unexplained
        facts = [f"{100 * left:.0f} % is unexplained"] if left > _UNEXPLAINED else []
        facts += ["its kernels are equal on both sides"] if row.whole.same_kernels else []
        return f"{row.name}: {'; '.join(facts)}" if facts else ""
    words = "is not slower" if row.whole.is_no_slower else "may or may not be slower"
    return f"{row.name} {words if not row.whole.fault else 'is not compared'}: {row.whole}"


def _hunk_document(found: Answer) -> str:
    rows = [
        {
            **msgspec.to_builtins(row),
            "causes": [
                {
                    **msgspec.to_builtins(cause),
                    "places": [hunk.place for hunk in cause.hunks],
                    "words": [hunk.words for hunk in cause.hunks],
                }
                for cause in row.causes
            ],
            "unexplained": row.unexplained,
        }
        for row in found.rows
    ]
    content = {"format": _HUNKS, **msgspec.to_builtins(found), "rows": rows}
    return f"{msgspec.json.format(msgspec.json.encode(content), indent=1).decode()}\n"


def _plain(found: Sequence[Reason] | Answer) -> str:
    if isinstance(found, Answer):
        return "\n".join([*map(inert, _hunk_lines(found)), ""])
    return reason.plain(found)


def _document(found: Sequence[Reason] | Answer) -> str:
    return _hunk_document(found) if isinstance(found, Answer) else reason.document(found)


FORMATS: Mapping[str, Format] = {
    TERMINAL: Format(TERMINAL, _plain, "reasons in plain text", _TEXT),
    "json": Format("json", _document, "JSON of reasons", _JSON),
}
