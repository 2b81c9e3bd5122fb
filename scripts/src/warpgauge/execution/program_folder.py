# SPDX-License-Identifier: Apache-2.0
"""The programs in two folders of another project, so that each row has one name on both sides."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from warpgauge.execution import plain_program
from warpgauge.execution.discovery import owners, with_own_names
from warpgauge.execution.plain_program import PlainProgram
from warpgauge.records.benchmark_filter import SEARCH_LIMIT_S, cpu_limit, matches
from warpgauge.system.errors import UserError
from warpgauge.system.text import inert, listed, typed


@dataclass(frozen=True)
class Programs:
    """The programs of one folder, and of each the benchmarks that are asked for."""

    folder: Path
    everything: tuple[PlainProgram, ...]

    def asked(self, filter: str) -> tuple[PlainProgram, ...]:
        """Those that `filter` leaves some of; of one that cannot list nobody knows what it has."""
        with cpu_limit(SEARCH_LIMIT_S, f"--filter {typed(filter)} takes too long; simplify it"):
            found = [
                replace(one, names=tuple(n for n in one.names if matches(filter, n)))
                for one in self.everything
            ]
        return tuple(one for one in found if one.names or one.fault is not None)


def both(
    folders: tuple[Path, Path], scratch: Path, environment: Mapping[str, str]
) -> tuple[Programs, Programs]:
    """The programs of both folders, asked for their benchmarks. Raises UserError.

    Where two programs of one folder have a benchmark of one name, all benchmarks of both begin with
    their program's name, on both sides.
    """
    found = [
        [plain_program.listed(path, scratch, environment) for path in paths]
        for paths in [_paths(folder) for folder in folders]
    ]
    claims = [programs for side in found for programs in owners(side).values()]
    shared = {program for programs in claims if len(programs) > 1 for program in programs}

    def own(program: PlainProgram) -> PlainProgram:
        if program.family not in shared:
            return program
        prefix = f"{program.family}/"
        names = tuple(f"{prefix}{name}" for name in program.names)
        return replace(program, names=names, prefix=prefix)

    base, candidate = (
        Programs(folder, tuple(with_own_names([*map(own, side)])))
        for folder, side in zip(folders, found, strict=True)
    )
    return base, candidate


def _paths(folder: Path) -> list[Path]:
    """Every program that lies in `folder`, sorted by name. Raises UserError."""
    # Absolute: what is called `bench` would be looked for in PATH.
    there = folder.absolute()
    try:
        files = sorted(file for file in there.iterdir() if not file.name.startswith("."))
        found = [file for file in files if _is_program(file)]
    except OSError as fault:
        raise UserError(f"{folder}: cannot be read ({fault.strerror or fault})") from None
    for file in found:
        if not file.name.isprintable():
            name = inert(file.name)
            raise UserError(f"{folder}: the name of {name} is none that can be told: rename it")
    if not found:
        names = [file.name for file in files]
        holds = f", only {listed(names)}" if names else ""
        raise UserError(f"{folder}: holds no program{holds}; give the folder of the executables")
    return found


def _is_program(path: Path) -> bool:
    """An executable file, and what was one before its permissions or its target got lost."""
    if path.is_symlink() and not path.exists():
        return True
    # Libraries are executable files, too: libgemm.so, libgemm.so.1.2.
    if not path.is_file() or {".so", ".o"} & {*path.suffixes}:
        return False
    if os.access(path, os.X_OK):
        return True
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"
