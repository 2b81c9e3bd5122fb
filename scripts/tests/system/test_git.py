# SPDX-License-Identifier: Apache-2.0
"""Another commit gets a worktree of its own, and the user's tree, index and branch stay."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from clone import GitRepository
from warpgauge.system import git
from warpgauge.system.errors import UserError

SUITE = {"sync": {"sync/idle": 1.0}}


@pytest.fixture
def old(clone: GitRepository) -> str:
    """A commit, another one behind it."""
    first, _ = (clone.commit({"sync": {"sync/idle": time}}) for time in (1.0, 2.0))
    return first


@pytest.fixture
def folder(clone: GitRepository, old: str) -> Path:
    """Where the old commit is checked out."""
    return git.check_out(clone.root, old)


def state(clone: GitRepository) -> list[str]:
    commands = ("status --porcelain=v2 --branch", "branch --list", "stash list")
    return [clone.git(*command.split()) for command in commands]


def test_a_commit_is_checked_out_beside_the_build(clone: GitRepository, old: str) -> None:
    (clone.root / "suite.json").write_text("changed")
    clone.git("add", "suite.json")
    (clone.root / "new.txt").write_text("untracked")
    before = state(clone)
    folder = git.check_out(clone.root, git.commit_of(clone.root, "HEAD~1"))
    assert folder == clone.root / "build" / "base" / old[:10]
    assert (folder / "suite.json").read_text() == '{"sync": {"sync/idle": 1.0}}'
    assert state(clone) == before
    assert (clone.root / "suite.json").read_text() == "changed"


def test_what_was_built_of_a_commit_is_there_the_next_time_and_made_anew_where_it_is_gone(
    clone: GitRepository, old: str, folder: Path
) -> None:
    (folder / "build").mkdir()
    (folder / "build" / "made").touch()
    assert git.check_out(clone.root, old) == folder
    assert (folder / "build" / "made").exists()
    folder.rename(clone.root / "build" / "elsewhere")
    assert git.check_out(clone.root, old) == folder
    assert (folder / "suite.json").exists()


def refused(root: Path, ref: str) -> str:
    with pytest.raises(UserError) as caught:
        git.commit_of(root, ref)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("ref", ["gone", "--upload-pack=x", "f" * 40, "HEAD~9", "HEAD:suite.json"])
def test_what_names_no_commit_is_refused(clone: GitRepository, ref: str) -> None:
    assert "is not a commit of this clone; git fetch it" in refused(clone.root, ref)


def test_a_shallow_clone_a_tree_and_a_machine_without_git_are_refused(
    clone: GitRepository, old: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shallow, source = tmp_path / "shallow", clone.root.as_uri()
    subprocess.run(["git", "clone", "-q", "--depth=1", source, str(shallow)], check=True)
    assert "git fetch --unshallow" in refused(shallow, old)
    subprocess.run(["git", "-C", str(shallow), "switch", "-q", "--detach"], check=True)
    subprocess.run(["git", "-C", str(shallow), "branch", "-q", "--delete", "main"], check=True)
    assert "'main' is not a commit of this clone; origin/main is" in refused(shallow, "main")
    assert "git rev-parse failed" in refused(tmp_path, "main")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "cannot run git: No such file" in refused(tmp_path, "main")


def test_only_the_two_used_last_are_kept(clone: GitRepository) -> None:
    folders = []
    for index in range(3):
        commit = clone.commit({"sync": {"sync/idle": index + 1.0}})
        folders.append(git.check_out(clone.root, commit))
        os.utime(folders[-1], (index, index))
    assert [folder.exists() for folder in folders] == [False, True, True]
    assert str(folders[0]) not in clone.git("worktree", "list")
    (clone.root / "build" / "base" / "mine").mkdir()
    git.check_out(clone.root, clone.commit(SUITE))
    assert [folder.exists() for folder in folders] == [False, False, True]
    assert (clone.root / "build" / "base" / "mine").exists()


def test_a_worktree_that_somebody_changed_is_not_measured(clone: GitRepository) -> None:
    root = clone.root.rename(clone.root.with_name("my own clone"))
    commit = git.commit_of(root, "HEAD")
    folder = git.check_out(root, commit)
    (folder / "suite.json").write_text("mine")
    said = r"differs from its commit \('M suite.json'\).* --force '.*/my own clone/build/base/"
    with pytest.raises(UserError, match=said):
        git.check_out(root, commit)
    assert (folder / "suite.json").read_text() == "mine"


def test_a_folder_that_git_lost_is_made_anew(clone: GitRepository, old: str, folder: Path) -> None:
    new = clone.git("rev-parse", "HEAD")
    (folder / ".git").unlink()  # now a plain folder of the clone itself
    (folder / "suite.json").write_text("stale")
    assert git.check_out(clone.root, old) == folder
    assert "1.0" in (folder / "suite.json").read_text()
    moved = clone.root.with_name("moved")
    clone.root.rename(moved)
    again = git.check_out(moved, old)
    assert subprocess.run(["git", "-C", str(again), "status"], check=False).returncode == 0
    assert git.commit_of(moved, "HEAD") == new


@pytest.mark.parametrize("left", ["a part", "nothing"])
def test_a_worktree_that_a_killed_git_left_half_made_is_made_anew(
    clone: GitRepository, old: str, folder: Path, left: str
) -> None:
    clone.git("worktree", "lock", "--reason", "initializing", str(folder))
    if left == "nothing":
        shutil.rmtree(folder)
    else:
        (folder / "suite.json").unlink()
    assert (git.check_out(clone.root, old) / "suite.json").exists()
    assert "locked" not in clone.git("worktree", "list", "--porcelain").replace("initializing", "")


def test_a_failed_checkout_is_one_sentence(clone: GitRepository) -> None:
    with pytest.raises(UserError, match=r"git worktree failed in .*clone: ") as caught:
        git.check_out(clone.root, "f" * 40)
    assert "\n" not in str(caught.value)


def test_hooks_and_their_environment_are_kept_out(
    clone: GitRepository, old: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = clone.root / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {clone.root}/hooked\n")
    hook.chmod(0o755)
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", str(clone.root / ".git" / "index"))
    assert git.check_out(clone.root, git.commit_of(clone.root, old)).is_dir()
    assert not (clone.root / "hooked").exists()


def test_a_project_within_a_repository_is_found_in_its_worktree(clone: GitRepository) -> None:
    inner = clone.root / "tools" / "warpgauge"
    inner.mkdir(parents=True)
    (inner / "file").touch()
    commit = clone.commit(SUITE)
    base = inner / "build" / "base" / commit[:10]
    assert git.check_out(inner, commit) == base / "tools" / "warpgauge"


def test_what_a_build_leaves_is_no_change_though_not_ignored(clone: GitRepository) -> None:
    (clone.root / ".gitignore").unlink()
    commit = clone.commit(SUITE)
    folder = git.check_out(clone.root, commit)
    (folder / "build").mkdir()
    (folder / "build" / "made").touch()
    assert git.check_out(clone.root, commit) == folder


def files(folder: Path) -> dict[str, str]:
    return {
        one.name: one.read_text()
        for one in folder.iterdir()
        if one.is_file() and one.name != ".git"
    }


def stamp(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_ino, found.st_mtime_ns


def test_a_folder_takes_the_files_of_one_commit_after_another_and_writes_what_differs(
    clone: GitRepository, tmp_path: Path
) -> None:
    (clone.root / "gone").write_text("of the first commit")
    first = clone.commit(SUITE)
    (clone.root / "gone").unlink()
    second = clone.commit({"sync": {"sync/idle": 2.0}})
    folder = tmp_path / "files"
    git.fill(folder, clone.root, first)
    assert "gone" in files(folder)
    (folder / "build").mkdir()
    (folder / "left").touch()
    written = stamp(folder / ".gitignore")
    assert git.fill(folder, clone.root, second) == folder
    assert (folder / "build").is_dir()
    assert stamp(folder / ".gitignore") == written
    shutil.rmtree(folder / "build")
    tracked = clone.git("ls-files").split()
    assert files(folder) == {name: (clone.root / name).read_text() for name in tracked}


def test_a_folder_takes_the_working_tree_which_stays_as_it_is(
    clone: GitRepository, tmp_path: Path
) -> None:
    commit = clone.commit(SUITE)
    folder = tmp_path / "files"
    git.fill(folder, clone.root, commit)
    written = stamp(folder / ".gitignore")
    clone.write({})
    (clone.root / "new").write_text("untracked")
    before = state(clone)
    git.fill(folder, clone.root, None)
    assert state(clone) == before
    assert files(folder)["suite.json"] == "{}"
    assert files(folder)["new"] == "untracked"
    assert stamp(folder / ".gitignore") == written
    git.fill(folder, clone.root, commit)
    assert "new" not in files(folder)


def test_a_file_that_is_ignored_now_does_not_stay_in_a_folder(
    clone: GitRepository, tmp_path: Path
) -> None:
    folder = tmp_path / "files"
    git.fill(folder, clone.root, clone.commit(SUITE))
    (clone.root / "made.hpp").touch()
    git.fill(folder, clone.root, clone.commit(SUITE))
    assert "made.hpp" in files(folder)
    (clone.root / "made.hpp").unlink()
    with (clone.root / ".gitignore").open("a") as ignored:
        ignored.write("made.hpp\n")
    git.fill(folder, clone.root, None)
    assert "made.hpp" not in files(folder)


def test_a_folder_whose_git_was_killed_is_filled(clone: GitRepository, tmp_path: Path) -> None:
    folder, commit = tmp_path / "files", clone.commit(SUITE)
    git.fill(folder, clone.root, commit)
    Path(git.require(folder, "rev-parse", "--absolute-git-dir"), "index.lock").touch()
    (folder / "suite.json").write_text("half")
    git.fill(folder, clone.root, commit)
    assert files(folder)["suite.json"] != "half"


def test_a_folder_that_is_no_worktree_any_more_is_made_again(clone: GitRepository) -> None:
    commit = clone.commit(SUITE)
    folder = clone.root / "build" / "files"
    folder.mkdir(parents=True)
    (folder / "other").touch()
    git.fill(folder, clone.root, commit)
    assert {*files(folder)} == {".gitignore", "suite.json"}
