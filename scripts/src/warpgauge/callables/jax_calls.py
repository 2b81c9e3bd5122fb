# SPDX-License-Identifier: Apache-2.0
"""Time functions of JAX, which has streams of its own: by CUPTI's records of each call."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from warpgauge.callables.arrays import Array, Block, Case, Comparable
from warpgauge.callables.comparison import require_right
from warpgauge.system.errors import UserError

Leaf = Any
Returned = Any  # by a callable


class JaxCall(Comparable):
    """A callable and its arguments, which all calls share: JAX's arrays cannot be written."""

    why_not_captured = "JAX has streams of its own, so CUPTI times each call"

    def __init__(
        self,
        fn: Callable[..., Returned],
        arguments: Sequence[object],
        reference: Callable[..., Returned] | None,
        tolerance: tuple[float, float] | None,
    ) -> None:
        self._jax = sys.modules["jax"]
        self._fn, self._arguments = fn, arguments
        self._reference, self._tolerance = reference, tolerance
        self._require_alive()
        devices = {device for array in arrays_in(arguments) for device in array.devices()}
        if strange := [device for device in devices if device.platform != "gpu"]:
            raise UserError(
                f"an array of JAX lies on {strange[0]} and not on a GPU: install JAX for CUDA, or "
                "move the array by jax.device_put"
            )
        if len(devices) > 1:
            raise UserError(f"the arrays lie on several GPUs: {', '.join(map(str, devices))}")
        self._device = devices.pop()
        self.device = int(self._device.local_hardware_id)

    def measure(self, case: Case) -> None:
        """Time it on the device: for how long that works on a call."""
        self._called()  # compiles
        self._require_alive()
        case.operation(lambda slot, stream: (self._called(), []), 1)
        case.check(lambda slot: self._require_right(case, slot))
        case.traced_calls()

    def measure_host(self, case: Case) -> None:
        """Time what the host does for a call that begins when the one before has ended."""
        last = [self._called()]

        def issued(slot: int, stream: int) -> tuple[None, list[object]]:
            last[0] = self._fn(*self._arguments)
            return None, []

        case.operation(issued, 1)
        case.check(lambda slot: None)
        case.host_calls(lambda: self._jax.block_until_ready(last[0]))

    def address(self, array: Array) -> int:
        return int(array.unsafe_buffer_pointer())

    def block(self, array: Array) -> Block:
        return Block.of(self.address(array), array.size, array.dtype.itemsize, str(array.dtype))

    def packed(self, array: Array) -> Array:
        return array

    def double(self, array: Array) -> Array:
        with self._jax.enable_x64(True):
            wide = array.astype(self._wide(array))
            return self._jax.block_until_ready(self._jax.device_put(wide, self._device))

    def _wide(self, array: Array) -> str:
        return "complex128" if self._jax.numpy.iscomplexobj(array) else "float64"

    def mean_square(self, array: Array) -> float:
        with self._jax.enable_x64(True):
            return super().mean_square(array)

    def _called(self) -> Returned:
        return self._jax.block_until_ready(self._fn(*self._arguments))

    def _require_alive(self) -> None:
        for at, value in enumerate(self._arguments):
            if any(array.is_deleted() for array in arrays_in(value)):
                raise UserError(
                    f"argument {at} is deleted: it was donated to a call; measure a function "
                    "without donate_argnums"
                )

    def _require_right(self, case: Case, slot: int) -> None:
        got = self._results(case.results(slot))
        if not got:
            raise UserError("the callable returns no array: return its result")
        require_right(case, got, self._results(self._expected()), self._tolerance, slot)

    def _expected(self) -> Returned:
        """Return what the reference does of the same arrays in double precision."""
        if self._reference is None:
            return self._called()
        numpy = self._jax.numpy

        def widened(leaf: Leaf) -> Leaf:
            if not (hasattr(leaf, "dtype") and numpy.issubdtype(leaf.dtype, numpy.inexact)):
                return leaf
            return leaf.astype(self._wide(leaf))

        with self._jax.enable_x64(True):
            arguments = self._jax.tree.map(widened, tuple(self._arguments))
            return self._jax.block_until_ready(self._reference(*arguments))

    def _results(self, returned: Returned) -> list[tuple[Comparable, Array]]:
        """Return the arrays among what a call returned; a reference may return NumPy's."""
        leaves = [leaf for leaf in self._jax.tree.leaves(returned) if hasattr(leaf, "dtype")]
        with self._jax.enable_x64(True):
            return [(self, self._jax.numpy.asarray(leaf)) for leaf in leaves]


def arrays_in(values: object) -> list[Array]:
    """Return the arrays of JAX in tuples, lists, dicts and what else it knows."""
    if (jax := sys.modules.get("jax")) is None:
        return []
    return [leaf for leaf in jax.tree.leaves(values) if isinstance(leaf, jax.Array)]
