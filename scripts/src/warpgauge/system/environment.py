# SPDX-License-Identifier: Apache-2.0
"""Finds or makes a Python environment that has the packages a command imports.

Standard library only, and valid in Python 3.8, so that an old Python gets an error message.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from warpgauge.system import packages as system_packages
from warpgauge.system.errors import UserError
from warpgauge.system.packages import last_line, output_of

# Packages of the command that posts comments, of all user commands, and of everything including
# scripts/test and scripts/lint. Each lock contains the one before.
COMMENT, RUNTIME, WHOLE = LOCKS = (
    "scripts/comment.lock",
    "scripts/runtime.lock",
    "requirements.lock",
)
_CLONE = Path(__file__).resolve().parents[4]
# The clone of this file; if the package is installed, the project in the current folder.
ROOT = _CLONE if (_CLONE / WHOLE).is_file() else Path.cwd()
OLDEST_PYTHON = (3, 10)
# The TOML parser, part of Python since 3.11.
TOML = "tomllib" if sys.version_info >= (3, 11) else "tomli"
# Marks a .venv as made here. It holds the lock's hash and is written last, so that an interrupted
# installation is detected and repeated.
STAMP = "warpgauge-lock-sha256"


def ensure(packages: Sequence[str], root: Path = ROOT, lock: str = RUNTIME) -> None:
    """Return if this interpreter can import `packages`; otherwise run this command again in .venv.

    A missing, incomplete or outdated .venv is made from `lock`; one with a smaller lock gets the
    missing packages. Raises UserError if that is not possible.
    """
    if sys.version_info < OLDEST_PYTHON:
        raise UserError(
            f"Python {sys.version_info[0]}.{sys.version_info[1]} is too old; warpgauge needs 3.10 "
            f"or newer: install one and use it, e.g. `python3.12 {sys.argv[0]}`"
        )
    missing = [name for name in packages if not _importable(name)]
    if not missing:
        return
    if not all((root / name).is_file() for name in LOCKS):  # installed package, not a clone
        raise UserError(
            f"this Python does not have {', '.join(missing)}: install warpgauge with its "
            "dependencies, or add them to this environment"
        )
    venv = root / ".venv"
    if Path(sys.prefix).resolve() == venv.resolve() and _holds(root, lock):
        raise UserError(
            f"{venv} does not have {', '.join(missing)}: remove that folder and run this again"
        )
    python = make(root, lock, missing)
    sys.stdout.flush()
    os.execv(python, [str(python), *sys.argv])


def make(root: Path, lock: str, missing: Sequence[str]) -> Path:
    """Return the interpreter of the .venv in `root`, after installing `lock` if needed."""
    venv = root / ".venv"
    stamp, python = venv / STAMP, venv / "bin" / "python"
    try:
        with (root / WHOLE).open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)  # a second command waits
            if _holds(root, lock):
                return python
            if venv.exists() and not stamp.exists():
                raise UserError(
                    f"this Python does not have {', '.join(missing)}, and {venv} was not made by "
                    "warpgauge: activate an environment that has them, or remove that folder"
                )
            adding = _holds(root, COMMENT)  # other commands may be running from it
            what = f"adding the rest of {lock} to .venv" if adding else f"making .venv from {lock}"
            print(f"warpgauge: {what}, once ...", file=sys.stderr)
            if not adding:
                shutil.rmtree(venv, ignore_errors=True)
                venv.mkdir()
                stamp.write_text("incomplete")
                _create(venv)
            _install(python, root / lock, missing)
            stamp.write_text(_digest(root / lock))
    except OSError as fault:
        raise UserError(f"cannot make {venv}: {fault}") from fault
    return python


def _holds(root: Path, lock: str) -> bool:
    """Return whether the .venv in `root` has the current `lock` or a larger one."""
    stamp, python = root / ".venv" / STAMP, root / ".venv" / "bin" / "python"
    if not (stamp.exists() and python.exists()):
        return False
    return stamp.read_text() in [_digest(root / one) for one in LOCKS[LOCKS.index(lock) :]]


def _digest(lock: Path) -> str:
    return hashlib.sha256(lock.read_bytes()).hexdigest()


def _importable(name: str) -> bool:
    try:
        importlib.import_module(name)
    except Exception:  # broken, or for another Python: as good as missing
        return False
    return True


def _create(venv: Path) -> None:
    """Run python3 -m venv; install Debian's python3-venv if that is missing."""
    command = [sys.executable, "-m", "venv", str(venv)]
    status, output = output_of(command)
    if status and "ensurepip" in output:
        system_packages.install(["python3-venv"], lambda line: print(line, file=sys.stderr))
        status, output = output_of(command)
    if status:
        raise UserError(f"`{' '.join(command)}` failed: {last_line(output)}")


def _install(python: Path, lock: Path, missing: Sequence[str]) -> None:
    pip = [str(python), "-m", "pip", "install", "--quiet", "--no-input", "--retries", "2"]
    pip += ["--require-hashes", "--only-binary=:all:", "--requirement", str(lock)]
    status, output = output_of(pip)
    if status:
        raise UserError(
            f"this Python does not have {', '.join(missing)}, and pip could not install "
            f"{lock.name} ({last_line(output)}): run this once with network access, or with a "
            "Python that has them"
        )
