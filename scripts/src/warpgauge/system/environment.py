# SPDX-License-Identifier: Apache-2.0
"""Finds or makes a Python environment that has the packages a command imports.

Standard library only, and readable by Python 3.8, so that too old a Python gets a sentence.
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

# What the command imports that comments; what a user's commands import; and all, with the tools of
# scripts/test and scripts/lint. Each holds all that the one before holds.
COMMENT, RUNTIME, WHOLE = LOCKS = (
    "scripts/comment.lock",
    "scripts/runtime.lock",
    "requirements.lock",
)
_CLONE = Path(__file__).resolve().parents[4]
# The clone that this lies in; where the package is installed, the project in the current folder.
ROOT = _CLONE if (_CLONE / WHOLE).is_file() else Path.cwd()
OLDEST_PYTHON = (3, 10)
# What reads TOML: part of Python from 3.11 on.
TOML = "tomllib" if sys.version_info >= (3, 11) else "tomli"
# Marks a .venv as made here; its text is the lock's hash, written last, so that an interrupted
# making is seen and begun anew.
STAMP = "warpgauge-lock-sha256"


def ensure(packages: Sequence[str], root: Path = ROOT, lock: str = RUNTIME) -> None:
    """Return when this interpreter imports all `packages`, else run this command again in .venv.

    That is made from `lock` when it is missing, half made, or made from another state of it; to one
    of a smaller lock the rest is added. Raises UserError when that is not possible.
    """
    if sys.version_info < OLDEST_PYTHON:
        raise UserError(
            f"Python {sys.version_info[0]}.{sys.version_info[1]} is too old; warpgauge needs 3.10 "
            f"or newer: install one and use it, e.g. `python3.12 {sys.argv[0]}`"
        )
    missing = [name for name in packages if not _importable(name)]
    if not missing:
        return
    if not all((root / name).is_file() for name in LOCKS):  # installed, and no clone
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
    """The interpreter of the .venv in `root`, which has what is in `lock` by then."""
    venv = root / ".venv"
    stamp, python = venv / STAMP, venv / "bin" / "python"
    try:
        with (root / WHOLE).open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)  # two commands at once: the second waits
            if _holds(root, lock):
                return python
            if venv.exists() and not stamp.exists():
                raise UserError(
                    f"this Python does not have {', '.join(missing)}, and {venv} was not made by "
                    "warpgauge: activate an environment that has them, or remove that folder"
                )
            adding = _holds(root, COMMENT)  # beside whoever runs from it
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
    """Whether the .venv in `root` was made from `lock` as it is now, or from a larger one."""
    stamp, python = root / ".venv" / STAMP, root / ".venv" / "bin" / "python"
    if not (stamp.exists() and python.exists()):
        return False
    return stamp.read_text() in [_digest(root / one) for one in LOCKS[LOCKS.index(lock) :]]


def _digest(lock: Path) -> str:
    return hashlib.sha256(lock.read_bytes()).hexdigest()


def _importable(name: str) -> bool:
    try:
        importlib.import_module(name)
    except Exception:  # a package of another Python or a broken one is as good as none
        return False
    return True


def _create(venv: Path) -> None:
    """python3 -m venv, with Debian's python3-venv installed where that is what is missing."""
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
