# SPDX-License-Identifier: Apache-2.0
"""The pictures of a fleet: a grid of changes, and units by rank."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

from warpgauge.reports.drawing import fleets
from warpgauge.reports.drawing.fleets import HeatMap, Ranks


def elements(picture: str, tag: str) -> list[ElementTree.Element]:
    return [one for one in ElementTree.fromstring(picture).iter() if one.tag.endswith(f"}}{tag}")]


def titles(picture: str) -> list[str]:
    return [one.text or "" for one in elements(picture, "title")]


def test_a_square_is_as_dark_as_its_change_is_large() -> None:
    picture = fleets.heat_map(HeatMap("t", ["row"], ["a", "b", "c"], [[0.015, 0.3, -0.3]]))
    found = [one for one in elements(picture, "rect") if len(one)]
    shades = [(one.get("class"), float(one.get("fill-opacity", "0"))) for one in found]
    assert shades == [("wg-mark wg-slower", 0.25), ("wg-mark wg-slower", 1.0),
                      ("wg-mark wg-faster", 1.0)]  # fmt: skip
    assert titles(picture)[1] == "b: row: +30.0 %"


def test_what_was_not_measured_is_an_empty_square() -> None:
    picture = fleets.heat_map(HeatMap("t", ["row"], ["a"], [[math.nan]]))
    assert titles(picture) == ["a: row: not measured"]


def test_units_stand_in_the_order_of_their_values() -> None:
    picture = fleets.ranks(Ranks("t", "y", [1.0, 9.0, 3.0], ["a", "b", "c"], 2.5))
    assert [one for one in titles(picture) if len(one) == 1] == ["b", "c", "a"]
    assert len(re.findall(r"wg-dot wg-c1[^>]*>.?<title", picture)) == 2


def test_thousands_of_units_are_a_small_picture() -> None:
    values = [float(n % 97) for n in range(8000)]
    picture = fleets.ranks(Ranks("t", "y", values, [str(n) for n in range(8000)], 200.0))
    assert len(picture) < 40_000
