# SPDX-License-Identifier: Apache-2.0
"""ZIP archives, honest ones and others."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile
import zlib
from collections.abc import Sequence


def archive(*members: tuple[str | zipfile.ZipInfo, bytes], method: int = 8) -> bytes:
    """As zipfile writes it."""
    raw = io.BytesIO()
    with warnings.catch_warnings():  # of a name that is there twice
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(raw, "w", method) as made:
            for name, content in members:
                made.writestr(name, content, method)
    return raw.getvalue()


def streamed(*members: tuple[str, bytes]) -> bytes:
    """As GitHub's own action writes it: each entry's sizes stand behind it."""

    class Unseekable(io.BytesIO):
        def seek(self, *_: int) -> int:
            raise OSError

    raw = Unseekable()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members:
            made.writestr(name, content)
    return raw.getvalue()


def packed(entries: Sequence[tuple[bytes, bytes, int]], checksum: int = 0) -> bytes:
    """An archive by hand: of each entry the name, the DEFLATE stream and the size that it claims.

    Entries of an equal stream share it: all lie over each other.
    """
    local, directory = bytearray(), bytearray()
    places: dict[bytes, int] = {}
    for name, stream, size in entries:
        common = struct.pack("<3H3L", 8, 0, 0, checksum, len(stream), size)
        offset = places.setdefault(stream, len(local))
        if offset == len(local):
            header = struct.pack("<4s2H", b"PK\x03\x04", 20, 0) + common
            local += header + struct.pack("<2H", len(name), 0) + name + stream
        directory += struct.pack("<4s3H", b"PK\x01\x02", 20, 20, 0) + common
        directory += struct.pack("<5H2L", len(name), 0, 0, 0, 0, 0, offset) + name
    counts = 0, 0, len(entries), len(entries), len(directory), len(local), 0
    return bytes(local + directory + struct.pack("<4s4H2LH", b"PK\x05\x06", *counts))


def deflated(content: bytes) -> bytes:
    packing = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packing.compress(content) + packing.flush()


def gigabyte() -> bytes:
    """The DEFLATE stream of 1 GiB of zeros: one part of it, over and over."""
    packing = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    part = packing.compress(bytes(2**22)) + packing.flush(zlib.Z_FULL_FLUSH)
    return part * 2**8 + deflated(b"")


def in_directory(whole: bytes, offset: int, layout: str, value: int) -> bytes:
    """With another number in the directory's first entry."""
    return in_header(whole, whole.index(b"PK\x01\x02") + offset, layout, value)


def in_header(whole: bytes, offset: int, layout: str, value: int) -> bytes:
    """With another number in the first local header."""
    changed = bytearray(whole)
    struct.pack_into(layout, changed, offset, value)
    return bytes(changed)
