# SPDX-License-Identifier: Apache-2.0
"""The kernel plan, which bench_external reads: kernels at every point of their axes."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from warpgauge.external.expressions import LARGEST, ExpressionError, evaluate
from warpgauge.external.manifest import READ, Argument, Kernel, Manifest
from warpgauge.measure.discovery import MOST_NAMES
from warpgauge.system.atomic import replace_all
from warpgauge.system.errors import UserError
from warpgauge.system.location import Place
from warpgauge.system.text import cut, listed, quoted, suggestion

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_MOST_ELEMENTS = LARGEST // 8  # of the widest type
_EXACT = 2**53  # bench_external keeps the numbers of a distribution as doubles

# Dtypes of .npy files with elements that NumPy has not: ml_dtypes writes them as raw bytes, and
# others write their bits as unsigned integers.
_RAW = {"bf16": ("|V2", "<u2"), "e4m3": ("|V1", "|u1"), "e5m2": ("|V1", "|u1")}

# In the lines of a case, the folder of its data: a character that no name and no path has.
_DATA = "\0"

FAMILY = "external"  # of all kernels

Axes = Mapping[str, Sequence[int]]
_Buffers = Mapping[str, tuple[Argument, int]]  # with the number of elements, by name


@dataclass(frozen=True)
class Case:
    """A benchmark: one kernel at one point of its axes."""

    kernel: str  # its name in the manifest
    name: str
    lines: tuple[str, ...]  # of the plan
    files: tuple[Path, ...]  # that it reads
    # For warpgauge.callables.references, if functions in Python verify it.
    references: Mapping[str, object] | None = None

    @property
    def short_name(self) -> str:
        """``scale/f32/n:4096``."""
        return self.name.removeprefix(f"{FAMILY}/")


def cases(
    manifest: Manifest, kernels: Sequence[str] | None = None, axes: Axes | None = None
) -> list[Case]:
    """Return the cases of `kernels`, or of all that are not reference-only, in manifest order.

    `axes` replaces values of axes of the manifest; each must be an axis of one of the kernels.
    Raises UserError.
    """
    axes, place = axes or {}, Place(manifest.path)
    chosen = _chosen(manifest, kernels)
    known = dict.fromkeys(axis for kernel in chosen.values() for axis in kernel.axes)
    for axis in axes:
        if axis not in known:
            fault = f"no kernel that is measured has the axis {quoted(axis)}"
            raise place.error(fault, suggestion(axis, known))
    values = {
        name: {axis: axes.get(axis, own) for axis, own in kernel.axes.items()}
        for name, kernel in chosen.items()
    }
    count = sum(math.prod(map(len, own.values())) for own in values.values())
    if count > MOST_NAMES:
        fault = f"makes {count:,} benchmarks, more than {MOST_NAMES:,}"
        raise place.error(fault, "split it, or give its axes fewer values")
    # All combinations, the last axis fastest; one empty point if there are no axes.
    return [
        _Resolved(manifest, name, dict(zip(own, point, strict=True))).case()
        for name, own in values.items()
        for point in itertools.product(*own.values())
    ]


def write(cases: Sequence[Case], path: Path) -> None:
    """Write the plan of `cases` to `path`. Raises UserError, also for duplicate names."""
    for name, count in Counter(case.name for case in cases).items():
        if count > 1:
            raise UserError(f"two benchmarks are named {quoted(name)}: rename a kernel")
    lines = ["warpgauge-kernels 1"]
    for number, case in enumerate(cases):
        data = str(data_of(path, number))
        lines += [line.replace(_DATA, data) for line in case.lines]
    for line in filter(_CONTROL.search, lines):
        raise UserError(
            f"{quoted(line)} cannot be used in a kernel plan: rename the file or folder"
        )
    replace_all({path: "".join(f"{line}\n" for line in lines)})


def data_of(path: Path, number: int) -> Path:
    """Return the folder of what a case of the plan `path` reads, if Python verifies it."""
    return path.parent / "data" / str(number)


def _chosen(manifest: Manifest, kernels: Sequence[str] | None) -> dict[str, Kernel]:
    """Return the kernels to measure, by name."""
    measured = {name: its for name, its in manifest.kernels.items() if not its.reference_only}
    if not measured:
        remedy = "remove reference_only from the kernels to measure"
        raise Place(manifest.path).error("every kernel is reference_only", remedy)
    for name in kernels or ():
        if name not in measured:
            fault = f"measures no kernel {quoted(name)}"
            raise Place(manifest.path).error(fault, suggestion(name, measured))
    return {name: its for name, its in measured.items() if kernels is None or name in kernels}


@dataclass(frozen=True)
class _Resolved:
    """A kernel at one point of its axes. Every fault is a UserError with the key and the point."""

    manifest: Manifest
    name: str
    point: Mapping[str, int]

    @property
    def kernel(self) -> Kernel:
        return self.manifest.kernels[self.name]

    def case(self) -> Case:
        kernel = self.kernel
        values = "".join(f"/{axis}:{value}" for axis, value in self.point.items())
        name = f"{FAMILY}/{self.name}/{kernel.type}{values}"
        lines = [f"case {name}"]
        for key, amount in (("bytes", kernel.bytes), ("flops", kernel.flops)):
            if amount is not None:
                lines.append(f"{key} {self._value(amount, key)}")
        buffers = self._buffers()
        lines += [self._buffer(*its) for its in buffers.values()]
        lines += self._launch()
        for output, check in kernel.verify.items():
            by = "reference"
            if check.npy is not None:
                by = f"npy {self._elements(check.npy, *buffers[output], 'verify', output, 'npy')}"
            elif check.python is not None:
                by = f"npy {_DATA}/{output}.expected 0"
            lines.append(f"verify {output} {by} {check.relative:.17g} {check.absolute:.17g}")
        files = [kernel.image[1]]
        files += [its.npy for its in kernel.arguments if its.npy]
        files += [its.npy for its in kernel.verify.values() if its.npy]
        files += dict.fromkeys(file for file, _ in kernel.functions.values())
        if kernel.reference is not None:
            reference = replace(self, name=kernel.reference)
            reference._require_buffers_of(self.name, buffers)
            lines += reference._launch()
            files.append(reference.kernel.image[1])
        references = self._references(values, buffers) if kernel.functions else None
        return Case(
            self.name, name, tuple(lines), tuple(map(self.manifest.file, files)), references
        )

    def _references(self, values: str, buffers: _Buffers) -> Mapping[str, object]:
        """Return what the functions in Python need to know.

        Kernels that read the same buffer at the same `values` of their axes get the same data.
        """
        read, expected = {}, {}
        for name, (its, count) in buffers.items():
            known = {"type": its.type, "count": count}
            if its.role in READ:
                read[name] = {
                    **known,
                    "place": self._located("arguments", self.kernel.arguments.index(its)),
                    "npy": None if its.npy is None else str(self.manifest.file(its.npy)),
                    "values": self._distribution(its),
                    "seed": f"{name}{values}",
                }
            if name in self.kernel.functions:
                file, function = self.kernel.functions[name]
                expected[name] = {
                    **known,
                    "place": self._located("verify", name, "python"),
                    "file": str(self.manifest.file(file)),
                    "function": function,
                }
        return {"axes": self.point, "read": read, "expected": expected}

    def _located(self, *keys: str | int) -> str:
        place = self._place(*keys)
        return f"{place.path}, {place.what}"

    def _value(
        self, expression: int | str, *keys: str | int, low: int = 0, high: int = LARGEST
    ) -> int:
        try:
            return evaluate(expression, self.point, low, high)
        except ExpressionError as error:
            shown = quoted(expression) if isinstance(expression, str) else expression
            fault, remedy = error.args
            raise self._place(*keys).error(f"{shown} {fault}", remedy) from None

    def _place(self, *keys: str | int) -> Place:
        place = self.manifest.place(self.name, *keys)
        values = ", ".join(f"{axis} = {value}" for axis, value in self.point.items())
        return place._replace(what=f"{place.what} at {values}") if values else place

    def _buffers(self) -> _Buffers:
        """Return the buffers and their numbers of elements, by name."""
        buffers = {}
        for number, its in enumerate(self.kernel.arguments):
            keys = ("arguments", number)
            if its.count is not None:
                count = self._value(its.count, *keys, "count", low=1, high=_MOST_ELEMENTS)
                buffers[its.name] = its, count
            elif its.npy is not None:
                buffers[its.name] = its, self._npy(its.npy, its, *keys, "npy")[0]
        return buffers

    def _require_buffers_of(self, other: str, verified: _Buffers) -> None:
        """Require that each buffer of this reference is as in the kernel that it verifies."""
        there = {(its.role, name, its.type, count) for name, (its, count) in verified.items()}
        for name, (its, count) in self._buffers().items():
            if (its.role, name, its.type, count) not in there:
                fault = f"the {its.role} {name!r} of {count} {its.type} is not in {other!r}"
                remedy = "give the buffers of both the same names, roles, types and counts"
                raise self._place("arguments").error(f"{fault}, which it verifies", remedy)

    def _buffer(self, its: Argument, count: int) -> str:
        words = ["buffer", its.role, its.name, its.type, count]
        keys = ("arguments", self.kernel.arguments.index(its))
        if its.npy is not None:
            words.append(self._elements(its.npy, its, count, *keys, "npy"))
        elif its.role in READ and self.kernel.functions:
            words += [f"{_DATA}/{its.name}", 0]
        else:
            words += self._distribution(its)
        return " ".join(map(str, words))

    def _distribution(self, its: Argument) -> list[str]:
        """Return the form of the buffer's values, and its numbers; nothing without `values`."""
        for form, given in (its.values or {}).items():
            keys = ("arguments", self.kernel.arguments.index(its), "values", form)
            numbers = given if isinstance(given, list) else [given]
            low, high = -_EXACT, _EXACT
            return [form, *(self._number(value, *keys, low=low, high=high) for value in numbers)]
        return []

    def _number(
        self, number: float | str, *keys: str | int, low: int = -LARGEST, high: int = 2**64 - 1
    ) -> str:
        if isinstance(number, float):
            return f"{number:.17g}"
        return str(self._value(number, *keys, low=low, high=high))

    def _launch(self) -> Iterator[str]:
        kernel = self.kernel
        kind, file = kernel.image
        yield "kernel"
        yield f"image {kind} {self.manifest.file(file)}"
        yield from (f"option {option}" for option in kernel.options)
        yield f"symbol {kernel.symbol}"
        yield f"grid {self._extent('grid', kernel.grid)}"
        yield f"block {self._extent('block', kernel.block)}"
        yield f"shared {self._value(kernel.shared, 'shared')}"
        if kernel.cluster is not None:
            yield f"cluster {self._extent('cluster', kernel.cluster)}"
        if kernel.programmatic:
            yield "programmatic"
        yield from itertools.starmap(self._argument, enumerate(kernel.arguments))

    def _extent(self, key: str, sizes: Sequence[int | str]) -> str:
        """Return three sizes; missing ones are 1."""
        given = [self._value(size, key, number, low=1) for number, size in enumerate(sizes)]
        return " ".join(map(str, [*given, 1, 1][:3]))

    def _argument(self, number: int, its: Argument) -> str:
        if its.null:
            return "argument null"
        if its.value is None:
            return f"argument buffer {its.name}"
        value = self._number(its.value, "arguments", number, "value")
        return f"argument value {its.type} {value}"

    def _elements(self, file: str, its: Argument, count: int, *keys: str | int) -> str:
        """Return the file and the byte at which its elements begin; there must be `count`."""
        found, offset = self._npy(file, its, *keys)
        path = self.manifest.file(file)
        if found != count:
            fault = f"{path} has {found} elements, but the buffer has {count}"
            raise self._place(*keys).error(fault, "save one of that size")
        return f"{path} {offset}"

    def _npy(self, file: str, its: Argument, *keys: str | int) -> tuple[int, int]:
        """Return the number of elements of a .npy file, and the byte at which they begin."""
        path, place = self.manifest.file(file), self._place(*keys)
        try:
            if not path.is_file():  # opening a pipe would block
                raise FileNotFoundError("there is no such file")
            array = np.load(path, mmap_mode="r", allow_pickle=False)
            dtype, offset = array.dtype.str, array.offset
        except Exception as error:  # whatever is wrong with a file from elsewhere
            why = cut(" ".join(str(error).split()), 200)
            raise place.error(f"{path} is not a .npy file ({why})", "numpy.save it") from None
        type = str(its.type)
        wanted = _RAW.get(type) or (np.dtype(f"{type[0]}{int(type[1:]) // 8}").str,)
        if dtype not in wanted:
            fault = f"{path} holds elements of {quoted(dtype)}, but {type} is {listed(wanted)}"
            raise place.error(fault, "save it with that type")
        if not array.size or not array.flags.c_contiguous:
            raise place.error(f"{path} is empty or in Fortran order", "save a contiguous array")
        return array.size, offset
