# SPDX-License-Identifier: Apache-2.0
"""Read one file of an untrusted ZIP archive, in memory and within limits."""

from __future__ import annotations

import io
import re
import stat
import struct
import zipfile
import zlib

from warpgauge.system.errors import UserError
from warpgauge.system.text import inert, quoted

# A session of all benchmarks leaves a dozen files.
ENTRIES_LIMIT = 1000
# JSON of similar rows shrinks to a thirtieth; DEFLATE's limit is about a thousandth.
RATIO_LIMIT = 200
# Smaller files are harmless at any ratio.
_RATIO_FROM_BYTES = 64 * 1024
_LONGEST_NAME = 512

_DRIVE = re.compile(r"[A-Za-z]:")
_ENTRY_MARK = b"PK\x01\x02"
# Exceptions of zipfile, also for an encrypted member.
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, struct.error),
    *(RuntimeError, ValueError, EOFError, OSError, OverflowError),
)


class _Refused(Exception):
    """The fault of an archive, as a verb phrase: ``holds …``."""


class MissingEntry(UserError):
    """The archive is sound but lacks the file."""


def entry(archive: bytes, name: str, limit_bytes: int, what: str) -> bytes:
    """Return the content of the file `name`, at most `limit_bytes`.

    Raise MissingEntry if there is no such file, and UserError, a sentence that begins with `what`,
    for a fault in any entry.
    """
    try:
        content = _read(archive, name, limit_bytes)
    except _Refused as fault:
        raise UserError(inert(f"{what} {fault}; it is refused")) from None
    except _DAMAGED:
        raise UserError(f"{what} is not a ZIP archive, or is damaged; it is refused") from None
    if content is None:
        raise MissingEntry(inert(f"{what} holds no {name}"))
    return content


def _read(archive: bytes, name: str, limit: int) -> bytes | None:
    # Counted before zipfile creates an object for each.
    if (count := archive.count(_ENTRY_MARK)) > ENTRIES_LIMIT:
        raise _Refused(f"holds {count} entries, more than {ENTRIES_LIMIT}")
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        names = set[str]()
        for one in opened.infolist():
            _check(one)
            if one.filename in names:
                raise _Refused(f"holds {quoted(one.filename)} twice")
            names.add(one.filename)
        return _content(opened, opened.getinfo(name), limit) if name in names else None


def _check(member: zipfile.ZipInfo) -> None:
    """Refuse entries that no honest archive has."""
    name = member.orig_filename  # zipfile cuts `filename` at a NUL
    if not 0 < len(name) <= _LONGEST_NAME:
        raise _Refused(f"holds a name that is empty or longer than {_LONGEST_NAME} characters")
    told = quoted(name)
    if "\0" in name or "\\" in name:
        raise _Refused(f"holds the name {told}, with a backslash or a NUL")
    if name.startswith("/") or _DRIVE.match(name):
        raise _Refused(f"holds the name {told}, which is not a relative path")
    if {"", ".", ".."} & set(name.removesuffix("/").split("/")):
        raise _Refused(f"holds the name {told}, which leads outside")
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise _Refused(f"holds {told}, which is a link or a device")
    if (name.endswith("/") or kind == stat.S_IFDIR) and member.file_size:
        raise _Refused(f"holds the folder {told} with content")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _Refused(f"holds {told} with another compression than DEFLATE")


def _content(opened: zipfile.ZipFile, member: zipfile.ZipInfo, limit: int) -> bytes:
    """Return the bytes; at most the declared size and one more are unpacked."""
    told, size = quoted(member.filename), member.file_size
    if size > limit:
        raise _Refused(f"holds {told} of {size} bytes, more than {limit}")
    if size > max(RATIO_LIMIT * member.compress_size, _RATIO_FROM_BYTES):
        raise _Refused(f"holds {told} compressed to less than 1/{RATIO_LIMIT}, as a ZIP bomb is")
    with opened.open(member) as stream:
        content = stream.read(size + 1)  # without a number there would be no limit
    if len(content) != size:
        raise _Refused(f"holds {told}, whose size differs from the stated one")
    return content
