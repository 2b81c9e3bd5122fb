# SPDX-License-Identifier: Apache-2.0
"""The code of a program, to compare two builds of it in one folder.

Of the device it is the machine code of each kernel. Of the host it is each object file before it is
linked, because linking writes the addresses of everything into the code: another kernel, or a
longer text, would move them.
"""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from warpgauge.measure import cubins
from warpgauge.measure.cubins import (
    ALLOCATED,
    FATBINS,
    NO_CODE,
    RELOCATION,
    SYMBOL,
    Cubin,
    Section,
    sections,
    sha256,
    stable,
)
from warpgauge.measure.discovery import Binary
from warpgauge.measure.toolkit import output_of, tool
from warpgauge.verdict.comparison import ContextDifference

_NOTE, _RELOCATIONS = 7, 4  # section types of ELF
_LOCAL, _IS_SECTION = 0, 3  # binding and type of a symbol
_ABSENT, _RESERVED = 0, 0xFF00  # a symbol of another file; indices that are of no section
_INTERMEDIATE = (b".gnu.lto_", b".llvm.lto")  # GCC's, and Clang's in fat objects
_TEXTS = b".str1."  # in the names of sections in which the linker merges equal texts
_RESOURCES = re.compile(r"Function (\S+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+)")
_CONTEXT = "{}_context.cpp.o"  # what a run of a program says of its build, as its commit
_LIBRARY = re.compile(r"\.so(\.[\d.]+)?$|^/.*\.a$")
_LINK, _LIBRARIES, _PTX = "link command", "libraries", "PTX"

# Of an SM, by architecture: warps, blocks and KiB of shared memory (CUDA Programming Guide, table
# of technical specifications per compute capability).
_SM = {
    80: (64, 32, 164), 86: (48, 16, 100), 87: (48, 16, 164), 89: (48, 24, 100), 90: (64, 32, 228),
    100: (64, 32, 228), 103: (64, 32, 228), 120: (48, 24, 100), 121: (48, 24, 100),
}  # fmt: skip


class Kernel(NamedTuple):
    """What a kernel runs, as a digest, and what it needs of an SM."""

    digest: str
    registers: int
    stack: int  # bytes per thread: spilled registers, and arrays
    shared: int  # bytes per block, without what a launch adds
    occupancy: float | None = None  # largest possible share of an SM's warps; None if unknown


@dataclass(frozen=True)
class ProgramCode:
    """Digests of a program: of each part of its host code, and of its kernels.

    The kernels are by architecture (90 for sm_90) and stable name.
    """

    binary: Binary
    host: Mapping[str, str]
    kernels: Mapping[int, Mapping[str, Kernel]]
    cubins: Sequence[Cubin]


def code_of(binary: Binary, build: Path, folder: Path) -> ProgramCode:
    """Return the code of a program in the build folder `build`, which Ninja made.

    The new `folder` keeps its cubins. Raises UserError, OSError.
    """
    target = str(binary.path.resolve().relative_to(build.resolve()))
    files = _made_from(build, [target])
    context = _CONTEXT.format(binary.path.name)
    objects = {
        file: (build / file).read_bytes()
        for file in files
        if file.endswith(".o") and Path(file).name != context
    }
    host = {file: object_digest(objects[file]) for file in linked(objects, binary.path)}
    host |= {file: _library(build, file) for file in files if _LIBRARY.search(file)}
    host |= {
        str(file): sha256(file.read_bytes()) for file in binary.inputs if file.suffix != cubins.PLAN
    }
    words = [word.encode() for word in binary.arguments]
    host[_LINK] = sha256(output_of([*_ninja(build), "commands", "-s", target]), *words)
    host[_LIBRARIES] = sha256("\n".join(cubins.libraries(binary.path)).encode())
    folder.mkdir(parents=True)
    found = cubins.of(binary.path, folder)
    host[_PTX] = sha256(cubins.ptx(binary.path))
    kernels = {
        architecture: _kernels([cubin for cubin in found if cubin.architecture == architecture])
        for architecture in sorted({cubin.architecture for cubin in found})
    }
    return ProgramCode(binary, host, kernels, found)


def _ninja(build: Path) -> list[str]:
    return ["ninja", "-C", str(build), "-t"]


def _made_from(build: Path, targets: Sequence[str]) -> list[str]:
    """Return the files of which Ninja makes these targets, as it names them."""
    lines = output_of([*_ninja(build), "inputs", *targets]).decode().splitlines()
    # Newer versions quote what a shell would split.
    return [shlex.split(line)[0] if "'" in line else line for line in lines]


