# SPDX-License-Identifier: Apache-2.0
"""warpgauge ab: two builds of another project's Google Benchmark programs, in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from warpgauge.commands import measuring_lines
from warpgauge.commands.measuring_command import MeasuringCommand, Options, options_of
from warpgauge.commands.output import Conclusion
from warpgauge.measure import discovery, gpu_watch, machine_context, selection
from warpgauge.measure.ab_run import AbRun, Looks, Side
from warpgauge.measure.discovery import Probe, Suite
from warpgauge.measure.measuring import Measuring
from warpgauge.records.benchmark_filter import hint, matches
from warpgauge.records.model import PROGRAMS
from warpgauge.reports import view
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import foreign, inert, typed
from warpgauge.verdict import policy
from warpgauge.verdict.comparison import Comparison
from warpgauge.verdict.note import Note


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    one = _AbCommand(parse(argv), root, argv)
    # This tree is not built, so lock only the folder of runs.
    with one.alone_in(one.runs):
        return one.run()


def parse(argv: Sequence[str]) -> Options:
    """Parse `argv`. Raises UserError for bad usage."""
    given = measuring_lines.ab().parse_args(argv)
    matches(given.programs, "", "--programs")
    return options_of(given)


@dataclass(frozen=True)
class _AbCommand(MeasuringCommand):
    """The folders of base and candidate, measured in pairs."""

    command = "scripts/warpgauge ab"

    @property
    def folders(self) -> tuple[Path, Path]:
        return self.options.own.base, self.options.own.candidate

    def run(self) -> ExitStatus:
        """Check all arguments first, then measure, judge and show."""
        options, paths = self.options, self.run_paths()
        show = replace(self._show(), page=paths.report)
        paths.check(options, self.root / "baselines", paths.pair)
        gpu = gpu_watch.chosen(options.device)
        uuid = gpu.get("gpu_uuid", "")
        # Use the UUID: the index counts in NVML's order, and CUDA's may differ.
        options = replace(options, device=uuid if options.device is not None else None)
        with self.begun(options, paths.log) as (measuring, held):
            measuring = self.watched(measuring, uuid, held)
            sides = self._sides(measuring)
            suite = Suite(sides[1].binaries, Probe({}), machine_context.here(gpu))
            measuring.note(f"Measuring {suite.size} in pairs")
            status = self.in_pairs(AbRun(measuring, suite, {}), sides, paths, show, self._noted)
            measuring.tell_budget()
            return status

    def _show(self) -> Conclusion:
        """How results are judged and shown, without this project's policy. Raises UserError."""
        options, base = self.options, self.options.own.base_policy
        named = policy.load(options.policy) if options.policy is not None else None
        if named is not None and base is not None and base.exists():
            with suppress(UserError):  # the base's policy may be of an older format
                named = named.without(named.used_up(policy.load(base)))
        return self.conclusion(named, self.root / "baselines")

    def _sides(self, measuring: Measuring) -> tuple[Side, Side]:
        """Return base and candidate as selected. Raises UserError if a side has no benchmark."""
        filter, visible = self.options.filter, measuring.options.device
        environment = {gpu_watch.VARIABLE: str(visible)} if visible is not None else {}
        where = (self.folders, measuring.scratch, environment)
        measuring.provide_driver()
        found = discovery.of_folders(*where, self.options.own.programs, isolate=measuring.isolates)
        asked = [selection.chosen(programs, filter) for programs in found]
        if not any(asked):
            names = [name for side in found for one in side for name in one.names]
            raise UserError(f"no benchmark matches --filter {typed(filter)}{hint(filter, names)}")
        for folder, left in zip(self.folders, asked, strict=True):
            if not left:
                raise UserError(
                    f"{folder}: nothing matches --filter {typed(filter)}, but the other "
                    "folder has a match: nothing to compare",
                    ExitStatus.NOT_MEASURED,
                )
        commits = ({"commit": commit} if commit else {} for commit in self.options.own.commits)
        base, candidate = (
            Side(tuple(left), {PROGRAMS: _shown(folder), **commit})
            for folder, left, commit in zip(self.folders, asked, commits, strict=True)
        )
        return base, candidate

    def _noted(self, both: Looks[Comparison]) -> Comparison:
        base, candidate = (foreign(str(view.nearby(folder))) for folder in self.folders)
        words = f"Measured in pairs, programs in {base} against those in {candidate}"
        method = Note("paired_folders", f"{words}: {both.rounds}.")
        return replace(both.found, method=method)


def _shown(folder: Path) -> str:
    return inert(str(view.nearby(folder)))
