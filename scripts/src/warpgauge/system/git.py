# SPDX-License-Identifier: Apache-2.0
"""Git, run in a folder without the user's hooks, questions or side effects; names of commits."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from warpgauge.system import command_log
from warpgauge.system.errors import UserError
from warpgauge.system.text import inert

# Set in git's own hooks; they would lead git to another repository than the one that is named.
_MISLEADING = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")

DIGITS = 10  # of a commit, for people
# SHA-1 or SHA-256, and nothing else that git would look up.
FULL_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")

# Nobody is asked for a password, and looking refreshes no index.
_QUIET = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Whatever comes of it. Raises UserError where there is no git."""
    environment = {key: value for key, value in os.environ.items() if key not in _MISLEADING}
    command = ["git", "-C", str(folder), "-c", f"core.hooksPath={os.devnull}", *arguments]
    try:
        with command_log.running(command) as logged:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                env={**environment, **_QUIET},
            )
            logged.ended(done.returncode)
        return done
    except OSError as fault:
        raise UserError(f"cannot run git: {fault.strerror}") from fault


def require(folder: Path, *arguments: str) -> str:
    """What it prints. Raises UserError where it fails."""
    done = run(folder, *arguments)
    if done.returncode:
        raise UserError(f"git {arguments[0]} failed in {folder}: {words(done)}")
    return done.stdout.strip()


def words(done: subprocess.CompletedProcess[str]) -> str:
    """Git's own, the line that says what is wrong rather than what to do."""
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    fatal = [line.removeprefix("fatal: ") for line in lines if line.startswith("fatal: ")]
    return inert([*fatal, *lines][0]) if lines else f"git exited with status {done.returncode}"


def is_full(text: str) -> bool:
    """Whether a file's `text` is the whole name of a commit, safe to hand to a command."""
    return FULL_COMMIT.fullmatch(text) is not None


def short(commit: str) -> str:
    """Its first digits."""
    return commit[:DIGITS]
