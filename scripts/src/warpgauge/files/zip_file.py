# SPDX-License-Identifier: Apache-2.0
"""One member out of a ZIP archive that somebody else made, in memory and within limits.

Read here and not by `zipfile`, which believes what an archive says of itself: it takes entries
that lie over each other, sizes that are not true, and as many entries as there are. This reads the
one shape that GitHub's artifacts have, one disk without ZIP64, and refuses the rest.

The format: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT (4.3, 4.4).
"""

from __future__ import annotations

import re
import stat
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from warpgauge.system.errors import UserError
from warpgauge.system.text import inert, quoted

# A session of every benchmark leaves a dozen files.
ENTRIES_LIMIT = 1000
# JSON of like rows shrinks to a thirtieth; DEFLATE cannot do better than a thousandth.
RATIO_LIMIT = 200
# Under this a ratio harms nobody.
_RATIO_FROM_BYTES = 64 * 1024
_NAME_LIMIT_BYTES = 512

_END = struct.Struct("<4s4H2LH")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_END_MARK, _ENTRY_MARK, _LOCAL_MARK = b"PK\x05\x06", b"PK\x01\x02", b"PK\x03\x04"

_STORED, _DEFLATED = 0, 8
# Bits of the flags: encrypted, strongly encrypted, with its own directory encrypted.
_ENCRYPTED = 0x0001 | 0x0040 | 0x2000
# What ZIP64 writes for a number that stands elsewhere.
_ELSEWHERE_16, _ELSEWHERE_32 = 0xFFFF, 0xFFFFFFFF
_DRIVE = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True)
class _Entry:
    """What the directory says of one member; sizes in bytes, `offset` that of its local header."""

    name: str
    raw_name: bytes
    flags: int
    method: int
    checksum: int
    packed: int
    size: int
    mode: int
    offset: int


class _Refused(Exception):
    """What is amiss, as what the archive does: ``holds …``, ``breaks off``."""


class MissingEntry(UserError):
    """Nothing is amiss with the archive, but that it does not hold what was asked for."""


def entry(archive: bytes, name: str, limit_bytes: int, what: str) -> bytes:
    """The content of the file `name`, of `limit_bytes` at most.

    Raises UserError, a sentence that begins with `what`, for whatever is amiss in any entry, and
    MissingEntry where there is no such file.
    """
    try:
        content = _read(archive, name, limit_bytes)
    except _Refused as fault:
        raise UserError(inert(f"{what} {fault}; it is refused")) from None
    if content is None:
        raise MissingEntry(inert(f"{what} holds no {name}"))
    return content


def _read(archive: bytes, name: str, limit_bytes: int) -> bytes | None:
    entries = _directory(archive)
    for one in entries:
        _check(one)
    names = [one.name for one in entries]
    if len(set(names)) != len(names):
        twice = next(one for one, next_one in pairwise(sorted(names)) if one == next_one)
        raise _Refused(f"holds {quoted(twice)} twice")
    starts = _contents(archive, entries)
    wanted = [index for index, one in enumerate(entries) if one.name == name]
    if not wanted:
        return None
    return _content(archive, entries[wanted[0]], starts[wanted[0]], limit_bytes)


def _directory(archive: bytes) -> list[_Entry]:
    """What the archive says it holds, if that is all there is: nothing before it, nothing after."""
    at = len(archive) - _END.size
    if at < 0 or not archive.startswith((_LOCAL_MARK, _END_MARK)):
        raise _Refused("is no ZIP archive")
    mark, disk, first_disk, here, count, size, begin, comment = _END.unpack_from(archive, at)
    if mark != _END_MARK or comment:
        raise _Refused("breaks off, or has something behind its end")
    if disk or first_disk or here != count:
        raise _Refused("is one of several parts")
    if count == _ELSEWHERE_16 or _ELSEWHERE_32 in (size, begin):
        raise _Refused("is of the kind ZIP64, for more than 4 GiB")
    if count > ENTRIES_LIMIT:
        raise _Refused(f"holds {count} entries, more than {ENTRIES_LIMIT}")
    if begin + size != at:
        raise _Refused("has a directory that is not where it says")
    entries: list[_Entry] = []
    for _ in range(count):
        one, begin = _listed(archive, begin, at)
        entries.append(one)
    if begin != at:
        raise _Refused("has a directory that holds more than it says")
    return entries