def read_by(build: Path, targets: Sequence[str]) -> dict[str, set[str]]:
    """Return the paths of all files that a build of these targets has read, by object file.

    Headers are among them. What is not of an object alone is under "". Raises UserError if Ninja
    did not make the folder `build`.
    """
    files = _made_from(build, targets)
    read = {name: set[str]() for name in ("", *files)}
    read[""] = {os.path.realpath(build / file) for file in files}
    own: set[str] = set()
    for line in output_of([*_ninja(build), "deps"]).decode().splitlines():
        if not line.startswith(" "):
            own = read.get(line.partition(":")[0], set())
        else:
            own.add(os.path.realpath(build / line.strip()))
    return read


def is_same_code(*objects: Path) -> bool:
    """Return whether object files run alike on the host and have the same kernels."""
    contents = {path.read_bytes() for path in objects}
    if len(contents) == 1:
        return True
    kernels = [cubins.digests(path) for path in objects]
    return len({*map(object_digest, contents)}) == 1 and kernels[1:] == kernels[:-1]


def _library(build: Path, file: str) -> str:
    """Return a digest of a library: of one that is built here, the device's code.

    The host's code of that is in its objects. Kernels in it are not in a program that loads it.
    """
    content = (build / file).read_bytes()
    if Path(file).is_absolute():
        return sha256(content)
    return sha256(*(held.content for held in sections(content) if held.name in FATBINS))


def library_differences(before: Iterable[Path], after: Iterable[Path]) -> list[ContextDifference]:
    """Compare the libraries that two processes loaded: those of one name and other content.

    A library is named by its version, as far as that is in the file's name, else by its digest.
    """
    by_name: dict[str, tuple[set[Path], set[Path]]] = {}
    for side, paths in enumerate((before, after)):
        for path in paths:
            name = _LIBRARY.sub(".so", path.name)
            by_name.setdefault(name, (set(), set()))[side].add(path.resolve())
    found = []
    for name, both in sorted(by_name.items()):
        if both[0] != both[1]:
            sides = [{sha256(path.read_bytes()): path.name for path in paths} for paths in both]
            if sides[0].keys() != sides[1].keys():
                same = {*sides[0].values()} & {*sides[1].values()}
                found.append(ContextDifference(name, *(_versions(side, same) for side in sides)))
    return found


def _versions(files: Mapping[str, str], same: Collection[str]) -> str:
    """Return the versions of files by their digest, of which the `same` names do not suffice."""
    words = []
    for digest, file in sorted(files.items(), key=itemgetter(1)):
        version = file.partition(".so.")[2]
        words.append(f"{version} {digest[:8]}".strip() if file in same or not version else version)
    return ", ".join(words) or "not loaded"


def _kernels(held: Sequence[Cubin]) -> dict[str, Kernel]:
    """Return the kernels of cubins, and functions that they call; one for each name."""
    used: dict[str, set[tuple[int, int, int, float | None]]] = {}
    for cubin in held:
        text = output_of([tool("cuobjdump"), "-res-usage", str(cubin.path)]).decode()
        for name, *numbers in _RESOURCES.findall(text):
            registers, stack, shared = map(int, numbers)
            share = occupancy(cubin.architecture, registers, shared, cubin.warps(name))
            takes = registers, stack, shared, share
            used.setdefault(cubins.stable_name(name), set()).add(takes)
    return {
        name: Kernel(digest, *max(used.get(name, {(0, 0, 0, None)})))
        for name, digest in cubins.digests_of(held).items()
    }


