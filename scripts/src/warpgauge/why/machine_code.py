# SPDX-License-Identifier: Apache-2.0
"""The machine code (SASS) of kernels, with source lines if compiled with `-lineinfo`."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from warpgauge.measure import cubins
from warpgauge.measure.toolkit import output_of, tool
from warpgauge.system.process import nvidia_smi

# A remark, (*"SpillRefill"*), may follow the operands.
_INSTRUCTION = re.compile(
    r"\s+/\*([0-9a-f]{4,})\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z][\w.]*)\s*(.*?)\s*(?:\(\*|;)"
)
_SECTION = re.compile(r"\s*\.section\s+\.text\.([^,]+),")
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


def listing(kernel: Kernel) -> str:
    """Return its instructions, one per line after its address, with each new source line."""
    lines, place = [f"{kernel.name}:"], ""
    for one in kernel.code:
        if one.source not in ("", place):
            place = one.source
            lines.append(f"  // {place}")
        lines.append(f"  /*{one.address:04x}*/  {one}")
    return "\n".join([*lines, ""])


def architecture_of(device: int | str | None) -> int:
    """Return 90 for a GPU (index or UUID) of compute capability 9.0; 0 if nvidia-smi fails."""
    asked = ("--query-gpu=compute_cap", "--format=csv,noheader", "-i", str(device or 0))
    digits = nvidia_smi(*asked).strip().replace(".", "")
    return int(digits) if digits.isdecimal() else 0


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
        digests = cubins.digests_of(held)
        held.sort(key=lambda one: (one.runs_on(architecture), one.architecture), reverse=True)
        for cubin in held:
            asked = {
                name: stable
                for name in cubin.functions
                if (stable := cubins.stable_name(name)) not in found
                and (wanted is None or stable in wanted)
            }
            for name, code in _disassembled(cubin, asked).items():
                found[asked[name]] = Kernel(name, code, digests[asked[name]])
    return found


def _disassembled(
    cubin: cubins.Cubin, names: Collection[str]
) -> dict[str, tuple[Instruction, ...]]:
    if not names:
        return {}
    numbers = [
        str(number)
        for number, symbol in enumerate(cubin.symbols)
        if symbol.name.decode(errors="replace") in names
    ]
    command = [tool("nvdisasm"), "-c", "-gi", "-fun", ",".join(numbers), str(cubin.path)]
    text = output_of(command)
    found = parsed(text.decode(errors="replace").splitlines())
    return {name: code for name, code in found.items() if name in names}


def parsed(lines: Iterable[str]) -> dict[str, tuple[Instruction, ...]]:
    """Return the code of each function in the output of `nvdisasm -c -gi`, by mangled name."""
    return {name: _function(body) for name, body in _functions(lines)}


def _functions(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    name, body = "", list[str]()
    for line in lines:
        if section := _SECTION.match(line):
            if name:
                yield name, body
            name, body = section[1], []
        else:
            body.append(line)
    if name:
        yield name, body


def _function(body: Iterable[str]) -> tuple[Instruction, ...]:
    labels: dict[str, int] = {}
    pending: list[str] = []
    read: list[tuple[int, str, str, str, str, bool]] = []
    frames: list[tuple[str, str]] = []
    goes_on = False  # whether the next frame line belongs to the same place
    for line in body:
        if "//##" in line:
            frames = [*(frames if goes_on else ()), *_FRAME.findall(line)]
            goes_on = True
        elif found := _INSTRUCTION.match(line):
            address = int(found[1], 16)
            labels.update(dict.fromkeys(pending, address))
            pending, goes_on = [], False
            is_spill = "SpillRefill" in line
            read.append((address, found[2] or "", found[3], found[4], _place(frames), is_spill))
        elif label := _LABEL.match(line):
            pending.append(label[1])
    code = [
        Instruction(address, predicate, opcode, _operands(operands, labels), source, is_spill)
        for address, predicate, opcode, operands, source, is_spill in read
    ]
    return tuple(_without_padding(code))


def _operands(text: str, labels: dict[str, int]) -> tuple[str, ...]:
    def address(found: re.Match[str]) -> str:
        return f"{labels[found[1]]:#x}" if found[1] in labels else found[1]

    return tuple(_TARGET.sub(address, text).split(", ")) if text else ()


def _place(frames: list[tuple[str, str]]) -> str:
    """Return the innermost line outside the toolkit: a line that an author can change."""
    for file, line in frames:
        if not _TOOLKIT.search(file):
            return f"{PurePosixPath(file).name}:{line}"
    return f"{PurePosixPath(frames[-1][0]).name}:{frames[-1][1]}" if frames else ""


def _without_padding(code: list[Instruction]) -> list[Instruction]:
    """Return the code without the branch to itself and the NOPs that fill the last cache line."""
    end = len(code)
    while end and code[end - 1].opcode == "NOP":
        end -= 1
    last = code[end - 1] if end else None
    if last and last.opcode == "BRA" and last.operands == (f"{last.address:#x}",):
        end -= 1
    return code[:end]
