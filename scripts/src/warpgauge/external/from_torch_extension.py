# SPDX-License-Identifier: Apache-2.0
"""Describes a kernel of a shared library built by nvcc or torch.utils.cpp_extension: its fatbin."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from warpgauge.external.kernel_entry import Extent, KernelEntry, Options, Parameters, is_scalar
from warpgauge.system.errors import UserError
from warpgauge.system.text import listed, quoted

if TYPE_CHECKING:
    from typing_extensions import Unpack

# A fatbin begins with a magic number, a version, and the lengths of this header and of the images.
# Each image has a kind, a version, and both lengths again.
_FATBIN = struct.Struct("<IHHQ")
_IMAGE = struct.Struct("<HHIQ")
_MAGIC = struct.pack("<I", 0xBA55ED50)
_CUBIN, _ELF = 2, b"\x7fELF"

# Each kernel has a section for its parameters.
_SECTION = re.compile(rb"\0\.nv\.constant0\.([\w$.]+)(?=\0)")
_LISTED = re.compile(r"^FUNC\s+GLOBAL\s.*\sENTRY\s+(\S+)$", re.MULTILINE)


def from_torch_extension(
    library: Path,
    symbol: str,
    grid: Sequence[Extent],
    block: Sequence[Extent],
    arguments: Mapping[str, object],
    *,
    name: str,
    folder: Path,
    shared: Extent = 0,
    **options: Unpack[Options],
) -> KernelEntry:
    """Return the entry of the kernel `symbol`: a mangled name, or a plain name if it is unique.

    `arguments` are examples under names of your choice, in the order of the kernel's parameters:
    arrays, and NumPy scalars, whose type is that of the parameter. Raises UserError if the library
    lacks the kernel, or is compressed and cuobjdump is missing.
    """
    parameters = Parameters(name, folder, options)
    fatbins = [*_fatbins(library)]
    kernels = {found: fatbin for fatbin in fatbins for found in _kernels(name, fatbin)}
    plain = re.compile(rf"_Z\w*(?<!\d){len(symbol)}{re.escape(symbol)}")
    chosen = [symbol] if symbol in kernels else sorted(filter(plain.match, kernels))
    if len(chosen) != 1:
        told = "has several kernels of the name" if chosen else "has no kernel"
        there = listed(chosen or sorted(kernels)) or "none"
        raise UserError(f"{library} {told} {quoted(symbol)}; choose one of {there}")
    for parameter, example in arguments.items():
        described = parameters.scalar if is_scalar(example) else parameters.buffer
        parameters.add(described(parameter, example))
    image: dict[str, object] = {"fatbin": parameters.file("fatbin", kernels[chosen[0]])}
    return parameters.kernel(image, chosen[0], grid, block, {"shared": str(shared)})


def _fatbins(library: Path) -> Iterator[bytes]:
    """Yield the fatbins of all translation units."""
    try:
        content = library.read_bytes()
    except OSError as fault:
        raise UserError(f"{library}: {fault.strerror}") from None
    at = content.find(_MAGIC)
    while at >= 0:
        if at + _FATBIN.size <= len(content):
            _, version, header, length = _FATBIN.unpack_from(content, at)
            if version == 1 and header == _FATBIN.size and at + header + length <= len(content):
                yield content[at : at + header + length]
        at = content.find(_MAGIC, at + 1)


def _kernels(name: str, fatbin: bytes) -> set[str]:
    """Return the mangled names of the kernels in a fatbin's cubins."""
    found: set[str] = set()
    at = _FATBIN.size
    while at + _IMAGE.size <= len(fatbin):
        kind, _, header, length = _IMAGE.unpack_from(fatbin, at)
        image = fatbin[at + header : at + header + length]
        if kind == _CUBIN and not image.startswith(_ELF):
            return _kernels_of_compressed(name, fatbin)
        if kind == _CUBIN:
            found.update(one.decode() for one in _SECTION.findall(image))
        at += header + length
    return found


def _kernels_of_compressed(name: str, fatbin: bytes) -> set[str]:
    tool = shutil.which("cuobjdump")
    if tool is None:
        raise UserError(
            f"{name}: the library's GPU code is compressed; put cuobjdump on PATH, or "
            "build with nvcc --no-compress"
        )
    with tempfile.NamedTemporaryFile(suffix=".fatbin") as file:
        file.write(fatbin)
        file.flush()
        done = subprocess.run([tool, "-symbols", file.name], capture_output=True, text=True)
    return {*_LISTED.findall(done.stdout)}
