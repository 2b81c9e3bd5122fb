# SPDX-License-Identifier: Apache-2.0
"""Selects the benchmarks to run before any of them runs.

The benchmarks of a variant `gemm/cublas/f32` have that name followed by `/axis:value` for each
axis, which together give a point of its axes. To compare two variants in pairs, both are renamed.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from warpgauge.measure import discovery
from warpgauge.measure.discovery import Binary, Probe, Suite
from warpgauge.measure.manifest import Program
from warpgauge.records import benchmark_filter
from warpgauge.records.benchmark_filter import SAME_CODE, hint, matching
from warpgauge.records.names import FULL_SUITE
from warpgauge.system import environment, process
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import inert, listed, quoted, typed
from warpgauge.verdict import pairing

# Characters with a special meaning in both POSIX extended and Python expressions.
_SPECIAL = re.compile(r"[\\.\[()*+?{|^$]")

# The literal text with which an expression begins, without a character that may be repeated.
_BEGIN = re.compile(r"\^([\w/]*)(?![\w/?*{])")

# Longest filter in bytes: Linux allows 128 KiB per argument, and std::regex 100,000 states.
LONGEST_FILTER = 32 * 1024

# Of benchmarks whose code is equal on both sides, so many are measured to check that.
_SAMPLE, _SMALLEST_SAMPLE = 0.1, 5


def required(filter: str, names: Sequence[str]) -> tuple[str, ...]:
    """Like `matching`, but raises UserError if there is no match."""
    found = matching(filter, names)
    if not found:
        raise UserError(f"no benchmark matches --filter {typed(filter)}{hint(filter, names)}")
    return found


def chosen(everything: Iterable[Binary], filter: str, option: str = "--filter") -> list[Binary]:
    """Return the programs with the benchmarks that `filter` selects; may be empty.

    A program that cannot be listed stays, since its benchmarks are unknown; one that is not built
    only if the filter may match its family.
    """
    found = [replace(one, names=matching(filter, one.names, option)) for one in everything]
    return [
        one
        for one in found
        if one.names or (one.fault and (one.is_built or may_match(filter, one.family)))
    ]


def may_match(filter: str, family: str) -> bool:
    """Return whether `filter` may select a benchmark of `family`, whose names are unknown.

    It does not if each of its alternatives begins like the names of other families: ``^gemm/``.
    """
    negated, start = filter.startswith("-"), f"{family}/"
    if negated:
        return "$" in filter or not matching(filter[1:], [start])
    flat, count = filter, 1
    while count:  # a group may stand for anything
        flat, count = re.subn(r"\([^()]*\)", ".", flat)
    begins = [_BEGIN.match(part) for part in flat.split("|")]
    return any(
        begin is None or begin[1].startswith(start) or start.startswith(begin[1])
        for begin in begins
    )


def wanted(everything: Sequence[Binary], filter: str, *, suites: bool = False) -> list[Binary]:
    """Like `chosen`, but raises UserError if empty. `suites`: the message may suggest --suite."""
    left = chosen(everything, filter)
    if any(binary.names for binary in left):
        return left
    if left:  # only programs with faults
        asked = f" of --filter {typed(filter)}" if filter else ""
        # Without a GPU, programs that need one are not built, except files in Python.
        first = next((one for one in left if one.is_built or not process.why_no_gpu()), None)
        why = (
            f"{first.path.name} {first.fault}"
            if first
            else f"it needs a GPU: {process.why_no_gpu()}"
        )
        fault = f"nothing{asked} can be measured: {why}"
        raise UserError(fault, ExitStatus.NOT_MEASURED)
    if suites and matching(filter, discovery.left_out(everything)):
        match = f"match --filter {typed(filter)}" if filter else "are in the programs"
        raise UserError(f"only benchmarks of the full suite {match}: add --suite {FULL_SUITE}")
    if not filter:
        raise UserError("the programs that were built have no benchmark")
    required(filter, [name for binary in everything for name in binary.names])  # which raises
    return left


def require_drivable(binaries: Sequence[Binary], commit: str) -> None:
    """Raise UserError if programs of `commit` use a warpgauge that cannot be measured in pairs."""
    other = next((one for one in binaries if one.not_driven), None)
    if other is not None:
        again = environment.started("bench --record")
        raise UserError(
            f"commit {commit} cannot be measured in pairs: its {other.path.name} "
            f"{other.not_driven}; record the baseline again ({again}), or name a later commit",
            ExitStatus.NOT_MEASURED,
        )


def able(binaries: Sequence[Binary], probe: Probe) -> list[Binary]:
    """Return programs that need no GPU, and those that can use the GPUs of `probe`.

    A program that needs more GPUs is skipped. Several GPUs are for programs that need several.
    """
    found = []
    for binary in binaries:
        if not binary.needs_gpu:
            found.append(binary)
        elif probe.no_gpu is None and binary.gpus > probe.gpus:
            device = ",".join(map(str, range(binary.gpus)))
            why = f"needs {binary.gpus} GPUs: --device {device}"
            found.append(replace(binary, skipped=why))
        elif probe.no_gpu is None and (probe.gpus == 1 or binary.gpus > 1):
            found.append(binary)
    return found


def runnable(binaries: Sequence[Binary], probe: Probe) -> list[Binary]:
    """Like `able`, but raises UserError if nothing can be measured with the GPUs available."""
    left = able(binaries, probe)
    if any(binary.skipped is None for binary in left):
        return left
    everything = "everything that is selected"
    if probe.no_gpu is not None:
        fault = f"{everything} needs a GPU: {probe.no_gpu}"
    elif left:
        fault = f"{everything} {left[0].skipped}"
    else:
        fault = f"{everything} needs only one GPU: name one of them"
    raise UserError(fault, ExitStatus.NOT_MEASURED)


def only(binaries: Sequence[Binary], names: Collection[str]) -> list[Binary]:
    """Return the programs that have some of `names`, with only those.

    A program that could not be listed stays if some of `names` belong to its family.
    """
    families = {name.split("/", 1)[0] for name in names}
    left = [replace(one, names=tuple(n for n in one.names if n in names)) for one in binaries]
    return [one for one in left if one.names or (one.fault is not None and one.family in families)]


def without(binaries: Iterable[Binary], names: Collection[str]) -> tuple[Binary, ...]:
    """Return the programs without these benchmarks, if others are left or none were known."""
    parts = [(one, tuple(name for name in one.names if name not in names)) for one in binaries]
    return tuple(replace(one, names=left) for one, left in parts if left or not one.names)


def spared(
    suite: Suite, same: Collection[str], required: Iterable[re.Pattern[str]], seed: int
) -> Suite:
    """Return a suite without most of the benchmarks with the `same` code on both sides.

    It keeps a sample that depends on the seed, and one for each `required` pattern that would
    otherwise have none. Run files state them.
    """
    names = [name for one in suite.binaries for name in one.names]
    equal = sorted(name for name in names if name in same)
    # The host's controls are not judged, so they show nothing.
    drawn = [name for name in equal if name.partition("/")[0] != pairing.FAMILY] or equal
    count = max(_SMALLEST_SAMPLE, math.ceil(_SAMPLE * len(drawn)))
    draw = random.Random(seed)
    kept = {*names}.difference(equal).union(draw.sample(drawn, min(count, len(drawn))))
    for pattern in required:
        own = [*filter(pattern.search, equal)]
        if own and not any(map(pattern.search, kept)):
            kept.add(draw.choice(own))
    gone = frozenset(names) - kept
    known = {**suite.known, SAME_CODE: "\n".join(equal)} if equal else suite.known
    return replace(
        suite,
        binaries=without(suite.binaries, gone),
        known=known,
        left_out=suite.left_out | gone,
    )


def exactly(names: Collection[str]) -> str:
    """Return a filter for exactly these names, with the same meaning in C++ and in Python."""
    escaped = (_SPECIAL.sub(r"\\\g<0>", name) for name in names)
    return f"^({'|'.join(escaped)})$"


def in_parts(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Split `names`, in order, into the fewest parts whose filters are short enough."""
    parts: list[list[str]] = []
    left = 0
    for name in names:
        size = len(exactly([name]).encode(errors="surrogateescape"))
        if size > left:
            parts.append([])
            left = LONGEST_FILTER
        parts[-1].append(name)
        left -= size
    return [tuple(part) for part in parts]


