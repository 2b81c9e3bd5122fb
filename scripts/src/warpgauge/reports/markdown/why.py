# SPDX-License-Identifier: Apache-2.0
"""What regressions come from, where they were looked into: all of it foreign text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from warpgauge.reports.markdown.sections import Kind, Section, details
from warpgauge.reports.markdown.text import breakable, in_sentence, summary, table_head, table_row
from warpgauge.system.text import cut, inert, plural
from warpgauge.verdict.comparison import Moved, Verdict

_TITLE = "Why it is slower"
_SHOWN = 3  # paragraphs; more are folded
_LONGEST, _LONGEST_CELL = 1500, 200  # characters
_SPAN = 250  # characters of a code span, of which a longer one is cut


def sections(verdicts: Sequence[Verdict], *, moved: bool) -> Iterator[Section]:
    """The paragraphs, and what `moved` where that is asked for."""
    told = [(one.name, one.why) for one in verdicts if one.why is not None]
    lines = (f"- {_paragraph(why.paragraph)}" for _, why in told)
    if len(told) > _SHOWN:
        folded = Section(Kind.WHY, "", len(told), lines)
        yield details(folded, summary("", f"{_TITLE}: {plural(len(told), 'regression')}"))
    elif told:
        yield Section(Kind.WHY, f"**{_TITLE}**\n\n", len(told), lines)
    for name, why in told if moved else ():
        if why.moved:
            head = table_head(("cause", "what moved", "baseline", "candidate"), numbers=(2, 3))
            table = Section(Kind.MOVED, head, len(why.moved), map(_row, why.moved))
            yield details(table, summary(name, ": what moved"))


def _paragraph(text: str) -> str:
    whole = cut(" ".join(inert(text).split()), _LONGEST)
    return " ".join(map(in_sentence, textwrap.wrap(whole, _SPAN, break_on_hyphens=False)))


def _row(one: Moved) -> str:
    cells = (one.cause, one.what, one.before, one.after)
    return table_row(breakable(cut(inert(cell), _LONGEST_CELL)) for cell in cells)
