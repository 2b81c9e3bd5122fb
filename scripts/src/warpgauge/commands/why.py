# SPDX-License-Identifier: Apache-2.0
"""warpgauge why: what made a benchmark slower than it is in another build."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from rich.console import Console

from warpgauge.commands import run_paths
from warpgauge.commands.one_gpu import Bench, waiting
from warpgauge.commands.show_results import Conclusion
from warpgauge.commands.why_options import WhyOptions, parse
from warpgauge.execution import discovery, selection
from warpgauge.execution.discovery import Binary
from warpgauge.measurement.ab_run import AbRun
from warpgauge.measurement.looks import open_rows
from warpgauge.measurement.measuring import Measuring, Suite
from warpgauge.measurement.paired import Side
from warpgauge.records import load
from warpgauge.records.benchmark_filter import hint
from warpgauge.records.model import Record
from warpgauge.reports.formats import TERMINAL
from warpgauge.system import streams, worktree
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.layout import Output
from warpgauge.system.locks import alone, of_gpu
from warpgauge.system.text import clause, typed
from warpgauge.verdict.comparison import Comparison, Outcome
from warpgauge.why import explain, reason
from warpgauge.why.explain import Measured
from warpgauge.why.reason import Reason, Reasons

_HERE = "command that measures in this tree"
_BASE = "-base.json"  # of a pair's run files, the base's


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    """Raises UserError for what the user can mend."""
    options = parse(argv)
    results = Output(stderr=options.bench.formats.shown is not TERMINAL)
    notes = Output(stderr=True)
    bench = Bench(options.bench, root, results, notes, notes)
    options.bench.formats.check(root / "baselines", [])
    with (
        tempfile.TemporaryDirectory(prefix="warpgauge-") as scratch,
        alone(bench.work, waiting(options.bench, _HERE, notes)),
    ):
        measuring = Measuring(options.bench, root, Path(scratch), notes, notes)
        found = _Why(options, measuring, bench.runs, notes).found()
    return options.bench.formats.deliver(found, lambda: streams.write(reason.plain(found)))


@dataclass(frozen=True)
class _Pair:
    """A base and a candidate that were measured in pairs, and what was found."""

    base: Record
    candidate: Record
    verdicts: Comparison

    def slowdown(self, name: str) -> float | None:
        """As 0.1 for 10 %; None where a side has no time."""
        for one in self.verdicts.verdicts:
            if one.name == name and one.change is not None:
                return one.change.ratio
        times = [record.rows[name].process_medians for record in (self.base, self.candidate)]
        before, after = (sorted(t for one in side.values() for t in one) for side in times)
        if not before or not after:
            return None
        return after[len(after) // 2] / before[len(before) // 2] - 1.0


@dataclass(frozen=True)
class _Why:
    """One invocation."""

    options: WhyOptions
    measuring: Measuring
    runs: Path
    notes: Console

    def found(self) -> Reasons:
        """The reasons of all that is asked for. Raises UserError."""
        options, measuring = self.options, self.measuring
        given = self._given()
        names = [options.name] if options.name is not None else self._flagged(given)
        if not names:
            return Reasons(())
        commit = self._commit(given)
        built = measuring.built()
        candidate = discovery.find(built.programs, measuring.scratch, measuring.options.suite)
        base = self._base(commit)
        pairs = {name: (_owner(base, name), _owner(candidate, name)) for name in names}
        try:
            suite = measuring.suite_of(list({two.path: two for _, two in pairs.values()}.values()))
        except UserError as fault:
            if fault.status is not ExitStatus.NOT_MEASURED:
                raise
            why = f"Only machine code is compared: {clause(str(fault))}."
            return Reasons(tuple(explain.by_code(name, two, why) for name, two in pairs.items()))
        with ExitStack() as held:
            wait = partial(waiting, options.bench, notes=self.notes)
            held.enter_context(alone(self.runs, wait(_HERE)))
            if uuid := suite.known.get("gpu_uuid", ""):
                held.enter_context(alone(of_gpu(uuid), wait("command that measures on this GPU")))
            reasons = [
                self._reason(name, two, given or self._measured(name, two, suite, built.source))
                for name, two in pairs.items()
            ]
        return Reasons(tuple(reasons))

    def _given(self) -> _Pair | None:
        """The pair that is named, or without a benchmark's name the newest. Raises UserError."""
        path = self.options.run
        if path is None and self.options.name is None:
            bases = self.runs.glob(f"*{_BASE}")
            pairs = [one.with_name(one.name.replace(_BASE, ".json")) for one in bases]
            path = max((one for one in pairs if one.exists()), key=_age, default=None)
            if path is None:
                raise UserError(
                    "no run of pairs is kept here: name a benchmark and --against REF, or run "
                    "scripts/bench --against REF"
                )
        if path is None:
            return None
        base = load.load(path.with_stem(f"{path.stem}-base"))
        candidate = load.load(path)
        return _Pair(base, candidate, self._judged(base, candidate))

    def _judged(self, base: Record, candidate: Record) -> Comparison:
        options = replace(self.options.bench, filter="")
        return Conclusion.of(options, None, self.notes).judged(base, candidate)

    def _flagged(self, given: _Pair | None) -> list[str]:
        verdicts = given.verdicts.verdicts if given else ()
        return [one.name for one in verdicts if one.outcome is Outcome.REGRESSION]

    def _commit(self, given: _Pair | None) -> str:
        """Of the base; "" where its programs are named. Raises UserError."""
        if self.options.base_build_dir is not None:
            return ""
        if self.options.bench.against:
            return worktree.commit_of(self.measuring.root, self.options.bench.against)
        contexts = [one.context for one in given.base.sessions.values()] if given else []
        for context in contexts:
            if commit := context.get("commit"):
                return commit
        raise UserError("against what: name --against REF, or --base-build-dir DIR")

    def _base(self, commit: str) -> Sequence[Binary]:
        folder, measuring = self.options.base_build_dir, self.measuring
        if folder is not None:
            return discovery.find(folder, measuring.scratch, measuring.options.suite)
        return measuring.of_commit(commit, "Base")

    def _measured(
        self, name: str, pair: tuple[Binary, Binary], suite: Suite, source: Mapping[str, str]
    ) -> _Pair:
        """Both sides in pairs of processes. Raises UserError."""
        self.measuring.note(f"Measuring {name} in pairs")
        base, candidate = (
            Side((one,), facts).only([name])
            for one, facts in zip(pair, ({}, dict(source)), strict=True)
        )
        paths = run_paths.named_after(self.runs, datetime.now())
        looks = AbRun(self.measuring, suite, source).compared(
            base, candidate, selection.exactly([name]), paths.pair, self._judged, open_rows
        )
        if looks.stop is not None:
            raise looks.stop
        return _Pair(looks.found.baseline, looks.found.candidate, looks.found)

    def _reason(self, name: str, pair: tuple[Binary, Binary], measured: _Pair) -> Reason:
        rows = [record.rows.get(name) for record in (measured.base, measured.candidate)]
        before, after = rows
        slowdown = None if before is None or after is None else measured.slowdown(name)
        if before is None or after is None or slowdown is None:
            fault = next((row.error for row in rows if row is not None and row.error), None)
            why = f"{name} has no time on both sides{f': {fault}' if fault else ''}."
            return explain.by_code(name, pair, why)
        found = Measured(before, after, slowdown)
        return explain.explained(name, pair, found, self.measuring, self.options.gather_s)


def _owner(binaries: Sequence[Binary], name: str) -> Binary:
    """The program of a benchmark, with that one alone. Raises UserError."""
    for binary in binaries:
        if name in binary.names:
            return replace(binary, names=(name,))
    known = [own for binary in binaries for own in binary.names]
    raise UserError(f"no benchmark is named {typed(name)}{hint(name, known)}")


def _age(path: Path) -> float:
    return path.stat().st_mtime
