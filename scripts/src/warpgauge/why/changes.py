# SPDX-License-Identifier: Apache-2.0
"""What two builds have in common: benchmarks that cannot have changed, and kernels that did.

A benchmark cannot have changed if the host code of its program is equal, and every kernel in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from warpgauge.measure.cubins import stable_name
from warpgauge.measure.program_code import ProgramCode
from warpgauge.verdict.policy import Policy
from warpgauge.why import code_change, machine_code
from warpgauge.why.cupti import readable
from warpgauge.why.machine_code import disassembled

Programs = Mapping[str, ProgramCode]  # by name
_MOST_EXPLAINED = 30  # kernels; each takes up to a second
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


@dataclass(frozen=True)
class Changes:
    """The benchmarks of two builds by what can have happened to them, and the reasons."""

    base: str
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
        if old and new and number < _MOST_EXPLAINED:
            lines = code_change.changed(old, new).lines()
        uses = (
            _use(before, key, programs[0], old),
            _use(after, key, programs[0], new),
        )
        name = next((code.name for code in (new, old) if code), key[1])
        yield KernelChange(readable(name), key[0], tuple(programs), *uses, tuple(lines))


def _codes(program: ProgramCode, keys: Collection[_Key]) -> dict[_Key, machine_code.Kernel]:
    """Return the instructions of these kernels, as far as the program has them."""
    found = {}
    for cubin in program.cubins:
        names = {name: (cubin.architecture, stable_name(name)) for name in cubin.functions}
        asked = [name for name, key in names.items() if key in keys and key not in found]
        for name, code in disassembled(cubin, asked).items():
            found[names[name]] = machine_code.Kernel(name, code, cubin.digest(name))
    return found


def _use(side: Programs, key: _Key, program: str, code: machine_code.Kernel | None) -> Use | None:
    kernel = side[program].kernels.get(key[0], {}).get(key[1])
    if kernel is None:
        return None
    own = code.code if code else ()
    spills = sum(instruction.is_spill for instruction in own)
    return Use(kernel.registers, spills, kernel.shared, kernel.stack, len(own), kernel.occupancy)
