# SPDX-License-Identifier: Apache-2.0
"""Whoever ignores a finding says why, where the ignore stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from devtools.ignore_reasons import main, without_reason
from devtools.workflow_checks import that_may_ignore
from warpgauge.system.environment import ROOT


def lines(tmp_path: Path, name: str, text: str) -> list[int]:
    """Of ignores without a reason."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    found = list(without_reason(path))
    assert main([str(path)]) == bool(found)
    return [int(line.removeprefix(f"{path}:").split(":")[0]) for line in found]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("    image: x # zizmor: ignore[unpinned-images]", [2]),
        ("    image: x #zizmor:ignore[unpinned-images,unpinned-uses] !!!", [2]),
        ("# zizmor: ignore[unpinned-images] intended", [2]),
        ("# shellcheck disable=SC2086", [2]),
        ("# shellcheck shell=sh disable=SC2086,SC2034 # ...", [2]),
        ("          # shellcheck disable=all # because", [2]),
        ("    image: x # zizmor: ignore[unpinned-images] the newest one is meant", []),
        ("# shellcheck disable=SC2086 # words are to be split", []),
        ("# shellcheck shell=sh", []),
        ("run: zizmor --persona=pedantic # no ignore", []),
        ("- item", []),
    ],
)
def test_an_ignore_without_words_fails(tmp_path: Path, line: str, found: list[int]) -> None:
    assert lines(tmp_path, "a.yml", f"on: push\n{line}\n") == found


def test_the_settings_of_zizmor_give_reasons_too(tmp_path: Path) -> None:
    text = """\
rules:
  unpinned-images:
    ignore:
      - ci.yml:12
      - ci.yml:30 # a fresh machine is meant
  artipacked:
    disable: true
  template-injection:
    disable: true # nothing is put in anywhere
  dangerous-triggers:
    disable: false
"""
    assert lines(tmp_path, "zizmor.yml", text) == [4, 7]


def test_every_place_of_an_ignore_is_looked_at(tmp_path: Path) -> None:
    workflows = ".github/workflows/a.yml .github/actions/b/action.yaml .github/dependabot.yml"
    places = [*workflows.split(), ".github/zizmor.yml", "zizmor.yaml", ".ci/c.sh"]
    for place in [*places, "other.yml", ".github/README.md"]:
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).touch()
    assert {str(path.relative_to(tmp_path)) for path in that_may_ignore(tmp_path)} == set(places)
    assert ROOT / ".ci" / "run" in that_may_ignore(ROOT)
