# SPDX-License-Identifier: Apache-2.0
"""The picture of a comparison: complete, inert, and without a call to anybody's server."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

from builders import row, run, scaled, write
from warpgauge.commands.compare import starter as main


def drawn(tmp_path: Path, name: str) -> str:
    base = write(tmp_path / "base.json", run([row(name)]))
    cand = write(tmp_path / "cand.json", run([row(name, scaled(1.5))]))
    assert main([str(base), str(cand), f"--format=svg={tmp_path / 'out.svg'}"]) == 1
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


def test_the_target_of_a_link_is_drawn(tmp_path: Path) -> None:
    (tmp_path / "out.svg").symlink_to("real.svg")
    drawn(tmp_path, "a/b")
    assert (tmp_path / "out.svg").is_symlink()
    assert (tmp_path / "real.svg").read_text().startswith("<svg")
