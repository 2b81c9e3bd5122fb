# SPDX-License-Identifier: Apache-2.0
"""Runs git in a folder without the user's hooks, prompts or side effects; names commits."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from warpgauge.system import command_log
from warpgauge.system.errors import UserError
from warpgauge.system.text import inert

# Git sets these in its own hooks; they would select another repository than the given one.
_MISLEADING = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")

DIGITS = 10  # of a commit, as shown to people
# SHA-1 or SHA-256: nothing that git would have to look up.
FULL_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")

# Do not ask for passwords, and do not refresh the index when reading.
_QUIET = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run git, and return its result even if it fails. Raises UserError if git is missing."""
    command = _command(folder, *arguments)
    try:
        with command_log.running(command) as logged:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                env=_environment(),
            )
            logged.ended(done.returncode)
        return done
    except OSError as fault:
        raise UserError(f"cannot run git: {fault.strerror}") from fault


def require(folder: Path, *arguments: str) -> str:
    """Run git, and return its standard output. Raises UserError if it fails."""
    done = run(folder, *arguments)
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
                        raise UserError(
                            f"{folder} lacks the git object {short(name)}: run git fsck"
                        )
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
