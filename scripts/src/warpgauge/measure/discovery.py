# SPDX-License-Identifier: Apache-2.0
"""Finds the built programs, their benchmarks, and the GPU that they see."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from warpgauge.measure import manifest
from warpgauge.measure.description import (
    BAD_USAGE,
    LISTING_DEADLINE_S,
    NOT_MEASURABLE,
    REBUILD,
    Asked,
)
from warpgauge.records import program_report
from warpgauge.records.fields import is_name
from warpgauge.records.model import DEFAULT_SUITE, FULL_SUITE
from warpgauge.records.program_report import Report
from warpgauge.system import process
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import quoted

_LISTING_TOTAL_S = 300.0  # for all programs of a folder together
# Per program: a run file with more rows could not be loaded again (`json_file`).
MOST_NAMES = 30_000
# Null bytes cannot be passed as arguments; U+FFFD replaces bytes that are not UTF-8.
_NO_TEXT = re.compile("[\\0\N{REPLACEMENT CHARACTER}]")
_FULL = f"--suite={FULL_SUITE}"

Names = tuple[str, ...]


@dataclass(frozen=True)
class Binary:
    """The program of one family, with its benchmarks in order of registration."""

    path: Path
    names: tuple[str, ...]
    fault: str | None = None  # why its benchmarks could not be listed
    not_driven: str = ""  # why not, if it uses another warpgauge; part of `fault`
    driven: bool = False  # speaks the protocol of the driver, as programs that use warpgauge do
    total: int = 0  # benchmarks that it lists; `names` are those of them that are selected
    left_out: tuple[str, ...] = ()  # its benchmarks that only the full suite has
    arguments: tuple[str, ...] = ()  # for every call; they select which benchmarks exist
    needs_gpu: bool = True
    gpus: int = 1  # number needed, if any
    skipped: str | None = None  # why none of its benchmarks runs here
    inputs: tuple[Path, ...] = ()  # files that affect what is measured

    @property
    def family(self) -> str:
        return self.path.name.removeprefix("bench_")

    @property
    def runs(self) -> bool:
        """Whether a process can run its benchmarks."""
        return self.fault is None and self.skipped is None

    @property
    def claims(self) -> tuple[str, ...]:
        """The names of its rows."""
        return self.names

    def own(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return `names` as the program itself spells them."""
        return tuple(names)

    def normalized(self, report: Report) -> Report:
        """Return a process's report with our `names` and fields."""
        return report


AnyBinary = TypeVar("AnyBinary", bound=Binary)


@dataclass(frozen=True)
class Probe:
    """Result of a short first process: the context of a GPU run, or why there is no GPU."""

    context: Mapping[str, str]
    no_gpu: str | None = None
    faults: tuple[str, ...] = ()  # programs that failed during the probe, and how
    gpus: int = 1  # number requested


def find(build: Path, scratch: Path, suite: str = DEFAULT_SUITE, asked: str = "") -> list[Binary]:
    """Return the programs in the build folder `build`, sorted by name. Raises UserError.

    Each has its benchmarks of the suite, possibly none; a missing program carries a fault. Programs
    that `asked`, the REGEX of --programs, does not select are not started.
    """
    programs = manifest.read(build).programs
    if not programs:
        raise UserError(
            f"{build / manifest.FILE} names no benchmark program: build first (scripts/bench does "
            "so without --no-build and --build-dir)"
        )
    names = manifest.named([one.path.name for one in programs], asked, build)
    programs = tuple(one for one in programs if one.path.name in names)
    until = time.monotonic() + _LISTING_TOTAL_S
    late = f"its benchmarks were not listed, because listing the others took {_LISTING_TOTAL_S:g} s"
    found = []
    for program in programs:
        in_time = time.monotonic() < until
        path, own = program.path, program.arguments
        binary = listed(path, scratch, suite, own) if in_time else Binary(path, (), late)
        needs, gpus = program.needs_gpu, program.gpus
        found.append(replace(binary, needs_gpu=needs, gpus=gpus, inputs=program.inputs))
    return with_own_names(found)


def families_left_out(build: Path, found: Iterable[Binary]) -> str:
    """Return the families of the programs in `build` that are not `found`, separated by slashes."""
    paths = {one.path for one in found}
    gone = (Binary(one.path, ()) for one in manifest.read(build).programs if one.path not in paths)
    return "/".join(one.family for one in gone)


def owners(binaries: Iterable[Binary]) -> dict[str, set[str]]:
    """Return the names of the programs that have each benchmark."""
    found: dict[str, set[str]] = {}
    for binary in binaries:
        for name in binary.claims:
            found.setdefault(name, set()).add(binary.path.name)
    return found


def with_own_names(binaries: Sequence[AnyBinary]) -> list[AnyBinary]:
    """Set a fault on programs that share a benchmark name: a row would be ambiguous."""
    claimed = owners(binaries)

    def checked(binary: AnyBinary) -> AnyBinary:
        for name in binary.names:
            if others := claimed[name] - {binary.path.name}:
                fault = f"has the benchmark {quoted(name)}, which {min(others)} also has"
                return replace(binary, names=(), fault=f"{fault}: rename one")
        return binary

    return [*map(checked, binaries)]


def left_out(binaries: Iterable[Binary]) -> list[str]:
    """Return the names that only the full suite has, if that is not measured."""
    return [name for binary in binaries for name in binary.left_out]


