# SPDX-License-Identifier: Apache-2.0
"""A comparison as a picture: the terminal's output as SVG."""

from __future__ import annotations

import io
import re

from rich.console import Console

from warpgauge.reports.terminal import report
from warpgauge.verdict.comparison import Comparison

_WIDTH = 100
_TITLE = "warpgauge"
# rich names a font on a public server; a page that shows the picture should not call there.
_REMOTE_FONT = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)


def render(comparison: Comparison) -> str:
    """The SVG document of what `terminal.render` shows on 100 columns."""
    console = Console(
        record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True, highlight=False
    )
    report.render(comparison, console)
    return _REMOTE_FONT.sub("", console.export_svg(title=_TITLE))
