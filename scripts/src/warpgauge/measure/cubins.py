# SPDX-License-Identifier: Apache-2.0
"""The machine code (cubins) in a program, and a digest for each kernel."""

from __future__ import annotations

import hashlib
import re
import struct
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from warpgauge.measure import elf
from warpgauge.measure.toolkit import output_of, tool
from warpgauge.system.errors import UserError

# The part of kernel names that nvcc makes from a file's path, its text and a process number. Digits
# around it are lengths of names. In a file with main(), that word replaces the last part.
UNIQUE = re.compile(
    rb"\d*_(?:GLOBAL__N_|INTERNAL)_+[0-9a-f]{8}_\d+_(\w+?)"
    rb"_(?:[0-9a-f]{8}(?:_\d+)?|main(?!_[0-9A-Za-z]))"
)

# Sections of a program that hold cubins.
FATBINS = (b".nv_fatbin", b"__nv_relfatbin")

# Kernel attributes that the author chooses: the maximum and exact number of threads, and the blocks
# of a cluster. Other attributes repeat what the code says, or number symbols.
_LAUNCH_BOUNDS = frozenset((0x05, 0x10, 0x3D, 0x3E, 0x3F))
_FORMAT_WITH_SIZE = 4  # of attributes that have a size

# Sections that belong to one kernel, besides its code.
_OWN = (b".nv.shared.", *(b".nv.constant%d." % bank for bank in range(18)))
# Sections that all kernels of a cubin share, by the constant bank that accesses them: constants;
# addresses of variables, and their initial values.
_SHARED = MappingProxyType(
    {3: (b".nv.constant3",), 4: (b".nv.constant4", b".nv.global.init")},
)
# Position of the bank in an instruction of sm_70 to sm_120, if it has one: bits 54 to 58 of 128.
_BANK_SHIFT, _BANK_MASK = 54, 0x1F


class Cubin(NamedTuple):
    path: Path
    architecture: int  # 90 for sm_90
    sections: list[elf.Section]

    def runs_on(self, architecture: int) -> bool:
        """Return whether the GPU has the same major version and at least the same minor version."""
        newer = architecture - self.architecture
        return newer >= 0 and architecture // 10 == self.architecture // 10

    @property
    def kernels(self) -> dict[str, elf.Section]:
        """The code section by mangled name, of kernels and of functions that are not inlined."""
        return {
            section.name[len(b".text.") :].decode(): section
            for section in self.sections
            if section.name.startswith(b".text.")
        }


def of(program: Path, folder: Path) -> list[Cubin]:
    """Return a program's cubins, extracted to an empty `folder`. Raises UserError, OSError."""
    if program.suffix == ".cubin":
        return [Cubin(program, 0, elf.sections(program.read_bytes()))]
    _read("-xelf", "all", program=program, folder=folder)
    found = []
    for path in sorted(folder.glob("*.cubin")):
        architecture = re.search(r"\.sm_(\d+)\w*\.cubin$", path.name)
        number = int(architecture[1]) if architecture else 0
        found.append(Cubin(path, number, elf.sections(path.read_bytes())))
    return found


def ptx(program: Path) -> bytes:
    """Return a program's PTX without build-specific names. Raises UserError."""
    return UNIQUE.sub(rb"_\1", _read("-ptx", program=program))


def _read(*options: str, program: Path, folder: Path | None = None) -> bytes:
    """Run cuobjdump, which fails if all kernels are in libraries; return b"" in that case."""
    command = [tool("cuobjdump"), *options, str(program.resolve())]
    try:
        return output_of(command, folder)
    except UserError:
        names = {section.name for section in elf.sections(program.read_bytes())}
        if names and names.isdisjoint(FATBINS):
            return b""
        raise


def stable_name(kernel: str) -> str:
    """Return a kernel's name without its build-specific part."""
    return UNIQUE.sub(rb"_\1", kernel.encode()).decode()


def digests(program: Path) -> dict[str, str]:
    """Return a digest of each kernel's machine code by stable name. Raises UserError, OSError."""
    with tempfile.TemporaryDirectory() as folder:
        return digests_of(of(program, Path(folder)))


def digests_of(cubins: Sequence[Cubin]) -> dict[str, str]:
    """Return the digests of several cubins; kernels with the same name get one digest."""
    found: dict[str, set[str]] = {}
    for cubin in cubins:
        parts = _Parts(cubin.sections)
        for name in cubin.kernels:
            found.setdefault(stable_name(name), set()).add(parts.digest(name.encode()))
    return {
        name: each.pop() if len(each) == 1 else _sha256(*sorted(one.encode() for one in each))
        for name, each in found.items()
    }


