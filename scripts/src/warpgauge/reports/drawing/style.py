# SPDX-License-Identifier: Apache-2.0
"""The colours and fonts of all pictures, as one style that affects nothing else in a page.

A page sets other colours by the variables: ``svg.wg-picture { --wg-paper: transparent }``.
"""

from __future__ import annotations

import re

# The width of a letter of 12 pixels' size and the height of a line, in pixels, as are all
# coordinates. The font is monospaced, so that texts fit in any browser.
LETTER, LINE = 7.5, 20

# For light and dark pages; colour-blind readers can tell them apart (Okabe, Ito).
_SERIES = (
    ("#0072b2", "#4da3e0"), ("#d55e00", "#ff8a3d"), ("#008060", "#34c79a"),
    ("#b0508c", "#e38bc0"), ("#9a7400", "#e0b93a"), ("#1c8db0", "#7fdbf5"),
    ("#6b4fbb", "#a991f7"), ("#6e6e6e", "#b5b5b5"),
)  # fmt: skip
_COLOURS = {
    "ink": ("#1f2328", "#e6edf3"),
    "faint": ("#59636e", "#9198a1"),
    "slower": ("#bc4c00", "#ff8a3d"),
    "faster": ("#0072b2", "#4da3e0"),
    "accepted": ("#8a5a83", "#c893c0"),
    "undecided": ("#5e5e5e", "#b5b5b5"),
    **{f"c{index}": both for index, both in enumerate(_SERIES)},
}
_GROUNDS = {
    "paper": ("#ffffff", "#0d1117"),
    "grid": ("#d8dce1", "#30363d"),
    "tolerance": ("#e8ebef", "#252b33"),
}
_ALL = {**_COLOURS, **_GROUNDS}
COLOURS = len(_SERIES)

# Selected by class only, so that the page's own elements keep their style.
_SHAPES = """\
.wg-picture{color:var(--wg-ink)}
.wg-text{font:12px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre;\
fill:currentColor}
.wg-bold{font-weight:bold}
.wg-end{text-anchor:end}
.wg-middle{text-anchor:middle}
.wg-paper{fill:var(--wg-paper)}
.wg-tolerance{fill:var(--wg-tolerance)}
.wg-grid,.wg-frame{fill:none;stroke:var(--wg-grid);stroke-width:1}
.wg-line,.wg-ceiling,.wg-bar,.wg-whisker,.wg-zero,.wg-error{fill:none;stroke:currentColor;stroke-width:2}
.wg-whisker{stroke-width:1.5}
.wg-zero,.wg-error{stroke-width:1}
.wg-error{stroke-opacity:.45}
.wg-ceiling{stroke-dasharray:7 5;stroke-width:1.5}
.wg-bar{stroke-opacity:.4;stroke-width:5}
.wg-band{fill:currentColor;fill-opacity:.22;stroke:none}
.wg-mark{fill:currentColor;stroke:none}
.wg-dot{fill:currentColor;fill-opacity:.75;stroke:none}
.wg-hollow{fill:var(--wg-paper);stroke:currentColor;stroke-width:1.5}
"""


def text() -> str:
    """Return the style of all pictures, needed once in a page or in a picture's file."""
    dark = f"@media (prefers-color-scheme:dark){{.wg-picture{{{_variables(1)}}}}}"
    return f".wg-picture{{{_variables(0)}}}\n{dark}\n{_rules()}"


def plain_text() -> str:
    """Return the style for light pages only, without variables, which some renderers lack."""
    return re.sub(r"var\(--wg-(\w+)\)", lambda found: _ALL[found[1]][0], _rules())


def series(colour: int | None) -> str:
    """Return the class of a series' colour; colours repeat, and None is that of the text."""
    return "ink" if colour is None else f"c{colour % COLOURS}"


def _variables(page: int) -> str:
    """Return the variables of a light page (0) or a dark one (1)."""
    return ";".join(f"--wg-{name}:{both[page]}" for name, both in _ALL.items())


def _rules() -> str:
    return _SHAPES + "".join(f".wg-{name}{{color:var(--wg-{name})}}\n" for name in _COLOURS)
