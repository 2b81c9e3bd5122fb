# SPDX-License-Identifier: Apache-2.0
"""The picture of a comparison: complete, inert, and without a call to anybody's server."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from builders import row, run, scaled, write
from warpgauge.commands.compare import starter as main


def drawn(tmp_path: Path, name: str) -> str:
    base = write(tmp_path / "base.json", run([row(name)]))
    cand = write(tmp_path / "cand.json", run([row(name, scaled(1.5))]))
    assert main([str(base), str(cand), "--svg", str(tmp_path / "out.svg")]) == 1
    return (tmp_path / "out.svg").read_text()


def test_it_shows_the_verdict_and_calls_nobody(tmp_path: Path) -> None:
    svg = drawn(tmp_path, "a/b")
    ElementTree.fromstring(svg)
    assert "REGRESSION" in svg
    assert "url(http" not in svg.replace('"', "")


def test_a_name_with_markup_is_text(tmp_path: Path) -> None:
    svg = drawn(tmp_path, "a/<script>alert(1)</script>")
    ElementTree.fromstring(svg)
    assert "<script" not in svg


def test_a_place_that_cannot_take_a_picture_is_told_before_judging(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    base = write(tmp_path / "base.json", run([row("a/b")]))
    (tmp_path / "link.svg").symlink_to(base)
    (tmp_path / "folder").mkdir()
    before = base.read_bytes()
    monkeypatch.setattr("warpgauge.verdict.judge.judge", None)
    for place in (tmp_path / "gone" / "x.svg", tmp_path / "folder", base, tmp_path / "link.svg"):
        assert main([str(base), str(base), "--svg", str(place)]) == 2
        assert capsys.readouterr().err.startswith(f"compare.py: cannot write {place}: ")
    assert base.read_bytes() == before


@pytest.mark.parametrize(("factor", "status"), [(1.5, 1), (1.0, 2)])
def test_a_picture_that_fails_does_not_hide_the_verdict(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    factor: float,
    status: int,
) -> None:
    base = write(tmp_path / "base.json", run([row("a/b")]))
    cand = write(tmp_path / "cand.json", run([row("a/b", scaled(factor))]))

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    place = tmp_path / "out.svg"
    assert main([str(base), str(cand), "--svg", str(place)]) == status
    out, err = capsys.readouterr()
    assert "of 1 unchanged" in out
    assert err.startswith(f"compare.py: {place} cannot be written (No space left on device)")


def test_the_target_of_a_link_is_drawn(tmp_path: Path) -> None:
    (tmp_path / "out.svg").symlink_to("real.svg")
    drawn(tmp_path, "a/b")
    assert (tmp_path / "out.svg").is_symlink()
    assert (tmp_path / "real.svg").read_text().startswith("<svg")