class _Function(NamedTuple):
    digest: bytes
    callees: tuple[bytes, ...]
    data: frozenset[bytes]  # sections shared with other functions


class _Parts:
    """Functions, constants and relocations of the kernels in a cubin."""

    def __init__(self, sections: list[elf.Section]) -> None:
        self._by_name = {section.name: section for section in sections}
        self._names = [section.name for section in sections]
        try:
            self._symbols = elf.symbols(sections)
        except ValueError:  # relocations are then compared without their targets
            self._symbols = []

        self._functions: dict[bytes, _Function] = {}

    def digest(self, kernel: bytes) -> str:
        parts: list[bytes] = []
        shared: set[bytes] = set()
        called = {kernel: None}  # an ordered set
        waiting = [kernel]
        while waiting:
            function = self._function(waiting.pop(0))
            parts.append(function.digest)
            shared |= function.data
            new = [callee for callee in function.callees if callee not in called]
            called.update(dict.fromkeys(new))
            waiting += new
        for name in sorted(shared & self._by_name.keys()):
            parts += [name, *self._section(self._by_name[name])]
        if info := self._by_name.get(b".nv.info." + kernel):
            parts += _launch_bounds(info.content)
        return _sha256(*parts)

    def _function(self, name: bytes) -> _Function:
        """Return a kernel, or a function that kernels call; each is read once."""
        if name not in self._functions:
            code = self._by_name[b".text." + name]
            parts = self._section(code)
            for kind in _OWN:
                if section := self._by_name.get(kind + name):
                    # The launch fills the parameters' bank, so its size counts.
                    parts += [kind, b"%d" % section.size, section.content]
            used = dict.fromkeys(self._used(code.name))
            callees = [one.removeprefix(b".text.") for one in used if one.startswith(b".text.")]
            data = {one for bank in _banks(code.content) for one in _SHARED.get(bank, ())}
            data |= {one for one in used if not one.startswith(b".text.")}
            digest = _sha256(*parts).encode()
            self._functions[name] = _Function(digest, tuple(callees), frozenset(data))
        return self._functions[name]

    def _section(self, section: elf.Section) -> list[bytes]:
        """Return a section's content, and the relocations that the loader applies to it."""
        parts = [section.content]
        for one in self._relocations(section.name):
            target = b""
            if one.symbol < len(self._symbols):
                symbol = self._symbols[one.symbol]
                label = symbol.section < len(self._names) and (
                    self._names[symbol.section] == section.name
                )
                target = b"%d" % symbol.value if label else UNIQUE.sub(rb"_\1", symbol.name)
            parts += [b"%d %d %d" % (one.offset, one.kind, one.addend), target]
        return parts

    def _relocations(self, name: bytes) -> list[elf.Relocation]:
        section = self._by_name.get(b".rela" + name)
        try:
            return elf.relocations(section) if section else []
        except ValueError:
            return []

    def _used(self, code: bytes) -> Iterator[bytes]:
        """Yield the sections that a code section's relocations refer to."""
        for one in self._relocations(code):
            if one.symbol < len(self._symbols):
                number = self._symbols[one.symbol].section
                if 0 < number < len(self._names):
                    yield self._names[number]


def _banks(code: bytes) -> set[int]:
    """Return the constant banks that instructions may use, possibly with some that they do not."""
    whole = code[: len(code) // 16 * 16]
    words = struct.iter_unpack("<QQ", whole)
    return {word >> _BANK_SHIFT & _BANK_MASK for word, _ in words}


def _launch_bounds(info: bytes) -> list[bytes]:
    """Return the launch bounds; each attribute is a format, a number, and a value or its size."""
    parts = []
    at = 0
    while at + 4 <= len(info):
        kind, number, size = struct.unpack_from("<BBH", info, at)
        end = at + 4 + (size if kind == _FORMAT_WITH_SIZE else 0)
        if number in _LAUNCH_BOUNDS:
            parts.append(info[at:end])
        at = end
    return parts


def _sha256(*parts: bytes) -> str:
    """Return a digest that also depends on the boundaries between the parts."""
    made = hashlib.sha256()
    for part in parts:
        made.update(b"%d:" % len(part) + part)
    return made.hexdigest()
