# SPDX-License-Identifier: Apache-2.0
"""What warpgauge.callables needs, without a GPU: arrays of NumPy, and the engine's case on them."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np

from warpgauge.callables import timing
from warpgauge.callables.arrays import Bytes, Context, Framework

Array = Any  # of NumPy
Parameters = dict[str, object]


class NotCapturable(RuntimeError):
    """As the engine raises it."""


class WrongResult(RuntimeError):
    """As the engine raises it."""


class Unsupported(RuntimeError):
    """As the engine raises it."""


class NoDevice(RuntimeError):
    """As the engine raises it."""


class NumPy(Framework):
    """A framework; `memory` are the calls within memory of their own."""

    name, array = "numpy", np.ndarray

    def __init__(self, device: int | None = 0) -> None:
        self._device, self.in_own_memory = device, 0

    def device(self, array: Array) -> int | None:
        return self._device

    def current_device(self) -> int:
        return 0

    def address(self, array: Array) -> int:
        return int(array.ctypes.data)

    def like(self, array: Array, address: int) -> Array:
        flat = (ctypes.c_ubyte * self.block(array).bytes).from_address(address)
        return np.ndarray(array.shape, array.dtype, memoryview(flat), strides=array.strides)

    def double(self, array: Array) -> Array:
        wide = "complex128" if np.iscomplexobj(array) else "float64"
        return np.ascontiguousarray(array, dtype=wide)

    def packed(self, array: Array) -> Array:
        return np.ascontiguousarray(array)

    def copy(self, array: Array) -> Array:
        elements = self.block(array).bytes
        flat = ctypes.create_string_buffer(ctypes.string_at(array.ctypes.data, elements))
        return np.ndarray(array.shape, array.dtype, memoryview(flat), strides=array.strides)

    def on_stream(self, stream: int) -> AbstractContextManager[object]:
        return nullcontext()

    @contextmanager
    def counted(self, taken: list[int]) -> Iterator[None]:
        yield
        taken.append(100)

    def own_memory(self) -> Context:
        def made() -> AbstractContextManager[object]:
            self.in_own_memory += 1
            return nullcontext()

        return made

    def contents(self, array: Array) -> Bytes:
        return bytearray(ctypes.string_at(array.ctypes.data, self.block(array).bytes))

    def made(self, described: dict[str, Any], contents: Bytes, first: int = 0) -> Array:
        contents = bytearray(contents[first:]) + contents[:first]
        type_ = np.dtype(described["type"])
        strides = [stride * type_.itemsize for stride in described["strides"]]
        return np.ndarray(described["shape"], type_, contents, strides=strides)


_SIZES = {"f64": 8, "f32": 4, "f16": 2, "i64": 8, "i32": 4, "u8": 1}
_TYPES = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "i64": "int64",
    "i32": "int32",
    "u8": "uint8",
}


class Case:
    """Two slots of each buffer. A measurement runs the operation on one, then on the other."""

    stream, l2_bytes, slots = 1, 1000, 2

    def __init__(self, *, captures: bool = True, parameters: Parameters | None = None) -> None:
        self._captures, self._parameters = captures, parameters or {}
        self.modes: list[str] = []
        self.work: dict[str, float] = {}
        self._buffers: list[tuple[str, list[Array], list[Array]]] = []
        self._kept: dict[int, tuple[object, Any]] = {}
        self._shifted: list[bool] = []

    def param(self, axis: str, kind: str) -> object:
        return self._parameters[axis]

    def add(self, address: int, count: int, type_: str, role: str, shifted: bool) -> int:
        self._shifted.append(shifted)
        size = count * _SIZES[type_]
        given = np.frombuffer(ctypes.string_at(address, size), _TYPES[type_])
        first = [np.roll(given, -slot) if shifted else given.copy() for slot in range(self.slots)]
        if role == "output":
            first = [np.full(count, 255, _TYPES[type_]) for _ in first]
        self._buffers.append((role, first, [one.copy() for one in first]))
        return len(self._buffers) - 1

    def address(self, number: int, slot: int) -> int:
        return int(self._buffers[number][2][slot].ctypes.data)

    def restore(self, number: int, slot: int, to: int) -> None:
        role, first, _ = self._buffers[number]
        if role != "output":
            ctypes.memmove(to, first[slot].ctypes.data, first[slot].nbytes)

    def operation(self, call: Callable[[int, int], tuple[object, object]], kept: int) -> None:
        self._call, self.most_kept = call, kept

    def check(self, check: Callable[[int], None]) -> None:
        self._check = check

    def check_contents(self, check: Callable[[int, list[bytes]], None]) -> None:
        def with_contents(slot: int) -> None:
            check(slot, [ctypes.string_at(*block) for block in self._kept[slot][1]])

        self._check = with_contents

    def shift(self, number: int, slot: int) -> int:
        return slot if self._shifted[number] else 0

    def shares_with(self, processes: int) -> None:
        self.work["asleep"] = processes

    def results(self, slot: int) -> object:
        return self._kept[slot][0] if slot in self._kept else None

    def compare(
        self, got: int, count: int, type_: str, expected: int, absolute: float, relative: float,
        slot: int,
    ) -> None:  # fmt: skip
        result = np.frombuffer(ctypes.string_at(got, count * _SIZES[type_]), _TYPES[type_])
        right = np.frombuffer(ctypes.string_at(expected, count * 8), "float64")
        with np.errstate(invalid="ignore"):  # of infinities
            near = np.abs(result - right) <= absolute + relative * np.abs(right)
        if not np.all(np.where(np.isinf(right), result == right, near)):
            raise WrongResult(f"wrong result in slot {slot}")

    def takes(self, count: int) -> None:
        self.work["taken"] = count

    def moves_bytes(self, count: int) -> None:
        self.work["bytes"] = count

    def computes_flops(self, count: float) -> None:
        self.work["flops"] = count

    def replay(self) -> None:
        if not self._captures:
            raise NotCapturable("the operation cannot be captured into a graph")
        self._measure("replay")

    def device_calls(self, waits: bool) -> None:
        self._measure("device_calls")

    def issue_calls(self) -> None:
        self._measure("issue_calls")

    def traced_calls(self) -> None:
        self._measure("traced_calls")

    def host_calls(self, wait: Callable[[], object]) -> None:
        wait()
        self._measure("host_calls")

    def samples(self) -> list[float]:
        return [1e-6, 2e-6, 6e-6]

    def _measure(self, mode: str) -> None:
        self.modes.append(mode)
        for slot in range(self.slots):
            self._kept[slot] = self._call(slot, self.stream)
            self._check(slot)
            for role, first, now in self._buffers:
                if role == "input" and not np.array_equal(first[slot], now[slot], equal_nan=True):
                    raise WrongResult("the operation changed its input")


def module() -> SimpleNamespace:
    kinds = (NotCapturable, WrongResult, Unsupported, NoDevice)
    return SimpleNamespace(**{kind.__name__: kind for kind in kinds})


def program() -> SimpleNamespace:
    """A module whose `run_program` measures what was registered; `rows` has errors, or "".

    A row is named by its parameters.
    """
    registered: list[tuple[dict[str, list[object]], Callable[[Case], None]]] = []
    made = SimpleNamespace(**vars(module()), rows={})

    def run_program(words: list[str]) -> int:
        for axes, body in registered:
            for values in itertools.product(*axes.values()):
                error = ""
                try:
                    body(Case(parameters=dict(zip(axes, values, strict=True))))
                except Exception as fault:
                    error = f"{type(fault).__name__}: {fault}"
                made.rows[values] = error
        return 0

    made.register = lambda name, axes, body, file, line: registered.append((axes, body))
    made.run_program = run_program
    return made


def measured(case: Case, *arguments: object, **options: object) -> Case:
    """Measure as a benchmark's body does."""
    token = timing.running.set(case)
    try:
        assert timing.time(*arguments, **options) is None  # type: ignore[arg-type]
    finally:
        timing.running.reset(token)
    return case
