# SPDX-License-Identifier: Apache-2.0
"""Whether two builds run the same code: digests of a whole program, and of one row's kernels.

Equal digests show that everything that runs is the same. Different ones show nothing, because equal
code may have other addresses. Digests are evidence for a cause; they never turn into a pass.
"""

from __future__ import annotations

import hashlib
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


def of_row(binary: Binary, launches: Mapping[str, float]) -> str:
    """Return the digest of a row's kernels, given how each is launched (`fields.launches_of`).

    `launches` has mangled names. Empty if the code of one is neither in the program nor in a cubin
    that it loads, or cuobjdump is missing.
    """
    if not launches:
        return ""
    try:
        codes = _codes(binary.path, binary.inputs, binary.path.stat().st_mtime_ns)
    except (UserError, OSError):
        return ""
    names = {kernel: cubins.stable_name(kernel) for kernel in launches}
    if not codes.keys() >= {*names.values()}:
        return ""
    parts = [(name, launches[kernel], codes[name]) for kernel, name in names.items()]
    return hashlib.sha256(repr(sorted(parts)).encode()).hexdigest()[:_DIGITS]


@lru_cache(maxsize=128)
def _codes(path: Path, inputs: tuple[Path, ...], _built_ns: int) -> Mapping[str, str]:
    """Return the digests of the kernels of a program and of cubins that it loads."""
    loaded = [file for file in inputs if file.suffix == ".cubin"]
    return {name: code for file in (*loaded, path) for name, code in cubins.digests(file).items()}
