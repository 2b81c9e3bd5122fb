# SPDX-License-Identifier: Apache-2.0
"""The sections of a 64-bit little-endian ELF file: a program or GPU machine code."""

from __future__ import annotations

import struct
from typing import NamedTuple

PROGRAM_BITS, NO_BITS = 1, 8  # section types
ALLOCATED = 2  # flag of a section that is loaded

_SYMBOL, _RELOCATION = struct.Struct("<IBBHQQ"), struct.Struct("<QIIq")


class Section(NamedTuple):
    name: bytes
    kind: int
    flags: int
    size: int
    content: bytes  # empty if the file holds none


class Symbol(NamedTuple):
    name: bytes
    section: int  # index of the section; 0 for a symbol of another file
    value: int


class Relocation(NamedTuple):
    offset: int
    kind: int
    symbol: int  # index of the symbol
    addend: int


def sections(content: bytes) -> list[Section]:
    """Return all sections in index order; empty for a truncated file or another format."""
    if content[:6] != b"\x7fELF\x02\x01":
        return []
    try:
        (at,) = struct.unpack_from("<Q", content, 40)
        size, count, names = struct.unpack_from("<HHH", content, 58)
        table = [struct.unpack_from("<IIQQQQ", content, at + size * n) for n in range(count)]
        found = []
        for name, kind, flags, _, offset, length in table:
            start = table[names][4] + name
            held = b"" if kind == NO_BITS else content[offset : offset + length]
            called = content[start : content.index(b"\0", start)]
            found.append(Section(called, kind, flags, length, held))
    except (struct.error, IndexError, ValueError):
        return []
    return found


def symbols(found: list[Section]) -> list[Symbol]:
    """Return the symbols of a file with these sections. Raises ValueError for a broken table."""
    by_name = {section.name: section.content for section in found}
    names = by_name.get(b".strtab", b"")
    try:
        return [
            Symbol(names[name : names.index(b"\0", name)], section, value)
            for name, _, _, section, value, _ in _SYMBOL.iter_unpack(by_name.get(b".symtab", b""))
        ]
    except struct.error as fault:
        raise ValueError(str(fault)) from None


def relocations(section: Section) -> list[Relocation]:
    """Return the entries of a relocation section. Raises ValueError for a broken table."""
    try:
        return [
            Relocation(offset, kind, symbol, addend)
            for offset, kind, symbol, addend in _RELOCATION.iter_unpack(section.content)
        ]
    except struct.error as fault:
        raise ValueError(str(fault)) from None
