# SPDX-License-Identifier: Apache-2.0
"""Checks out another commit of this clone beside the build, in build/base/<commit>.

It is a separate git worktree: the user's tree, index and branch do not change.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
from pathlib import Path

from warpgauge.system import git
from warpgauge.system.errors import UserError
from warpgauge.system.git import DIGITS, is_full, short
from warpgauge.system.text import quoted

# The base of this branch and that of the previous one; each holds a whole build.
KEPT = 2
# Git may still list a deleted worktree, or have locked one that it was making when it was killed.
_FORCE = ("--force", "--force")
_OURS = re.compile(rf"[0-9a-f]{{{DIGITS}}}")


def commit_of(root: Path, ref: str) -> str:
    """Return the full commit that `ref` names in the clone `root`. Raises UserError."""
    inside = git.run(root, "rev-parse", "--git-dir")
    if inside.returncode:
        raise UserError(
            f"{root} is not a git clone, so no other commit can be taken from it: "
            f"{git.words(inside)}"
        )
    named = f"{ref}^{{commit}}"
    found = git.run(root, "rev-parse", "--verify", "--quiet", "--end-of-options", named)
    if found.returncode == 0:
        return found.stdout.strip()
    if git.run(root, "rev-parse", "--is-shallow-repository").stdout.strip() == "true":
        remedy = "the clone is shallow: get the rest with git fetch --unshallow"
    else:
        remedy = "git fetch it" if is_full(ref) else "git fetch it, or name another"
    raise UserError(f"{quoted(ref)} is not a commit of this clone; {remedy}")


def provide(root: Path, commit: str, kept: int = KEPT) -> Path:
    """Check out `commit` and return its folder, with earlier builds in it. Raises UserError.

    The folder corresponds to `root`, which may be a subfolder of its repository. The `kept` most
    recently used commits stay.
    """
    folder = _top(root, commit)
    if folder.exists() and not _is_whole(folder, commit):
        _remove(root, folder)
    if not folder.exists():
        _add(root, folder, commit)
    inside = folder_of(root, commit)
    changes = git.require(inside, "status", "--porcelain", "--", ".", ":(exclude)build")
    if changes:
        raise UserError(
            f"{folder} differs from its commit ({quoted(changes.splitlines()[0].strip())}): "
            "somebody changed it; save your changes, and remove it with git worktree remove "
            f"--force {shlex.quote(str(folder))}"
        )
    os.utime(folder)
    _remove_all_but_newest(folder, kept)
    return inside


def folder_of(root: Path, commit: str) -> Path:
    """Return the folder where `provide` checks out `commit`. Raises UserError."""
    return _top(root, commit) / git.require(root, "rev-parse", "--show-prefix")


def _top(root: Path, commit: str) -> Path:
    return root / "build" / "base" / short(commit)


def _is_whole(folder: Path, commit: str) -> bool:
    """Return whether `folder` is a worktree at `commit`; git locks one that it is making."""
    asked = ("--path-format=absolute", "--show-toplevel", "HEAD", "--git-path", "locked")
    top, *rest = git.run(folder, "rev-parse", *asked).stdout.splitlines() or [""]
    return top == str(folder.resolve()) and rest[0] == commit and not Path(rest[1]).exists()


def _add(root: Path, folder: Path, commit: str) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        git.require(root, "worktree", "add", *_FORCE, "--detach", str(folder), commit)
    except BaseException:
        with contextlib.suppress(UserError, OSError):
            _remove(root, folder)
        raise


def _remove(root: Path, folder: Path) -> None:
    """Remove a worktree and git's record of it. Raises UserError."""
    known = f"worktree {folder.resolve()}" in git.require(root, "worktree", "list", "--porcelain")
    if folder.exists() and not (known and (folder / ".git").exists()):
        shutil.rmtree(folder)  # not a worktree, e.g. because the clone was moved
    if known:
        git.require(root, "worktree", "remove", *_FORCE, str(folder))


def _remove_all_but_newest(folder: Path, kept: int) -> None:
    ours = [path for path in folder.parent.iterdir() if _OURS.fullmatch(path.name)]
    ours.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for old in [path for path in ours if path != folder][kept - 1 :]:
        with contextlib.suppress(UserError, OSError):  # it only takes disk space
            _remove(folder, old)