def require_injected(regex: str, binaries: Sequence[Binary], no_gpu: str | None) -> None:
    """Raise UserError unless --inject matches a benchmark that will run.

    `regex` is searched as is: a leading ``-`` and ``all`` have no special meaning here.
    """
    names = [name for binary in binaries for name in binary.names]
    if not any(benchmark_filter.found("--inject", regex, name) for name in names):
        why = f": {no_gpu}" if no_gpu else hint(regex, names)
        raise UserError(f"no benchmark that will run matches --inject {typed(regex)}{why}")


# Replaces the variant's name on both sides, and is their common family.
COMMON = "evaluate"

_POINT = re.compile(r"(?:/[^/:]+:[^/:]+)*")

Axes = Mapping[str, Sequence[str]]  # the values of each axis, as spelled in names


def program_of(folder: Path, name: str) -> Program:
    """Return the program of the variant `name` in the build folder `folder`. Raises UserError."""
    programs = discovery.programs_of(folder)
    family = name.split("/", 1)[0]
    found = next((one for one in programs if one.path.name == f"bench_{family}"), None)
    if found is None:
        families = [one.path.name.removeprefix("bench_") for one in programs]
        raise UserError(f"{inert(name)}: unknown family{hint(family, families)}")
    return found


def at_axes(found: Program, name: str, axes: Axes, scratch: Path) -> Binary:
    """Return the variant `name` of a program at the values of `axes`.

    Raises UserError if there is no such variant or axis.
    """
    variant = of_program(found, name, scratch)
    known = dict.fromkeys(axis for one in variant.names for axis in axes_of(one))
    for axis in axes:
        if axis not in known:
            has = f"only {', '.join(map(inert, known))}" if known else "none"
            raise UserError(f"--axis {inert(axis)}: {inert(name)} has no such axis, {has}")
    given = tuple(f"--axis={axis}={','.join(values)}" for axis, values in axes.items())
    if not given:
        return variant
    return of_program(msgspec.structs.replace(found, arguments=given), name, scratch)


