# SPDX-License-Identifier: Apache-2.0
"""Pictures and bars of intervals: complete, the same each time, inert, where they are asked for."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from itertools import product
from pathlib import Path

import pytest
from hypothesis import example, given, settings

from builders import row, run, scaled, write
from comparisons import comparison, of_every_kind, verdict, with_text
from drawn import SVG, Drawn, box
from hostile_text import HOSTILE
from warpgauge.commands.compare import starter as main
from warpgauge.reports.formats import intervals
from warpgauge.verdict.comparison import Comparison, Outcome

SLOWER, FASTER = Outcome.REGRESSION, Outcome.IMPROVED
TEXT = f"{SVG}text"


def drawn(found: Comparison) -> Drawn:
    return Drawn(intervals.drawn(found))


def words(found: Comparison) -> list[str]:
    """The lines of text in the picture."""
    return [one.text or "" for one in ElementTree.fromstring(intervals.drawn(found)).iter(TEXT)]


def test_what_changed_is_drawn_then_what_is_accepted_then_what_is_inconclusive() -> None:
    shown = words(of_every_kind())
    drawn = [one for one in shown if re.match(r"[a-z]+/[a-z]", one)]
    assert drawn == [
        "gemm/naive/n:64", "gemm/tiled/n:64", "gemm/cublas/n:64", "launch/empty",
        "memcpy/h2d/bytes:4096",
    ]  # fmt: skip
    assert "+30.0 % (+29.9 … +30.1)" in shown
    assert "at most +10.2 %" in shown  # what is inconclusive has no interval but a bound
    assert {"slower", "faster", "accepted", "undecided"} <= set(shown)
    assert any(one.startswith("2 slower · 1 faster") for one in shown)


def test_nothing_to_draw_is_a_picture_that_says_so() -> None:
    for found in (comparison([verdict("a")]), comparison([]), comparison([], refusal="Other.")):
        assert "There is no interval to draw." in words(found)


def test_a_point_lies_on_its_whisker_over_the_tolerance_and_slower_is_right() -> None:
    picture = drawn(comparison([verdict("a", SLOWER, 0.02), verdict("b", FASTER, -0.03)]))
    slower, faster = picture.marks("mark")
    zero, whiskers = picture.shapes("polyline", "zero")[0][0], path_ends(picture, "whisker")
    assert faster[0] < zero[0] < slower[0]
    assert faster[1] > slower[1]  # a row below
    for (x, _), (left, right) in zip((slower, faster), whiskers, strict=True):
        assert left < x < right
        assert picture.left <= left <= right <= picture.right
    bands = [box(one) for one in picture.elements("rect", "tolerance")]
    assert [(left + right) / 2 for left, _, right, _ in bands] == pytest.approx(
        [zero[0]] * 2, abs=0.01
    )
    # The tolerance is 1 %, the first change 2 %, where the scale is nearly linear.
    assert (slower[0] - zero[0]) / (bands[0][2] - zero[0]) == pytest.approx(2.0, rel=0.05)


def path_ends(picture: Drawn, kind: str) -> list[tuple[float, float]]:
    """From where to where on the horizontal axis."""
    found = [one.attrib["d"] for one in picture.elements("path", kind)]
    moves = [re.findall(r"M([\d.]+)|H([\d.]+)", one) for one in found]
    return [(float(one[0][0]), float(one[-1][1] or one[0][0])) for one in moves]


def test_of_what_is_inconclusive_one_whisker_goes_to_the_bound() -> None:
    one = verdict("a", Outcome.INCONCLUSIVE, 0.004, bound=0.05)
    picture = drawn(comparison([one]))
    ((left, right),) = path_ends(picture, "whisker")
    ((x, _),) = picture.marks("hollow")
    assert left == pytest.approx(x, abs=0.01)
    assert right > x


def test_more_rows_than_a_picture_holds_are_counted() -> None:
    picture = drawn(comparison([verdict(f"a/{n}", SLOWER, 0.05) for n in range(60)]))
    assert len(picture.marks("mark")) == 40
    assert any("20 more not drawn" in text for text in picture.texts())
    picture.assert_tidy()


@given(HOSTILE)
@example("\x00\x1b[31m\u202e")
@example("\u05d0\u05d1 \u0628 \u4e2d\u6587 \U0001f600")
@example("-->]]>&lt;<!--")
@example("$\\")
@example("<script>alert(1)</script> javascript:x")
@settings(max_examples=10)
def test_any_name_makes_a_picture_that_is_inert(text: str) -> None:
    drawn(with_text(text)).assert_inert()


@pytest.mark.parametrize("ratio", [0.0007, 0.0225, 0.24, 0.9, 2.5, 3.83, 9.0, 40.0, 99.0])
def test_no_label_touches_another(ratio: float) -> None:
    rows = [verdict("a", SLOWER, ratio), verdict("b", FASTER, max(-ratio, -0.95))]
    for found in (comparison(rows), comparison(rows[:1]), comparison(rows[1:])):
        picture = drawn(found)
        picture.assert_tidy()
        assert sum(bool(re.fullmatch(r"[+−]?[\d.]+ %", one)) for one in picture.texts()) >= 3
        assert all(map(picture.holds, picture.marks("mark")))


def compared(tmp_path: Path, *asked: str, name: str = "a/b") -> int:
    base = write(tmp_path / "base.json", run([row(name)]))
    cand = write(tmp_path / "cand.json", run([row(name, scaled(1.5))]))
    return main([str(base), str(cand), *asked])


def test_a_picture_shows_the_verdict_and_calls_nobody(tmp_path: Path) -> None:
    file = tmp_path / "out.svg"
    for form, name in product(("svg", "intervals"), ("a/b", "a/<script>alert(1)</script>")):
        file.unlink(missing_ok=True)
        file.symlink_to("real.svg")
        (tmp_path / "real.svg").unlink(missing_ok=True)
        compared(tmp_path, f"--format={form}={file}", name=name)
        svg = file.read_text()
        ElementTree.fromstring(svg)
        assert "slower" in svg
        assert "url(http" not in svg.replace('"', "")
        assert "<script" not in svg
    assert file.is_symlink()
    assert (tmp_path / "real.svg").read_text() == svg
