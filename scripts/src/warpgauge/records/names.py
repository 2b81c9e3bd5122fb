# SPDX-License-Identifier: Apache-2.0
"""The names of benchmarks, ``family/variant/type/axis:value``, and of the suites that list them."""

from __future__ import annotations

import math
import re

DEFAULT_SUITE, FULL_SUITE = "default", "full"  # a program's --suite

_AXIS = re.compile(r"([^:/]+):([A-Za-z0-9_.+-]+)")
# A number in a name. It means the same in Python's regular expressions and in POSIX extended ones.
NUMBER = r"-?[0-9]{1,22}(\.[0-9]{1,22})?(e[+-]?[0-9]{1,3})?"


def axes_of(name: str) -> list[str]:
    """Return the axes in a name: ``n`` in ``gemm/naive/n:1024``."""
    return [found[1] for part in name.split("/") if (found := _AXIS.fullmatch(part))]


def numbers_of(name: str) -> dict[str, float]:
    """Return the axes in a name that hold numbers: ``n`` and 1024 in ``gemm/naive/n:1024``."""
    parts = map(_AXIS.fullmatch, name.split("/"))
    numbers = {found[1]: number(found[2]) for found in parts if found is not None}
    return {axis: value for axis, value in numbers.items() if value is not None}


def number(text: str) -> float | None:
    """Return the number that stands in a name, an int if written as one; None for other text."""
    if re.fullmatch(NUMBER, text) is None or not math.isfinite(float(text)):
        return None
    return float(text) if set(text) & set(".e") else int(text)
