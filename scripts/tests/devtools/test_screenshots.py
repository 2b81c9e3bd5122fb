# SPDX-License-Identifier: Apache-2.0
"""The pictures of the report: both are made, are small, and stand in the read-me."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from devtools.screenshots import HEIGHT, MOST_BYTES, WIDTH, make, mark
from github_page import CHROMIUM
from warpgauge.reports import recorded
from warpgauge.reports.formats import html as page
from warpgauge.system.environment import ROOT


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_both_schemes_are_drawn_and_differ(tmp_path: Path) -> None:
    light, dark = (path.read_bytes() for path in make(tmp_path))
    for picture in (light, dark):
        assert picture.startswith(b"\x89PNG")
        assert struct.unpack(">II", picture[16:24]) == (WIDTH, HEIGHT)
    assert light != dark


def test_the_read_me_shows_the_one_of_the_reader_s_scheme() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    dark = '<source media="(prefers-color-scheme: dark)" srcset=".github/report-dark.png">'
    assert dark in text
    assert 'src=".github/report-light.png"' in text
    for scheme in ("light", "dark"):
        assert (ROOT / ".github" / f"report-{scheme}.png").stat().st_size <= MOST_BYTES


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pictures_show_the_page_as_it_is_now(scheme: str) -> None:
    picture = (ROOT / ".github" / f"report-{scheme}.png").read_bytes()
    assert mark(page.render(recorded.comparison())) in picture, (
        "make them anew: devtools.screenshots"
    )