def gpus(binaries: Sequence[Binary], scratch: Path) -> list[Probe]:
    """Probe each --device N; a failing GPU has no context. Raises UserError if there is none."""
    found: list[Probe] = []
    # After two consecutive failures, it is unknown whether there are more.
    while len(found) < 2 or any(gpu.context for gpu in found[-2:]):
        try:
            gpu = probe(binaries, [f"--device={len(found)}"], scratch)
        except UserError:
            if not found:
                raise
            break
        if gpu.no_gpu:
            raise UserError(gpu.no_gpu, ExitStatus.NOT_MEASURED)
        found.append(gpu)
    return found


def together(probes: Sequence[Probe]) -> Probe:
    """Combine several GPUs into one model, ``NVIDIA H200 x2``. Raises UserError."""
    faults = tuple(fault for one in probes for fault in one.faults)
    models = [one.context.get("gpu_name", "") for one in probes]
    uuids = sorted({one.context.get("gpu_uuid", "") for one in probes})
    if "" in uuids or len(uuids) < len(probes):
        why = "; ".join(faults) or "the driver reports no UUID of one, or one is named twice"
        raise UserError(f"the GPUs cannot be measured together: {why}", ExitStatus.NOT_MEASURED)
    if len({*models}) > 1:
        different = " and ".join(sorted({*models}))
        raise UserError(f"GPUs of different models cannot be measured together: {different}")
    own = {"gpu_uuid": ",".join(uuids), "gpu_name": f"{models[0]} x{len(probes)}"}
    return Probe({**probes[0].context, **own}, faults=faults, gpus=len(probes))


def probe(
    binaries: Sequence[Binary],
    arguments: Sequence[str],
    scratch: Path,
    environment: Mapping[str, str] | None = None,
) -> Probe:
    """Run one benchmark to learn which GPU the arguments (--device N) and environment select.

    Use the GPU program with the fewest GPUs and benchmarks; if it crashes, use the next one. If
    all crash, the context is empty. Raises UserError for invalid arguments.
    """
    faults: list[str] = []
    candidates = [b for b in binaries if b.needs_gpu and b.names]
    out = scratch / "probe.json"
    output = [f"--benchmark_out={out}", "--benchmark_out_format=json"]
    for binary in sorted(candidates, key=lambda b: (b.gpus, len(b.names))):
        out.unlink(missing_ok=True)
        one = f"--benchmark_filter=^{re.escape(binary.names[0])}$"
        command = [str(binary.path), *binary.arguments, one, *output, *arguments]
        ending = process.run(command, LISTING_DEADLINE_S, scratch, environment)
        if ending.status == BAD_USAGE:
            raise UserError(ending.stderr_tail() or ending.how)
        if ending.status == NOT_MEASURABLE:
            return Probe({}, ending.stderr_tail() or ending.how)
        report = program_report.read(out)
        context = report.get("context", {})
        if ending.status:
            faults.append(ending.described(context))
        if report:
            texts = {key: value for key, value in context.items() if isinstance(value, str)}
            return Probe(texts, faults=tuple(faults))
    return Probe({}, faults=tuple(faults))


def with_axis(binary: Binary, axis: str, values: Sequence[float], scratch: Path) -> Binary:
    """Return the program with these values for an axis, wherever a benchmark has it."""
    told = f"--axis={axis}={','.join(map(str, values))}"
    own = tuple(one for one in binary.arguments if one != _FULL)
    suite = DEFAULT_SUITE if own == binary.arguments else FULL_SUITE
    found = listed(binary.path, scratch, suite, (*own, told))
    return replace(found, needs_gpu=binary.needs_gpu, gpus=binary.gpus, inputs=binary.inputs)


def listed(
    path: Path, scratch: Path, suite: str = DEFAULT_SUITE, own: tuple[str, ...] = ()
) -> Binary:
    """Return a program with its benchmarks of the suite, or with the fault that prevents listing.

    Every call gets the arguments `own`. A program that does not use warpgauge has no suites.
    """
    asked = Asked(path, scratch, own)
    description, ending = asked.describe()
    if description is None:
        return _plain(asked, ending)
    if (why := description.fault) is not None:
        return Binary(path, (), f"{why}: {REBUILD}", not_driven=why)
    everything = description.benchmarks
    fault = _fault([one.name for one in everything])
    if fault is not None:
        return Binary(path, (), fault)
    is_full = suite == FULL_SUITE
    further = {one.name for one in everything if one.suite == FULL_SUITE and not is_full}
    names = tuple(one.name for one in everything if one.name not in further)
    return Binary(
        path,
        names,
        driven=True,
        total=len(names),
        left_out=tuple(one.name for one in everything if one.name in further),
        arguments=(*own, _FULL) if is_full else own,
    )


def _plain(asked: Asked, ending: process.Ending) -> Binary:
    """Return a program that does not use warpgauge; `ending` is how it ended for --describe."""
    path, own = asked.path, tuple(asked.arguments)
    if ending.status > 0:  # it may have refused that option
        ending = asked.list()
    if ending.status:
        return Binary(path, (), f"cannot list its benchmarks: {ending.described()}")
    # One name per line; a name may contain spaces.
    names = tuple(line for line in ending.stdout.splitlines() if line.strip())
    if (fault := _fault(names)) is not None:
        return Binary(path, (), fault)
    return Binary(path, names, arguments=own, total=len(names))


def _fault(names: Sequence[str]) -> str | None:
    """Return what is wrong with the names that a program lists."""
    if not names:
        return "lists no benchmark"
    if len(names) > MOST_NAMES:
        return too_many(names)
    for name in names:
        if _NO_TEXT.search(name) or not is_name(name):
            return f"cannot list its benchmarks: {quoted(name)} is not a name"
    return None


def too_many(names: Sequence[str]) -> str:
    return f"lists {len(names):,} benchmarks, more than {MOST_NAMES:,}: split the program"
