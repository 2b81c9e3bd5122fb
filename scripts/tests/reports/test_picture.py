# SPDX-License-Identifier: Apache-2.0
"""What every picture keeps to: several in one page do not meet, and its colours are the page's."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings

from comparisons import verdict
from drawn import SVG, Drawn
from hostile_text import HOSTILE
from warpgauge.reports import pages
from warpgauge.reports.drawing import chart, course, roofline
from warpgauge.reports.drawing.chart import Axis, Point, Series
from warpgauge.reports.drawing.course import Course, Mark, Night
from warpgauge.verdict.comparison import Outcome, Verdict


def rated(name: str) -> Verdict:
    return verdict(name, Outcome.REGRESSION, 0.1, bytes_per_second=1e9, flops_per_second=1e9,
                   limit_fraction=0.5)  # fmt: skip


PICTURES = {
    "lines": chart.drawn([Series("a", [Point(1, 2.0), Point(2, 3.0)], 0)], "t", "x", Axis("y")),
    "roofline": roofline.drawn([rated("a/b")], "t", {}),
    "course": course.drawn(Course("t", [Night("2026-01-01", 1.0, 0.1)])),
}
OF_TEXT: dict[str, Callable[[str, str], str]] = {
    "lines": lambda name, text: chart.drawn(
        [Series(name, [Point(1024, 1.0, tooltip=text)], 0)], text, name, Axis(name)
    ),
    "roofline": lambda name, text: roofline.drawn(
        [rated(f"{name}/{text}"), rated(name), rated("a/b")], text, {name: "#x"}
    ),
    "course": lambda name, text: course.drawn(
        Course(name, [Night(name, 1.0, 0.1, text), Night(text, 2.0)],
               [Mark(1, 1.0, "", text), Mark(1, 0.0, name, text)])
    ),
}  # fmt: skip
each = pytest.mark.parametrize("drawn", PICTURES.values(), ids=PICTURES)


@each
def test_a_picture_for_a_page_has_no_name_no_style_and_no_address(drawn: str) -> None:
    document = ElementTree.fromstring(drawn)
    for one in document.iter():
        assert not {"id", "style", "href", "onload"} & one.attrib.keys()
        assert one.tag != f"{SVG}style"
    assert "url(" not in drawn
    assert set(re.findall(r"\w+://[^\"]*", drawn)) == {"http://www.w3.org/2000/svg"}
    assert document.attrib["role"] == "img"
    assert document.attrib["aria-label"]


@each
def test_a_file_of_one_is_complete_and_carries_its_mark(drawn: str) -> None:
    file = chart.document(drawn, "some mark")
    document = ElementTree.fromstring(file)
    (rules,) = document.iter(f"{SVG}style")
    assert rules.text == pages.style()
    assert "some mark" in file
    assert len(list(document.iter())) == len(list(ElementTree.fromstring(drawn).iter())) + 1


@each
def test_every_class_has_a_rule_and_a_colour_in_light_and_dark(drawn: str) -> None:
    used = {kind for kinds in re.findall(r'class="([^"]*)"', drawn) for kind in kinds.split()}
    ruled = set(re.findall(r"\.([\w-]+)", pages.style()))
    assert used <= ruled
    light, dark = pages.style().split("@media", 1)
    wanted = set(re.findall(r"var\((--\w+)\)", dark))
    for part in (light, dark.split("}", 1)[0]):
        assert wanted == set(re.findall(r"(--\w+):", part))


@pytest.mark.parametrize("draw", OF_TEXT.values(), ids=OF_TEXT)
@settings(max_examples=20)
@given(HOSTILE, HOSTILE)
@example("</text><script>alert(1)</script>", '" onload="alert(1)')
@example("\u4e2d" * 300, "&lt;\x00\ud800\ufffe")
@example("w" * 100_000, "w" * 100_000)
def test_foreign_text_is_text_and_nothing_else(
    draw: Callable[[str, str], str], name: str, text: str
) -> None:
    drawn = Drawn(draw(name, text))
    drawn.assert_inert()
    drawn.assert_tidy()
    assert len(drawn.text) < 20_000


def lightness(colour: str) -> float:
    """Relative luminance (WCAG 2)."""
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_texts_and_marks_stand_out_from_light_and_dark_paper() -> None:
    light, dark = pages.style().split("@media", 1)
    for rules in (light, dark.split("}", 1)[0]):
        colours = dict(re.findall(r"--(\w+):(#\w{6})", rules))
        paper = lightness(colours.pop("paper"))
        for name in ("grid", "tolerance", "line", "soft"):
            colours.pop(name)
        for name, colour in colours.items():
            low, high = sorted((paper, lightness(colour)))
            # Graphics need 3, texts 4.5.
            least = 3.0 if re.fullmatch(r"c\d|edge", name) else 4.5
            assert (high + 0.05) / (low + 0.05) >= least, name
