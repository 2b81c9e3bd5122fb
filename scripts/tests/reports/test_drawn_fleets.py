# SPDX-License-Identifier: Apache-2.0
"""The picture of a fleet: its units by rank."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from warpgauge.reports.drawing import fleets
from warpgauge.reports.drawing.fleets import Ranks


def elements(picture: str, tag: str) -> list[ElementTree.Element]:
    return [one for one in ElementTree.fromstring(picture).iter() if one.tag.endswith(f"}}{tag}")]


def titles(picture: str) -> list[str]:
    return [one.text or "" for one in elements(picture, "title")]


def test_units_stand_in_the_order_of_their_values() -> None:
    picture = fleets.ranks(Ranks("t", "y", [1.0, 9.0, 3.0], ["a", "b", "c"], 2.5))
    assert [one for one in titles(picture) if len(one) == 1] == ["b", "c", "a"]
    assert len(re.findall(r"wg-dot wg-c1[^>]*>.?<title", picture)) == 2


def test_thousands_of_units_are_a_small_picture() -> None:
    values = [float(n % 97) for n in range(8000)]
    picture = fleets.ranks(Ranks("t", "y", values, [str(n) for n in range(8000)], 200.0))
    assert len(picture) < 40_000
