# SPDX-License-Identifier: Apache-2.0
"""The driver of programs, warpgauge_drive: its plan, its lines, where it is, and how it gets there.

fixtures/drive/README.md describes both languages.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import msgspec

from warpgauge.measure import build
from warpgauge.system import environment, locks
from warpgauge.system.errors import UserError

TARGET = "warpgauge_drive"  # in CMake; also the name of the file
PRESET = "drive"  # of CMake, for a build of the driver alone
VARIABLE = "WARPGAUGE_DRIVE"  # names another driver, such as an installed one

REMEDY = f"build it (cmake --preset release && cmake --build --preset release --target {TARGET})"


def driver() -> Path:
    """Return the path of the driver, which need not exist."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    built, alone = (environment.ROOT / "build" / one / TARGET for one in ("release", PRESET))
    return built if built.exists() else alone


def provide(
    note: Callable[[str], None], say: Callable[[str], None], echo: Callable[[str], None]
) -> None:
    """Build this tree's driver if it is missing. Raises UserError.

    It has a folder of its own: another command may be building in build/release. `note` gets lines
    for the user; `say` and `echo` are those of `build.build`.
    """
    if os.environ.get(VARIABLE) or driver().exists():
        return
    build.require_clone(environment.ROOT)
    with locks.alone(environment.ROOT / "build" / PRESET):  # GPUs measured at once need it at once
        if not driver().exists():
            environment.provide(environment.BUILD, note)
            build.build(environment.ROOT, PRESET, say, echo, targets=[TARGET])


class Program(msgspec.Struct):
    """One program: `sides` has the command of one process, or of base and candidate in pairs."""

    sides: list[list[str]]
    order: list[int]  # in which the sides start
    cpu: int | None  # core for all sides; None for any
    benchmarks: list[str]  # in the order of measurement
    driven: bool  # or a plain program: one process measures all, and reports them as the first


class Plan(msgspec.Struct):
    """The programs are measured one after the other."""

    seed: str
    deadline_s: float  # for each answer of a side
    programs: list[Program]
    version: int = 1


class _Line(msgspec.Struct, frozen=True, tag_field="line", tag=str.lower):
    program: int  # index in Plan.programs


class Begin(_Line, frozen=True):
    benchmark: str


class Report(_Line, frozen=True):
    """The document that a side wrote for a benchmark."""

    benchmark: str
    side: int
    report: str


class Ratio(_Line, frozen=True):
    """How many times as long the candidate takes as the base, as a logarithm."""

    benchmark: str
    log_ratio: float


class Fault(_Line, frozen=True):
    """A side ended by itself (`kind` "ended"), or was ended because of `what`."""

    benchmarks: list[str]  # those that it costs
    side: int
    when: Literal["start", "run", "end"]
    kind: str
    status: int | None
    what: str
    stderr: str


class End(_Line, frozen=True):
    """No process of the program runs any more; `left_behind`: some had to be killed."""

    seconds: float
    left_behind: bool
    status: list[int | None]  # exit status of each side's last process


Line = Begin | Report | Ratio | Fault | End
_DECODER: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Line)


class Lines:
    """The lines in a file that the driver is still writing."""

    def __init__(self, path: Path) -> None:
        self._path, self._read = path, 0

    def new(self) -> list[Line]:
        """Return the lines that were completed since the last call. Raises UserError."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._read)
                whole, end, _ = file.read().rpartition(b"\n")
        except FileNotFoundError:
            return []
        self._read += len(whole + end)
        try:
            return [_DECODER.decode(line) for line in whole.split(b"\n") if line]
        except ValueError as fault:
            raise UserError(f"{driver()} writes unknown lines ({fault}): {REMEDY}") from None


def recorded(path: Path) -> list[Line]:
    """Return the lines of a driver that has ended, up to the first that is damaged or cut off."""
    lines: list[Line] = []
    with suppress(FileNotFoundError, ValueError):
        for line in path.read_bytes().split(b"\n"):
            lines.append(_DECODER.decode(line))  # noqa: PERF401 - those before the damaged one stay
    return lines
