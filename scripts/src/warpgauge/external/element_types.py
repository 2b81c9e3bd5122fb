# SPDX-License-Identifier: Apache-2.0
"""The element types of buffers and scalars that bench_external supports."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

ElementType = Literal[
    "f64",
    "f32",
    "f16",
    "bf16",
    "e4m3",
    "e5m2",
    "i64",
    "i32",
    "i16",
    "i8",
    "u64",
    "u32",
    "u16",
    "u8",
]

SIZE_BYTES: Mapping[str, int] = {
    **{"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "e4m3": 1, "e5m2": 1},
    **{"i64": 8, "i32": 4, "i16": 2, "i8": 1, "u64": 8, "u32": 4, "u16": 2, "u8": 1},
}

# By buffer type: the `descr` of a .npy file. NumPy itself has no bf16, e4m3 and e5m2:
# ml_dtypes writes them as raw bytes, and others write their bits as unsigned integers.
NPY_DESCR: Mapping[str, tuple[str, ...]] = {
    "f64": ("<f8",),
    "f32": ("<f4",),
    "f16": ("<f2",),
    "bf16": ("<V2", "|V2", "<u2"),
    "e4m3": ("<V1", "|V1", "<f1", "|f1", "|u1"),
    "e5m2": ("<V1", "|V1", "<f1", "|f1", "|u1"),
    "i64": ("<i8",),
    "i32": ("<i4",),
    "i8": ("|i1",),
    "u32": ("<u4",),
    "u8": ("|u1",),
}

# The largest finite value of each floating-point type.
LARGEST_FLOAT: Mapping[str, float] = {
    "f64": float.fromhex("0x1.fffffffffffffp+1023"),
    "f32": float.fromhex("0x1.fffffep+127"),
    "f16": 65504.0,
    "bf16": float.fromhex("0x1.fep+127"),
    "e4m3": 448.0,
    "e5m2": 57344.0,
}

_LARGEST_EXACT = 2**53  # integer of a double
_NORMAL_REACH = 6  # the most deviations between the mean and a value that the engine draws
# Each floating-point type holds all integers up to 2 to this power.
_SIGNIFICAND_BITS = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8, "e4m3": 4, "e5m2": 3}


def integer_range(type: str) -> tuple[int, int] | None:
    """Return the smallest and largest value of an integer type; None for any other type."""
    bits = 8 * SIZE_BYTES[type]
    return {"i": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1), "u": (0, 2**bits - 1)}.get(type[0])


SCALARS = tuple(type for type in SIZE_BYTES if type not in ("e4m3", "e5m2"))


def distribution_fault(form: str, numbers: Sequence[float], type: str) -> str:
    """Return why a buffer of this type cannot hold such values; "" if it can.

    The engine keeps the parameters of a distribution as doubles.
    """
    whole = integer_range(type)
    if not all(map(math.isfinite, numbers)):
        return "cannot hold what is not finite"
    if form == "distinct":
        most = 2 ** min(8 * SIZE_BYTES[type] if whole else _SIGNIFICAND_BITS[type], 53)
        fits = 1 <= numbers[0] <= most
        return "" if fits else f"can hold 1 to {most} different values, not {numbers[0]}"
    if form in ("uniform", "sorted") and numbers[0] > numbers[1]:
        return f"cannot hold values from {numbers[0]} to {numbers[1]}"
    if form == "normal":
        mean, deviation = numbers
        if deviation < 0:
            return f"cannot hold a negative deviation, {deviation}"
        reach = _NORMAL_REACH * deviation
        numbers = () if whole else (mean - reach, mean + reach)  # integers are kept in range
    low, high = whole or (-LARGEST_FLOAT[type], LARGEST_FLOAT[type])
    for value in numbers:
        if not low <= value <= high or (whole and value != int(value)):
            return f"cannot hold {value}"
        if whole and abs(value) > _LARGEST_EXACT:
            return f"cannot be given {value}, which exceeds {_LARGEST_EXACT}"
    return ""