def occupancy(architecture: int, registers: int, shared: int, warps: range) -> float | None:
    """Return the largest share of an SM's warps that blocks of any of these `warps` can fill.

    None for an unknown architecture and a function, which has no registers of its own. The formula
    is that of cuda_occupancy.h in the CUDA toolkit.
    """
    if registers == 0 or architecture not in _SM:
        return None
    most, blocks, memory = _SM[architecture]
    # A warp takes registers in 256s, of which each of an SM's 4 partitions has 64.
    fit = min(most, 4 * (64 // -(-registers // 8)))
    # CUDA takes 1 KiB of each block. From sm_90 on, cuobjdump counts it where a kernel takes more.
    taken = max(shared, 1024) if architecture >= 90 else shared + 1024
    blocks = min(blocks, memory * 1024 // (-(-taken // 128) * 128))
    return round(max(count * min(blocks, fit // count) for count in warps) / most, 3)


def linked(objects: Mapping[str, bytes], program: Path) -> list[str]:
    """Return which of these objects may be in the program.

    Of a static library the linker leaves out an object of which it needs no symbol. So one is not
    in a program that has none of the symbols that no other object defines.
    """
    there = _defined(program.read_bytes(), local=True)  # what is hidden is local in a program
    own = {file: _defined(content) for file, content in objects.items()}
    times = Counter(chain.from_iterable(own.values()))
    alone = {file: {name for name in names if times[name] == 1} for file, names in own.items()}
    return [file for file, names in alone.items() if not (names and there) or names & there]


def _defined(content: bytes, *, local: bool = False) -> set[bytes]:
    """Return the names of the symbols that others can refer to, and `local` ones; () if unknown."""
    held = sections(content)
    return {
        name
        for name, info, _, section, *_ in (() if _is_opaque(held) else _Object(held).symbols)
        if section != _ABSENT and (local or info >> 4 != _LOCAL)
    }


def _is_opaque(held: Sequence[Section]) -> bool:
    """Return whether an object is of another format, or has code for the linker to compile."""
    return not held or any(section.name.startswith(_INTERMEDIATE) for section in held)


def object_digest(content: bytes) -> str:
    """Return a digest of what an object file adds to a program on the host.

    Equal ones run alike, whatever else is linked. The device's code in it does not count, nor do
    debug information, the order of texts, and names that nvcc makes anew. A file of another format,
    or with code that the linker is still to compile, counts as it is.
    """
    held = sections(content)
    return sha256(content) if _is_opaque(held) else _Object(held).digest()


class _Object:
    def __init__(self, held: Sequence[Section]) -> None:
        self.sections = held
        times: Counter[bytes] = Counter()
        self.labels: list[bytes] = []
        for section in held:
            name = stable(section.name)
            self.labels.append(b"%s %d" % (name, times[name]))
            times[name] += 1
        content = {section.name: section.content for section in held}
        names = content.get(b".strtab", b"")
        self.symbols = []
        for at, info, other, section, value, size in SYMBOL.iter_unpack(
            content.get(b".symtab", b"")
        ):
            name = names[at : names.index(b"\0", at)]
            # What is called by such a name may hold it, in another length.
            size = size if stable(name) == name else 0
            self.symbols.append((stable(name), info, other, section, value, size))

    def digest(self) -> str:
        parts: list[tuple[bytes, ...]] = []
        whole: set[int] = set()  # sections of texts that are not accessed by the place of a text
        for relocations in self.sections:
            if relocations.kind == _RELOCATIONS and self._counts(self.sections[relocations.info]):
                label = self.labels[relocations.info]
                for offset, kind, number, addend in RELOCATION.iter_unpack(relocations.content):
                    place = b"%d %d %d" % (offset, kind, addend)
                    parts.append((label, place, *self._target(number, whole)))
        for name, info, other, section, value, size in self.symbols:
            if info >> 4 != _LOCAL:
                own = b"%d %d %d %d" % (info, other, value, size)
                parts.append((name, own, self._label(section)))
        for index, section in enumerate(self.sections):
            if self._counts(section) and (_TEXTS not in section.name or index in whole):
                numbers = section.kind, section.flags, section.alignment, section.size
                shape = b"%d %d %d %d" % numbers
                # Skips the size where names of another length may be in it.
                held = stable(section.content)
                shape = shape if held == section.content else shape.rpartition(b" ")[0]
                parts.append((self.labels[index], shape, held))
        return sha256(*(sha256(*part).encode() for part in sorted(parts)))

    def _counts(self, section: Section) -> bool:
        skipped = section.name in FATBINS or section.name in NO_CODE or section.kind == _NOTE
        return bool(section.flags & ALLOCATED) and not skipped

    def _label(self, section: int) -> bytes:
        return b"%d" % section if section >= _RESERVED else self.labels[section]

    def _target(self, number: int, whole: set[int]) -> tuple[bytes, ...]:
        """Return what a relocation refers to, without the order of texts in their section."""
        name, info, _, section, value, _ = self.symbols[number]
        if section == _ABSENT or section >= _RESERVED:
            return name, b"%d" % section
        held = self.sections[section]
        if _TEXTS not in held.name:
            return self.labels[section], b"%d" % value, name if info >> 4 != _LOCAL else b""
        if info & 0xF == _IS_SECTION:  # the addend may be off by what follows in the instruction
            whole.add(section)
            return (self.labels[section],)
        text = held.content[value : held.content.index(b"\0", value)]
        return b"text", stable(text)
