# SPDX-License-Identifier: Apache-2.0
"""A kernel at one point of its axes: every expression evaluated, every size checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import cast

from warpgauge.external import npy
from warpgauge.external.case import Buffer, Case, Elements, Extent, Launch, Verification
from warpgauge.external.element_types import LARGEST_FLOAT, SIZE_BYTES, integer_range
from warpgauge.external.expressions import LARGEST, ExpressionError, evaluate
from warpgauge.external.kernel import Argument, Check, Kernel, Manifest
from warpgauge.external.npy import Npy
from warpgauge.files.location import Place
from warpgauge.system.text import quoted

# CUDA C++ Programming Guide, "Compute Capabilities": the same for every GPU that is supported.
_LARGEST_GRID = (2**31 - 1, 65535, 65535)
_LARGEST_BLOCK = (1024, 1024, 64)
_MOST_THREADS, _MOST_BLOCKS_OF_CLUSTER = 1024, 16
_LARGEST_SHARED_BYTES = 2**31 - 1

Point = Mapping[str, int]


@dataclass(frozen=True)
class Resolution:
    """Of one manifest; a .npy file is read once."""

    manifest: Manifest
    _files: dict[tuple[Path, str], Npy] = field(default_factory=dict)

    def case(self, name: str, kernel: Kernel, point: Point) -> Case:
        """Raises UserError, which names the key at fault and the point."""
        at = partial(self._evaluated, name, point)
        buffers = {
            one.buffer: self._buffer(name, number, one, point)
            for number, one in enumerate(kernel.arguments)
            if one.buffer is not None
        }
        values = "".join(f"/{axis}:{value}" for axis, value in point.items())
        reference = kernel.reference
        return Case(
            name=f"external/{name}/{kernel.type}{values}",
            bytes=None if kernel.bytes is None else at(kernel.bytes, "bytes"),
            flops=None if kernel.flops is None else at(kernel.flops, "flops"),
            buffers=tuple(buffers.values()),
            launch=self._launch(name, kernel, point),
            verifications=tuple(
                self._verification(name, buffers[output], check, point)
                for output, check in kernel.verify.items()
            ),
            reference=None if reference is None else self._reference(reference, buffers, point),
        )

    def _evaluated(
        self,
        name: str,
        point: Point,
        expression: int | str,
        *keys: str | int,
        low: int = 0,
        high: int = LARGEST,
    ) -> int:
        try:
            return evaluate(expression, point, low, high)
        except ExpressionError as fault:
            place = self._place(name, point, *keys)
            shown = quoted(expression, 200) if isinstance(expression, str) else expression
            raise place.error(f"{shown} {fault}", fault.remedy) from None

    def _place(self, name: str, point: Point, *keys: str | int) -> Place:
        """With the point, where there is one."""
        place = self.manifest.place(name, *keys)
        values = ", ".join(f"{axis} = {value}" for axis, value in point.items())
        return place._replace(what=f"{place.what} at {values}") if values else place

    def _buffer(self, name: str, number: int, one: Argument, point: Point) -> Buffer:
        type, keys = str(one.type), ("arguments", number)
        role = "input" if one.output is None else "output"
        given = None if one.npy is None else self._npy(name, one.npy, type, *keys, "npy")
        most = LARGEST // SIZE_BYTES[type]
        if one.count is not None:
            count = self._evaluated(name, point, one.count, *keys, "count", low=1, high=most)
        elif given is not None:
            count = given.count
        values = None
        if one.npy is not None and given is not None:
            values = self._elements(name, one.npy, given, count, point, *keys, "npy")
        return Buffer(role, str(one.buffer), type, count, values)

    def _npy(self, name: str, file: str, type: str, *keys: str | int) -> Npy:
        key = (path := self.manifest.file(file)), type
        if key not in self._files:
            self._files[key] = npy.read(path, type, self.manifest.place(name, *keys))
        return self._files[key]

    def _elements(
        self, name: str, file: str, given: Npy, count: int, point: Point, *keys: str | int
    ) -> Elements:
        path = self.manifest.file(file)
        if given.count != count or not count:
            fault = f"{path} has {given.count} elements, and the buffer has {count}"
            raise self._place(name, point, *keys).error(fault, "save one of that size")
        return Elements(path, given.offset)

    def _verification(self, name: str, output: Buffer, check: Check, point: Point) -> Verification:
        expected = None
        if check.npy is not None:
            keys = ("verify", output.name, "npy")
            given = self._npy(name, check.npy, output.type, *keys)
            expected = self._elements(name, check.npy, given, output.count, point, *keys)
        return Verification(output.name, check.relative, check.absolute, expected)

    def _reference(self, name: str, buffers: Mapping[str, Buffer], point: Point) -> Launch:
        """The launch that writes what is expected, to buffers as large as the kernel's own."""
        kernel = self.manifest.kernels[name]
        for number, one in enumerate(kernel.arguments):
            if one.buffer is None or one.count is None:
                continue
            count = self._evaluated(name, point, one.count, "arguments", number, "count")
            if count != buffers[one.buffer].count:
                fault = (
                    f"is {count}, and {buffers[one.buffer].count} in the kernel that it verifies"
                )
                place = self._place(name, point, "arguments", number, "count")
                raise place.error(fault, "make both the same")
        return self._launch(name, kernel, point)

    def _launch(self, name: str, kernel: Kernel, point: Point) -> Launch:
        image, file = kernel.image
        grid = self._extent(name, point, "grid", kernel.grid, _LARGEST_GRID)
        block = self._extent(name, point, "block", kernel.block, _LARGEST_BLOCK, _MOST_THREADS)
        cluster = None
        if kernel.cluster is not None:
            most = (_MOST_BLOCKS_OF_CLUSTER,) * 3
            cluster = self._extent(name, point, "cluster", kernel.cluster, most, most[0])
            if any(blocks % its for blocks, its in zip(grid, cluster, strict=True)):
                fault = f"the grid {_by(grid)} is no multiple of the cluster {_by(cluster)}"
                raise self._place(name, point, "grid").error(fault, "round it up")
        return Launch(
            image=image,
            path=self.manifest.file(file),
            options=tuple(kernel.options),
            symbol=kernel.symbol,
            grid=grid,
            block=block,
            shared_bytes=self._evaluated(
                name, point, kernel.shared, "shared", high=_LARGEST_SHARED_BYTES
            ),
            cluster=cluster,
            programmatic=kernel.programmatic,
            arguments=tuple(
                self._argument(name, number, one, point)
                for number, one in enumerate(kernel.arguments)
            ),
        )

    def _extent(
        self,
        name: str,
        point: Point,
        key: str,
        expressions: Sequence[int | str],
        largest: Sequence[int],
        most: int | None = None,
    ) -> Extent:
        """Of three sizes; those that are not given are 1."""
        sizes = [
            self._evaluated(name, point, one, key, number, low=1, high=largest[number])
            for number, one in enumerate(expressions)
        ]
        if most is not None and math.prod(sizes) > most:
            fault = f"{_by(sizes)} is {math.prod(sizes)}, more than {most}"
            raise self._place(name, point, key).error(fault, "make it smaller")
        return cast("Extent", (*sizes, *(1,) * (3 - len(sizes))))

    def _argument(self, name: str, number: int, one: Argument, point: Point) -> str:
        """As the plan has it."""
        if one.null:
            return "null"
        if one.value is None:
            return f"buffer {one.buffer}"
        type = str(one.type)
        if isinstance(one.value, float):
            return f"value {type} {one.value:.17g}"
        low, high = integer_range(type) or (-LARGEST, LARGEST)
        keys = ("arguments", number, "value")
        value = self._evaluated(name, point, one.value, *keys, low=low, high=high)
        if type not in LARGEST_FLOAT:
            return f"value {type} {value}"
        if abs(value) > LARGEST_FLOAT[type]:
            place = self._place(name, point, *keys)
            raise place.error(f"{value} is beyond the largest {type}", "write a smaller one")
        return f"value {type} {float(value):.17g}"


def _by(sizes: Sequence[int]) -> str:
    """``16 x 2 x 1``."""
    return " x ".join(map(str, sizes))
