# SPDX-License-Identifier: Apache-2.0
"""The element types of buffers and scalars that bench_external supports."""

from __future__ import annotations

from collections.abc import Mapping
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

# Each floating-point type holds all integers below 2 to this power.
_SIGNIFICAND_BITS = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8, "e4m3": 4, "e5m2": 3}


def integer_range(type: str) -> tuple[int, int] | None:
    """Return the smallest and largest value of an integer type; None for any other type."""
    bits = 8 * SIZE_BYTES[type]
    return {"i": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1), "u": (0, 2**bits - 1)}.get(type[0])


def most_distinct(type: str) -> int:
    """Return how many different values a buffer of this type may be asked to hold."""
    return 1 << min(_SIGNIFICAND_BITS.get(type, 8 * SIZE_BYTES[type]), _SIGNIFICAND_BITS["f64"])


SCALARS = tuple(one for one in SIZE_BYTES if one not in ("e4m3", "e5m2"))
