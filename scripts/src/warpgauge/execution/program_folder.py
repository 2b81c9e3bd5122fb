# SPDX-License-Identifier: Apache-2.0
"""The programs in two folders of another project, so that each row has one name on both sides."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warpgauge.execution import plain_program
from warpgauge.execution.discovery import told_apart
from warpgauge.execution.plain_program import PlainProgram
from warpgauge.records import benchmark_filter
from warpgauge.records.benchmark_filter import SEARCH_LIMIT_S, cpu_limit
from warpgauge.system.errors import UserError
from warpgauge.system.text import inert, listed, typed

# Libraries are executable files, too: libgemm.so, libgemm.so.1.2.
_LIBRARY = ".so"

# ELF's e_type of what can be started: programs, and those that may lie anywhere (System V ABI).
_PROGRAM_TYPES = (2, 3)


@dataclass(frozen=True)
class Programs:
    """The programs of one folder, and of each the benchmarks that are asked for."""

    folder: Path
    everything: tuple[PlainProgram, ...]

    def asked(self, filter: str) -> tuple[PlainProgram, ...]:
        """Those that `filter` leaves some of; of one that cannot list nobody knows what it has."""
        refusal = f"--filter {typed(filter)} takes too long; simplify it"
        found = []
        with cpu_limit(SEARCH_LIMIT_S, refusal):
            for one in self.everything:
                names = tuple(name for name in one.names if benchmark_filter.matches(filter, name))
                if names or one.fault is not None:
                    found.append(replace(one, names=names))
        return tuple(found)


def both(
    folders: tuple[Path, Path], scratch: Path, environment: Mapping[str, str]
) -> tuple[Programs, Programs]:
    """The programs of both folders, asked for their benchmarks. Raises UserError.

    Where two programs of one folder have a benchmark of one name, all benchmarks of both carry
    their program's name, on both sides. One that moved to another program keeps its name.
    """
    found = [
        [plain_program.listed(path, scratch, environment) for path in paths]
        for paths in [_paths(folder) for folder in folders]
    ]
    shared = {program for side in found for program in _shared(side)}
    base, candidate = (
        Programs(folder, tuple(told_apart([_prefixed(one, shared) for one in side])))
        for folder, side in zip(folders, found, strict=True)
    )
    return base, candidate


def _shared(programs: Sequence[PlainProgram]) -> set[str]:
    """Those of one folder, by the names of their files, that have a name which another one has."""
    owners: dict[str, set[str]] = {}
    for one in programs:
        for name in one.claims:
            owners.setdefault(name, set()).add(one.family)
    return {program for several in owners.values() if len(several) > 1 for program in several}


def _prefixed(one: PlainProgram, shared: set[str]) -> PlainProgram:
    if one.family not in shared:
        return one
    prefix = f"{one.family}/"
    return replace(one, names=tuple(f"{prefix}{name}" for name in one.names), prefix=prefix)


def _paths(folder: Path) -> list[Path]:
    """Every program that lies in `folder`, sorted by name. Raises UserError."""
    # Absolute: what is called `bench` would be looked for in PATH.
    there = folder.absolute()
    try:
        files = sorted(one for one in there.iterdir() if not one.name.startswith("."))
        found = [one for one in files if _is_program(one)]
    except OSError as fault:
        raise UserError(f"{folder}: cannot be read ({fault.strerror or fault})") from None
    for one in found:
        if not one.name.isprintable():
            name = inert(one.name)
            raise UserError(f"{folder}: the name of {name} is none that can be told: rename it")
    if not found:
        names = [one.name for one in files]
        holds = f", only {listed(names)}" if names else ""
        raise UserError(f"{folder}: holds no program{holds}; give the folder of the executables")
    return found


def _is_program(path: Path) -> bool:
    """An executable file, and what was one before its permissions or its target got lost."""
    if path.is_symlink() and not path.exists():
        return True
    if not path.is_file() or _LIBRARY in path.suffixes:
        return False
    return os.access(path, os.X_OK) or _is_elf_program(path)


def _is_elf_program(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(18)
    if len(head) < 18 or not head.startswith(b"\x7fELF"):
        return False
    order = ">" if head[5] == 2 else "<"
    return struct.unpack_from(f"{order}H", head, 16)[0] in _PROGRAM_TYPES
