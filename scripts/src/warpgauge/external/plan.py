# SPDX-License-Identifier: Apache-2.0
"""The kernel plan, which bench_external reads: kernels at every point of their axes."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from warpgauge.external import npy
from warpgauge.external.case import Buffer, Case, Elements, Extent, Launch, Verification
from warpgauge.external.element_types import (
    LARGEST_FLOAT,
    SIZE_BYTES,
    distribution_fault,
    integer_range,
)
from warpgauge.external.expressions import LARGEST, ExpressionError, evaluate
from warpgauge.external.kernel import Argument, Check, Kernel, Manifest
from warpgauge.external.npy import Npy
from warpgauge.measure.discovery import MOST_NAMES
from warpgauge.system.atomic import replace_all
from warpgauge.system.errors import UserError
from warpgauge.system.location import Place
from warpgauge.system.text import quoted, suggestion

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

# CUDA C++ Programming Guide, "Compute Capabilities": equal for all supported GPUs.
_LARGEST_GRID = (2**31 - 1, 65535, 65535)
_LARGEST_BLOCK = (1024, 1024, 64)
_MOST_THREADS, _MOST_BLOCKS_OF_CLUSTER = 1024, 16
_LARGEST_SHARED_BYTES = 2**31 - 1

Axes = Mapping[str, Sequence[int]]
Point = Mapping[str, int]


def cases(
    manifest: Manifest, kernels: Sequence[str] | None = None, axes: Axes | None = None
) -> list[Case]:
    """Return the cases of `kernels`, or of all that are not reference-only, in manifest order.

    `axes` replaces values of axes of the manifest; each must be an axis of one of the kernels.
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
        raise Place(manifest.path).error(fault, "split it, or give its axes fewer values")
    for name, own in values.items():
        for axis, numbers in own.items():
            if len({*numbers}) < len(numbers):
                place = manifest.place(name, "axes", axis)
                raise place.error("has a value twice", "remove one")
    # All combinations, the last axis fastest; one empty point if there are no axes.
    points = {
        name: [dict(zip(own, point, strict=True)) for point in itertools.product(*own.values())]
        for name, own in values.items()
    }
    files: dict[tuple[Path, str], Npy] = {}  # cache
    return [_Resolved(manifest, name, at, files).case() for name in chosen for at in points[name]]


def write(cases: Sequence[Case], path: Path) -> None:
    """Write the plan of `cases` to `path`. Raises UserError, also for duplicate names."""
    lines, names = ["warpgauge-kernels 1"], set()
    for case in cases:
        if case.name in names:
            raise UserError(f"two benchmarks are named {quoted(case.name)}: rename a kernel")
        names.add(case.name)
        lines += case.lines()
    for line in lines:
        if _CONTROL.search(line):
            fault = f"{quoted(line)} cannot be used in a kernel plan: rename the file or folder"
            raise UserError(fault)
    replace_all({path: "".join(f"{line}\n" for line in lines)})


def _chosen(manifest: Manifest, kernels: Sequence[str] | None) -> dict[str, Kernel]:
    """Return the kernels to measure, by name."""
    measured = {name: one for name, one in manifest.kernels.items() if not one.reference_only}
    if kernels is None:
        if not measured:
            fault = "every kernel is reference_only"
            raise Place(manifest.path).error(
                fault, "remove reference_only from the kernels to measure"
            )
        return measured
    for name in kernels:
        if name not in manifest.kernels:
            fault = f"has no kernel {quoted(name)}"
            raise Place(manifest.path).error(fault, suggestion(name, measured))
        if name not in measured:
            fault = "is reference_only, so it is not measured"
            raise manifest.place(name).error(fault, "verify it too, and remove reference_only")
    return {name: one for name, one in measured.items() if name in kernels}


