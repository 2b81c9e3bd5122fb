# SPDX-License-Identifier: Apache-2.0
"""Finds the built programs, their benchmarks, and the GPU that they see."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from warpgauge.measure import manifest, nvbench_program
from warpgauge.measure.drive_lines import Program, answers
from warpgauge.measure.gpu_watch import VARIABLE, joined
from warpgauge.records import program_report
from warpgauge.records.counters import HOST_CLOCK, SM_CLOCK, Clock
from warpgauge.records.fields import is_name
from warpgauge.records.names import DEFAULT_SUITE, FULL_SUITE
from warpgauge.records.row import Row
from warpgauge.system.environment import ROOT
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.process import Ending
from warpgauge.system.text import inert, plural, quoted
from warpgauge.system.text import listed as several

LISTING_DEADLINE_S = 60.0
PROTOCOL = 1  # of the driver and of the programs that it drives
BAD_USAGE, NOT_MEASURABLE = 2, 3  # exit statuses of a program
# Per program: a run file with more rows could not be loaded again (`location`).
MOST_NAMES = 30_000
_FULL = f"--suite={FULL_SUITE}"
# A program's description; what it prints before and after is not part of it.
_DOCUMENT = re.compile(r"^\{$.*^\}$", re.MULTILINE | re.DOTALL)

Names = tuple[str, ...]


@dataclass(frozen=True)
class Binary:
    """A program with its benchmarks in order of registration.

    A program that is measured under another name than its file's has `called`: a plain one of
    another project, whose `names` begin with `prefix`, or a variant that is compared with another.
    """

    path: Path
    names: tuple[str, ...] = ()
    is_built: bool = True
    fault: str | None = None  # why its benchmarks could not be listed
    not_driven: str = ""  # why not, if it uses another warpgauge; part of `fault`
    driven: bool = False  # speaks the protocol of the driver, as programs that use warpgauge do
    total: int = 0  # benchmarks that it lists; `names` are those of them that are selected
    left_out: tuple[str, ...] = ()  # its benchmarks that only the full suite has
    arguments: tuple[str, ...] = ()  # for every call; they select which benchmarks exist
    needs_gpu: bool = True  # or may use one
    gpus: int = 1  # number needed, if any
    skipped: str | None = None  # why none of its benchmarks runs here
    inputs: tuple[Path, ...] = ()  # files that affect what is measured
    loads: bool = False  # for seconds, before it opens its device
    called: str = ""
    prefix: str = ""
    of_folder: bool = False  # of another project: it may not state which clock it uses
    wraps: Path | None = None  # the program that `path`, a script, starts

    @property
    def file(self) -> Path:
        """The file with its code."""
        return self.wraps or self.path

    @property
    def family(self) -> str:
        return self.called or self.path.name.removeprefix("bench_")

    @property
    def runs(self) -> bool:
        """Whether a process can run its benchmarks."""
        return self.fault is None and self.skipped is None

    def own(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return `names` as the program itself spells them."""
        return tuple(name.removeprefix(self.prefix) for name in names)

    def own_row(self, row: Row) -> Row:
        """Return a row of a process's report with our name and clock.

        The source of a time in another project's row is unknown, under UseManualTime, too: its
        clock is the host's unless the row reports an SM clock.
        """
        on_device = SM_CLOCK in row.counters if self.of_folder else not row.counters.get(HOST_CLOCK)
        clock = Clock.DEVICE if on_device else Clock.HOST
        return msgspec.structs.replace(row, name=self.prefix + row.name, clock=clock)


@dataclass(frozen=True)
class Probe:
    """Result of a short first process: the context of a GPU run, or why there is no GPU."""

    context: Mapping[str, str]
    no_gpu: str | None = None
    faults: tuple[str, ...] = ()  # programs that failed during the probe, and how
    gpus: int = 1  # number requested


@dataclass(frozen=True)
class Suite:
    """What a build can measure here: its programs, and the context of GPU and machine."""

    binaries: tuple[Binary, ...]  # with the selected benchmarks
    probe: Probe
    known: Mapping[str, str]
    left_out: frozenset[str] = frozenset()  # that the base is not measured with, either

    @property
    def size(self) -> str:
        """The number of benchmarks, as ``105 benchmarks``."""
        return plural(sum(len(binary.names) for binary in self.binaries), "benchmark")


