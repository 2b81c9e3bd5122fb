# SPDX-License-Identifier: Apache-2.0
"""Runs git without the user's hooks, prompts or side effects; names and checks out commits.

A commit is checked out beside the build, in build/base/<commit>. It is a separate git worktree: the
user's tree, index and branch do not change.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from warpgauge.system import command_log
from warpgauge.system.errors import UserError
from warpgauge.system.text import inert, quoted

# Git sets these in its own hooks; they would select another repository than the given one.
_MISLEADING = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")

DIGITS = 10  # of a commit, as shown to people
# The base of this branch and that of the previous one; each checkout holds a whole build.
KEPT = 2
# Git may still list a deleted worktree, or have locked one that it was making when it was killed.
_FORCE = ("--force", "--force")
# SHA-1 or SHA-256: nothing that git would have to look up.
FULL_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")

# Do not ask for passwords, and do not refresh the index when reading.
_QUIET = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}

# Author of the commits that are of no branch.
_NOBODY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "warpgauge"), ("EMAIL", "none"), ("DATE", "@0 +0000"))
}


def run(folder: Path, *arguments: str, **own: str) -> subprocess.CompletedProcess[str]:
    """Run git, and return its result even if it fails. Raises UserError if git is missing.

    `own` are variables of its environment.
    """
    command = _command(folder, *arguments)
    try:
        with command_log.running(command) as logged:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                errors="replace",
                check=False,
                env=_environment() | own,
            )
            logged.ended(done.returncode)
        return done
    except OSError as fault:
        raise UserError(f"cannot run git: {fault.strerror}") from fault


def require(folder: Path, *arguments: str, **own: str) -> str:
    """Run git, and return its standard output. Raises UserError if it fails."""
    done = run(folder, *arguments, **own)
    if done.returncode:
        raise UserError(f"git {arguments[0]} failed in {folder}: {words(done)}")
    return done.stdout.strip()


def blobs(folder: Path, names: Sequence[str]) -> Iterator[bytes]:
    """Yield the contents of these objects in order. Raises UserError if one is missing."""
    with tempfile.TemporaryFile() as asked:  # a pipe could fill up before the first answer
        asked.write("".join(f"{name}\n" for name in names).encode())
        asked.seek(0)
        with subprocess.Popen(
            _command(folder, "cat-file", "--batch"),
            stdin=asked,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
        ) as process:
            assert process.stdout
            try:
                for name in names:
                    # Name, type and size, if the object exists.
                    header = process.stdout.readline().split()
                    size = int(header[2]) if len(header) == 3 else 0
                    content = process.stdout.read(size + 1)
                    if len(header) != 3 or len(content) <= size:
                        what = f"{folder} lacks the git object {short(name)}"
                        raise UserError(f"{what}: run git fsck")
                    yield content[:-1]
            finally:
                process.kill()


def _command(folder: Path, *arguments: str) -> list[str]:
    return ["git", "-C", str(folder), "-c", f"core.hooksPath={os.devnull}", *arguments]


def _environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key not in _MISLEADING}
    return {**kept, **_QUIET}


def words(done: subprocess.CompletedProcess[str]) -> str:
    """Return git's error message, preferably the line that says what is wrong."""
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    fatal = [line.removeprefix("fatal: ") for line in lines if line.startswith("fatal: ")]
    return inert([*fatal, *lines][0]) if lines else f"git exited with status {done.returncode}"


def is_full(text: str) -> bool:
    """Return whether `text` is a full commit hash, safe to pass to a command."""
    return FULL_COMMIT.fullmatch(text) is not None


def short(commit: str) -> str:
    return commit[:DIGITS]


def commit_of(root: Path, ref: str) -> str:
    """Return the full commit that `ref` names in the clone `root`. Raises UserError."""
    require(root, "rev-parse", "--git-dir")
    verify = "rev-parse", "--verify", "--quiet", "--end-of-options"
    if (found := run(root, *verify, f"{ref}^{{commit}}")).returncode == 0:
        return found.stdout.strip()
    remedy = "git fetch it" if is_full(ref) else "git fetch it, or name another"
    if run(root, *verify, f"refs/remotes/origin/{ref}").returncode == 0:
        remedy = f"origin/{ref} is"
    elif run(root, "rev-parse", "--is-shallow-repository").stdout.strip() == "true":
        remedy = "the clone is shallow: get the rest with git fetch --unshallow"
    raise UserError(f"{quoted(ref)} is not a commit of this clone; {remedy}")