@dataclass(frozen=True)
class _Resolved:
    """One kernel at one point of its axes, with evaluated expressions and checked sizes."""

    manifest: Manifest
    name: str
    point: Point
    files: dict[tuple[Path, str], Npy]

    @property
    def kernel(self) -> Kernel:
        return self.manifest.kernels[self.name]

    def case(self) -> Case:
        """Return the case. Raises UserError that names the wrong key and the point."""
        kernel = self.kernel
        buffers = {
            one.buffer: self._buffer(number, one)
            for number, one in enumerate(kernel.arguments)
            if one.buffer is not None
        }
        values = "".join(f"/{axis}:{value}" for axis, value in self.point.items())
        other = kernel.reference
        return Case(
            name=f"external/{self.name}/{kernel.type}{values}",
            bytes=None if kernel.bytes is None else self._evaluated(kernel.bytes, "bytes"),
            flops=None if kernel.flops is None else self._evaluated(kernel.flops, "flops"),
            buffers=tuple(buffers.values()),
            launch=self._launch(),
            verifications=tuple(
                self._verification(buffers[output], check)
                for output, check in kernel.verify.items()
            ),
            reference=None if other is None else replace(self, name=other)._reference(buffers),
        )

    def _evaluated(
        self, expression: int | str, *keys: str | int, low: int = 0, high: int = LARGEST
    ) -> int:
        try:
            return evaluate(expression, self.point, low, high)
        except ExpressionError as fault:
            shown = quoted(expression) if isinstance(expression, str) else expression
            raise self._place(*keys).error(f"{shown} {fault}", fault.remedy) from None

    def _place(self, *keys: str | int) -> Place:
        """Return the place of a key, with the point."""
        place = self.manifest.place(self.name, *keys)
        values = ", ".join(f"{axis} = {value}" for axis, value in self.point.items())
        return place._replace(what=f"{place.what} at {values}") if values else place

    def _buffer(self, number: int, one: Argument) -> Buffer:
        type, keys = str(one.type), ("arguments", number)
        given = None if one.npy is None else self._npy(one.npy, type, *keys, "npy")
        most = LARGEST // SIZE_BYTES[type]
        if one.count is not None:
            count = self._evaluated(one.count, *keys, "count", low=1, high=most)
        elif given is not None:
            count = given.count
        values = None
        if one.npy is not None and given is not None:
            values = self._elements(one.npy, given, count, *keys, "npy")
        distribution = self._distribution(one, *keys, "values")
        return Buffer(str(one.role), str(one.buffer), type, count, values, distribution)

    def _distribution(self, argument: Argument, *keys: str | int) -> str:
        """Return what seeded values are like, in the syntax of the plan; empty by default.

        Raises UserError for what the type cannot hold.
        """
        if argument.values is None:
            return ""
        ((form, given),) = argument.values.given.items()
        numbers = [
            number
            if isinstance(number, float)
            else self._evaluated(number, *keys, form, low=-LARGEST)
            for number in given
        ]
        if wrong := distribution_fault(form, numbers, str(argument.type)):
            fault = f"the buffer {argument.buffer!r} of {argument.type} {wrong}"
            raise self._place(*keys, form).error(fault, "correct it, or the buffer's type")
        return f"{form} {' '.join(str(n) if isinstance(n, int) else f'{n:.17g}' for n in numbers)}"

    def _npy(self, file: str, type: str, *keys: str | int) -> Npy:
        key = (path := self.manifest.file(file)), type
        if key not in self.files:
            self.files[key] = npy.read(path, type, self.manifest.place(self.name, *keys))
        return self.files[key]

    def _elements(self, file: str, given: Npy, count: int, *keys: str | int) -> Elements:
        path = self.manifest.file(file)
        if given.count != count or not count:
            fault = f"{path} has {given.count} elements, but the buffer has {count}"
            raise self._place(*keys).error(fault, "save one of that size")
        return Elements(path, given.offset)

    def _verification(self, output: Buffer, check: Check) -> Verification:
        expected = None
        if check.npy is not None:
            keys = ("verify", output.name, "npy")
            given = self._npy(check.npy, output.type, *keys)
            expected = self._elements(check.npy, given, output.count, *keys)
        return Verification(output.name, check.relative, check.absolute, expected)

    def _reference(self, buffers: Mapping[str, Buffer]) -> Launch:
        """Return the reference's launch; its buffers must be as large as the verified kernel's."""
        for number, one in enumerate(self.kernel.arguments):
            if one.buffer is None or one.count is None:
                continue
            keys, wanted = ("arguments", number, "count"), buffers[one.buffer].count
            count = self._evaluated(one.count, *keys)
            if count != wanted:
                fault = f"is {count}, but {wanted} in the kernel that it verifies"
                raise self._place(*keys).error(fault, "make them equal")
        return self._launch()

    def _launch(self) -> Launch:
        kernel = self.kernel
        image, file = kernel.image
        grid = self._extent("grid", kernel.grid, _LARGEST_GRID)
        block = self._extent("block", kernel.block, _LARGEST_BLOCK, _MOST_THREADS)
        cluster = None
        if kernel.cluster is not None:
            most = (_MOST_BLOCKS_OF_CLUSTER,) * 3
            cluster = self._extent("cluster", kernel.cluster, most, most[0])
            if any(blocks % its for blocks, its in zip(grid, cluster, strict=True)):
                fault = f"the grid {_by(grid)} is not a multiple of the cluster {_by(cluster)}"
                raise self._place("grid").error(fault, "round it up")
        return Launch(
            image=image,
            path=self.manifest.file(file),
            options=tuple(kernel.options),
            symbol=kernel.symbol,
            grid=grid,
            block=block,
            shared_bytes=self._evaluated(kernel.shared, "shared", high=_LARGEST_SHARED_BYTES),
            cluster=cluster,
            programmatic=kernel.programmatic,
            arguments=tuple(itertools.starmap(self._argument, enumerate(kernel.arguments))),
        )

    def _extent(
        self,
        key: str,
        expressions: Sequence[int | str],
        largest: Sequence[int],
        most: int | None = None,
    ) -> Extent:
        """Return three sizes; missing ones are 1."""
        sizes = [
            self._evaluated(one, key, number, low=1, high=largest[number])
            for number, one in enumerate(expressions)
        ]
        if most is not None and math.prod(sizes) > most:
            fault = f"{_by(sizes)} is {math.prod(sizes)}, more than {most}"
            raise self._place(key).error(fault, "make it smaller")
        return cast("Extent", (*sizes, *(1,) * (3 - len(sizes))))

    def _argument(self, number: int, one: Argument) -> str:
        """Return an argument in the syntax of the plan."""
        if one.null:
            return "null"
        if one.value is None:
            return f"buffer {one.buffer}"
        type = str(one.type)
        if isinstance(one.value, float):
            return f"value {type} {one.value:.17g}"
        low, high = integer_range(type) or (-LARGEST, LARGEST)
        keys = ("arguments", number, "value")
        value = self._evaluated(one.value, *keys, low=low, high=high)
        if type not in LARGEST_FLOAT:
            return f"value {type} {value}"
        if abs(value) > LARGEST_FLOAT[type]:
            fault = f"{value} exceeds the largest {type}"
            raise self._place(*keys).error(fault, "write a smaller one")
        return f"value {type} {float(value):.17g}"


def _by(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes))
