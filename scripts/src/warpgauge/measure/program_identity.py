# SPDX-License-Identifier: Apache-2.0
"""Whether two builds run the same code: digests of a whole program, and of one row's kernels.

Equal digests show that everything that runs is the same. Different ones show nothing, because equal
code may have other addresses. Digests are evidence for a cause; they never turn into a pass.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from warpgauge.measure import cubins
from warpgauge.measure.discovery import Binary
from warpgauge.system.errors import UserError

# Sections with the kernels, which have their own digest, and with their names and addresses.
_NO_CODE = (*cubins.FATBINS, b".nvFatBinSegment", b"__nv_module_id")


class Identity(NamedTuple):
    """Digests of what runs on the GPU, and of what runs on the host."""

    kernels: str
    host: str


def of(files: Iterable[Path], names: Sequence[str]) -> Identity:
    """Return the digests of a program with all `files` that affect what it does. Raises OSError.

    `names` come from the build itself: its commit and its folder. The program contains them, but
    they do not count.
    """
    kernels, host = hashlib.sha256(), hashlib.sha256()
    masks = [name.encode() for name in names if name]
    # Compilers store the ends of short strings in the code.
    masks += [name[part] for name in masks for n in (8, 4) for part in (slice(n), slice(-n, None))]
    masks.sort(key=len, reverse=True)
    for path in files:
        content, fatbin = path.read_bytes(), b""
        loaded = [
            section
            for section in cubins.sections(content)
            if section.kind == cubins.PROGRAM_BITS and section.flags & cubins.ALLOCATED
        ]
        if not loaded:  # not a program
            host.update(hashlib.sha256(content).digest())
        for section in loaded:
            if section.name in cubins.FATBINS:
                fatbin += section.content
            elif section.name not in _NO_CODE:
                code = section.content
                for mask in masks:
                    code = code.replace(mask, b"\0" * len(mask))
                code = cubins.UNIQUE.sub(b"", code)
                host.update(section.name + hashlib.sha256(code).digest())
        kernels.update(hashlib.sha256(fatbin and (_machine_code(path) or fatbin)).digest())
    return Identity(kernels.hexdigest(), host.hexdigest())


def _machine_code(program: Path) -> bytes:
    """Return the kernels' stable names and digests; empty if cuobjdump is missing or fails."""
    try:
        digests = cubins.digests(program)
    except UserError:
        return b""
    return repr(sorted(digests.items())).encode() if digests else b""


_DIGITS = 16  # hexadecimal digits of a row's digest in a file
_PLAN = ".plan"  # such files hold paths of this machine, and no code
_DEADLINE_S = 30.0


def of_row(binary: Binary, launches: Mapping[str, float]) -> str:
    """Return the digest of a row's kernels, given how each is launched (`fields.launches_of`).

    `launches` has mangled names. Empty if the row has no kernels or cuobjdump is missing.
    """
    if not launches:
        return ""
    try:
        program = _program(binary.path, binary.inputs, binary.path.stat().st_mtime_ns)
    except (UserError, OSError, subprocess.SubprocessError):
        return ""
    names = {kernel: cubins.stable_name(kernel) for kernel in launches}
    parts = [(name, launches[kernel], program.code_of(name)) for kernel, name in names.items()]
    return hashlib.sha256(repr(sorted(parts)).encode()).hexdigest()[:_DIGITS]


class _Program(NamedTuple):
    digests: Mapping[str, str]  # by kernel
    ptx: bytes
    around: str  # digest of the files that may hold other kernels

    def code_of(self, kernel: str) -> str:
        """Return a kernel's digest, or a substitute if its code is not in the program."""
        if kernel in self.digests:
            return self.digests[kernel]
        compiled = hashlib.sha256(self.ptx if kernel.encode() in self.ptx else b"")
        return compiled.hexdigest() + self.around


@lru_cache(maxsize=128)
def _program(path: Path, inputs: tuple[Path, ...], _built_ns: int) -> _Program:
    """Read a program once per build.

    Other kernels come from input files, loaded or compiled at run time, and from libraries. A
    library is identified by its name, which has the version, and its size.
    """
    around = hashlib.sha256()
    for file in inputs:
        if file.suffix != _PLAN:
            around.update(hashlib.sha256(file.read_bytes()).digest())
    command = ["ldd", str(path)]
    asked = subprocess.run(command, capture_output=True, text=True, timeout=_DEADLINE_S, check=True)
    places = (line.partition("=>")[2].rpartition("(")[0] for line in asked.stdout.splitlines())
    for library in sorted(Path(place.strip()).resolve() for place in places if place.strip()):
        around.update(f"{library.name} {library.stat().st_size}\n".encode())
    return _Program(cubins.digests(path), cubins.ptx(path), around.hexdigest())
