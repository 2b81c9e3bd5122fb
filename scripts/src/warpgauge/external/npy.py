# SPDX-License-Identifier: Apache-2.0
"""Reads the header of a .npy file: the type and number of elements, and where they begin.

The header is parsed without unpickling; bench_external reads the elements themselves.
https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
"""

from __future__ import annotations

import ast
import math
import stat
import warnings
from dataclasses import dataclass
from pathlib import Path

from warpgauge.external.element_types import NPY_DESCR, SIZE_BYTES
from warpgauge.external.expressions import LARGEST
from warpgauge.system.location import Place
from warpgauge.system.text import quoted

_MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 64 * 1024
_REMEDY = "write it with numpy.save"


@dataclass(frozen=True)
class Npy:
    """The header of a file. The same `descr` may stand for several types."""

    descr: str
    count: int
    offset: int

    def require(self, type: str, place: Place) -> None:
        """Raise UserError unless the elements have this `type`."""
        if self.descr not in NPY_DESCR[type]:
            fault = f"its file holds elements of {quoted(self.descr)}, but {type} is "
            raise place.error(fault + quoted(NPY_DESCR[type][0]), "save it with that type")


def read(path: Path, type: str, place: Place) -> Npy:
    """Read the header of a file with elements of `type` in C order, and nothing after them.

    `place` is where the manifest names the file. Raises UserError.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would block
            raise place.error(f"{path} is not a file", "name a .npy file")
        with path.open("rb") as file:
            start = file.read(_LONGEST_HEADER + 12)
            size = file.seek(0, 2)
    except OSError as error:
        why = f"{path} cannot be read ({error.strerror})"
        raise place.error(why, "name a .npy file") from None
    found, shape, fortran = _header(start, path, place)
    found.require(type, place)
    if fortran and sum(one > 1 for one in shape) > 1:
        raise place.error(f"{path} is in Fortran order", "save numpy.ascontiguousarray of it")
    expected = found.offset + found.count * SIZE_BYTES[type]
    if size != expected:
        fault = f"{path} has {size} bytes, but its header says {expected}"
        raise place.error(fault, _REMEDY)
    return found


def _header(start: bytes, path: Path, place: Place) -> tuple[Npy, tuple[int, ...], bool]:
    """Return the header, the shape, and whether it is in Fortran order."""
    size = {1: 2, 2: 4, 3: 4}.get(start[6] if len(start) > 6 else 0, 0)
    offset = 8 + size + int.from_bytes(start[8 : 8 + size], "little")
    if start.startswith(_MAGIC) and size and offset <= len(start):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                told = ast.literal_eval(start[8 + size : offset].decode().strip())
            descr, fortran, shape = told["descr"], told["fortran_order"], told["shape"]
        except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError):
            pass
        else:
            sizes = isinstance(shape, tuple) and all(type(n) is int and n >= 0 for n in shape)
            count = math.prod(shape) if sizes else 0
            if sizes and count <= LARGEST and isinstance(descr, str) and isinstance(fortran, bool):
                return Npy(descr, count, offset), shape, fortran
            if isinstance(descr, list):
                raise place.error(f"{path} holds records", "save one array of plain numbers")
    raise place.error(f"{path} is not a .npy file", _REMEDY)
