# SPDX-License-Identifier: Apache-2.0
"""The machine code (SASS) of kernels, with source lines if compiled with `-lineinfo`.

Instructions have classes: arithmetic by type, memory by space, width and direction.
"""

from __future__ import annotations

import csv
import re
import tempfile
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import NamedTuple

from warpgauge.measure import cubins
from warpgauge.measure.toolkit import output_of, tool
from warpgauge.system.errors import ExitStatus, UserError, of_system

# A remark, (*"SpillRefill"*), may follow the operands.
_INSTRUCTION = re.compile(
    r"\s+/\*([0-9a-f]{4,})\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z][\w.]*)\s*(.*?)\s*(?:\(\*|;)"
)
_SECTION = re.compile(r"^\s*\.section\s+\.text\.([^,]+),.*$", re.MULTILINE)
_LABEL = re.compile(r"(\S+):\s*$")
_TARGET = re.compile(r"`\(([^)]+)\)")
# The frames of an inlined function follow, innermost first.
_FRAME = re.compile(r'(?:File|inlined at) "([^"]*)", line (\d+)')
_TOOLKIT = re.compile(r"/targets/[^/]+/include/|/include/(?:cuda|cub|thrust|cccl)/")


@dataclass(frozen=True)
class Instruction:
    """One machine instruction; `address` in bytes from the kernel's start."""

    address: int
    predicate: str  # "@P0" or "@!P0", or ""
    opcode: str  # with its modifiers: "LDG.E.128"
    operands: tuple[str, ...]  # targets within the kernel are addresses: "0x190"
    source: str  # "file.cu:12", or ""
    is_spill: bool = False  # of a register, if nvdisasm says so

    def __str__(self) -> str:
        return f"{self.predicate} {self.opcode} {', '.join(self.operands)}".strip()


@dataclass(frozen=True)
class Kernel:
    """One kernel of a program."""

    name: str  # mangled
    code: tuple[Instruction, ...]
    digest: str  # of code, constants and launch bounds, without names that differ by build
    bounds: int = 0  # threads of a block by its launch bounds; 0 if unknown


def listing(program: Path, names: Collection[str] | None = None, architecture: int = 0) -> str:
    """Return the instructions of kernels, as `kernels_of` has them, one a line after its address.

    Each new source line precedes its instructions. Raises UserError.
    """
    try:
        found = kernels_of(program, names, architecture)
    except OSError as fault:
        raise of_system(fault) from fault
    if not found:
        why = "they belong to a library, or are compiled at run time"
        words = f"{program.name} holds no machine code of its kernels: {why}"
        raise UserError(words, ExitStatus.NOT_MEASURED)
    lines = []
    for kernel in found.values():
        lines.append(f"{kernel.name}:")
        place = ""
        for one in kernel.code:
            if one.source not in ("", place):
                place = one.source
                lines.append(f"  // {place}")
            lines.append(f"  /*{one.address:04x}*/  {one}")
        lines.append("")
    return "\n".join(lines)


def kernels_of(
    program: Path, names: Collection[str] | None = None, architecture: int = 0
) -> dict[str, Kernel]:
    """Return the kernels of a program (or .cubin file) by stable name, optionally only `names`.

    `names` are mangled, from this or another build (`cubins.stable_name`). Of several architectures
    the newest that a GPU of `architecture` runs is used, else the newest. Raise UserError if the
    toolkit's cuobjdump or nvdisasm is missing or fails, OSError for an unreadable file.
    """
    wanted = None if names is None else {cubins.stable_name(name) for name in names}
    found: dict[str, Kernel] = {}
    with tempfile.TemporaryDirectory() as folder:
        held = cubins.of(program, Path(folder))
        held.sort(key=lambda one: (one.runs_on(architecture), one.architecture), reverse=True)
        for cubin in held:
            left = None if wanted is None else wanted - found.keys()
            found = disassembled(cubin, left) | found
    return found


def disassembled(cubin: cubins.Cubin, names: Collection[str] | None) -> dict[str, Kernel]:
    """Return the kernels of a cubin by stable name, optionally only `names`. Raises UserError."""
    stable = {name: cubins.stable_name(name) for name in cubin.functions}
    asked = {name for name, own in stable.items() if names is None or own in names}
    if not asked:
        return {}
    symbols = enumerate(cubin.symbols)
    numbers = [str(n) for n, one in symbols if one.name.decode(errors="replace") in asked]
    command = [tool("nvdisasm"), "-c", "-gi", "-fun", ",".join(numbers), str(cubin.path)]
    codes = parsed(output_of(command).decode(errors="replace"))
    return {
        stable[name]: Kernel(name, codes[name], cubin.digest(name), 32 * cubin.warps(name)[-1])
        for name in asked & codes.keys()
    }


def parsed(text: str) -> dict[str, tuple[Instruction, ...]]:
    """Return the code of each function in the output of `nvdisasm -c -gi`, by mangled name."""
    _, *functions = _SECTION.split(text)
    names, bodies = functions[::2], functions[1::2]
    return {name: _function(body) for name, body in zip(names, bodies, strict=True)}


