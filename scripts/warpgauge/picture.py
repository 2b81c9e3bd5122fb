# SPDX-License-Identifier: Apache-2.0
"""A comparison as a picture: the terminal's output as SVG."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console

from warpgauge.comparison import Comparison
from warpgauge.files import replace_all
from warpgauge.terminal import render
from warpgauge.text import inert

_WIDTH = 100
# rich names a font on a public server; a page that shows the picture should not call there.
_REMOTE_FONT = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)


def draw(path: Path, comparison: Comparison) -> None:
    """Write the picture, titled by the file's name; a link stays a link. Raises UserError."""
    replace_all({path.resolve(): svg(comparison, inert(path.stem))})


def svg(comparison: Comparison, title: str) -> str:
    """The SVG document of what `terminal.render` shows on 100 columns."""
    console = Console(
        record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True, highlight=False
    )
    render(comparison, console)
    return _REMOTE_FONT.sub("", console.export_svg(title=title))
