# SPDX-License-Identifier: Apache-2.0
"""The driver of programs, warpgauge_drive: its plan, its lines, where it is, and how it gets there.

`answers` runs it for programs that are not measured in rounds.

fixtures/drive/plan.hpp and lines.hpp describe both languages.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import msgspec

from warpgauge.measure import build
from warpgauge.system import environment, locks, process
from warpgauge.system.errors import UserError
from warpgauge.system.process import NOT_EXECUTABLE, Ending
from warpgauge.system.text import inert

TARGET = "warpgauge_drive"  # in CMake; also the name of the file
INHERITED = "/dev/shm/inherited"  # where an isolated program writes its report
FAILED = 1  # its exit status where, for example, it cannot isolate programs
PRESET = "drive"  # of CMake, for a build of the driver alone
VARIABLE = "WARPGAUGE_DRIVE"  # names another driver

REMEDY = f"build it (cmake --preset release && cmake --build --preset release --target {TARGET})"


def driver() -> Path:
    """Return the path of the driver, which need not exist."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    wheels = environment.ENGINE / "bin" / TARGET
    built, alone = (environment.ROOT / "build" / one / TARGET for one in ("release", PRESET))
    return next((one for one in (wheels, built) if one.exists()), alone)


Show = Callable[[str], None]


def provide(note: Show = lambda line: None, say: Show = lambda line: None) -> None:
    """Build this tree's driver if it is missing. Raises UserError.

    It has a folder of its own: another command may be building in build/release. `note` gets lines
    for the user; `say` is that of `build.build`.
    """
    if os.environ.get(VARIABLE) or driver().exists():
        return
    build.require_clone(environment.ROOT)
    with locks.alone(environment.ROOT / "build" / PRESET):  # GPUs measured at once need it at once
        if not driver().exists():
            environment.provide(environment.BUILD, note)
            build.build(environment.ROOT, PRESET, say, targets=[TARGET])


class Program(msgspec.Struct):
    """One program: `sides` has the command of one process, or of base and candidate in pairs."""

    sides: list[list[str]]
    kind: Literal["driven", "plain", "listing"]  # a plain one reports all under the first name
    benchmarks: list[str] = []  # in the order of measurement
    order: list[int] = msgspec.field(default_factory=lambda: [0])  # in which the sides start
    cpu: int | None = None  # core for all sides; None for any


class Plan(msgspec.Struct):
    """The programs are measured one after the other."""

    seed: str
    deadline_s: float  # for each answer of a side
    programs: list[Program]
    isolate: bool = False  # all programs, or the driver fails
    version: int = 1


def encoded(plan: Plan) -> bytes:
    """Return a plan as the driver reads it. Raises UserError."""
    try:
        return msgspec.json.encode(plan)
    except UnicodeEncodeError:  # JSON cannot hold it
        paths = ", ".join(sorted({inert(one.sides[0][0]) for one in plan.programs}))
        raise UserError(f"{paths}: the path is not UTF-8: rename the folder") from None


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
    slices: int
    elapsed: tuple[float, float]  # of each side: seconds of a slice by the driver's clock


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


def answers(
    programs: Sequence[Program],
    deadline_s: float,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    *,
    told: str,
    by_hand: Sequence[Sequence[str]] = (),
    isolate: bool = False,
) -> list[Ending]:
    """Run programs of one side and at most one benchmark, and return how each ended.

    The standard output of an ending is the program's report. Raises UserError if the driver fails.
    `environment`, `told` and `by_hand` (default: the commands of the programs) are those of
    `process.run`; `folder` is for files of this run.
    """
    if not programs:
        return []
    provide()
    with tempfile.TemporaryDirectory(dir=folder) as own:
        plan, lines = Path(own, "plan"), Path(own, "lines")
        plan.write_bytes(encoded(Plan("", deadline_s, [*programs], isolate)))
        ending = process.run(
            [str(driver()), str(plan)],
            4 * deadline_s + 120.0,  # for each line; the driver itself ends late programs
            folder,
            environment,
            into=lines,
            told=told,
            by_hand=by_hand or [one.sides[0] for one in programs],
        )
        if ending.status == FAILED and isolate:
            raise UserError(ending.stderr_tail().removeprefix(f"{TARGET}: "))
        if ending.status or ending.ended_for:
            raise UserError(f"{driver()}: {ending.described()}: {REMEDY}")
        found: list[list[Line]] = [[] for _ in programs]
        for line in Lines(lines).new():
            found[line.program].append(line)
    return [_ending(one.sides[0], own) for one, own in zip(programs, found, strict=True)]


def why_not_isolated(scratch: Path, *folders: Path) -> str:
    """Return why this machine cannot isolate programs in these folders; empty if it can."""
    # Another user must be able to enter them.
    probe = Program([["/bin/ls", "-d", *(f"{one}/." for one in folders)]], "listing")
    try:
        [ending] = answers([probe], 10.0, scratch, told="isolation", isolate=True)
    except UserError as fault:
        return str(fault)
    if ending.status == 0:
        return ""
    return f"the user of isolated programs cannot enter a folder of theirs: {ending.described()}"


def _ending(command: Sequence[str], lines: Sequence[Line]) -> Ending:
    report = stderr = what = ""
    status: int | None = None
    seconds = 0.0
    for line in lines:
        if isinstance(line, Report):
            report = line.report
        elif isinstance(line, Fault):
            stderr, what = line.stderr, line.what
        elif isinstance(line, End):
            seconds, (status,) = line.seconds, line.status
    if status is None:  # it could not be started
        return Ending(tuple(command), NOT_EXECUTABLE, report, what, seconds)
    return Ending(tuple(command), status, report, stderr, seconds, what)
