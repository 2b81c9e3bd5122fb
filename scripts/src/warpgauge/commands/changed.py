# SPDX-License-Identifier: Apache-2.0
"""warpgauge changed: the benchmarks that a change cannot have touched, without a GPU."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path

import msgspec
from rich.console import Console

from warpgauge.commands import command_lines
from warpgauge.commands.measuring_command import MeasuringCommand, options_of
from warpgauge.measure import build, discovery, manifest, progress, selection
from warpgauge.measure.measuring import Measuring
from warpgauge.measure.program_code import code_of
from warpgauge.reports.format import TERMINAL, Format
from warpgauge.reports.markdown_text import code, prose, table_head, table_row
from warpgauge.system import git, layout, streams
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.layout import Cells, Columns, print_text
from warpgauge.system.text import inert, plural
from warpgauge.verdict import policy
from warpgauge.why import changes
from warpgauge.why.changes import Changes, Programs

_FORMAT, _TITLE = "changed/1", "cannot have changed"
_HEADING = ("registers", "spills", "shared", "stack", "instructions", "occupancy")
_ABSENT = (None,) * len(_HEADING)
_MOST_KERNELS = 30  # in a table
_MOST_PARTS = 3  # of a program's host code, in a line


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    given = command_lines.changed().parse_args(argv)
    return _ChangedCommand(options_of(given, FORMATS), root, argv).compare()


@dataclass(frozen=True)
class _ChangedCommand(MeasuringCommand):
    command = "scripts/warpgauge changed"

    def compare(self) -> ExitStatus:
        """Build both sides, one after the other in one folder, and show what differs."""
        own, formats = self.options.own, self.options.formats
        formats.check(self.baselines, [])
        rules = policy.named_or_in(self.baselines, self.options.policy)
        base = git.commit_of(self.root, own.base)
        candidate = None if own.candidate is None else git.commit_of(self.root, own.candidate)
        with self.begun(logs=False) as (measuring, held):
            held.enter_context(self.alone_in(self.work))
            sides = [self._programs(measuring, commit) for commit in (base, candidate)]
            names = {name for side in sides for code in side.values() for name in code.binary.names}
            selection.required(self.options.filter, sorted(names))
            found = changes.between(_name(base), _name(candidate), *sides)
        if rules is not None:
            found = changes.limited(found, rules)
        status = ExitStatus.REGRESSION if found.beyond_policy else ExitStatus.OK
        return formats.deliver(found, status, lambda: streams.write(_plain(found)))

    def _programs(self, measuring: Measuring, commit: str | None) -> Programs:
        """Build the selected programs of a commit, or of the working tree. Raises UserError."""
        side = _name(commit)
        measuring.note(f"Building {side}")
        root = git.fill(self.work / "changed", self.root, commit)
        settings = [
            "--fresh",  # a setting that the other side left must not stay
            f"-DCMAKE_CUDA_ARCHITECTURES={self.options.own.architectures}",
            f"-DCMAKE_PROJECT_INCLUDE={self.root / '.cmake' / 'without_lines.cmake'}",
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


def _name(commit: str | None) -> str:
    return "the working tree" if commit is None else git.short(commit)


def _sentences(found: Changes, mark: Callable[[str], str]) -> Iterator[str]:
    """Yield the counts, then a line for each changed program; `mark` is for names."""
    untouched = len(found.cannot_have_changed)
    possible = sum(len(program.benchmarks) for program in found.can_have_changed)
    on = ", ".join(f"sm_{architecture}" for architecture in found.architectures)
    sides = f"{mark(found.base)} and {mark(found.candidate)}{on and f', on {on}'}"
    yield f"{untouched} of {plural(untouched + possible, 'benchmark')} {_TITLE} between {sides}."
    yield from (f"Over a limit of the policy: {mark(line)}." for line in found.beyond_policy)
    if found.new or found.removed:
        yield f"{len(found.new)} are new, {len(found.removed)} were removed."
    for program in found.can_have_changed:
        reasons = [plural(program.kernels, "kernel")] if program.kernels else []
        if program.host:
            shown = ", ".join(map(mark, program.host[:_MOST_PARTS]))
            more = len(program.host) - _MOST_PARTS
            reasons.append(f"host code ({shown}{f' and {more} more' if more > 0 else ''})")
        count = plural(len(program.benchmarks), "benchmark")
        yield f"{mark(program.name)}: {count} can have changed: {', '.join(reasons)}."
    if (more := len(found.kernels) - _MOST_KERNELS) > 0:
        yield f"{plural(more, 'changed kernel')} more than are shown; --format json has all."


def _rows(found: Changes) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield for each changed kernel its name, the cells of its row, and what differs."""
    for kernel in found.kernels[:_MOST_KERNELS]:
        before, after = (
            ["–" if value is None else str(value) for value in (astuple(use) if use else _ABSENT)]
            for use in (kernel.before, kernel.after)
        )
        pairs = zip(before, after, strict=True)
        cells = tuple(old if old == new else f"{old} → {new}" for old, new in pairs)
        name = f"{kernel.name} (sm_{kernel.architecture})"
        yield name, cells, "; ".join(kernel.lines)


def _plain(found: Changes) -> str:
    def show(console: Console) -> None:
        for sentence in _sentences(found, inert):
            print_text(console, sentence)
        rows = [(Cells(inert(name), cells), inert(words)) for name, cells, words in _rows(found)]
        if not rows:
            return
        table = [(Cells("kernel", _HEADING), ""), *rows]
        columns = Columns.fitting([cells for cells, _ in table], console.width)
        for cells, words in table:
            console.print(columns.line(cells))
            if words:
                print_text(console, words, indent=4)

    return layout.plain(show)


def _markdown(found: Changes) -> str:
    first, *others = _sentences(found, code)
    lines = [f"**{first}**", "", *(f"- {line}" for line in others), ""]
    rows = [table_row((code(name), *cells, prose(words))) for name, cells, words in _rows(found)]
    if rows:
        lines += [table_head(("kernel", *_HEADING, "what differs"), range(1, 7)).rstrip(), *rows]
    return "\n".join(lines).rstrip() + "\n"


def _json(found: Changes) -> str:
    document = {"format": _FORMAT, **msgspec.to_builtins(found)}
    return f"{msgspec.json.format(msgspec.json.encode(document), indent=1).decode()}\n"


_TEXT = re.compile(_TITLE.encode())
FORMATS: Mapping[str, Format] = {
    TERMINAL: Format(TERMINAL, _plain, "changes in plain text", _TEXT),
    "json": Format("json", _json, "JSON of changes", re.compile(f'"{_FORMAT}"'.encode())),
    "markdown": Format("markdown", _markdown, "changes in Markdown", _TEXT),
}
