# SPDX-License-Identifier: Apache-2.0
"""Describes a numba.cuda kernel as PTX. Numba passes an array as seven or more scalars."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from warpgauge.external.kernel_entry import (
    Argument,
    Extent,
    Foreign,
    KernelEntry,
    Options,
    Parameters,
    framework,
    is_scalar,
    named,
    shape_of,
)
from warpgauge.system.errors import UserError

if TYPE_CHECKING:
    from typing_extensions import Unpack

_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\(([^)]*)\)")


def from_numba(
    kernel: object,
    grid: Sequence[Extent],
    block: Sequence[Extent],
    arguments: Sequence[object] | Mapping[str, object],
    *,
    name: str,
    folder: Path,
    shared: Extent = 0,
    compute_capability: tuple[int, int] | None = None,
    **options: Unpack[Options],
) -> KernelEntry:
    """Return the entry of a ``@cuda.jit`` function, compiled for the example arguments.

    It is compiled for this GPU unless `compute_capability` is given. For a one-dimensional array,
    the expression is its length; arrays of more dimensions keep the shape of the example. Raises
    UserError for an argument that is neither an array nor a number.
    """
    cuda = framework("numba.cuda")
    dispatcher: Foreign = kernel
    if not hasattr(dispatcher, "py_func") or not hasattr(dispatcher, "targetoptions"):
        raise UserError(f"{name} is not a function of @numba.cuda.jit")
    code = dispatcher.py_func.__code__
    examples = named(code.co_varnames[: code.co_argcount], arguments)
    parameters = Parameters(name, folder, options)
    types = []
    for parameter, example in examples.items():
        kind = dispatcher.typeof_pyval(example)
        types.append(kind)
        parameters.add(*_arguments(parameters, parameter, kind, example))
    given = {key: dispatcher.targetoptions.get(key) for key in ("fastmath", "opt", "launch_bounds")}
    chosen = {key: value for key, value in given.items() if value is not None}
    try:
        if compute_capability is None:
            compute_capability = cuda.get_current_device().compute_capability
        ptx, _ = cuda.compile_ptx(dispatcher.py_func, (*types,), cc=compute_capability, **chosen)
    except Exception as fault:  # from the compiler or the driver
        if compute_capability and (broken := fault_of_numba(compute_capability)):
            raise UserError(f"{name}: {broken}") from fault
        raise UserError(f"{name}: Numba cannot compile it: {fault}") from fault
    found = _ENTRY.search(ptx)
    count = found[2].count(".param") if found else 0
    if found is None or count != len(parameters.arguments):
        raise UserError(
            f"{name}: Numba's PTX has {count} parameters, but {len(parameters.arguments)} are "
            "known; this version of Numba passes arguments differently"
        )
    image: dict[str, object] = {"ptx": parameters.file("ptx", ptx)}
    return parameters.kernel(image, found[1], grid, block, {"shared": str(shared)})


def fault_of_numba(compute_capability: tuple[int, int]) -> str:
    """Return why Numba cannot compile any kernel here, for example an unsupported NumPy; or ""."""
    cuda = framework("numba.cuda")

    def empty() -> None: ...

    try:
        cuda.compile_ptx(empty, (), cc=compute_capability)
    except Exception as fault:  # from the compiler
        return (
            f"Numba cannot even compile an empty kernel here ({fault}); install versions of numba, "
            "numba-cuda and NumPy that work together"
        )
    return ""


def _arguments(parameters: Parameters, name: str, kind: Foreign, example: object) -> list[Argument]:
    """Return what Numba passes for one argument; for an array, the fields of its struct."""
    if is_scalar(example):
        number = np.asarray(example).astype(str(kind))[()]
        return [parameters.scalar(name, number)]
    layout = getattr(kind, "layout", None)
    if layout != "C":
        raise parameters.fault(name, "it is neither a contiguous array nor a number")
    buffer = parameters.buffer(name, example)
    shape: list[Extent] = [*shape_of(example)]
    if len(shape) == 1:
        shape = [str(buffer["count"])]
    size = kind.dtype.bitwidth // 8
    strides: list[int] = [size]
    for extent in [*shape_of(example)][:0:-1]:
        strides.insert(0, strides[0] * extent)
    null: Argument = {"null": True}
    return [
        null,  # meminfo
        null,  # parent
        _i64(buffer["count"]),
        _i64(size),
        buffer,
        *map(_i64, shape),
        *map(_i64, strides),
    ]


def _i64(value: object) -> Argument:
    return {"value": str(value), "type": "i64"}
