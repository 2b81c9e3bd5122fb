# SPDX-License-Identifier: Apache-2.0
"""What the project's Markdown points to is there, and nothing in it waits to be filled in."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
# Made by builds and tools, or nobody's but Git's.
FOREIGN = {"build", ".git", ".venv", ".pytest_cache", ".hypothesis"}
FILES = sorted(
    path for path in ROOT.rglob("*.md") if not FOREIGN.intersection(path.relative_to(ROOT).parts)
)
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
TARGET = re.compile(
    r"\]\(\s*<?([^)\s>]+)"  # [text](target) and ![text](target)
    r"|^\[[^]]+\]:\s*(\S+)"
    r'|(?:src|href)="([^"]+)"',
    re.MULTILINE,
)
ELSEWHERE = re.compile(r"[a-z]+:")
BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)


def targets(text: str) -> list[str]:
    """Targets of the links and images in Markdown that lead to this repository."""
    found = [one or other or third for one, other, third in TARGET.findall(CODE.sub("", text))]
    return [target for target in found if not ELSEWHERE.match(target)]


def anchors(page: Path) -> set[str]:
    """What GitHub makes of the headings of a page."""
    headings = HEADING.findall(BLOCK.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\s-]", "", one).strip().lower().replace(" ", "-") for one in headings}


def leads_somewhere(path: Path, target: str) -> bool:
    name, _, fragment = target.partition("#")
    page = path.parent / name if name else path
    return page.exists() and (not fragment or fragment in anchors(page))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert [one for one in targets(text) if not leads_somewhere(path, one)] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_placeholder_is_left(path: Path) -> None:
    assert "@@" not in path.read_text(encoding="utf-8")
