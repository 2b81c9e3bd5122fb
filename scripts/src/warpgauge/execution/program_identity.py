# SPDX-License-Identifier: Apache-2.0
"""Whether two builds of a program run the same code: digests of its kernels and host objects.

Where they differ nothing is said: the same code may lie elsewhere. Where they are equal, nothing
that runs differs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from warpgauge.execution import cubins, elf
from warpgauge.system.errors import UserError

_KERNELS = (b".nv_fatbin", b"__nv_relfatbin")
# The kernels' names and places, which the other digest is of.
_NO_CODE = (*_KERNELS, b".nvFatBinSegment", b"__nv_module_id")


class Identity(NamedTuple):
    """Digests of what runs on the GPU, and of what runs on the host."""

    kernels: str
    host: str


def of(files: Iterable[Path], names: Sequence[str]) -> Identity:
    """Of a program, with all `files` that decide what it does. Raises OSError.

    `names` are those of the build itself: its commit and its folder. They stand in the program, and
    do not count.
    """
    kernels, host = hashlib.sha256(), hashlib.sha256()
    masks = _pieces(names)
    for path in files:
        content = path.read_bytes()
        sections = [
            (section.name, section.content)
            for section in elf.sections(content)
            if section.kind == elf.PROGRAM_BITS and section.flags & elf.ALLOCATED
        ]
        if not sections:  # no program
            host.update(hashlib.sha256(content).digest())
        for name, section in sections:
            if name not in _NO_CODE:
                host.update(name + hashlib.sha256(_masked(section, masks)).digest())
        fatbin = b"".join(section for name, section in sections if name in _KERNELS)
        kernels.update(hashlib.sha256(fatbin and (_machine_code(path) or fatbin)).digest())
    return Identity(kernels.hexdigest(), host.hexdigest())


def _pieces(names: Sequence[str]) -> list[bytes]:
    """The names, and then the halves that a compiler stores a short string by; longest first."""
    whole = {one.encode() for one in names if one}
    parts = {name[part] for name in whole for n in (8, 4) for part in (slice(n), slice(-n, None))}
    return [*sorted(whole, key=len, reverse=True), *sorted(parts, key=len, reverse=True)]


def _masked(section: bytes, masks: Sequence[bytes]) -> bytes:
    for mask in masks:
        section = section.replace(mask, b"\0" * len(mask))
    return cubins.UNIQUE.sub(b"", section)


def _machine_code(program: Path) -> bytes:
    """The kernels and the digests of their code, without names that differ from build to build.

    Nothing where there is no cuobjdump, or it fails.
    """
    try:
        digests = cubins.digests(program)
    except UserError:
        return b""
    return repr(sorted(digests.items())).encode() if digests else b""