class _Head(msgspec.Struct):
    """The part of a program's description that all protocols have."""

    warpgauge: str
    protocol: int


class _Benchmark(msgspec.Struct):
    name: str
    suite: str


class _Description(_Head):
    benchmarks: list[_Benchmark]  # of both suites, in order of registration


def find(
    build: Path,
    scratch: Path,
    suite: str = DEFAULT_SUITE,
    *,
    isolate: bool = False,
) -> list[Binary]:
    """Return the programs in the build folder `build`, sorted by name. Raises UserError.

    Each has its benchmarks of the suite, possibly none.
    """
    programs = programs_of(build)
    chosen = [unlisted(program) for program in programs]
    built = [binary for binary in chosen if binary.is_built]
    absent = [binary for binary in chosen if not binary.is_built]
    everything = [*listed(built, scratch, suite, isolate=isolate), *absent]
    return with_own_names(sorted(everything, key=lambda binary: binary.path.name))


def programs_of(build: Path) -> tuple[manifest.Program, ...]:
    """Return what the build folder `build` lists. Raises UserError if nothing was built."""
    programs = manifest.read(build).programs
    if not programs:
        raise UserError(
            f"{build / manifest.FILE} names no benchmark program: build first (warpgauge bench "
            "does so without --no-build and --build-dir)"
        )
    return programs


def unlisted(program: manifest.Program) -> Binary:
    """Return a program of a build, whose benchmarks are not known yet."""
    is_built = program.path.exists()
    return Binary(
        program.path,
        is_built=is_built,
        fault=None if is_built else "is not built",
        arguments=program.arguments,
        needs_gpu=program.needs_gpu,
        gpus=program.gpus,
        inputs=program.inputs,
        loads=program.loads,
    )


def listed(
    programs: Sequence[Binary],
    scratch: Path,
    suite: str = DEFAULT_SUITE,
    environment: Mapping[str, str] | None = None,
    *,
    isolate: bool = False,
) -> list[Binary]:
    """Return the programs with their benchmarks of the suite, or the faults that prevent listing.

    A program that does not use warpgauge has no suites. Raises UserError.
    """
    own = [
        replace(one, names=(), arguments=tuple(word for word in one.arguments if word != _FULL))
        for one in programs
    ]

    def ask(
        programs: Sequence[Binary], *options: str, first: str = "--benchmark_list_tests"
    ) -> list[Ending]:
        commands = [[str(p.path), first, *p.arguments, *options] for p in programs]
        listings = [Program([command], "listing") for command in commands]
        where = (LISTING_DEADLINE_S, scratch, environment)
        return answers(listings, *where, told="listing", isolate=isolate)

    endings = ask(own, "--describe")
    found = [_described(one, ending, suite) for one, ending in zip(own, endings, strict=True)]
    # The others list their names; without any, they print only what they always do. An option of
    # warpgauge before 0.2 shows which of them use that.
    others = [number for number, program in enumerate(found) if program is None]
    plain = [own[number] for number in others]
    said = ask(plain), ask(plain, "--benchmark_filter=^$"), ask(plain, "--shuffle=0")
    for number, listing, talk, old in zip(others, *said, strict=True):
        if endings[number].status == BAD_USAGE and old.status == 0:
            why = "was built with a warpgauge from before 0.2"
            found[number] = _of_other(own[number], why)
        else:
            found[number] = _listed(own[number], listing, talk)
    faulty = [number for number in others if (program := found[number]) and program.fault]
    lists = ask([own[number] for number in faulty], first=nvbench_program.LIST)
    for number, ending in zip(faulty, lists, strict=True):
        if states := nvbench_program.states(ending.stdout, MOST_NAMES + 1):
            found[number] = _of_nvbench(own[number], states)
    return [program for program in found if program is not None]


