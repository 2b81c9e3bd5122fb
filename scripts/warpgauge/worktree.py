# SPDX-License-Identifier: Apache-2.0
"""Another commit of this clone, checked out beside the build: build/base/<commit>.

A git worktree of its own: the user's tree, index and branch stay as they are.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from warpgauge.errors import UserError
from warpgauge.text import inert, quoted

# Digits of a commit that name its folder, as Git shows it.
DIGITS = 10

# The base of this branch and that of the one before: a third is seldom wanted again, and each
# holds a whole build.
KEPT = 2

_OURS = re.compile(rf"[0-9a-f]{{{DIGITS}}}")

# Set in git's own hooks; they would lead git to another repository than the one that is named.
_MISLEADING = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")


def commit_of(root: Path, ref: str) -> str:
    """The full commit that `ref` names in the clone `root`. Raises UserError."""
    inside = _run(root, "rev-parse", "--git-dir")
    if inside.returncode:
        raise UserError(
            f"{root} is no git clone that another commit can be taken from: {_words(inside)}"
        )
    named = f"{ref}^{{commit}}"
    found = _run(root, "rev-parse", "--verify", "--quiet", "--end-of-options", named)
    if found.returncode == 0:
        return found.stdout.strip()
    if _run(root, "rev-parse", "--is-shallow-repository").stdout.strip() == "true":
        remedy = "it is shallow: git fetch --unshallow gets the rest"
    else:
        remedy = "git fetch it, or name another"
    raise UserError(f"{quoted(ref)} is no commit of this clone; {remedy}")


def provide(root: Path, commit: str) -> Path:
    """Where `commit` is checked out, with what was built of it before. Raises UserError.

    The folder that stands for `root`, which need not be the top of its repository. Of other
    commits' the one used last is kept.
    """
    folder = root / "build" / "base" / commit[:DIGITS]
    if folder.exists() and not _is_at(folder, commit):
        _remove(root, folder)
    if not folder.exists():
        _add(root, folder, commit)
    inside = folder / _require(root, "rev-parse", "--show-prefix")
    changes = _require(inside, "status", "--porcelain", "--", ".", ":(exclude)build")
    if changes:
        raise UserError(
            f"{folder} differs from its commit ({quoted(changes.splitlines()[0].strip())}): "
            f"another scripts/bench is making it, or somebody changed it; then remove it with "
            f"git worktree remove --force {folder}"
        )
    os.utime(folder)
    _remove_all_but_newest(folder)
    return inside


def _is_at(folder: Path, commit: str) -> bool:
    """Whether `folder` is a worktree's top, and at `commit`."""
    said = _run(folder, "rev-parse", "--show-toplevel", "HEAD")
    return said.returncode == 0 and said.stdout.split("\n")[:2] == [str(folder.resolve()), commit]


def _add(root: Path, folder: Path, commit: str) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        # Forced, for it may be known from before, and gone.
        _require(root, "worktree", "add", "--force", "--detach", str(folder), commit)
    except BaseException:
        if folder.exists():
            with contextlib.suppress(UserError, OSError):
                _remove(root, folder)
        raise


def _remove(root: Path, folder: Path) -> None:
    """Without a trace in the clone. Raises UserError where git has it locked."""
    known = f"worktree {folder.resolve()}" in _require(root, "worktree", "list", "--porcelain")
    if folder.exists() and not (known and (folder / ".git").exists()):
        shutil.rmtree(folder)  # no worktree: the clone was moved, or somebody cleaned up
    if known:
        _require(root, "worktree", "remove", "--force", str(folder))


def _remove_all_but_newest(folder: Path) -> None:
    others = [one for one in folder.parent.iterdir() if _OURS.fullmatch(one.name) and one != folder]
    by_use = sorted(others, key=lambda one: one.stat().st_mtime, reverse=True)
    for old in by_use[KEPT - 1 :]:
        with contextlib.suppress(UserError, OSError):  # it takes room, and does no other harm
            _remove(folder, old)


def _require(folder: Path, *arguments: str) -> str:
    done = _run(folder, *arguments)
    if done.returncode:
        raise UserError(f"git {arguments[0]} failed in {folder}: {_words(done)}")
    return done.stdout.strip()


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Git in `folder`, without the user's hooks, which have no business here."""
    environment = {key: value for key, value in os.environ.items() if key not in _MISLEADING}
    try:
        return subprocess.run(
            ["git", "-C", str(folder), "-c", f"core.hooksPath={os.devnull}", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            env=environment,
        )
    except OSError as fault:
        raise UserError(f"cannot run git: {fault.strerror}") from fault


def _words(done: subprocess.CompletedProcess[str]) -> str:
    """Git's own, the line that says what is wrong rather than what to do."""
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    fatal = [line.removeprefix("fatal: ") for line in lines if line.startswith("fatal: ")]
    return inert([*fatal, *lines][0]) if lines else f"git exited with status {done.returncode}"