def _function(body: str) -> tuple[Instruction, ...]:
    labels: dict[str, str] = {}
    pending: list[str] = []
    code: list[Instruction] = []
    frames: list[tuple[str, str]] = []
    goes_on = False  # whether the next frame line belongs to the same place
    for line in body.splitlines():
        if "//##" in line:
            frames = [*(frames if goes_on else ()), *_FRAME.findall(line)]
            goes_on = True
        elif found := _INSTRUCTION.match(line):
            address, predicate, opcode, operands = found.groups("")
            labels.update(dict.fromkeys(pending, f"{int(address, 16):#x}"))
            pending, goes_on = [], False
            words = tuple(operands.split(", ")) if operands else ()
            place, is_spill = _place(frames), "SpillRefill" in line
            code.append(Instruction(int(address, 16), predicate, opcode, words, place, is_spill))
        elif label := _LABEL.match(line):
            pending.append(label[1])
    for number, one in enumerate(code):
        if any("`(" in word for word in one.operands):
            resolved = (_TARGET.sub(lambda to: labels.get(to[1], to[1]), w) for w in one.operands)
            code[number] = replace(one, operands=tuple(resolved))
    # A branch to itself and NOPs fill the last cache line.
    while code and code[-1].opcode == "NOP":
        code.pop()
    if code and (code[-1].opcode, *code[-1].operands) == ("BRA", f"{code[-1].address:#x}"):
        code.pop()
    return tuple(code)


def _place(frames: list[tuple[str, str]]) -> str:
    """Return the innermost line outside the toolkit: a line that an author can change."""
    own = [frame for frame in frames if not _TOOLKIT.search(frame[0])] or frames[-1:]
    return f"{PurePosixPath(own[0][0]).name}:{own[0][1]}" if own else ""


class Kind(NamedTuple):
    """A class of instructions; `bits` moved per thread, for a load or store."""

    name: str
    bits: int = 0


FP16, FP32, FP64 = "FP16", "FP32", "FP64"
MOVE, CONVERSION, OTHER = "move", "conversion", "other"
SPECIAL, TENSOR = "special function (MUFU)", "tensor core"
GLOBAL_LOAD, GLOBAL_STORE = "global load", "global store"
SHARED_LOAD, SHARED_STORE = "shared load", "shared store"
LOCAL_LOAD, LOCAL_STORE = "local load", "local store"
INDEXED_CONSTANT = "constant load at a thread-dependent index"
GLOBAL_ATOMIC = "global atomic"

# For each class a pattern of opcodes, up to the first point, of which the first match decides; and
# the rough cost on an SM relative to an FP32 operation, which is used to order changes.
_TABLE = Path(__file__).with_name("classes.csv").read_text().splitlines()
_CLASSES = {row["class"]: row for row in csv.DictReader(_TABLE)}
COST = MappingProxyType({name: float(row["cost"]) for name, row in _CLASSES.items()})
TRANSFERS = (GLOBAL_LOAD, GLOBAL_STORE, SHARED_LOAD, SHARED_STORE)
LOCAL = (LOCAL_STORE, LOCAL_LOAD)

# A kernel's parameters and its author's constants; bank 4 holds addresses of functions.
_INDEXED = re.compile(r"c?x?\[(?!0x4\])[^]]*\]\[U?R\d+.*\]")
_WORD = 32
_WIDTHS = {"U8": 8, "S8": 8, "U16": 16, "S16": 16, "64": 64, "128": 128, "256": 256, "ENL2": 256}


def kind_of(instruction: Instruction) -> Kind:
    base, *modifiers = instruction.opcode.split(".")
    operands = instruction.operands
    name = _class_of(base)
    if name in (*TRANSFERS, *LOCAL):
        return Kind(name, _bits(base, modifiers))
    if base == "LDC" and any(map(_INDEXED.search, operands)):
        return Kind(INDEXED_CONSTANT)
    # Arithmetic with zero also fills registers and converts numbers.
    if base == "IMAD" and "MOV" in modifiers:
        return Kind(MOVE)
    if base == "HFMA2" and operands[1:3] == ("-RZ", "RZ"):
        return Kind(MOVE)
    if base == "HADD2" and "F32" in modifiers and operands[1:2] == ("-RZ",):
        return Kind(CONVERSION)
    return Kind(name)


@cache
def _class_of(base: str) -> str:
    return next(name for name, row in _CLASSES.items() if re.fullmatch(row["opcodes"], base))


def _bits(base: str, modifiers: list[str]) -> int:
    if base in ("LDSM", "STSM"):  # matrices, each of which is 32 bits of each thread
        return _WORD * max((int(one) for one in modifiers if one in ("2", "4")), default=1)
    return next((_WIDTHS[one] for one in modifiers if one in _WIDTHS), _WORD)
