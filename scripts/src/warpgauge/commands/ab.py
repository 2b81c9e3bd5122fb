# SPDX-License-Identifier: Apache-2.0
"""warpgauge ab: two builds, versions or commands of other projects, in pairs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from warpgauge.commands import measuring_lines
from warpgauge.commands.arguments import PYTHON
from warpgauge.commands.measuring_command import MeasuringCommand, Options, options_of
from warpgauge.measure import (
    any_command,
    cubins,
    discovery,
    gpu_watch,
    machine_context,
    progress,
    python_file,
    selection,
    toolkit,
)
from warpgauge.measure.ab_run import AbRun, Side
from warpgauge.measure.discovery import Probe, Suite
from warpgauge.measure.measuring import Measuring
from warpgauge.records.benchmark_filter import hint, matches
from warpgauge.records.model import PROGRAMS
from warpgauge.system import environment
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.layout import print_line
from warpgauge.system.text import foreign, inert, nearby, typed
from warpgauge.verdict import policy
from warpgauge.verdict.note import Note
from warpgauge.verdict.policy import Policy

# Libraries of programs that need no GPU.
_OF_HOST = rb"(lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|gomp|benchmark\w*)|ld-linux[\w-]*)\.so.*"


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    return _AbCommand(parse(argv), root, argv).run()


def parse(argv: Sequence[str]) -> Options:
    """Parse `argv`. Raises UserError for bad usage."""
    given = measuring_lines.ab().parse_args(argv)
    matches(given.programs, "", "--programs")
    asked = bool(given.candidate), bool(given.axis), bool(given.command)
    if sum(asked) != 1 or bool(given.base) is bool(given.command):
        raise UserError(
            "ab compares two folders of programs, or one folder with --axis, or two commands with "
            "--command"
        )
    if given.metric and not given.command:
        raise UserError("--metric is for what commands print: add --command BASE CANDIDATE")
    return options_of(given)


@dataclass(frozen=True)
class _Programs:
    """A folder of programs, its name in the report, and what its run file says of its making."""

    folder: Path
    name: str
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _AbCommand(MeasuringCommand):
    """The folders of base and candidate, measured in pairs."""

    command = "ab"

    def _asked(self, scratch: Path) -> Sequence[_Programs]:
        """The programs of each side. Raises UserError."""
        own = self.options.own
        if own.command:
            return [self._of_command(command, scratch) for command in own.command]
        folders = own.base, own.candidate
        return [_Programs(at, f"programs in {foreign(str(nearby(at)))}") for at in folders]

    def _of_axis(self, measuring: Measuring) -> Sequence[_Programs]:
        """The programs of two versions of nvcc, or with two values of another axis."""
        name, values = self.options.own.axis
        toolkit.require_axis(name, values)
        if name == toolkit.NVCC:
            environment.provide(environment.BUILD, measuring.note)
        return [self._of_version(name, value) for value in values]

    def _of_version(self, name: str, version: str) -> _Programs:
        own, shown = self.options.own, toolkit.shown(name, version)
        print_line(self.notes, f"Preparing {inert(shown)}")
        if name != toolkit.NVCC:
            folder = python_file.provide(own.base) if own.base.suffix == PYTHON else own.base
            programs = discovery.programs_in(folder, own.programs)
            variable = any_command.variable(self.work, name, version)
            made = any_command.with_variable(self.work, folder, programs, *variable)
            return _Programs(made, f"programs with {foreign(shown)}")
        with progress.build_status(self.notes) as say:
            folder, exact = toolkit.project(own.base, version, self.work, own.programs, say)
        return _Programs(folder, f"programs with {foreign(shown)}", {"nvcc_version": exact})

    def _of_command(self, command: str, scratch: Path) -> _Programs:
        print_line(self.notes, f"Running {inert(command)} once ...")
        pattern, timeout_s = self.options.own.metric or "", self.options.timeout_s
        folder = any_command.provide(self.work, command, pattern, timeout_s, scratch)
        return _Programs(folder, f"the command {foreign(command)}")

    def run(self) -> ExitStatus:
        """Check all arguments first, then measure, judge and show. This tree is not built."""
        options, _ = self.options, self.show
        self.check(self.paths.pair)
        gpu = gpu_watch.chosen(options.device)
        uuid = gpu.get("gpu_uuid", "")
        # Use the UUID: the index counts in NVML's order, and CUDA's may differ.
        options = replace(options, device=uuid if options.device is not None else None)
        with self.begun() as (measuring, held):
            if options.own.axis:
                held.enter_context(self.alone_in(self.work))
            made = self._of_axis(measuring) if options.own.axis else None
            measuring = self.ready(replace(measuring, options=options), uuid, held)
            # Commands run here, so not while another measures.
            base, candidate = made or self._asked(measuring.scratch)
            measuring = replace(measuring, folders=(base.folder, candidate.folder))
            sides = self._sides(measuring, (base, candidate))
            suite = Suite(sides[1].binaries, Probe({}), machine_context.here(gpu))
            measuring.note(f"Measuring {suite.size} in pairs")
            run = AbRun(measuring, suite, {})
            looks = self.in_pairs(run, sides, options.filter)
            words = f"Measured in pairs, {base.name} against {candidate.name}"
            method = Note("paired_folders", f"{words}: {looks.rounds}.")
            status = self.concluded(replace(looks.found, method=method), looks, run, sides)
            measuring.tell_budget()
            return status

    @property
    def rules(self) -> Policy | None:
        """The named policy; this project's own is not for programs of others."""
        named, base = self.options.policy, self.options.own.base_policy
        rules = policy.load(named) if named is not None else None
        if rules is not None and base is not None and base.exists():
            rules = rules.without(rules.used_up(policy.load(base)))
        return rules

    def _sides(self, measuring: Measuring, both: Sequence[_Programs]) -> tuple[Side, Side]:
        """Return base and candidate as selected. Raises UserError if a side has no benchmark."""
        filter, visible = self.options.filter, measuring.options.device
        variables = {gpu_watch.VARIABLE: str(visible)} if visible is not None else {}
        where = ((both[0].folder, both[1].folder), measuring.scratch, variables)
        measuring.provide_driver()
        found = discovery.of_folders(*where, self.options.own.programs, isolate=measuring.isolates)
        asked = [selection.chosen(programs, filter) for programs in found]
        sides = []
        for side, programs, left, commit in zip(
            both, found, asked, self.options.own.commits, strict=True
        ):
            if not left:
                names = [name for program in programs for name in program.names]
                near = hint(filter, names)
                fault = f"{side.folder}: no benchmark matches --filter {typed(filter)}{near}"
                status = ExitStatus.NOT_MEASURED if any(asked) else ExitStatus.BAD_USAGE
                raise UserError(fault, status)
            own = tuple(replace(it, needs_gpu=may_use_gpu(it.path)) for it in left)
            facts = {PROGRAMS: inert(str(nearby(side.folder))), **side.facts}
            sides.append(Side(own, {**facts, **({"commit": commit} if commit else {})}))
        return sides[0], sides[1]


def may_use_gpu(program: Path) -> bool:
    """Return whether a program may use CUDA, as far as its file and its libraries' names tell."""
    content = program.read_bytes() if program.exists() else b""
    sections = (section for section in cubins.sections(content) if section.name == b".dynstr")
    names = next((section.content for section in sections), None)
    if names is None or b"libcuda" in content:  # no ELF file, or CUDA's runtime is in it
        return True
    libraries = (name for name in names.split(b"\0") if b".so" in name)
    return not all(re.fullmatch(_OF_HOST, library) for library in libraries)
