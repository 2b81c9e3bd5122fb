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
@pytest.mark.parametrize("content", ["fresh", None])
def test_a_change_that_fails_undoes_those_before_it(
    paths: list[Path], monkeypatch: pytest.MonkeyPatch, turn: int, content: str | None
) -> None:
    monkeypatch.setattr(Path, "replace", failing(rename, {turn}))
    with pytest.raises(UserError) as caught:
        replace_all({**dict.fromkeys(paths, "fresh"), paths[1]: content})
    verb = "deleted" if turn == 2 and content is None else "written"
    why = f"cannot be {verb} (No space left on device); nothing was changed"
    assert str(caught.value) == f"{paths[turn - 1]} {why}"
    assert contents(paths[0].parent) == {"a": "old a", "b": "old b"}


@pytest.mark.parametrize(
    ("content", "left"), [("fresh", {"a": "fresh", "b": "old b"}), (None, {"b": "old b"})]
)
def test_what_cannot_be_put_back_is_told_and_kept(
    paths: list[Path], monkeypatch: pytest.MonkeyPatch, content: str | None, left: dict[str, str]
) -> None:
    folder = paths[0].parent
    monkeypatch.setattr(Path, "replace", failing(rename, {3, 4}))
    with pytest.raises(UserError, match="a could not be restored; its old content is in") as caught:
        replace_all({**dict.fromkeys(paths, "fresh"), paths[1]: content})
    assert "nothing was changed" not in str(caught.value)
    (kept,) = folder.glob(".warpgauge-*/old/a")
    assert kept.read_text() == "old a"
    assert str(kept) in str(caught.value)
    assert contents(folder) == left
    monkeypatch.undo()
    settle(folder)
    assert everything(folder) == {"a": "old a", "b": "old b"}


def test_an_interrupt_undoes_the_first_renames_or_takes_effect_behind_the_last(
    paths: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def raised(path: Path, target: Path) -> Path:
        if path.name == "b":
            raise KeyboardInterrupt
        return rename(path, target)

    def signalled(path: Path, target: Path) -> Path:
        signal.raise_signal(signal.SIGINT)
        return rename(path, target)

    monkeypatch.setattr(Path, "replace", raised)
    with pytest.raises(KeyboardInterrupt):
        replace_all(dict.fromkeys(paths, "fresh"))
    assert contents(paths[0].parent) == {"a": "old a", "b": "old b"}
    monkeypatch.setattr(Path, "replace", signalled)
    with pytest.raises(KeyboardInterrupt, match="after all of it"):
        replace_all(dict.fromkeys(paths, "fresh"), changed="after all of it")
    assert everything(paths[0].parent) == {"new": "fresh", "a": "fresh", "b": "fresh"}


def test_a_failure_after_the_renames_says_that_they_are_done(
    paths: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", failing(fsync, {4}))
    with pytest.raises(UserError, match="were replaced, but a power failure now may undo it"):
        replace_all(dict.fromkeys(paths, "fresh"))
    assert contents(paths[0].parent) == {"new": "fresh", "a": "fresh", "b": "fresh"}


def test_a_file_that_is_not_there_cannot_be_deleted(paths: list[Path]) -> None:
    with pytest.raises(UserError, match=r"new cannot be deleted .*; nothing was changed"):
        replace_all({paths[1]: "fresh", paths[0]: None})
    assert contents(paths[0].parent) == {"a": "old a", "b": "old b"}


def test_files_are_replaced_made_or_deleted_and_nothing_is_left_beside(paths: list[Path]) -> None:
    replace_all({paths[0]: "fresh", paths[1]: None, paths[2]: "fresh"})
    assert everything(paths[0].parent) == {"new": "fresh", "b": "fresh"}


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


def test_what_another_process_prepares_is_left_alone(
    paths: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = paths[0].parent
    inside: list[Path] = []

    def meanwhile(descriptor: int) -> None:
        if not inside:
            inside.extend(folder.glob(".warpgauge-*"))
            settle(folder)

    monkeypatch.setattr(os, "fsync", meanwhile)
    replace_all(dict.fromkeys(paths, "fresh"))
    assert len(inside) == 1
    assert everything(folder) == {"new": "fresh", "a": "fresh", "b": "fresh"}


def test_only_what_a_change_left_is_swept(paths: list[Path]) -> None:
    folder = paths[0].parent
    (folder / ".warpgauge-cache").mkdir()
    (folder / ".warpgauge-cache" / "old").write_text("somebody's")
    (folder / ".warpgauge-link.undo").symlink_to(".warpgauge-cache")
    (folder / ".warpgauge-file.new").write_text("somebody's")
    before = {*folder.rglob("*")}
    settle(folder)
    assert {*folder.rglob("*")} == before


def test_a_file_system_without_locks_and_hard_links_changes_files_all_the_same(
    paths: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*arguments: object, **options: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    monkeypatch.setattr(os, "link", unsupported)
    monkeypatch.setattr(Path, "replace", failing(rename, {3}))
    with pytest.raises(UserError, match="nothing was changed"):
        replace_all(dict.fromkeys(paths, "fresh"))
    assert contents(paths[0].parent) == {"a": "old a", "b": "old b"}
    replace_all(dict.fromkeys(paths, "fresh"))
    assert everything(paths[0].parent) == {"new": "fresh", "a": "fresh", "b": "fresh"}
