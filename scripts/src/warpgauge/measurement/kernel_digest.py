# SPDX-License-Identifier: Apache-2.0
"""One digest of what a row's kernels are: their machine code, and how they are launched.

It is a prior: equal digests say that what is slower is not the kernel. They pass nothing.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from warpgauge.execution import cubins
from warpgauge.execution.discovery import Binary
from warpgauge.system.errors import UserError

_DIGITS = 16  # hexadecimal, of a digest in a file
_PLAN = ".plan"  # names places of this machine, and no code
_DEADLINE_S = 30.0


def of_row(binary: Binary, launches: Mapping[str, float]) -> str:
    """Of kernels by mangled name and how each is launched (`fields.launches_of`).

    Empty where the row has none, or cuobjdump is missing.
    """
    if not launches:
        return ""
    try:
        told = binary.path.stat()
        program = _program(binary.path, binary.inputs, (told.st_mtime_ns, told.st_size))
    except (UserError, OSError, subprocess.SubprocessError):
        return ""
    names = {kernel: cubins.stable_name(kernel) for kernel in launches}
    parts = [(name, launches[kernel], program.code_of(name)) for kernel, name in names.items()]
    return hashlib.sha256(repr(sorted(parts)).encode()).hexdigest()[:_DIGITS]


class _Program(NamedTuple):
    digests: Mapping[str, str]  # of its kernels
    ptx: bytes
    around: str  # a digest of where other kernels come from

    def code_of(self, kernel: str) -> str:
        """Its digest, or what stands for code that is not in the program."""
        if kernel in self.digests:
            return self.digests[kernel]
        compiled = hashlib.sha256(self.ptx if kernel.encode() in self.ptx else b"")
        return compiled.hexdigest() + self.around


@lru_cache(maxsize=128)
def _program(path: Path, inputs: tuple[Path, ...], _stamp: tuple[int, int]) -> _Program:
    """Read once; `_stamp` is another one where it was built anew.

    Other kernels come from files that are loaded or compiled as it runs, and from its libraries:
    each goes by its name, which has the version, and its size.
    """
    around = hashlib.sha256()
    for file in inputs:
        if file.suffix != _PLAN:
            around.update(hashlib.sha256(file.read_bytes()).digest())
    for library in _libraries(path):
        around.update(f"{library.name} {library.stat().st_size}\n".encode())
    return _Program(cubins.digests(path), cubins.ptx(path), around.hexdigest())


def _libraries(program: Path) -> list[Path]:
    command = ["ldd", str(program)]
    asked = subprocess.run(command, capture_output=True, text=True, timeout=_DEADLINE_S, check=True)
    places = (line.partition("=>")[2].rpartition("(")[0] for line in asked.stdout.splitlines())
    return sorted(Path(place.strip()).resolve() for place in places if place.strip())
