# SPDX-License-Identifier: Apache-2.0
"""SECURITY.md names only what is there: a check that was renamed must not be promised on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from warpgauge.commands.main import CI
from warpgauge.system.environment import ROOT

PAGE = (ROOT / ".github" / "SECURITY.md").read_text(encoding="utf-8")
# A path, as it stands in the page, and the folder that it is in.
NAMED = {
    r"workflows/\w+\.yml": ROOT / ".github",
    r"tests/\w+/\w+\.py": ROOT / "scripts",
    r"(?!tests/)(?:\w+/){1,2}\w+\.py": ROOT / "scripts" / "src" / "warpgauge",
    r"\w+\.yml": ROOT / ".github" / "workflows",
}
PLACES = sorted(
    {folder / one for what, folder in NAMED.items() for one in re.findall(f"`({what})`", PAGE)}
)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: str(place.relative_to(ROOT)))
def test_what_the_page_names_is_there(place: Path) -> None:
    assert place.exists()


def test_names_are_found_in_the_page() -> None:
    assert ROOT / "scripts" / "tests" / "devtools" / "test_workflows.py" in PLACES
    assert ROOT / ".github" / "workflows" / "comment.yml" in PLACES
    assert ROOT / "scripts" / "src" / "warpgauge" / "files" / "zip_file.py" in PLACES


def test_every_command_that_the_page_names_is_one() -> None:
    named = re.findall(r"`scripts/warpgauge ci (\w+)", PAGE)
    assert named
    assert {*named} <= CI.keys()


def test_every_setting_that_an_attack_rests_on_is_listed() -> None:
    told = re.findall(r"\*Settings? ([\d, ]+)\*", PAGE)
    rested_on = {number for one in told for number in one.split(", ")}
    listed = set(re.findall(r"^(\d+)\. ", PAGE.partition("## Settings")[2], re.MULTILINE))
    assert rested_on == listed
