# SPDX-License-Identifier: Apache-2.0
"""Google Benchmark programs of another project in two folders; rows have one name on both sides.

Most know none of our options and report no context. Those that use warpgauge run in lock-step.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from warpgauge.measure import manifest
from warpgauge.measure.discovery import Binary, listed, owners, with_own_names
from warpgauge.records.counters import SM_CLOCK
from warpgauge.records.model import Clock
from warpgauge.records.row import Row
from warpgauge.system import text
from warpgauge.system.errors import UserError


@dataclass(frozen=True)
class PlainProgram(Binary):
    """A program that is its own family, named after its file. `names` begin with `prefix`.

    It may use a GPU, so the run waits for the GPU after it ends badly.
    """

    prefix: str = ""

    @property
    def family(self) -> str:
        return self.path.name

    @property
    def claims(self) -> tuple[str, ...]:
        """The names of its rows. A program that cannot be listed has one row, named after it."""
        return self.names or (self.family,)

    def own(self, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(name.removeprefix(self.prefix) for name in names)

    def own_row(self, row: Row) -> Row:
        """Return a row of a report with our name and clock.

        The clock is the host's unless the row reports an SM clock: under UseManualTime, too,
        because the source of the time is unknown.
        """
        clock = Clock.DEVICE if SM_CLOCK in row.counters else Clock.HOST
        return msgspec.structs.replace(row, name=self.prefix + row.name, clock=clock)


def both(
    folders: tuple[Path, Path],
    scratch: Path,
    environment: Mapping[str, str],
    asked: str,
    *,
    isolate: bool = False,
) -> tuple[list[PlainProgram], list[PlainProgram]]:
    """Return the programs of both folders that `asked`, the REGEX of --programs, selects.

    Raises UserError, also if a folder has none.

    If two programs of one folder share a benchmark name, all benchmarks of both get their
    program's name as a prefix, on both sides.
    """
    paths = [_paths(folder, asked) for folder in folders]
    programs = [PlainProgram(path) for of_folder in paths for path in of_folder]
    programs = listed(programs, scratch, environment=environment, isolate=isolate)
    sides = programs[: len(paths[0])], programs[len(paths[0]) :]
    claims = [names for side in sides for names in owners(side).values()]
    shared = {program for names in claims if len(names) > 1 for program in names}

    def own(program: PlainProgram) -> PlainProgram:
        if program.family not in shared:
            return program
        prefix = f"{program.family}/"
        names = tuple(f"{prefix}{name}" for name in program.names)
        return replace(program, names=names, prefix=prefix)

    base, candidate = (with_own_names([*map(own, side)]) for side in sides)
    return base, candidate


def _paths(folder: Path, asked: str) -> list[Path]:
    """Return every program in `folder` that is asked for, sorted by name. Raises UserError."""
    # Absolute, because a bare name like `bench` would be looked up in PATH.
    there = folder.absolute()
    try:
        files = sorted(file for file in there.iterdir() if not file.name.startswith("."))
        found = [file for file in files if _is_program(file)]
    except OSError as fault:
        why = fault.strerror or fault
        raise UserError(f"{folder}: cannot be read ({why}); name a folder of programs") from None
    if found:
        names = manifest.named([file.name for file in found], asked, folder)
        found = [file for file in found if file.name in names]
    if not found:
        others = [file.name for file in files]
        holds = f", only {text.listed(others)}" if others else ""
        raise UserError(f"{folder}: holds no program{holds}; give the folder of the executables")
    return found


def _is_program(path: Path) -> bool:
    """Return whether this is an executable, or was one before its mode or link target was lost."""
    if path.is_symlink() and not path.exists():
        return True
    # Libraries are executable files, too: libgemm.so, libgemm.so.1.2.
    if not path.is_file() or {".so", ".o"} & {*path.suffixes}:
        return False
    if os.access(path, os.X_OK):
        return True
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"
