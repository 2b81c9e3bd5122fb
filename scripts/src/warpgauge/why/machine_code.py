# SPDX-License-Identifier: Apache-2.0
"""The machine code (SASS) of kernels, with source lines if compiled with `-lineinfo`."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from warpgauge.measure import cubins
from warpgauge.measure.toolkit import output_of, tool
from warpgauge.system.process import nvidia_smi

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
            stable = {name: cubins.stable_name(name) for name in cubin.functions}
            asked = {
                name
                for name, own in stable.items()
                if own not in found and (wanted is None or own in wanted)
            }
            for name, code in _disassembled(cubin, asked).items():
                found[stable[name]] = Kernel(name, code, digests[stable[name]])
    return found


def _disassembled(
    cubin: cubins.Cubin, names: Collection[str]
) -> dict[str, tuple[Instruction, ...]]:
    if not names:
        return {}
    symbols = enumerate(cubin.symbols)
    numbers = [str(n) for n, one in symbols if one.name.decode(errors="replace") in names]
    command = [tool("nvdisasm"), "-c", "-gi", "-fun", ",".join(numbers), str(cubin.path)]
    found = parsed(output_of(command).decode(errors="replace"))
    return {name: code for name, code in found.items() if name in names}


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