def _listed(archive: bytes, at: int, end: int) -> tuple[_Entry, int]:
    """One entry of the directory, and where the next one begins."""
    if at + _ENTRY.size > end:
        raise _Refused("has a directory that breaks off")
    numbers = _ENTRY.unpack_from(archive, at)
    mark, _, _, flags, method, _, _, checksum, packed, size = numbers[:10]
    name_length, extra, comment, disk, _, attributes, offset = numbers[10:]
    following = at + _ENTRY.size + name_length + extra + comment
    if mark != _ENTRY_MARK or following > end:
        raise _Refused("has a directory that is damaged")
    if disk or _ELSEWHERE_32 in (packed, size, offset):
        raise _Refused("is of the kind ZIP64, for more than 4 GiB")
    raw_name = (
        archive[at + _ENTRY.size :][:name_length] if name_length <= _NAME_LIMIT_BYTES else b""
    )
    try:
        name = raw_name.decode("utf-8")
    except UnicodeDecodeError:
        raise _Refused("holds a name that is not UTF-8") from None
    mode = attributes >> 16
    return (
        _Entry(name, raw_name, flags, method, checksum, packed, size, mode, offset),
        following,
    )


def _check(entry: _Entry) -> None:
    """Refuse what nobody writes who only wants to hand over files."""
    name = entry.name
    if not name:
        raise _Refused(f"holds a name that is empty or longer than {_NAME_LIMIT_BYTES} bytes")
    told = quoted(name)
    if "\0" in name or "\\" in name:
        raise _Refused(f"holds the name {told}, with a backslash or a NUL")
    if name.startswith("/") or _DRIVE.match(name):
        raise _Refused(f"holds the name {told}, which is no relative path")
    if {"", ".", ".."} & set(name.removesuffix("/").split("/")):
        raise _Refused(f"holds the name {told}, which leads elsewhere")
    kind = stat.S_IFMT(entry.mode)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise _Refused(f"holds {told}, which is a link or a device")
    if (name.endswith("/") or kind == stat.S_IFDIR) and entry.size:
        raise _Refused(f"holds the folder {told} with a content")
    if entry.flags & _ENCRYPTED:
        raise _Refused(f"holds {told} encrypted")
    if entry.method not in (_STORED, _DEFLATED):
        raise _Refused(f"holds {told} packed in another way than DEFLATE")


def _contents(archive: bytes, entries: Sequence[_Entry]) -> list[int]:
    """Where the content of each entry begins. None lies over another, or over the directory."""
    starts = [_start(archive, entry) for entry in entries]
    parts = sorted(
        (entry.offset, start + entry.packed) for entry, start in zip(entries, starts, strict=True)
    )
    directory = _END.unpack_from(archive, len(archive) - _END.size)[6]
    for (_, end), (begin, _) in pairwise([*parts, (directory, directory)]):
        if end > begin:
            raise _Refused("holds entries that lie over each other")
    return starts


def _start(archive: bytes, entry: _Entry) -> int:
    """Behind the local header, which must say the same as the directory."""
    told, at = quoted(entry.name), entry.offset
    if at + _LOCAL.size > len(archive):
        raise _Refused(f"says that {told} begins behind its end")
    mark, _, flags, method, _, _, _, packed, size, name_length, extra = _LOCAL.unpack_from(
        archive, at
    )
    begin = at + _LOCAL.size
    name = archive[begin : begin + name_length] if mark == _LOCAL_MARK else None
    # A stream's sizes stand behind it, and not in its header.
    sizes_differ = (packed, size) not in ((entry.packed, entry.size), (0, 0))
    if name != entry.raw_name or (flags, method) != (entry.flags, entry.method) or sizes_differ:
        raise _Refused(f"says of {told} one thing in its directory and another beside it")
    return begin + int(name_length) + int(extra)


def _content(archive: bytes, entry: _Entry, start: int, limit: int) -> bytes:
    """The bytes themselves. Never more than `limit` and one are unpacked, whatever is declared."""
    told = quoted(entry.name)
    if entry.size > limit:
        raise _Refused(f"holds {told} of {entry.size} bytes, more than {limit}")
    if entry.size > max(RATIO_LIMIT * entry.packed, _RATIO_FROM_BYTES):
        raise _Refused(f"holds {told} packed to less than a {RATIO_LIMIT}th, as a bomb is")
    packed = archive[start : start + entry.packed]
    content, whole = packed, True
    if entry.method == _DEFLATED:
        unpacking = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            # One more than declared tells whether that was true; 0 would mean without a limit.
            content = unpacking.decompress(packed, entry.size + 1)
        except zlib.error:
            raise _Refused(f"holds {told} damaged") from None
        whole = unpacking.eof and not unpacking.unused_data
    if not whole or len(content) != entry.size:
        raise _Refused(f"holds {told} of another size than it says")
    if zlib.crc32(content) != entry.checksum:
        raise _Refused(f"holds {told} damaged")
    return content
