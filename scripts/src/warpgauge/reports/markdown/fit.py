# SPDX-License-Identifier: Apache-2.0
"""Sections of rows in a text of limited length: whole rows go, the least important first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Section:
    """Rows between a head and a foot, in the order in which they matter.

    `weight` is how much: the sections with the least number are filled first. `lines` makes the
    `count` rows one by one, so that none is made in vain; `noun` is what one of them is.
    """

    noun: str
    weight: int
    head: str
    count: int
    lines: Iterable[str]
    foot: str = "\n"


@dataclass(frozen=True)
class Fitted:
    """The texts of the sections, empty where nothing fits, and how many rows of what are not in."""

    texts: tuple[str, ...]
    left_out: dict[str, int]


def fit(sections: Sequence[Section], room: int) -> Fitted:
    """As many rows as `room` characters hold; after the first that does not fit, none."""
    texts = [""] * len(sections)
    left_out: dict[str, int] = {}
    for index in sorted(range(len(sections)), key=lambda index: sections[index].weight):
        one = sections[index]
        text, shown = ("", 0) if left_out else _filled(one, room)
        room -= len(text)
        texts[index] = text
        if shown < one.count:
            left_out[one.noun] = left_out.get(one.noun, 0) + one.count - shown
    return Fitted(tuple(texts), left_out)


def _filled(section: Section, room: int) -> tuple[str, int]:
    """The section's text within `room`, and how many rows it holds; without rows no text."""
    room -= len(section.head) + len(section.foot)
    rows: list[str] = []
    for line in section.lines:
        room -= len(line) + 1
        if room < 0:
            break
        rows.append(line)
    if not rows:
        return "", 0
    body = "\n".join(rows)
    return f"{section.head}{body}\n{section.foot}", len(rows)
