# SPDX-License-Identifier: Apache-2.0
"""The colours and letters of all pictures, as one style that touches nothing else in a page.

A page sets other colours by the variables: ``svg.wg-picture { --wg-paper: transparent }``.
"""

from __future__ import annotations

# In pixels, as are all coordinates; letters of one width, so that texts fit in any browser.
SIZE, LETTER, LINE = 12, 7.5, 20
FONTS = "ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace"

# Of a light page and a dark one. Series are told apart by eyes of every kind (after Okabe and Ito).
SERIES = (
    ("#0072b2", "#4da3e0"), ("#d55e00", "#ff8a3d"), ("#008060", "#34c79a"),
    ("#b0508c", "#e38bc0"), ("#9a7400", "#e0b93a"), ("#1c8db0", "#7fdbf5"),
    ("#6b4fbb", "#a991f7"), ("#6e6e6e", "#b5b5b5"),
)  # fmt: skip
_NAMED = {
    "ink": ("#1f2328", "#e6edf3"),
    "faint": ("#59636e", "#9198a1"),
    "paper": ("#ffffff", "#0d1117"),
    "grid": ("#d8dce1", "#30363d"),
    "tolerance": ("#e4e7eb", "#21262d"),
    "slower": ("#c24100", "#ff8a3d"),
    "faster": ("#0072b2", "#4da3e0"),
    "accepted": ("#8a5a83", "#c893c0"),
    "inconclusive": ("#5e5e5e", "#b5b5b5"),
    **{f"c{index}": both for index, both in enumerate(SERIES)},
}


def series(colour: int | None) -> str:
    """The class of a colour that comes round again; that of the text for None."""
    return "ink" if colour is None else f"c{colour % len(SERIES)}"


def text() -> str:
    """The style of every picture: once in a page, or in the file of a picture."""
    return _RULES
