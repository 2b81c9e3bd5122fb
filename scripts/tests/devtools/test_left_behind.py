# SPDX-License-Identifier: Apache-2.0
"""A file that a test leaves in the tree is noticed; what git ignores, or knows, is none."""

from __future__ import annotations

from pathlib import Path

from clone import GitRepository
from left_behind import untracked


def test_only_what_git_neither_knows_nor_ignores_is_left_behind(clone: GitRepository) -> None:
    assert untracked(clone.root) == frozenset()
    for place in ("build/x", "deep/left\nfile", "suite.json"):
        (clone.root / place).parent.mkdir(exist_ok=True)
        (clone.root / place).write_text("changed")
    assert untracked(clone.root) == {"deep/left\nfile"}


def test_without_a_repository_nothing_can_be_told(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    assert untracked(tmp_path) == frozenset()