def of_program(program: Program, name: str, scratch: Path) -> Binary:
    """Return the variant `name` of a program. Raises UserError if it cannot be found."""
    [binary] = discovery.listed([discovery.unlisted(program)], scratch, FULL_SUITE)
    if binary.fault is not None:
        fault = f"{inert(name)}: {program.path.name} {binary.fault}"
        raise UserError(fault, ExitStatus.NOT_MEASURED)
    # One variant's name may begin another's: gemm/f32 and gemm/f32/split/n:8.
    points = [one.removeprefix(name) for one in binary.names if one.startswith(name)]
    points = [point for point in points if _POINT.fullmatch(point)]
    if not points:
        variants = dict.fromkeys(variant_of(one) for one in binary.names)
        told = hint(name, variants) or f"; it has {listed([*variants])}"
        raise UserError(f"{inert(name)}: {program.path.name} has no such variant{told}")
    return replace(
        binary,
        called=COMMON,
        names=tuple(f"{COMMON}{point}" for point in points),
        arguments=(*binary.arguments, f"--rename={name}={COMMON}"),
    )


def in_common(base: Binary, candidate: Binary) -> tuple[Binary, Binary]:
    """Return both variants with their common points. Raises UserError if there is none."""
    names = tuple(name for name in base.names if name in candidate.names)
    if not names:
        points = (point_of(side.names[0]) for side in (base, candidate))
        one, other = (quoted(point) if point else "no axis" for point in points)
        raise UserError(
            f"the two have no point of their axes in common (the base has {one}, the candidate "
            f"{other}): give both the same axes in the same order, with common values"
        )
    others = tuple(name for name in candidate.names if name in names)
    return replace(base, names=names), replace(candidate, names=others)


def point_of(name: str) -> str:
    """Return ``m:64/n:64`` for ``evaluate/m:64/n:64``."""
    return name.partition("/")[2]


def axes_of(name: str) -> dict[str, str]:
    parts = (part.partition(":") for part in point_of(name).split("/") if part)
    return {axis: value for axis, _, value in parts}


def variant_of(name: str) -> str:
    """Return ``gemm/cublas/f32`` for ``gemm/cublas/f32/n:64``."""
    return "/".join(part for part in name.split("/") if ":" not in part)
