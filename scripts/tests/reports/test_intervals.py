# SPDX-License-Identifier: Apache-2.0
"""Pictures and bars of intervals: complete, the same each time, inert, where they are asked for."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from hypothesis import example, given, settings

from builders import row, run, scaled, write
from comparisons import comparison, of_every_kind, verdict, with_text
from drawn import SVG, Drawn, box
from hostile_text import HOSTILE
from warpgauge.commands.compare import starter as main
from warpgauge.commands.output import Formats
from warpgauge.reports.drawing import picture
from warpgauge.reports.formats import intervals
from warpgauge.system.errors import UserError
from warpgauge.verdict.comparison import Comparison, Outcome

SLOWER, FASTER = Outcome.REGRESSION, Outcome.IMPROVED
TEXT = f"{SVG}text"


def drawn(found: Comparison) -> Drawn:
    return Drawn(intervals.drawn(found))


def words(found: Comparison) -> list[str]:
    """The lines of text in the picture."""
    return [one.text or "" for one in ElementTree.fromstring(intervals.drawn(found)).iter(TEXT)]


def size(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


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
        assert size(rendered(found))[0] > 500


def rendered(found: Comparison) -> bytes:
    return picture.png(intervals.drawn(found), intervals.MARK)


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


def test_the_same_comparison_is_the_same_bytes() -> None:
    assert intervals.drawn(of_every_kind()) == intervals.drawn(of_every_kind())
    assert rendered(of_every_kind()) == rendered(of_every_kind())


def test_a_png_shows_its_letters_whatever_fonts_a_machine_has() -> None:
    # Of the same size, with other letters in it.
    one, other = (rendered(comparison([verdict(name, SLOWER, 0.05)])) for name in ("aaa", "ooo"))
    assert size(one) == size(other)
    assert one != other
    assert intervals.MARK.encode() in one


@given(HOSTILE)
@example("\x00\x1b[31m\u202e")
@example("\u05d0\u05d1 \u0628 \u4e2d\u6587 \U0001f600")
@example("-->]]>&lt;<!--")
@example("$\\")
@example("<script>alert(1)</script> javascript:x")
@settings(max_examples=10)
def test_any_name_makes_a_picture_that_is_inert(text: str) -> None:
    drawn = intervals.drawn(with_text(text))
    Drawn(drawn).assert_inert()
    assert size(picture.png(drawn, intervals.MARK))[1] > 100


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


def test_a_picture_goes_into_a_file_by_its_end_and_nowhere_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    svg, png = tmp_path / "x.svg", tmp_path / "x.png"
    asked = [f"--format=intervals={svg}", f"--format=intervals={png}", "--format=markdown"]
    for _ in range(2):  # the second time it replaces its own
        assert compared(tmp_path, *asked) == 1
        assert capsys.readouterr().out.startswith("**FAIL** · slower: `a/b`")
    assert "a/b" in svg.read_text()
    assert size(png.read_bytes()) > (500, 100)
    for file in ("", "=x.pdf", "=x", "=/dev/stdout", "=x.PNG.txt"):
        with pytest.raises(UserError, match=r"--format .*\.svg or \.png"):
            Formats.parse([f"intervals{file}"])
    with pytest.raises(UserError, match="'intervals=' is not NAME"):
        Formats.parse(["intervals="])


def test_the_terminals_picture_shows_the_verdict_and_calls_nobody(tmp_path: Path) -> None:
    file = tmp_path / "out.svg"
    file.symlink_to("real.svg")
    for name in ("a/b", "a/<script>alert(1)</script>"):
        compared(tmp_path, f"--format=svg={file}", name=name)
        svg = file.read_text()
        ElementTree.fromstring(svg)
        assert "slower" in svg
        assert "url(http" not in svg.replace('"', "")
        assert "<script" not in svg
    assert file.is_symlink()
    assert (tmp_path / "real.svg").read_text() == svg


def test_for_a_png_the_environment_is_asked_for_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []
    ensure = "warpgauge.system.environment.ensure"
    monkeypatch.setattr(ensure, asked.append)
    for one in ("markdown=x.md", "intervals=x.svg", "intervals=x.png"):
        Formats.parse([one.replace("=", f"={tmp_path}/")]).check(tmp_path / "baselines", ())
    assert asked == [["resvg_py"]]
