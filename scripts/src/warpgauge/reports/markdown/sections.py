# SPDX-License-Identifier: Apache-2.0
"""Sections of Markdown, each with rows, and which of them a limited text has room for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

OPEN, CLOSE = "<details>", "\n</details>\n\n"


class Kind(Enum):
    """What a section's rows are, one and several of them; the first kind is cut last."""

    BLOCK = ("", "")
    REGRESSION = ("regression", "regressions")
    NOT_MEASURED = ("benchmark not measured", "benchmarks not measured")
    NOTE = ("note", "notes")
    DIFFERENCE = ("difference of the environment", "differences of the environment")
    IMPROVEMENT = ("improvement", "improvements")
    ACCEPTED = ("accepted change", "accepted changes")
    WHY = ("reason of a slowdown", "reasons of slowdowns")
    CAUSE = ("explanation in full", "explanations in full")
    MOVED = ("quantity that moved", "quantities that moved")
    NEW = ("new benchmark", "new benchmarks")
    UNCHANGED = ("unchanged benchmark", "unchanged benchmarks")


@dataclass(frozen=True)
class Section:
    """Rows between a head and a foot, in the order in which they matter.

    `lines` makes the `count` rows one by one, so that none is made in vain.
    """

    kind: Kind
    head: str
    count: int
    lines: Iterable[str]
    foot: str = "\n"


def details(inner: Section, title: str, below: str = "") -> Section:
    """`inner` behind its visible line, with what stands `below` its rows."""
    head = f"{OPEN}{title}\n\n{inner.head}"
    return Section(inner.kind, head, inner.count, inner.lines, below + CLOSE)


def fitted(sections: Sequence[Section], room: int) -> tuple[list[str], Mapping[Kind, int]]:
    """The sections' texts, empty where nothing fits, and how many rows of what are left out.

    As many rows as `room` characters hold; after the first that does not fit, none.
    """
    texts = [""] * len(sections)
    left_out = Counter[Kind]()
    weights = list(Kind)
    for index in sorted(range(len(sections)), key=lambda at: weights.index(sections[at].kind)):
        section = sections[index]
        texts[index], shown = ("", 0) if left_out else _filled(section, room)
        room -= len(texts[index])
        if shown < section.count:
            left_out[section.kind] += section.count - shown
    return texts, left_out


def _filled(section: Section, room: int) -> tuple[str, int]:
    """The section's text within `room`, and how many rows it holds; without rows no text."""
    room -= len(section.head) + len(section.foot)
    lines: list[str] = []
    for line in section.lines:
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    text = "\n".join([*lines, section.foot])
    return (f"{section.head}{text}", len(lines)) if lines else ("", 0)
