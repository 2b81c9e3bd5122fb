# SPDX-License-Identifier: Apache-2.0
"""Pictures and bars of intervals: complete, the same each time, inert, where they are asked for."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings

from builders import row, run, scaled, write
from comparisons import comparison, of_every_kind, verdict, with_text
from hostile_text import HOSTILE
from warpgauge.commands.compare import starter as main
from warpgauge.commands.format_options import Formats
from warpgauge.reports import intervals, json_input, json_output
from warpgauge.reports.interval_bar import WIDTH, interval_bar, plot
from warpgauge.system.errors import UserError
from warpgauge.verdict.comparison import Change, Comparison, Outcome, Verdict

SLOWER, FASTER = Outcome.REGRESSION, Outcome.IMPROVED
SVG = "{http://www.w3.org/2000/svg}"


def words(found: Comparison) -> list[str]:
    """The lines of text in the SVG document."""
    document = ElementTree.fromstring(intervals.svg(found))
    return [one.text or "" for one in document.iter(f"{SVG}text")]


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
    assert {"slower", "faster", "accepted", "inconclusive"} <= set(shown)
    assert any(one.startswith("2 regressions, 1 improvement") for one in shown)


def test_nothing_to_draw_is_a_picture_that_says_so() -> None:
    for found in (comparison([verdict("a")]), comparison([]), comparison([], refusal="Other.")):
        assert "There is no interval to draw." in words(found)
        assert size(intervals.png(found))[0] > 500


def test_the_same_comparison_is_the_same_bytes_whatever_a_user_has_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import matplotlib as mpl

    drawn = intervals.svg(of_every_kind()), intervals.png(of_every_kind())
    back = json_input.load(json_output.render(of_every_kind()))
    monkeypatch.setitem(mpl.rcParams, "font.size", 30.0)
    monkeypatch.setitem(mpl.rcParams, "savefig.transparent", True)
    assert (intervals.svg(back), intervals.png(back)) == drawn
    assert b"matplotlib" not in drawn[1].lower()


def test_it_calls_nobody_and_runs_nothing() -> None:
    document = intervals.svg(with_text("<script>alert(1)</script> javascript:x $\\frac{1}{2}$"))
    names = {one.tag for one in ElementTree.fromstring(document).iter()}
    known = "svg defs style g path use text clipPath rect".split()
    assert names <= {f"{SVG}{tag}" for tag in known}
    assert "<!DOCTYPE" not in document
    without = re.sub(r'xmlns(:xlink)?="http://www\.w3\.org/[^"]*"', "", document)
    assert "http" not in without
    assert not re.search(r"\bon\w+=", re.sub(r">[^<]*<", "><", without))
    assert set(re.findall(r'href="(.)', without)) <= {"#"}


@given(HOSTILE)
@example("\x00\x1b[31m\u202e")
@example("\u05d0\u05d1 \u0628 \u4e2d\u6587 \U0001f600")
@example("-->]]>&lt;<!--")
@example("$\\")
@settings(deadline=None, max_examples=10)
def test_any_name_makes_a_picture(text: str) -> None:
    ElementTree.fromstring(intervals.svg(with_text(text)))
    assert size(intervals.png(with_text(text)))[1] > 100


@pytest.mark.parametrize("ratio", [0.0007, 0.0225, 0.24, 0.9, 2.5, 3.83, 9.0, 40.0, 99.0])
def test_no_label_of_the_axis_touches_the_next(ratio: float) -> None:
    rows = [verdict("a", SLOWER, ratio), verdict("b", FASTER, max(-ratio, -0.95))]
    for found in (comparison(rows), comparison(rows[:1]), comparison(rows[1:])):
        text = intervals.svg(found)
        labels = re.findall(r'text-anchor: middle" x="([\d.]+)"[^>]*>([+−]?[\d.]+ %)<', text)
        halves = [(float(x), 0.31 * 9.0 * len(label)) for x, label in labels]
        ends = sorted((x - half, x + half) for x, half in halves)
        assert len(ends) >= 3
        assert min(right[0] - left[1] for left, right in pairwise(ends)) > 5.0


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
        assert capsys.readouterr().out.startswith("**FAIL** · worst: `a/b`")
    assert "a/b" in svg.read_text()
    assert size(png.read_bytes()) > (500, 100)
    for file in ("", "=x.pdf", "=x", "=/dev/stdout", "=x.PNG.txt"):
        with pytest.raises(UserError, match=r"a file only: name one that ends in \.svg or \.png"):
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
        assert "REGRESSION" in svg
        assert "url(http" not in svg.replace('"', "")
        assert "<script" not in svg
    assert file.is_symlink()
    assert (tmp_path / "real.svg").read_text().startswith("<svg")


def test_without_matplotlib_the_environment_is_asked_for_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []
    ensure = "warpgauge.system.environment.ensure"
    monkeypatch.setattr(ensure, lambda names, lock: asked.append([*names, lock]))
    for one in ("markdown=x.md", "intervals=x.svg"):
        Formats.parse([one.replace("=", f"={tmp_path}/")]).check(tmp_path / "baselines", ())
    assert asked == [["matplotlib", "requirements.lock"]]


def test_an_interval_stands_where_it_lies_and_ends_in_an_arrow_beyond() -> None:
    assert interval_bar(Change(0.02, 0.01, 0.03), 0.01) == "          ┊ │ ━━●━       "
    assert interval_bar(Change(-0.02, -0.02, -0.02), 0.01) == "        ● ┊ │ ┊          "
    assert interval_bar(Change(0.9, 0.8, 1.0), 0.01) == "          ┊ │ ┊         ▶"
    assert interval_bar(Change(-0.9, -1.0, 0.0), 0.01) == "◀━━━━━━━━━━━━ ┊          "
    assert interval_bar(Change(0.0, -1.0, 1e305), 1e-9)[:: WIDTH - 1] == "◀▶"


def far_out(ratio: float, low: float, high: float, effect: float = 0.005) -> Verdict:
    outcome = SLOWER if ratio > 0 else FASTER
    one = verdict(f"a/{ratio}", outcome, minimum_effect=effect)
    return replace(one, change=Change(ratio, low, high))


def test_a_change_that_lies_far_out_is_a_point_and_what_no_scale_holds_ends_in_an_arrow() -> None:
    for numbers in ((3.83, 3.82, 3.84), (-0.5, -0.51, -0.49), (0.1, -0.2, 9.0)):
        text = plot([far_out(*numbers)])
        assert "●" in text.splitlines()[2]
        assert not {"◀", "▶"} & {*text}
    text = plot([far_out(1e300, 0.1, 1e305, effect=0.0)])
    assert text.splitlines()[2].count("▶") == 1
    assert text.splitlines()[-2].endswith("◀ ▶ farther out")
