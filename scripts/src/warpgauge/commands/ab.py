# SPDX-License-Identifier: Apache-2.0
"""warpgauge ab: two builds, environments or commands of other projects, in pairs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    python_file,
    selection,
)
from warpgauge.measure.ab_run import AbRun, Side
from warpgauge.measure.discovery import Probe, Suite
from warpgauge.measure.measuring import Measuring
from warpgauge.records.benchmark_filter import hint, matches
from warpgauge.records.model import PROGRAMS
from warpgauge.reports import view
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.layout import print_line
from warpgauge.system.text import foreign, inert, typed
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
    asked = bool(given.candidate), bool(given.env), bool(given.command)
    if sum(asked) != 1 or bool(given.base) is bool(given.command):
        raise UserError(
            "ab compares two folders of programs, or one folder with --env, or two commands with "
            "--command"
        )
    if given.metric and not given.command:
        raise UserError("--metric is for what commands print: add --command BASE CANDIDATE")
    return options_of(given)


@dataclass(frozen=True)
class _AbCommand(MeasuringCommand):
    """The folders of base and candidate, measured in pairs."""

    command = "scripts/warpgauge ab"

    def _asked(self, scratch: Path) -> Sequence[tuple[Path, str]]:
        """The folder with the programs of each side, and its name. Raises UserError."""
        own = self.options.own
        if own.command:
            return [
                (self._folder_of(command, scratch), f"the command {foreign(command)}")
                for command in own.command
            ]
        if own.env:
            folder = python_file.provide(own.base) if own.base.suffix == PYTHON else own.base
            programs = discovery.programs_in(folder, own.programs)
            return [
                (
                    any_command.with_variable(self.work, folder, programs, name, value),
                    f"programs with {foreign(f'{name}={value}')}",
                )
                for name, value in own.env
            ]
        folders = own.base, own.candidate
        return [(folder, f"programs in {foreign(str(view.nearby(folder)))}") for folder in folders]

    def _folder_of(self, command: str, scratch: Path) -> Path:
        print_line(self.notes, f"Running {inert(command)} once ...")
        pattern, timeout_s = self.options.own.metric or "", self.options.timeout_s
        return any_command.provide(self.work, command, pattern, timeout_s, scratch)

    def run(self) -> ExitStatus:
        """Check all arguments first, then measure, judge and show. This tree is not built."""
        options, _ = self.options, self.show
        self.check(self.paths.pair)
        gpu = gpu_watch.chosen(options.device)
        uuid = gpu.get("gpu_uuid", "")
        # Use the UUID: the index counts in NVML's order, and CUDA's may differ.
        options = replace(options, device=uuid if options.device is not None else None)
        with self.begun() as (measuring, held):
            measuring = self.ready(replace(measuring, options=options), uuid, held)
            # Commands run here, so not while another measures.
            (first, base), (second, candidate) = self._asked(measuring.scratch)
            measuring = replace(measuring, folders=(first, second))
            sides = self._sides(measuring)
            suite = Suite(sides[1].binaries, Probe({}), machine_context.here(gpu))
            measuring.note(f"Measuring {suite.size} in pairs")
            run = AbRun(measuring, suite, {})
            looks = self.in_pairs(run, sides, options.filter)
            words = f"Measured in pairs, {base} against {candidate}"
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

    def _sides(self, measuring: Measuring) -> tuple[Side, Side]:
        """Return base and candidate as selected. Raises UserError if a side has no benchmark."""
        filter, visible = self.options.filter, measuring.options.device
        environment = {gpu_watch.VARIABLE: str(visible)} if visible is not None else {}
        folders = measuring.folders[0], measuring.folders[1]
        where = (folders, measuring.scratch, environment)
        measuring.provide_driver()
        found = discovery.of_folders(*where, self.options.own.programs, isolate=measuring.isolates)
        asked = [selection.chosen(programs, filter) for programs in found]
        sides = []
        for folder, programs, left, commit in zip(
            folders, found, asked, self.options.own.commits, strict=True
        ):
            if not left:
                names = [name for program in programs for name in program.names]
                near = hint(filter, names)
                fault = f"{folder}: no benchmark matches --filter {typed(filter)}{near}"
                status = ExitStatus.NOT_MEASURED if any(asked) else ExitStatus.BAD_USAGE
                raise UserError(fault, status)
            own = tuple(replace(it, needs_gpu=may_use_gpu(it.path)) for it in left)
            facts = {PROGRAMS: inert(str(view.nearby(folder)))}
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
