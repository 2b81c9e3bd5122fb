# SPDX-License-Identifier: Apache-2.0
"""Small cubins, made by hand: ELF files of a few sections."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from warpgauge.measure import cubins

_HEADER, _SECTION = 64, struct.Struct("<IIQQQQIIQQ")


def cubin(
    contents: Mapping[str, bytes],
    symbols: Sequence[tuple[str, str, int]] = (),
    zeros: Mapping[str, int] | None = None,
) -> bytes:
    """Of sections, symbols (name, section, value), and sizes of sections without content."""
    sizes = zeros or {}
    numbered = ["", *contents, *sizes, ".strtab", ".symtab", ".shstrtab"]
    strings = b"\0" + b"".join(name.encode() + b"\0" for name, _, _ in symbols)
    table = b""
    for name, section, value in symbols:
        at = strings.index(b"\0" + name.encode() + b"\0") + 1
        table += struct.pack("<IBBHQQ", at, 0x12, 0, numbered.index(section), value, 0)
    named = b"".join(name.encode() + b"\0" for name in numbered)
    held = {**contents, ".strtab": strings, ".symtab": table, ".shstrtab": named}
    body, headers, at = b"", b"", 0
    for name in numbered:
        content = held.get(name, b"")
        kind = cubins.NO_BITS if name in sizes else cubins.PROGRAM_BITS
        size = sizes.get(name, len(content))
        headers += _SECTION.pack(at, kind, 0, 0, _HEADER + len(body), size, 0, 0, 1, 0)
        body += content
        at += len(name) + 1
    head = bytearray(b"\x7fELF\x02\x01".ljust(_HEADER, b"\0"))
    struct.pack_into("<Q", head, 40, _HEADER + len(body))
    struct.pack_into("<HHH", head, 58, _SECTION.size, len(numbered), len(numbered) - 1)
    return bytes(head) + body + headers
