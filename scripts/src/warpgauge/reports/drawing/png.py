# SPDX-License-Identifier: Apache-2.0
"""A picture as PNG, by resvg: light, and the same bytes whatever fonts a machine has."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

from warpgauge.reports.drawing import picture, style

# What `rendered` imports.
PACKAGE = "resvg_py"

# Pixels of the image for one of the picture.
_SCALE = 2.0

# The letters up to U+017F and the signs of the pictures, of DejaVu Sans Mono 2.37, made by
#   pyftsubset DejaVuSansMono.ttf --no-hinting --layout-features= --drop-tables+=FFTM
#     --unicodes=20-7e,a0-17f,2013,2014,2018-201d,2022,2026,2190-2193,2212,2264,2265,394,3bc
_FONT = Path(__file__).parent / "letters.ttf"
_FAMILY = "DejaVu Sans Mono"

# The signature, and the first chunk: its length, name, 13 bytes and checksum.
_HEAD = 8 + 4 + 4 + 13 + 4


def rendered(drawn: str, mark: str) -> bytes:
    """The bytes of a file of the picture `drawn`; `mark` is in it as its title."""
    import resvg_py

    image = resvg_py.svg_to_bytes(
        svg_string=picture.styled(drawn, style.plain_text()),
        zoom=_SCALE,
        skip_system_fonts=True,
        font_files=[str(_FONT)],
        monospace_family=_FAMILY,
    )
    data = b"tEXtTitle\0" + mark.encode("latin-1")
    chunk = struct.pack(">I", len(data) - 4) + data + struct.pack(">I", zlib.crc32(data))
    return image[:_HEAD] + chunk + image[_HEAD:]
