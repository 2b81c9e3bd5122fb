# SPDX-License-Identifier: Apache-2.0
"""The views that are pictures of many rows: histories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from warpgauge.records.model import by_family
from warpgauge.reports.drawing import course
from warpgauge.reports.drawing.course import Course
from warpgauge.reports.html.markup import heading, scrolled, shown
from warpgauge.system.text import plural
from warpgauge.verdict.comparison import Verdict


def histories(verdicts: Sequence[Verdict], known: Mapping[str, Course]) -> Iterator[str]:
    """By family; the script shows that of a row in the row's own page, too."""
    numbers = {one.name: at for at, one in enumerate(verdicts) if one.name in known}
    families = by_family(one for one in verdicts if one.name in known)
    if families:
        yield f"<section>\n{heading('History', len(numbers))}"
    for family, members in families.items():
        count = plural(len(members), "benchmark")
        yield f'<details><summary>{shown(family)} <span class="faint">{count}</span></summary>'
        for one in members:
            picture = scrolled(f"History of {one.name}", course.drawn(known[one.name]))
            yield f'<div data-history="{numbers[one.name]}">{picture}</div>'
        yield "</details>"
    if families:
        yield "</section>"
