# SPDX-License-Identifier: Apache-2.0
"""What can be measured here: the built binaries, the benchmarks in them, and the GPU they see."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from warpgauge.execution import manifest
from warpgauge.execution.shuffle import shuffled
from warpgauge.execution.stderr_tail import described
from warpgauge.records import partial_report
from warpgauge.records.fields import is_name
from warpgauge.records.model import DEFAULT_SUITE, FULL_SUITE
from warpgauge.records.partial_report import Report
from warpgauge.system import process
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import quoted

LISTING_DEADLINE_S = 60.0
# Of all programs of a folder together: what is not asked by then is not waited for.
_LISTING_TOTAL_S = 300.0
# Of a program: a run file with the rows of more could not be read again (`json_file`).
MOST_NAMES = 30_000
# What no command can be given, and what stands for bytes that are no text.
_NO_TEXT = re.compile("[\\0\N{REPLACEMENT CHARACTER}]")
_FULL = f"--suite={FULL_SUITE}"
BAD_USAGE, NOT_MEASURABLE = 2, 3  # exit statuses of a binary


@dataclass(frozen=True)
class Binary:
    """One built family: its benchmarks in the order they are registered in."""

    path: Path
    names: tuple[str, ...]
    fault: str | None = None  # why its benchmarks could not be listed
    shuffles: bool = False  # it knows --shuffle; programs of older commits do not
    arguments: tuple[str, ...] = ()  # which have it know these benchmarks, and no fewer
    needs_gpu: bool = True

    @property
    def family(self) -> str:
        return self.path.name.removeprefix("bench_")

    def own(self, names: Sequence[str]) -> tuple[str, ...]:
        """`names` as the program itself calls them."""
        return tuple(names)

    def told(self, report: Report) -> Report:
        """What a process of it reported, by `names` and in our own terms."""
        return report


AnyBinary = TypeVar("AnyBinary", bound=Binary)


@dataclass(frozen=True)
class Probe:
    """What a first short process found: the context of a GPU run, or why there is none."""

    context: Mapping[str, str]
    no_gpu: str | None = None
    faults: tuple[str, ...] = ()  # how programs failed on the way


def find(build: Path, scratch: Path, suite: str = DEFAULT_SUITE) -> list[Binary]:
    """Every program that the last build of the folder `build` made, sorted by name, with those of
    its benchmarks that are of the suite; these may be none. Raises UserError.

    Others lie there, too, of sources that are gone; a listed one that is gone carries a fault.
    """
    programs = manifest.read(build).programs
    if not programs:
        raise UserError(
            f"{build / manifest.FILE} names no benchmark program: build first (scripts/bench "
            "does, without --no-build and --build-dir)"
        )
    until = time.monotonic() + _LISTING_TOTAL_S
    found = []
    for one in programs:
        if time.monotonic() < until:
            binary = listed(one.path, scratch, suite)
        else:
            spent = f"listing those of others took {_LISTING_TOTAL_S:g} s"
            binary = Binary(one.path, (), f"was not asked for its benchmarks: {spent}")
        found.append(replace(binary, needs_gpu=one.needs_gpu))
    return told_apart(found)


def told_apart(binaries: Sequence[AnyBinary]) -> list[AnyBinary]:
    """The same, with a fault for each program that has a benchmark of another one's name.

    A row would not tell which of the two it is of.
    """
    owners: dict[str, list[str]] = {}
    for binary in binaries:
        for name in dict.fromkeys(binary.names):
            owners.setdefault(name, []).append(binary.path.name)
    apart = []
    for binary in binaries:
        shared = next((name for name in binary.names if len(owners[name]) > 1), None)
        if shared is not None:
            (other, *_) = (one for one in owners[shared] if one != binary.path.name)
            fault = f"has the benchmark {quoted(shared)}, and {other} has it, too: rename one"
            binary = replace(binary, names=(), fault=fault)
        apart.append(binary)
    return apart


def select(binaries: Sequence[Binary], regex: str, scratch: Path) -> list[Binary]:
    """`binaries` with only the benchmarks Google Benchmark's own filter leaves.

    One left with none is dropped; one that cannot list stays, for nobody knows what it holds.
    """
    chosen = []
    for binary in binaries:
        if binary.fault is None:
            ending = _list(binary.path, scratch, *binary.arguments, f"--benchmark_filter={regex}")
            known = frozenset(binary.names)
            names = tuple(n for n in _names(ending) if n in known)
            if ending.status in (0, BAD_USAGE) and not names:
                continue
            fault = None if ending.status == 0 else f"cannot list: {ending.description}"
            binary = replace(binary, names=names, fault=fault)
        chosen.append(binary)
    return chosen


def left_out(binaries: Sequence[Binary], scratch: Path, regex: str = "") -> list[str]:
    """What only the full suite has, of programs that were listed for the default one.

    With `regex` only what Google Benchmark's own filter leaves of it.
    """
    filter = [f"--benchmark_filter={regex}"] if regex else []
    found: list[str] = []
    for binary in binaries:
        if binary.fault is None and not binary.arguments:
            everything = _list(binary.path, scratch, _FULL, *filter)
            if everything.status == 0:
                known = frozenset(binary.names)
                found += [n for n in _names(everything) if n not in known]
    return found


def gpus(binaries: Sequence[Binary], scratch: Path) -> list[Probe]:
    """What CUDA shows here, in the order of --device N; one that fails is without a context.

    Raises UserError where there is none.
    """
    found: list[Probe] = []
    # Behind two that fail nobody knows whether there is a third.
    while not found or any(one.context for one in found[-2:]) or len(found) < 2:
        try:
            one = probe(binaries, [f"--device={len(found)}"], scratch)
        except UserError:
            if not found:
                raise
            break
        if one.no_gpu:
            raise UserError(one.no_gpu, ExitStatus.NOT_MEASURED)
        found.append(one)
    return found


def probe(
    binaries: Sequence[Binary],
    arguments: Sequence[str],
    scratch: Path,
    environment: Mapping[str, str] | None = None,
) -> Probe:
    """Run one benchmark once to learn which GPU arguments (--device N) and environment lead to.

    Takes the GPU binary with the fewest benchmarks; a crash moves on to the next one, and when
    all crash the context is empty. Raises UserError when a binary calls the arguments wrong.
    """
    faults: list[str] = []
    candidates = [b for b in binaries if b.needs_gpu and b.names]
    for binary in sorted(candidates, key=lambda b: len(b.names)):
        out = scratch / "probe.json"
        out.unlink(missing_ok=True)
        ending = process.run(
            [
                str(binary.path),
                *binary.arguments,
                f"--benchmark_filter=^{re.escape(binary.names[0])}$",
                f"--benchmark_out={out}",
                "--benchmark_out_format=json",
                *arguments,
            ],
            LISTING_DEADLINE_S,
            scratch,
            environment,
        )
        if ending.status == BAD_USAGE:
            raise UserError(ending.stderr_tail or ending.description)
        if ending.status == NOT_MEASURABLE:
            return Probe({}, ending.stderr_tail or ending.description)
        report, complete = partial_report.read(out)
        context = report.get("context", {})
        if ending.status:
            faults.append(described(ending, context))
        if complete:
            told = {key: value for key, value in context.items() if isinstance(value, str)}
            return Probe(told, faults=tuple(faults))
    return Probe({}, faults=tuple(faults))


def listed(path: Path, scratch: Path, suite: str = DEFAULT_SUITE) -> Binary:
    """One program with its benchmarks of the suite, or with the fault that keeps it from listing
    them. One of an older commit that knows no suites has all of its in each.
    """
    arguments = () if suite == DEFAULT_SUITE else (f"--suite={suite}",)
    ending = _list(path, scratch, *arguments)
    if arguments and ending.status == BAD_USAGE:
        arguments, ending = (), _list(path, scratch)
    names = _names(ending)
    if not names and ending.status in (0, BAD_USAGE) and left_out([Binary(path, ())], scratch):
        return Binary(path, ())
    if ending.status:
        return Binary(path, (), f"cannot list its benchmarks: {ending.description}")
    if not names:
        return Binary(path, (), "lists no benchmark")
    if len(names) > MOST_NAMES:
        return Binary(path, (), too_many(names))
    for name in names:
        if _NO_TEXT.search(name) or not is_name(name):
            return Binary(path, (), f"cannot list its benchmarks: {quoted(name)} is no name")
    found = Binary(path, names, arguments=arguments)
    return replace(found, shuffles=_shuffles(found, scratch))


def too_many(names: Sequence[str]) -> str:
    """The fault of a program that lists more than MOST_NAMES."""
    return f"lists {len(names):,} benchmarks, more than {MOST_NAMES:,}: divide it"


def _shuffles(binary: Binary, scratch: Path) -> bool:
    """Whether it lists its names in the order that a seed asks for."""
    names = binary.names
    if len(names) < 2:
        return False
    ending = _list(binary.path, scratch, *binary.arguments, "--shuffle=0")
    return ending.status == 0 and _names(ending) == shuffled(names, 0)


def _names(ending: process.Ending) -> tuple[str, ...]:
    """What a program lists, a line a name: a name may hold spaces."""
    return tuple(line for line in ending.stdout.splitlines() if line.strip())


def _list(path: Path, scratch: Path, *arguments: str) -> process.Ending:
    command = [str(path), "--benchmark_list_tests", *arguments]
    return process.run(command, LISTING_DEADLINE_S, scratch)
