# SPDX-License-Identifier: Apache-2.0
"""The machine code (cubins) in a program, and whether two builds run the same code.

Digests are of a kernel, of the kernels of a row, and of a whole program. Equal ones show that
everything that runs is the same. Different ones show nothing, because equal code may have other
addresses. Digests are evidence for a cause; they never turn into a pass.
"""

from __future__ import annotations

import hashlib
import math
import re
import struct
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

from warpgauge.measure.discovery import Binary
from warpgauge.measure.toolkit import output_of, tool
from warpgauge.system.errors import UserError

PROGRAM_BITS, NO_BITS = 1, 8  # section types of ELF
ALLOCATED = 2  # flag of a section that is loaded
SYMBOL, RELOCATION = struct.Struct("<IBBHQQ"), struct.Struct("<QIIq")

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
_MOST_THREADS, _THREADS = 0x05, 0x10
_LAUNCH_BOUNDS = frozenset((_MOST_THREADS, _THREADS, 0x3D, 0x3E, 0x3F))
_FORMAT_WITH_SIZE = 4  # of attributes that have a size

_PARAMETERS = b".nv.constant0."  # every kernel has such a section
_OWN = (b".nv.shared.", *(b".nv.constant%d." % bank for bank in range(18)))
# Sections that all kernels of a cubin share, by the constant bank that accesses them: constants;
# addresses of variables, and their initial values.
_SHARED = ((3, b".nv.constant3"), (4, b".nv.constant4"), (4, b".nv.global.init"))
# Position of the bank in an instruction of sm_70 to sm_120, if it has one: bits 54 to 58 of 128.
_BANK_SHIFT, _BANK_MASK = 54, 0x1F


class Section(NamedTuple):
    name: bytes
    kind: int
    flags: int
    size: int
    content: bytes  # empty if the file holds none
    info: int = 0  # of relocations: the index of the section that they change
    alignment: int = 0


class Symbol(NamedTuple):
    name: bytes
    section: int  # index of the section; 0 for a symbol of another file
    value: int


def sections(content: bytes) -> list[Section]:
    """Return the sections of a 64-bit little-endian ELF file in index order.

    Empty for a truncated file or another format.
    """
    if content[:6] != b"\x7fELF\x02\x01":
        return []
    try:
        (at,) = struct.unpack_from("<Q", content, 40)
        size, count, names = struct.unpack_from("<HHH", content, 58)
        table = [struct.unpack_from("<IIQQQQIIQ", content, at + size * n) for n in range(count)]
        found = []
        for name, kind, flags, _, offset, length, _, info, alignment in table:
            start = table[names][4] + name
            held = b"" if kind == NO_BITS else content[offset : offset + length]
            called = content[start : content.index(b"\0", start)]
            found.append(Section(called, kind, flags, length, held, info, alignment))
    except (struct.error, IndexError, ValueError):
        return []
    return found