def _described(program: Binary, ending: Ending, suite: str) -> Binary | None:
    """Return a program by its description; None if it may not use warpgauge."""
    document = _DOCUMENT.search(ending.stdout)
    text = document[0] if document else ending.stdout
    try:
        head = msgspec.json.decode(text, type=_Head)
        if head.protocol != PROTOCOL:
            made = f"was built with warpgauge {inert(head.warpgauge)}"
            why = f"{made}, which has protocol {head.protocol} and not {PROTOCOL}"
            return _of_other(program, why)
        benchmarks = msgspec.json.decode(text, type=_Description).benchmarks
    except ValueError:
        has_failed = ending.status < 0 or ending.ended_for
        return _not_listed(program, ending) if has_failed else None
    if suite == FULL_SUITE:
        program = replace(program, arguments=(*program.arguments, _FULL))
    is_left_out = {one.name: one.suite == FULL_SUITE != suite for one in benchmarks}
    further = tuple(name for name, is_out in is_left_out.items() if is_out)
    names = tuple(name for name, is_out in is_left_out.items() if not is_out)
    program = replace(program, driven=True, names=names, total=len(names), left_out=further)
    return _checked(program, [one.name for one in benchmarks])


def _listed(program: Binary, listing: Ending, talk: Ending) -> Binary:
    """Return a program by the names that it lists, one per line, beside what it always prints."""
    if listing.status or listing.ended_for:
        return _not_listed(program, listing)
    lines = Counter(line for line in listing.stdout.splitlines() if line.strip())
    names = tuple((lines - Counter(talk.stdout.splitlines())).elements())
    return _checked(replace(program, names=names, total=len(names)), names)


def _of_nvbench(program: Binary, states: nvbench_program.States) -> Binary:
    """Return what stands in for a program with these states."""
    path = nvbench_program.provide(ROOT / "build", program.path, states)
    names, inputs = tuple(states), (*program.inputs, program.path)
    made = replace(program, path=path, called=program.family, inputs=inputs)
    return _checked(replace(made, names=names, total=len(names)), names)


def _of_other(program: Binary, why: str) -> Binary:
    """Return a program that uses another warpgauge."""
    return replace(program, fault=f"{why}: rebuild it with this one", not_driven=why)


def _not_listed(program: Binary, ending: Ending) -> Binary:
    return replace(program, fault=f"cannot list its benchmarks: {ending.described()}")


def _checked(program: Binary, names: Sequence[str]) -> Binary:
    """Return a program that lists `names` as it is, or with what is wrong with them."""
    bad = next((name for name in names if not _is_name(name)), None)
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if not names:
        fault = "lists no benchmark, so it is probably not a Google Benchmark program"
    elif len(names) > MOST_NAMES:
        fault = f"lists {len(names):,} benchmarks, more than {MOST_NAMES:,}: split the program"
    elif bad is not None:
        fault = f"cannot list its benchmarks: {quoted(bad)} is not a name"
    elif twice is not None:
        fault = f"has the benchmark {quoted(twice)} twice: rename one"
    else:
        return program
    return replace(program, fault=fault, names=(), left_out=())


def _is_name(name: str) -> bool:
    """Return whether a filter can select a benchmark of this name, and a run file can hold it."""
    return is_name(name) and name.isprintable() and "\N{REPLACEMENT CHARACTER}" not in name


def not_built(binaries: Iterable[Binary]) -> list[str]:
    """Return the families of the programs that are not built."""
    return [binary.family for binary in binaries if not binary.is_built]


def _owners(binaries: Iterable[Binary]) -> dict[str, set[str]]:
    """Return the names of the programs that have each benchmark.

    A program that cannot be listed has one row, named after it.
    """
    found: dict[str, set[str]] = {}
    for binary in binaries:
        for name in binary.names or (binary.family,):
            found.setdefault(name, set()).add(binary.path.name)
    return found


def with_own_names(binaries: Sequence[Binary]) -> list[Binary]:
    """Set a fault on programs that share a benchmark name: a row would be ambiguous."""
    claimed = _owners(binaries)

    def checked(binary: Binary) -> Binary:
        for name in binary.names:
            if others := claimed[name] - {binary.path.name}:
                fault = f"has the benchmark {quoted(name)}, which {min(others)} also has"
                return replace(binary, names=(), fault=f"{fault}: rename one")
        return binary

    return [*map(checked, binaries)]


