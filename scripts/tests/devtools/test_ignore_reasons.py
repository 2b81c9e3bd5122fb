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
    return [int(told.removeprefix(f"{path}:").split(":")[0]) for told in without_reason(path)]


@pytest.mark.parametrize(
    "line",
    [
        "    image: x # zizmor: ignore[unpinned-images]",
        "    image: x #zizmor:ignore[unpinned-images,unpinned-uses] !!!",
        "# zizmor: ignore[unpinned-images] intended",
        "# shellcheck disable=SC2086",
        "# shellcheck shell=sh disable=SC2086,SC2034 # ...",
        "          # shellcheck disable=all # because",
    ],
)
def test_an_ignore_without_words_fails(tmp_path: Path, line: str) -> None:
    assert lines(tmp_path, "a.yml", f"on: push\n{line}\n") == [2]
    assert main([str(tmp_path / "a.yml")]) == 1


@pytest.mark.parametrize(
    "line",
    [
        "    image: x # zizmor: ignore[unpinned-images] the newest one is meant",
        "# shellcheck disable=SC2086 # words are to be split",
        "# shellcheck shell=sh",
        "run: zizmor --persona=pedantic # no ignore",
        "- item",
    ],
)
def test_an_ignore_with_a_reason_and_what_is_none_pass(tmp_path: Path, line: str) -> None:
    assert lines(tmp_path, "a.yml", line) == []
    assert main([str(tmp_path / "a.yml")]) == 0


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
    places = [
        ".github/workflows/a.yml", ".github/actions/b/action.yaml", ".github/zizmor.yml",
        ".github/dependabot.yml", "zizmor.yaml", ".ci/c.sh",
    ]  # fmt: skip
    for place in [*places, "other.yml", ".github/README.md"]:
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).touch()
    assert {str(path.relative_to(tmp_path)) for path in that_may_ignore(tmp_path)} == set(places)


def test_the_scripts_of_this_tree_are_found() -> None:
    assert ROOT / ".ci" / "run" in that_may_ignore(ROOT)
