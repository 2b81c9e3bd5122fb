# SPDX-License-Identifier: Apache-2.0
"""A file is old or new and never half of it, and what an error says of the others is true."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from warpgauge.records.load import result_files
from warpgauge.system.atomic import replace_all
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


def killed_at(step: int, texts: Mapping[Path, str | None]) -> bool:
    """Whether a process that changes files was killed, before its so manieth call of the system."""
    if pid := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    left = step

    def before(event: str, arguments: object) -> None:
        nonlocal left
        if event in ("open", "os.mkdir", "os.rename", "os.remove"):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    try:
        sys.addaudithook(before)
        replace_all(texts)
    finally:
        os._exit(0)


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_a_full_disk_changes_nothing_and_leaves_nothing(
    paths: list[Path], monkeypatch: pytest.MonkeyPatch, turn: int
) -> None:
    monkeypatch.setattr(os, "fsync", failing(fsync, {turn}))
    with pytest.raises(UserError) as caught:
        replace_all(dict.fromkeys(paths, "fresh"))
    why = "cannot be written (No space left on device); nothing was changed"
    assert str(caught.value) == f"{paths[turn - 1]} {why}"
    assert contents(paths[0].parent) == {"a": "old a", "b": "old b"}


@pytest.mark.parametrize(
    ("turn", "said", "left"),
    [
        (1, "new cannot be written (No space left on device); nothing was changed", {}),
        (2, "a cannot be written (No space left on device); already changed: 'new'", {"new"}),
        (3, "b cannot be written (No space left on device); already changed: 'new', 'a'",
         {"new", "a"}),
    ],
)  # fmt: skip
def test_a_change_that_fails_names_those_before_it(
    paths: list[Path], monkeypatch: pytest.MonkeyPatch, turn: int, said: str, left: set[str]
) -> None:
    monkeypatch.setattr(Path, "replace", failing(rename, {turn}))
    with pytest.raises(UserError) as caught:
        replace_all(dict.fromkeys(paths, "fresh"))
    assert str(caught.value) == f"{paths[0].parent}/{said}"
    old = {"a": "old a", "b": "old b"}
    assert contents(paths[0].parent) == {**old, **dict.fromkeys(left, "fresh")}


def test_an_interrupt_takes_effect_behind_the_last_change_and_says_so(
    paths: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def signalled(path: Path, target: Path) -> Path:
        signal.raise_signal(signal.SIGINT)
        return rename(path, target)

    monkeypatch.setattr(Path, "replace", signalled)
    with pytest.raises(KeyboardInterrupt, match="after all of it"):
        replace_all(dict.fromkeys(paths, "fresh"), changed="after all of it")
    assert contents(paths[0].parent) == {"new": "fresh", "a": "fresh", "b": "fresh"}


def test_an_interrupt_before_the_first_change_leaves_all_as_it_was(
    paths: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def signalled(descriptor: int) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(os, "fsync", signalled)
    with pytest.raises(KeyboardInterrupt) as caught:
        replace_all(dict.fromkeys(paths, "fresh"), changed="after all of it")
    assert caught.value.args == ()
    assert contents(paths[0].parent) == {"a": "old a", "b": "old b"}


def test_a_failure_after_the_renames_says_that_they_are_done(
    paths: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", failing(fsync, {4}))
    with pytest.raises(UserError, match=r"cannot be written .*; already changed: "):
        replace_all(dict.fromkeys(paths, "fresh"))
    assert contents(paths[0].parent) == {"new": "fresh", "a": "fresh", "b": "fresh"}


def test_a_file_that_is_not_there_cannot_be_deleted(paths: list[Path]) -> None:
    with pytest.raises(UserError, match=r"new cannot be deleted .*; already changed: 'a'"):
        replace_all({paths[1]: "fresh", paths[0]: None})
    assert contents(paths[0].parent) == {"a": "fresh", "b": "old b"}


def test_files_are_replaced_made_or_deleted_and_nothing_is_left_beside(paths: list[Path]) -> None:
    inner = paths[0].parent / "made" / "inner"
    replace_all({paths[0]: "fresh", paths[1]: None, paths[2]: "fresh", inner: "fresh"})
    assert contents(paths[0].parent) == {"new": "fresh", "b": "fresh"}
    assert contents(inner.parent) == {"inner": "fresh"}


def test_a_kill_at_any_moment_leaves_each_file_old_or_new_and_no_other_is_read(
    tmp_path: Path,
) -> None:
    old = {"a.json": "old a", "gone.json": "old gone"}
    texts: dict[str, str | None] = {"new.json": "fresh", "a.json": "fresh", "gone.json": None}
    seen = []
    for step in range(1, 100):
        folder = tmp_path / str(step)
        folder.mkdir()
        for name, text in old.items():
            (folder / name).write_text(text)
        killed = killed_at(step, {folder / name: text for name, text in texts.items()})
        found = {path.name: path.read_text() for path in result_files(folder)}
        assert all(found.get(name) in (old.get(name), text) for name, text in texts.items())
        seen.append(found)
        if not killed:
            break
    assert seen[0] == old
    assert seen[-1] == {"new.json": "fresh", "a.json": "fresh"}
    assert len(seen) > 5
