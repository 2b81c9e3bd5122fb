# SPDX-License-Identifier: Apache-2.0
"""The kernel plan: kernels at every point of their axes, as bench_external reads them."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from warpgauge.execution.discovery import MOST_NAMES
from warpgauge.external.case import Case
from warpgauge.external.kernel import Kernel, Manifest
from warpgauge.external.resolution import Resolution
from warpgauge.files.atomic import replace_all
from warpgauge.files.location import Place
from warpgauge.system.errors import UserError
from warpgauge.system.text import quoted, suggestion

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

Axes = Mapping[str, Sequence[int]]


def cases(
    manifest: Manifest, kernels: Sequence[str] | None = None, axes: Axes | None = None
) -> list[Case]:
    """The cases of `kernels`, or of all that are not for reference only, in the manifest's order.

    `axes` has other values of axes than the manifest; each must be an axis of some of the kernels.
    Raises UserError.
    """
    axes = axes or {}
    chosen = _chosen(manifest, kernels)
    known = dict.fromkeys(axis for kernel in chosen.values() for axis in kernel.axes)
    for axis in axes:
        if axis not in known:
            fault = f"no kernel that is measured has the axis {quoted(axis)}"
            raise Place(manifest.path).error(fault, suggestion(axis, known))
    values = {
        name: {axis: axes.get(axis, own) for axis, own in kernel.axes.items()}
        for name, kernel in chosen.items()
    }
    count = sum(math.prod(map(len, one.values())) for one in values.values())
    if count > MOST_NAMES:
        fault = f"makes {count:,} benchmarks, more than {MOST_NAMES:,}"
        raise Place(manifest.path).error(fault, "divide it, or give its axes fewer values")
    for name, own in values.items():
        for axis, numbers in own.items():
            if len({*numbers}) < len(numbers):
                place = manifest.place(name, "axes", axis)
                raise place.error("has a value twice", "remove one")
    resolution = Resolution(manifest)
    return [
        resolution.case(name, kernel, point)
        for name, kernel in chosen.items()
        for point in _points(values[name])
    ]


def write(cases: Sequence[Case], path: Path) -> None:
    """Write the plan of `cases` to `path`. Raises UserError, also for two cases of one name."""
    lines, names = ["warpgauge-kernels 1"], set()
    for case in cases:
        if case.name in names:
            raise UserError(f"two benchmarks are called {quoted(case.name)}: rename a kernel")
        names.add(case.name)
        lines += case.lines()
    for line in lines:
        if _CONTROL.search(line):
            fault = f"{quoted(line)} cannot stand in a kernel plan: rename the file or folder"
            raise UserError(fault)
    replace_all({path: "".join(f"{line}\n" for line in lines)})


def _chosen(manifest: Manifest, kernels: Sequence[str] | None) -> dict[str, Kernel]:
    """Those to measure, by name."""
    measured = {name: one for name, one in manifest.kernels.items() if not one.reference_only}
    if kernels is None:
        if not measured:
            fault = "every kernel is reference_only"
            raise Place(manifest.path).error(fault, "leave that out where one is to be measured")
        return measured
    for name in kernels:
        if name not in manifest.kernels:
            fault = f"has no kernel {quoted(name)}"
            raise Place(manifest.path).error(fault, suggestion(name, measured))
        if name not in measured:
            fault = "is reference_only, and is not measured"
            raise manifest.place(name).error(fault, "verify it, too, and remove reference_only")
    return {name: one for name, one in measured.items() if name in kernels}


def _points(axes: Axes) -> Iterator[dict[str, int]]:
    """Every combination, the last axis fastest; one without any where there are no axes."""
    for values in itertools.product(*axes.values()):
        yield dict(zip(axes, values, strict=True))