def check_out(root: Path, commit: str, kept: int = KEPT, work: Path | None = None) -> Path:
    """Check out `commit` and return its folder, with earlier builds in it. Raises UserError.

    It is below `work`, by default the build folder of `root`, and corresponds to `root`, which may
    be a subfolder of its repository. The `kept` most recently used commits stay.
    """
    folder = _top(root, commit, work)
    if folder.exists() and not _is_whole(folder, commit):
        shutil.rmtree(folder)
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        require(root, "worktree", "add", *_FORCE, "--detach", str(folder), commit)
    inside = folder_of(root, commit, work)
    changes = require(inside, "status", "--porcelain", "--", ".", ":(exclude)build")
    if changes:
        raise UserError(
            f"{folder} differs from its commit ({quoted(changes.splitlines()[0].strip())}): "
            "somebody changed it; save your changes, and remove it with git worktree remove "
            f"--force {shlex.quote(str(folder))}"
        )
    os.utime(folder)
    ours = [path for path in folder.parent.iterdir() if len(path.name) == DIGITS]
    ours.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for old in [path for path in ours if path != folder][kept - 1 :]:
        shutil.rmtree(old, ignore_errors=True)  # it only takes disk space
    run(root, "worktree", "prune")
    return inside


def fill(folder: Path, root: Path, commit: str | None) -> Path:
    """Write the files of `commit`, or of the working tree `root`, to the worktree `folder`.

    It is made if missing. Files that are there already are not written, so that a build of the
    other files suffices. Return the folder that corresponds to `root`. Raises UserError.
    """
    if folder.exists():
        top = run(folder, "rev-parse", "--show-toplevel").stdout.strip()
        if top != str(folder.resolve()):  # no longer a worktree
            shutil.rmtree(folder)
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        require(root, "worktree", "add", *_FORCE, "--detach", str(folder), commit or "HEAD")
    index = require(folder, "rev-parse", "--absolute-git-dir")
    Path(index, "index.lock").unlink(missing_ok=True)  # of a git that was killed
    require(folder, "read-tree", "--reset", "-u", commit or working_tree(root))
    require(folder, "clean", "--force", "-d", "--quiet")
    return folder / require(root, "rev-parse", "--show-prefix")


def working_tree(root: Path) -> str:
    """Return a commit of the working tree as it is. Raises UserError."""
    return variant(root, "HEAD", ["add", "--all"])


def variant(root: Path, commit: str, *changes: Sequence[str]) -> str:
    """Return `commit` after `changes` (git's arguments) to an index of it. Raises UserError.

    It is a commit without parents and on no branch, the same for equal files. The user's own index
    does not change.
    """
    with tempfile.TemporaryDirectory() as scratch:
        index = {"GIT_INDEX_FILE": str(Path(scratch, "index"))}
        require(root, "read-tree", commit, **index)
        for arguments in changes:
            require(root, *arguments, **index)
        tree = require(root, "write-tree", **index)
    return require(root, "commit-tree", tree, "-m", "A variant", **_NOBODY)


def folder_of(root: Path, commit: str, work: Path | None = None) -> Path:
    """Return the folder where `check_out` checks out `commit`. Raises UserError."""
    return _top(root, commit, work) / require(root, "rev-parse", "--show-prefix")


def _top(root: Path, commit: str, work: Path | None) -> Path:
    return (work or root / "build") / "base" / short(commit)


def _is_whole(folder: Path, commit: str) -> bool:
    """Return whether `folder` is a worktree at `commit`; git locks one that it is making."""
    asked = ("--path-format=absolute", "--show-toplevel", "HEAD", "--git-path", "locked")
    top, *rest = run(folder, "rev-parse", *asked).stdout.splitlines() or [""]
    return top == str(folder.resolve()) and rest[0] == commit and not Path(rest[1]).exists()
