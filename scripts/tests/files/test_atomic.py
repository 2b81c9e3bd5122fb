# SPDX-License-Identifier: Apache-2.0
"""Several files are replaced together or not at all, and what is said of them is true."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from warpgauge.files.atomic import replace_all
from warpgauge.files.undo import settle
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
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def everything(folder: Path) -> dict[str, str]:
    """The same, and nothing else lies there."""
    assert [path for path in folder.iterdir() if path.is_dir()] == []
    return contents(folder)


def killed_at(step: int, texts: Mapping[Path, str | None]) -> bool:
    """Change files in a process that is killed before its so manieth call of the system.

    Whether it was.
    """
    if pid := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    left = step

    def before(event: str, arguments: object) -> None:
        nonlocal left
        if event in ("open", "os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir"):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    try:
        sys.addaudithook(before)
        replace_all(texts)
    finally:
        os._exit(0)


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
    (kept,) = paths[0].parent.glob(".warpgauge-*/old/a")
    assert kept.read_text() == "old a"
    assert str(kept) in str(caught.value)
    assert contents(paths[0].parent) == {"a": "fresh", "b": "old b"}
    monkeypatch.undo()
    settle(paths[0].parent)
    assert everything(paths[0].parent) == {"a": "old a", "b": "old b"}


def test_an_interrupt_between_two_renames_undoes_the_first(
    paths: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(path: Path, target: Path) -> Path:
        if path.name == "b":
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
    (kept,) = paths[0].parent.glob(".warpgauge-*/old/a")
    assert contents(paths[0].parent) == {"b": "old b"}
    assert kept.read_text() == "old a"


def test_a_file_that_is_not_there_cannot_be_deleted(paths: list[Path]) -> None:
    with pytest.raises(UserError, match=r"new cannot be deleted .*; nothing was changed"):
        replace_all({paths[1]: "fresh", paths[0]: None})
    assert contents(paths[0].parent) == {"a": "old a", "b": "old b"}


def test_nothing_is_left_beside(paths: list[Path]) -> None:
    replace_all(dict.fromkeys(paths, "fresh"))
    assert everything(paths[0].parent) == {"new": "fresh", "a": "fresh", "b": "fresh"}


def test_a_kill_at_any_moment_leaves_all_old_or_all_new_and_no_litter(tmp_path: Path) -> None:
    texts: dict[str, str | None] = {"new": "fresh", "a": "fresh", "b": "fresh", "gone": None}
    old = {"a": "old a", "b": "old b", "gone": "old gone"}
    fresh = dict.fromkeys(("new", "a", "b"), "fresh")
    seen = []
    for step in range(1, 200):
        folder = tmp_path / str(step)
        folder.mkdir()
        for name, text in old.items():
            (folder / name).write_text(text)
        killed = killed_at(step, {folder / name: text for name, text in texts.items()})
        settle(folder)
        found = everything(folder)
        assert found in (old, fresh), step
        seen.append(found)
        if not killed:
            break
    assert seen[0] == old
    assert seen[-1] == fresh
    assert seen == sorted(seen, key=lambda one: one == fresh)
    assert len(seen) > 20


def test_who_changes_next_sweeps_what_a_kill_left(paths: list[Path]) -> None:
    folder = paths[0].parent
    assert killed_at(12, dict.fromkeys(paths, "never"))
    assert len(list(folder.glob(".warpgauge-*"))) == 1
    replace_all({folder / "other": "fresh"})
    assert everything(folder) == {"a": "old a", "b": "old b", "other": "fresh"}


def test_what_another_process_prepares_is_left_alone(paths: list[Path]) -> None:
    folder = paths[0].parent
    inside: list[Path] = []
    usual = os.fsync

    def meanwhile(descriptor: int) -> None:
        if not inside:
            inside.extend(folder.glob(".warpgauge-*"))
            settle(folder)
        usual(descriptor)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", meanwhile)
        replace_all(dict.fromkeys(paths, "fresh"))
    assert len(inside) == 1
    assert everything(folder) == {"new": "fresh", "a": "fresh", "b": "fresh"}


def test_an_interrupt_among_the_renames_takes_effect_behind_the_last(
    paths: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(path: Path, target: Path) -> Path:
        signal.raise_signal(signal.SIGINT)
        return rename(path, target)

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt, match="after all of it"):
        replace_all(dict.fromkeys(paths, "fresh"), changed="after all of it")
    assert everything(paths[0].parent) == {"new": "fresh", "a": "fresh", "b": "fresh"}


def test_only_what_a_change_left_is_swept(paths: list[Path]) -> None:
    folder = paths[0].parent
    (folder / ".warpgauge-cache").mkdir()
    (folder / ".warpgauge-cache" / "old").write_text("somebody's")
    (folder / ".warpgauge-link.undo").symlink_to(".warpgauge-cache")
    (folder / ".warpgauge-file.new").write_text("somebody's")
    settle(folder)
    assert (folder / ".warpgauge-cache" / "old").read_text() == "somebody's"
    assert (folder / ".warpgauge-link.undo").is_symlink()
    assert (folder / ".warpgauge-file.new").exists()


def test_a_file_system_without_locks_changes_files_all_the_same(
    paths: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*arguments: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    replace_all(dict.fromkeys(paths, "fresh"))
    assert everything(paths[0].parent) == {"new": "fresh", "a": "fresh", "b": "fresh"}
