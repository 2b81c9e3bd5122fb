# SPDX-License-Identifier: Apache-2.0
"""What two builds have in common: benchmarks that cannot have changed, and kernels that did.

A benchmark cannot have changed if the host code of its program is equal, and every kernel in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from msgspec.structs import replace
from rich.console import Console

from warpgauge.measure.program_code import ProgramCode
from warpgauge.reports.format import TERMINAL, Format
from warpgauge.reports.formats.json import written
from warpgauge.reports.markdown_text import code, prose, table_head, table_row
from warpgauge.system import contract, git, layout
from warpgauge.system.layout import Cells, Columns, print_text
from warpgauge.system.location import Place, parsed, text_of
from warpgauge.system.text import inert, plural, quoted
from warpgauge.verdict.policy import Policy
from warpgauge.why import code_change, machine_code
from warpgauge.why.cupti import readable

Programs = Mapping[str, ProgramCode]  # by name
_MOST_KERNELS = 30  # that are explained, which takes up to a second each, and in a table
_TITLE = "cannot have changed"
_HEADING = ("registers", "spills", "shared", "stack", "instructions", "occupancy")
_ABSENT = (None,) * len(_HEADING)
_MOST_PARTS = 3  # of a program's host code, in a line
_Key = tuple[int, str]  # architecture and stable name of a kernel


@dataclass(frozen=True)
class Use:
    """What a kernel needs: registers and bytes, and its instructions, of which some spill."""

    registers: int
    spills: int
    shared_bytes: int
    stack_bytes: int
    instructions: int
    occupancy: float | None = None  # the largest share of an SM's warps that this permits


@dataclass(frozen=True)
class KernelChange:
    """A kernel of these programs that differs; a side that does not have it is None."""

    name: str  # as in its source
    architecture: int
    programs: tuple[str, ...]
    before: Use | None
    after: Use | None
    lines: tuple[str, ...] = ()  # what differs, the most important first


@dataclass(frozen=True)
class ProgramChange:
    """A program with benchmarks that can have changed: the parts of its code that differ."""

    name: str
    benchmarks: tuple[str, ...]
    host: tuple[str, ...]  # object files and the like
    kernels: int


class Changes(contract.Document, frozen=True, tag="changed/1"):
    """The benchmarks of two builds by what can have happened to them, and the reasons."""

    base: str  # a full commit, or that it is the working tree
    candidate: str
    architectures: tuple[int, ...]
    cannot_have_changed: tuple[str, ...]
    can_have_changed: tuple[ProgramChange, ...]
    new: tuple[str, ...]
    removed: tuple[str, ...]
    kernels: tuple[KernelChange, ...]
    beyond_policy: tuple[str, ...] = ()  # a sentence for each kernel that takes too much


def limited(found: Changes, policy: Policy) -> Changes:
    """Return the changes with what exceeds the policy's limits on resources, and did not before."""
    beyond = [
        f"{kernel.name} (sm_{kernel.architecture}) has {excess}: "
        f"{policy.name}, {pin.kind} entry {pin.number} ({pin.reason or pin.pattern.pattern})"
        for kernel in found.kernels
        for pin in policy.pins
        if not pin.architectures or f"sm_{kernel.architecture}" in pin.architectures
        if pin.pattern.search(kernel.name)
        for excess in pin.exceeded(kernel.before, kernel.after)
    ]
    return replace(found, beyond_policy=tuple(beyond))


def between(base: str, candidate: str, before: Programs, after: Programs) -> Changes:
    """Compare the programs of two builds, which have these names."""
    names = [
        {name for code in side.values() for name in code.binary.names} for side in (before, after)
    ]
    # A new program has kernels, too, which a policy may limit.
    nothing = {name: ProgramCode(code.binary, {}, {}, ()) for name, code in after.items()}
    added, before = after.keys() - before.keys(), {**nothing, **before}
    cannot: list[str] = []
    changed: list[ProgramChange] = []
    kernels: dict[_Key, list[str]] = {}  # that differ, with their programs
    for program, new in sorted(after.items()):
        own = [name for name in new.binary.names if name in names[0]]
        old = before[program]
        host, differ = _difference(old, new)
        if program in added:
            host = ("a new program",)
        for key in differ:
            kernels.setdefault(key, []).append(program)
        if not host and not differ:
            cannot += (name for name in own if name in old.binary.names)
            own = [name for name in own if name not in old.binary.names]
        if own:
            changed.append(ProgramChange(program, tuple(own), host, len({n for _, n in differ})))
    return Changes(
        base,
        candidate,
        tuple(sorted({architecture for code in after.values() for architecture in code.kernels})),
        tuple(cannot),
        tuple(changed),
        tuple(sorted(names[1] - names[0])),
        tuple(sorted(names[0] - names[1])),
        tuple(_explained(kernels, before, after)),
    )


def _difference(old: ProgramCode, new: ProgramCode) -> tuple[tuple[str, ...], list[_Key]]:
    """Return the parts of the host's code and the kernels that differ."""
    parts = {**old.host, **new.host}
    host = tuple(part for part in parts if old.host.get(part) != new.host.get(part))
    sides = [
        {
            (architecture, name): kernel
            for architecture, own in code.kernels.items()
            for name, kernel in own.items()
        }
        for code in (old, new)
    ]
    both = sorted({**sides[0], **sides[1]})
    return host, [key for key in both if sides[0].get(key) != sides[1].get(key)]


