# SPDX-License-Identifier: Apache-2.0
"""warpgauge changed: the benchmarks that a change cannot have touched, without a GPU."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from warpgauge.commands import command_lines
from warpgauge.commands.measuring_command import MeasuringCommand, options_of
from warpgauge.measure import build, discovery, machine_context, manifest, progress, selection
from warpgauge.measure.measuring import Measuring
from warpgauge.measure.program_code import code_of
from warpgauge.system import environment, git, streams
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.verdict import policy
from warpgauge.why import changes
from warpgauge.why.changes import FORMATS, Programs

_WORKING_TREE = "the working tree"


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    given = command_lines.changed().parse_args(argv)
    return _ChangedCommand(options_of(given, FORMATS), root, argv).compare()


@dataclass(frozen=True)
class _ChangedCommand(MeasuringCommand):
    command = "changed"

    def compare(self) -> ExitStatus:
        """Build both sides, one after the other in one folder, and show what differs."""
        own, formats = self.options.own, self.options.formats
        formats.check(self.baselines, [])
        rules = policy.named_or_in(self.baselines, self.options.policy)
        base = git.commit_of(self.root, own.base)
        tree = machine_context.source(self.root)
        candidate = tree["commit"] if tree["dirty"] == "false" else None
        if own.candidate is not None:
            candidate = git.commit_of(self.root, own.candidate)
        with self.begun(logs=False) as (measuring, held):
            held.enter_context(self.alone_in(self.work))
            environment.provide(environment.BUILD, measuring.note)
            sides = [self._programs(measuring, commit) for commit in (base, candidate)]
            names = {name for side in sides for code in side.values() for name in code.binary.names}
            selection.required(self.options.filter, sorted(names))
            found = changes.between(base, candidate or _WORKING_TREE, *sides)
        if rules is not None:
            found = changes.limited(found, rules)
        status = ExitStatus.REGRESSION if found.beyond_policy else ExitStatus.OK
        return formats.deliver(found, status, lambda: streams.write(changes.plain(found)))

    def _programs(self, measuring: Measuring, commit: str | None) -> Programs:
        """Build the selected programs of a commit, or of the working tree. Raises UserError."""
        side = git.short(commit) if commit else _WORKING_TREE
        measuring.note(f"Building {side}")
        root = git.fill(self.work / "changed", self.root, commit)
        settings = [
            *build.anew(self.root),
            f"-DCMAKE_CUDA_ARCHITECTURES={self.options.own.architectures}",
        ]
        kept = Path(tempfile.mkdtemp(dir=measuring.scratch))
        try:
            with progress.build_status(self.notes) as say:
                folder = build.build(root, "release", say, settings, self._targets)
            found = selection.chosen(measuring.found(folder), self.options.filter)
            built = {binary.path.name: binary for binary in found if binary.is_built}
            if faults := [f"{name} {own.fault}" for name, own in built.items() if own.fault]:
                raise UserError(faults[0])
            return {name: code_of(own, folder, kept / name) for name, own in built.items()}
        except (UserError, OSError) as fault:
            why = f"{side} cannot be built and read here: {fault}"
            raise UserError(why, ExitStatus.NOT_MEASURED) from fault

    def _targets(self, folder: Path) -> list[str]:
        """Return the programs that may have a benchmark of --filter."""
        programs = [discovery.unlisted(program) for program in manifest.read(folder).programs]
        may_match = partial(selection.may_match, self.options.filter)
        targets = [program.path.name for program in programs if may_match(program.family)]
        return targets or ["warpgauge_benchmarks"]