@dataclass(frozen=True)
class Cubin:
    path: Path
    architecture: int  # 90 for sm_90

    def runs_on(self, architecture: int) -> bool:
        """Return whether the GPU has the same major version and at least the same minor version."""
        newer = architecture - self.architecture
        return newer >= 0 and architecture // 10 == self.architecture // 10

    @cached_property
    def sections(self) -> list[Section]:
        return sections(self.path.read_bytes())

    @cached_property
    def symbols(self) -> list[Symbol]:
        names = self._content(b".strtab")
        return [
            Symbol(names[name : names.index(b"\0", name)], section, value)
            for name, _, _, section, value, _ in SYMBOL.iter_unpack(self._content(b".symtab"))
        ]

    @property
    def functions(self) -> list[str]:
        """The mangled names of kernels and of functions that are not inlined."""
        code = [one.name for one in self.sections if one.name.startswith(b".text.")]
        return [name.removeprefix(b".text.").decode() for name in code]

    def digest(self, kernel: str) -> str:
        """Return a digest of a kernel's code, data and launch bounds.

        What kernels call without inlining it counts for all of them. So does shared data, for those
        that use its constant bank.
        """
        name = kernel.encode()
        code = self._by_name[b".text." + name]
        parts = self._linked(code)
        for kind in _OWN:
            if own := self._by_name.get(kind + name):
                # The launch fills the parameters' bank, so its size counts.
                parts += [kind, b"%d" % own.size, own.content]
        banks = _banks(code.content)
        shared = [section for bank, section in _SHARED if bank in banks]
        for section in self.sections:
            called = section.name.removeprefix(b".text.")
            is_called = called != section.name and _PARAMETERS + called not in self._by_name
            if section.name in shared or is_called:
                parts += [UNIQUE.sub(rb"_\1", section.name), *self._linked(section)]
        return sha256(*parts, *self._launch_bounds(kernel))

    def warps(self, kernel: str) -> range:
        """Return the warps that a block of a kernel may have by its launch bounds."""
        for bound in self._launch_bounds(kernel):
            if bound[1] in (_MOST_THREADS, _THREADS):
                most = -(-math.prod(struct.unpack_from("<3I", bound, 4)) // 32)
                return range(most if bound[1] == _THREADS else 1, most + 1)
        return range(1, 33)

    @cached_property
    def _by_name(self) -> dict[bytes, Section]:
        return {section.name: section for section in self.sections}

    def _content(self, name: bytes) -> bytes:
        return self._by_name[name].content if name in self._by_name else b""

    def _launch_bounds(self, kernel: str) -> Iterator[bytes]:
        """Yield the launch bounds: each is a format, a number, and a value or its size."""
        info, at = self._content(b".nv.info." + kernel.encode()), 0
        while at + 4 <= len(info):
            kind, number, size = struct.unpack_from("<BBH", info, at)
            end = at + 4 + (size if kind == _FORMAT_WITH_SIZE else 0)
            if number in _LAUNCH_BOUNDS:
                yield info[at:end]
            at = end

    def _linked(self, section: Section) -> list[bytes]:
        """Return a section's content, and the relocations that the loader applies to it."""
        parts = [section.content]
        relocations = self._content(b".rela" + section.name)
        for offset, kind, number, addend in RELOCATION.iter_unpack(relocations):
            symbol = self.symbols[number]
            is_label = self.sections[symbol.section].name == section.name
            target = b"%d" % symbol.value if is_label else UNIQUE.sub(rb"_\1", symbol.name)
            parts += [b"%d %d %d" % (offset, kind, addend), target]
        return parts


def of(program: Path, folder: Path) -> list[Cubin]:
    """Return a program's cubins, extracted to an empty `folder`. Raises UserError, OSError."""
    if program.suffix == ".cubin":
        return [Cubin(program, 0)]
    command = [tool("cuobjdump"), "-xelf", "all", str(program.resolve())]
    try:
        output_of(command, folder)
    except UserError:  # it also fails if all kernels are in libraries
        content = program.read_bytes()
        if content.startswith(b"#!"):
            why = "is a script, which loads its machine code when it runs"
            raise UserError(f"{program.name} {why}") from None
        names = {section.name for section in sections(content)}
        if not names or not names.isdisjoint(FATBINS):
            raise
    found = []
    for path in sorted(folder.glob("*.cubin")):
        architecture = re.search(r"\.sm_(\d+)\w*\.cubin$", path.name)
        found.append(Cubin(path, int(architecture[1]) if architecture else 0))
    return found


def stable_name(kernel: str) -> str:
    """Return a kernel's name without its build-specific part."""
    return stable(kernel.encode()).decode()


def stable(content: bytes) -> bytes:
    """Return a name, or code with names in it, without parts that nvcc makes anew."""
    return UNIQUE.sub(rb"_\1", content)


def digests(program: Path) -> dict[str, str]:
    """Return a digest of each kernel's machine code by stable name. Raises UserError, OSError."""
    with tempfile.TemporaryDirectory() as folder:
        return digests_of(of(program, Path(folder)))


def digests_of(cubins: Sequence[Cubin]) -> dict[str, str]:
    """Return the digests of several cubins; kernels with the same name get one digest."""
    found: dict[str, set[str]] = {}
    for cubin in cubins:
        for name in cubin.functions:
            found.setdefault(stable_name(name), set()).add(cubin.digest(name))
    return {
        name: sha256(*sorted(digest.encode() for digest in of_name))
        for name, of_name in found.items()
    }


def _banks(code: bytes) -> set[int]:
    """Return the constant banks that instructions may use, possibly with some that they do not."""
    words = struct.iter_unpack("<QQ", code[: len(code) // 16 * 16])
    return {word >> _BANK_SHIFT & _BANK_MASK for word, _ in words}


def sha256(*parts: bytes) -> str:
    """Return a digest that also depends on the boundaries between the parts."""
    made = hashlib.sha256()
    for part in parts:
        made.update(b"%d:" % len(part) + part)
    return made.hexdigest()


# Sections with the kernels, which have their own digest, and with their names and addresses.
NO_CODE = (*FATBINS, b".nvFatBinSegment", b"__nv_module_id")


class Identity(NamedTuple):
    """Digests of what runs on the GPU, and of what runs on the host."""

    kernels: str
    host: str


def identity_of(files: Iterable[Path], names: Sequence[str]) -> Identity:
    """Return the digests of a program with all `files` that affect what it does. Raises OSError.

    `names` come from the build itself: its commit and its folder. The program contains them, but
    they do not count.
    """
    kernels, host = hashlib.sha256(), hashlib.sha256()
    masks = [name.encode() for name in names if name]
    # Compilers store the ends of short strings in the code.
    masks += [name[part] for name in masks for n in (8, 4) for part in (slice(n), slice(-n, None))]
    masks.sort(key=len, reverse=True)
    for path in files:
        content, fatbin = path.read_bytes(), b""
        loaded = [
            section
            for section in sections(content)
            if section.kind == PROGRAM_BITS and section.flags & ALLOCATED
        ]
        if not loaded:  # not a program
            host.update(hashlib.sha256(content).digest())
        for section in loaded:
            if section.name in FATBINS:
                fatbin += section.content
            elif section.name not in NO_CODE:
                code = section.content
                for mask in masks:
                    code = code.replace(mask, b"\0" * len(mask))
                code = UNIQUE.sub(b"", code)
                host.update(section.name + hashlib.sha256(code).digest())
        kernels.update(hashlib.sha256(fatbin and (_machine_code(path) or fatbin)).digest())
    return Identity(kernels.hexdigest(), host.hexdigest())


def _machine_code(program: Path) -> bytes:
    """Return the kernels' stable names and digests; empty if cuobjdump is missing or fails."""
    try:
        found = digests(program)
    except UserError:
        return b""
    return repr(sorted(found.items())).encode() if found else b""


_DIGITS = 16  # hexadecimal digits of a row's digest in a file
PLAN = ".plan"  # such inputs hold paths of this machine, and no code


def of_row(binary: Binary, launches: Mapping[str, float]) -> str:
    """Return the digest of a row's kernels, given how each is launched (`fields.launches_of`).

    `launches` has mangled names. Empty if the row has no kernels or cuobjdump is missing.
    """
    if not launches:
        return ""
    names = {kernel: stable_name(kernel) for kernel in launches}
    try:
        build = binary.file, binary.inputs, binary.file.stat().st_mtime_ns
        codes = _codes(*build)
        if not codes.keys() >= {*names.values()}:
            codes = {**dict.fromkeys(names.values(), _elsewhere(*build)), **codes}
    except (UserError, OSError):
        return ""
    parts = [(name, launches[kernel], codes[name]) for kernel, name in names.items()]
    return hashlib.sha256(repr(sorted(parts)).encode()).hexdigest()[:_DIGITS]


@lru_cache(maxsize=128)
def _codes(path: Path, inputs: tuple[Path, ...], _built_ns: int) -> Mapping[str, str]:
    """Return the digests of the kernels of a program and of cubins that it loads."""
    loaded = [file for file in inputs if file.suffix == ".cubin"]
    return {name: code for file in (*loaded, path) for name, code in digests(file).items()}


@lru_cache(maxsize=128)
def _elsewhere(path: Path, inputs: tuple[Path, ...], _built_ns: int) -> str:
    """Return a digest of what may hold other kernels: PTX, inputs and libraries."""
    around = hashlib.sha256()
    around.update(ptx(path))
    for file in inputs:
        if file.suffix != PLAN:
            around.update(hashlib.sha256(file.read_bytes()).digest())
    around.update("\n".join(libraries(path)).encode())
    return around.hexdigest()


def ptx(program: Path) -> bytes:
    """Return what the driver may compile for another GPU; it names source lines, too.

    Before it stands a list of all machine code, with names of files where this has source lines.
    """
    if {section.name for section in sections(program.read_bytes())}.isdisjoint(FATBINS):
        return b""
    text = output_of([tool("cuobjdump"), "-ptx", str(program.resolve())])
    return stable(re.sub(rb"^identifier = .*\n", b"", text, flags=re.MULTILINE))


def libraries(program: Path) -> list[str]:
    """Return the name, which has the version, and the size of each library that is loaded."""
    lines = output_of(["ldd", str(program)]).decode(errors="replace").splitlines()
    places = (line.partition("=>")[2].rpartition("(")[0].strip() for line in lines)
    found = sorted(Path(place).resolve() for place in places if place)
    return [f"{library.name} {library.stat().st_size}" for library in found]