def _explained(
    kernels: Mapping[_Key, Sequence[str]], before: Programs, after: Programs
) -> Iterator[KernelChange]:
    """Yield the kernels that differ, which are in the programs named."""
    first = {programs[0] for programs in kernels.values()}
    sides = [
        {program: _codes(side[program], kernels) for program in first} for side in (before, after)
    ]
    for number, (key, programs) in enumerate(kernels.items()):
        old, new = (side[programs[0]].get(key) for side in sides)
        lines: Sequence[str] = ()
        if old and new and number < _MOST_KERNELS:
            lines = code_change.changed(old, new).lines()
        uses = (_use(before, key, programs[0], old), _use(after, key, programs[0], new))
        name = next((code.name for code in (new, old) if code), key[1])
        yield KernelChange(readable(name), key[0], tuple(programs), *uses, tuple(lines))


def _codes(program: ProgramCode, keys: Collection[_Key]) -> dict[_Key, machine_code.Kernel]:
    """Return the instructions of these kernels, as far as the program has them."""
    found: dict[_Key, machine_code.Kernel] = {}
    for cubin in program.cubins:
        names = {name for architecture, name in keys if architecture == cubin.architecture}
        for name, kernel in machine_code.disassembled(cubin, names).items():
            found.setdefault((cubin.architecture, name), kernel)
    return found


def _use(side: Programs, key: _Key, program: str, code: machine_code.Kernel | None) -> Use | None:
    kernel = side[program].kernels.get(key[0], {}).get(key[1])
    if kernel is None:
        return None
    own = code.code if code else ()
    spills = sum(instruction.is_spill for instruction in own)
    return Use(kernel.registers, spills, kernel.shared, kernel.stack, len(own), kernel.occupancy)


def read(path: Path, base: str, candidate: str) -> Changes:
    """Return the changes between these commits from a file. Raises UserError if it has others."""
    place, remedy = Place(path), "write it with warpgauge changed BASE HEAD --format json=FILE"
    found = contract.decoded(parsed(place, text_of(place), remedy), Changes, place, remedy)
    for side, its, wanted in (
        ("base", found.base, base),
        ("candidate", found.candidate, candidate),
    ):
        if its != wanted:
            raise place.error(f"its {side} is {quoted(_side(its))}, not {_side(wanted)}", remedy)
    return found


def _side(commit: str) -> str:
    return git.short(commit) if git.is_full(commit) else commit


def _sentences(found: Changes, mark: Callable[[str], str], most: int) -> Iterator[str]:
    """Yield the counts, then a line for each changed program.

    `mark` is for names, `most` the number of kernels that are shown.
    """
    untouched = len(found.cannot_have_changed)
    possible = sum(len(program.benchmarks) for program in found.can_have_changed)
    on = ", ".join(f"sm_{architecture}" for architecture in found.architectures)
    sides = f"{mark(_side(found.base))} and {mark(_side(found.candidate))}{on and f', on {on}'}"
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
    if (more := len(found.kernels) - most) > 0:
        yield f"{plural(more, 'changed kernel')} more than are shown; --format json has all."


def _rows(found: Changes, most: int) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield for each changed kernel its name, the cells of its row, and what differs."""
    for kernel in found.kernels[:most]:
        before, after = (
            ["–" if value is None else str(value) for value in (astuple(use) if use else _ABSENT)]
            for use in (kernel.before, kernel.after)
        )
        pairs = zip(before, after, strict=True)
        cells = tuple(old if old == new else f"{old} → {new}" for old, new in pairs)
        name = f"{kernel.name} (sm_{kernel.architecture})"
        yield name, cells, "; ".join(kernel.lines)


def plain(found: Changes) -> str:
    def show(console: Console) -> None:
        for sentence in _sentences(found, inert, _MOST_KERNELS):
            print_text(console, sentence)
        every = _rows(found, _MOST_KERNELS)
        rows = [(Cells(inert(name), cells), inert(words)) for name, cells, words in every]
        if not rows:
            return
        table = [(Cells("kernel", _HEADING), ""), *rows]
        columns = Columns.fitting([cells for cells, _ in table], console.width)
        for cells, words in table:
            console.print(columns.line(cells))
            if words:
                print_text(console, words, indent=4)

    return layout.plain(show)


def markdown(found: Changes, most: int = _MOST_KERNELS) -> str:
    """Return the counts, the programs that can have changed, and at most so many kernels."""
    first, *others = _sentences(found, code, most)
    lines = [f"**{first}**", "", *(f"- {line}" for line in others), ""]
    every = _rows(found, most)
    rows = [table_row((code(name), *cells, prose(words))) for name, cells, words in every]
    if rows:
        lines += [table_head(("kernel", *_HEADING, "what differs"), range(1, 7)).rstrip(), *rows]
    return "\n".join(lines).rstrip() + "\n"


_TEXT = re.compile(_TITLE.encode())
_JSON = re.compile(rb'"warpgauge_format"\s*:\s*"changed/')
FORMATS: Mapping[str, Format] = {
    TERMINAL: Format(TERMINAL, plain, "changes in plain text", _TEXT),
    "json": Format("json", written, "JSON of changes", _JSON),
    "markdown": Format("markdown", markdown, "changes in Markdown", _TEXT),
}