def of_folders(
    folders: tuple[Path, Path],
    scratch: Path,
    environment: Mapping[str, str],
    asked: str,
    *,
    isolate: bool = False,
) -> tuple[list[Binary], list[Binary]]:
    """Return another project's programs in two folders that `asked`, a REGEX, selects.

    If two programs of one folder share a benchmark name, all benchmarks of both get their
    program's name as a prefix, on both sides. Raises UserError, also if a folder has none.
    """
    paths = [programs_in(folder, asked) for folder in folders]
    programs = [
        Binary(path, called=path.name, of_folder=True) for of_one in paths for path in of_one
    ]
    programs = listed(programs, scratch, environment=environment, isolate=isolate)
    sides = programs[: len(paths[0])], programs[len(paths[0]) :]
    claims = [names for side in sides for names in _owners(side).values()]
    shared = {program for names in claims if len(names) > 1 for program in names}

    def own(program: Binary) -> Binary:
        if program.family not in shared:
            return program
        prefix = f"{program.family}/"
        names = tuple(f"{prefix}{name}" for name in program.names)
        return replace(program, names=names, prefix=prefix)

    base, candidate = (with_own_names([*map(own, side)]) for side in sides)
    return base, candidate


def programs_in(folder: Path, asked: str) -> list[Path]:
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
        chosen = manifest.chosen(folder, [file.name for file in found], asked)
        found = [file for file in found if file.name in chosen]
    if not found:
        others = [file.name for file in files]
        holds = f", only {several(others)}" if others else ""
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


def left_out(binaries: Iterable[Binary]) -> list[str]:
    """Return the names that only the full suite has, if that is not measured."""
    return [name for binary in binaries for name in binary.left_out]


def gpus(binaries: Sequence[Binary], scratch: Path, *, isolate: bool = False) -> list[Probe]:
    """Probe each --device N; a failing GPU has no context. Raises UserError if there is none."""
    found: list[Probe] = []
    # After two consecutive failures, it is unknown whether there are more.
    while len(found) < 2 or any(gpu.context for gpu in found[-2:]):
        try:
            gpu = probe(binaries, [f"--device={len(found)}"], scratch, isolate=isolate)
        except UserError:
            if not found:
                raise
            break
        if gpu.no_gpu:
            raise UserError(gpu.no_gpu, ExitStatus.NOT_MEASURED)
        found.append(gpu)
    return found


def together(probes: Sequence[Probe]) -> Probe:
    """Combine several GPUs into one model. Raises UserError."""
    faults = tuple(fault for one in probes for fault in one.faults)
    known = [(one.context.get("gpu_uuid", ""), one.context.get("gpu_name", "")) for one in probes]
    if not all(uuid for uuid, _ in known):
        why = "; ".join(faults) or "the driver reports no UUID of one"
        raise UserError(f"the GPUs cannot be measured together: {why}", ExitStatus.NOT_MEASURED)
    return Probe({**probes[0].context, **joined(known)}, faults=faults, gpus=len(probes))


def probe(
    binaries: Sequence[Binary],
    arguments: Sequence[str],
    scratch: Path,
    environment: Mapping[str, str] | None = None,
    *,
    isolate: bool = False,
) -> Probe:
    """Run one benchmark to learn which GPU the arguments (--device N) and environment select.

    Use the GPU program with the fewest GPUs and benchmarks; if it crashes, use the next one. If
    all crash, the context is empty. Raises UserError for invalid arguments.
    """
    faults: list[str] = []
    candidates = [b for b in binaries if b.needs_gpu and b.names]
    for binary in sorted(candidates, key=lambda b: (b.gpus, len(b.names))):
        name = binary.names[0]
        command = [str(binary.path), *binary.arguments, *arguments]
        alone = [*command, f"--benchmark_filter=^{re.escape(name)}$"]
        program = Program([command], "driven", [name])
        if not binary.driven:
            program = Program([alone], "plain", [name])
        where = (LISTING_DEADLINE_S, scratch, environment)
        [ending] = answers([program], *where, told="probe", by_hand=[alone], isolate=isolate)
        if ending.status == BAD_USAGE:
            raise UserError(ending.stderr_tail() or ending.how)
        if ending.status == NOT_MEASURABLE:
            visible = None if environment else os.environ.get(VARIABLE)
            hidden = f" ({VARIABLE}={visible})" if visible else ""
            return Probe({}, (ending.stderr_tail() or ending.how) + hidden)
        report = program_report.parsed(ending.stdout.encode())
        if ending.status:
            faults.append(ending.described(report.context if report else ()))
        if report:
            return Probe(report.context, faults=tuple(faults))
    return Probe({}, faults=tuple(faults))
