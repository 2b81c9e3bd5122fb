# SPDX-License-Identifier: Apache-2.0
"""Whether two builds of a program run the same code: digests of its kernels and host objects.

Where they differ nothing is said: the same code may lie elsewhere. Where they are equal, nothing
that runs differs.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import struct
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from warpgauge.execution import build
from warpgauge.system import command_log

_DEADLINE_S = 300.0

# What nvcc makes of a file's path, its text and the number of a process, in the names of kernels.
_UNIQUE = re.compile(rb"_(?:GLOBAL__N_|INTERNAL)_+[0-9a-f]{8}_\d+_\w+?_[0-9a-f]{8}_\d+")
_KERNELS = (b".nv_fatbin", b"__nv_relfatbin")
# The kernels' names and places, which the other digest is of.
_NO_CODE = (*_KERNELS, b".nvFatBinSegment", b"__nv_module_id")
_PROGRAM_BITS, _ALLOCATED = 1, 2  # of ELF


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
        try:
            sections = [*_sections(content)]
        except (struct.error, IndexError, ValueError):  # cut off
            sections = []
        if not sections:  # no program
            host.update(hashlib.sha256(content).digest())
        for name, section in sections:
            if name not in _NO_CODE:
                host.update(name + hashlib.sha256(_masked(section, masks)).digest())
        fatbin = b"".join(section for name, section in sections if name in _KERNELS)
        kernels.update(hashlib.sha256(fatbin and (_sass(path) or fatbin)).digest())
    return Identity(kernels.hexdigest(), host.hexdigest())


def _sections(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Name and content of what a 64-bit little-endian ELF file loads; nothing of another file."""
    if content[:6] != b"\x7fELF\x02\x01":
        return
    (at,) = struct.unpack_from("<Q", content, 40)
    size, count, names = struct.unpack_from("<HHH", content, 58)
    table = [struct.unpack_from("<IIQQQQ", content, at + size * n) for n in range(count)]
    strings = table[names][4]
    for name, kind, flags, _, offset, length in table:
        if kind == _PROGRAM_BITS and flags & _ALLOCATED:
            start = strings + name
            yield content[start : content.index(b"\0", start)], content[offset : offset + length]


def _pieces(names: Sequence[str]) -> list[bytes]:
    """The names, and then the halves that a compiler stores a short string by; longest first."""
    whole = {one.encode() for one in names if one}
    parts = {name[part] for name in whole for n in (8, 4) for part in (slice(n), slice(-n, None))}
    return [*sorted(whole, key=len, reverse=True), *sorted(parts, key=len, reverse=True)]


def _masked(section: bytes, masks: Sequence[bytes]) -> bytes:
    for mask in masks:
        section = section.replace(mask, b"\0" * len(mask))
    return _UNIQUE.sub(b"", section)


def _sass(program: Path) -> bytes:
    """The machine code of the kernels, without the names that differ from build to build.

    Nothing where there is no cuobjdump, or it fails.
    """
    nvcc = build.cuda_compiler()
    beside = str(Path(nvcc).parent) if nvcc else None
    tool = shutil.which("cuobjdump") or shutil.which("cuobjdump", path=beside)
    if tool is None:
        return b""
    command = [tool, "-sass", str(program)]
    try:
        with command_log.running(command) as logged:
            done = subprocess.run(command, capture_output=True, timeout=_DEADLINE_S, check=False)
            logged.ended(done.returncode)
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return _UNIQUE.sub(b"", done.stdout) if done.returncode == 0 else b""
