# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of one variant, renamed so that two variants can be compared in pairs.

The benchmarks of variant `gemm/cublas/f32` have that name followed by `/axis:value` for each axis,
which together give a point of its axes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from warpgauge.measure import discovery, manifest
from warpgauge.measure.discovery import Binary
from warpgauge.measure.manifest import Program
from warpgauge.records.benchmark_filter import hint
from warpgauge.records.names import FULL_SUITE
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import inert, listed, quoted

# Replaces the variant's name on both sides, and is their common family.
COMMON = "evaluate"

_POINT = re.compile(r"(?:/[^/:]+:[^/:]+)*")

Axes = Mapping[str, Sequence[str]]  # the values of each axis, as spelled in names


def of_family(folder: Path, name: str, axes: Axes, scratch: Path) -> Binary:
    """Return the variant `name` from the build folder `folder`, at the values of `axes`.

    Raises UserError if there is no such variant or axis.
    """
    programs = manifest.read(folder).programs
    family = name.split("/", 1)[0]
    found = next((one for one in programs if one.path.name == f"bench_{family}"), None)
    if found is None:
        families = [one.path.name.removeprefix("bench_") for one in programs]
        raise UserError(f"{inert(name)}: unknown family{hint(family, families)}")
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
