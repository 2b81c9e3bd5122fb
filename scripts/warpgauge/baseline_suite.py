# SPDX-License-Identifier: Apache-2.0
"""A baseline held against the benchmarks that are built: what is gone, what is new."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from warpgauge.discovery import Binary
from warpgauge.text import inert, named


@dataclass(frozen=True)
class Suite:
    """What was found: `warnings` are to be mended, `remarks` say what was not checked."""

    warnings: tuple[str, ...]
    remarks: tuple[str, ...]


def compared(names: Collection[str], built: Sequence[Binary]) -> Suite:
    """The names of a baseline's rows beside those of the programs of a build."""
    listed = {name for binary in built for name in binary.names}
    silent = {binary.family for binary in built if binary.fault is not None}
    gone = [n for n in names if n not in listed and n.split("/", 1)[0] not in silent]
    remarks = [
        inert(f"{binary.family} was not held against its program: {binary.path.name} {one}")
        for binary in built
        if (one := binary.fault) is not None
    ]
    if not any(binary.needs_gpu for binary in built):  # a build without nvcc
        families = {binary.family for binary in built}
        gone = [name for name in gone if name.split("/", 1)[0] in families]
        remarks.append("no GPU benchmark is built, so theirs were not held against the programs")
    new = sorted(listed - set(names))
    warnings = []
    if gone:
        warnings.append(
            f"in the baseline and no longer in the build: {named(gone)}; if this is meant, "
            "scripts/baseline prune --removed REGEX takes it out"
        )
    if new:
        warnings.append(
            f"in the build and not in the baseline: {named(new)}; scripts/baseline record adds it"
        )
    return Suite(tuple(warnings), tuple(remarks))
