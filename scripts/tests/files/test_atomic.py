# SPDX-License-Identifier: Apache-2.0
"""Several files are replaced together or not at all, and what is said of them is true."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from warpgauge.files.atomic import replace_all
from warpgauge.system.errors import UserError

rename, fsync = Path.replace, os.fsync


def failing(real: Callable[..., object], turns: set[int]) -> Callable[..., object]:
    """`real`, but that the calls of these numbers find the disk full."""
    calls = iter(range(1, 100))

    def call(*arguments: object) -> object:
        if next(calls) in turns:
            raise OSError(28, "No space left on device", ".hidden.tmp")
        return real(*arguments)

    return call


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    """Two files that are there and one that is not."""
    (tmp_path / "a").write_text("old a")
    (tmp_path / "b").write_text("old b")
    return [tmp_path / name for name in ("new", "a", "b")]


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_a_rename_that_fails_undoes_those_before_it(
    paths: list[Path], monkeypatch: pytest.MonkeyPatch, turn: int
) -> None:
    monkeypatch.setattr(Path, "replace", failing(rename, {turn}))
    with pytest.raises(UserError) as caught:
        replace_all(dict.fromkeys(paths, "fresh"))
    why = "cannot be written (No space left on device); nothing was changed"
    assert str(caught.value) == f"{paths[turn - 1]} {why}"
    assert contents(paths[0].parent) == {"a": "old a", "b": "old b"}


def test_a_file_system_without_hard_links_is_undone_too(
    paths: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*arguments: object, **options: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", unsupported)
    monkeypatch.setattr(Path, "replace", failing(rename, {3}))
    with pytest.raises(UserError, match="nothing was changed"):
        replace_all(dict.fromkeys(paths, "fresh"))
    assert contents(paths[0].parent) == {"a": "old a", "b": "old b"}


def test_what_cannot_be_put_back_is_told_and_kept(
    paths: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "replace", failing(rename, {3, 4}))
    with pytest.raises(UserError, match="a could not be put back, what it held is in") as caught:
        replace_all(dict.fromkeys(paths, "fresh"))
    assert "nothing was changed" not in str(caught.value)
    (kept,) = paths[0].parent.glob(".a.*.old")
    assert kept.read_text() == "old a"
    assert str(kept) in str(caught.value)
    assert contents(paths[0].parent) == {"a": "fresh", "b": "old b", kept.name: "old a"}


def test_an_interrupt_between_two_renames_undoes_the_first(
    paths: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(path: Path, target: Path) -> Path:
        if path.name.startswith(".b."):
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replace_all(dict.fromkeys(paths, "fresh"))
    assert contents(paths[0].parent) == {"a": "old a", "b": "old b"}


def test_a_failure_after_the_renames_says_that_they_are_done(
    paths: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", failing(fsync, {4}))
    with pytest.raises(UserError, match="were replaced, but a power cut now may undo it"):
        replace_all(dict.fromkeys(paths, "fresh"))
    assert contents(paths[0].parent) == {"new": "fresh", "a": "fresh", "b": "fresh"}


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_a_deletion_is_part_of_all_or_nothing(
    paths: list[Path], monkeypatch: pytest.MonkeyPatch, turn: int
) -> None:
    texts = {paths[0]: "fresh", paths[1]: None, paths[2]: "fresh"}
    monkeypatch.setattr(Path, "replace", failing(rename, {turn}))
    with pytest.raises(UserError, match="nothing was changed") as caught:
        replace_all(texts)
    verb = "deleted" if texts[paths[turn - 1]] is None else "written"
    assert str(caught.value).startswith(f"{paths[turn - 1]} cannot be {verb}")
    assert contents(paths[0].parent) == {"a": "old a", "b": "old b"}


def test_a_deleted_file_is_gone_and_nothing_is_left_beside(paths: list[Path]) -> None:
    replace_all({paths[1]: None, paths[2]: "fresh"})
    assert contents(paths[0].parent) == {"b": "fresh"}


def test_a_deletion_that_cannot_be_undone_is_told_and_its_content_kept(
    paths: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "replace", failing(rename, {2, 3}))
    with pytest.raises(UserError, match="a could not be put back, what it held is in"):
        replace_all({paths[1]: None, paths[2]: "fresh"})
    (kept,) = paths[0].parent.glob(".a.*.old")
    assert contents(paths[0].parent) == {"b": "old b", kept.name: "old a"}


def test_a_file_that_is_not_there_cannot_be_deleted(paths: list[Path]) -> None:
    with pytest.raises(UserError, match=r"new cannot be deleted .*; nothing was changed"):
        replace_all({paths[1]: "fresh", paths[0]: None})
    assert contents(paths[0].parent) == {"a": "old a", "b": "old b"}


def test_nothing_is_left_beside(paths: list[Path]) -> None:
    replace_all(dict.fromkeys(paths, "fresh"))
    assert contents(paths[0].parent) == {"new": "fresh", "a": "fresh", "b": "fresh"}
