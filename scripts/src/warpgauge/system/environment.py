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
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from warpgauge.system import packages as system_packages
from warpgauge.system.errors import UserError

_LOCK = "requirements.lock"
_CLONE = Path(__file__).resolve().parents[4]
# The clone that this lies in; where the package is installed, the project in the current folder.
ROOT = _CLONE if (_CLONE / _LOCK).is_file() else Path.cwd()
OLDEST_PYTHON = (3, 10)
# What reads TOML: part of Python from 3.11 on.
TOML = "tomllib" if sys.version_info >= (3, 11) else "tomli"
# Marks a .venv as made here; its text is the lock's hash, written last, so that an interrupted
# making is seen and begun anew.
STAMP = "warpgauge-lock-sha256"


def ensure(packages: Sequence[str], root: Path = ROOT) -> None:
    """Return when this interpreter imports all `packages`, else run this command again in .venv.

    The .venv beside the README is made from requirements.lock when it is missing, half made, or
    made from another lock. Raises UserError when that is not possible.
    """
    if sys.version_info < OLDEST_PYTHON:
        raise UserError(
            f"Python {sys.version_info[0]}.{sys.version_info[1]} is too old, warpgauge needs 3.10 "
            f"or newer: install one and start this with it, as in `python3.12 {sys.argv[0]}`"
        )
    missing = [name for name in packages if not _importable(name)]
    if not missing:
        return
    if not (root / _LOCK).is_file():
        raise UserError(
            f"this Python does not have {', '.join(missing)}: install warpgauge with its "
            "dependencies, or add them to this environment"
        )
    venv = root / ".venv"
    if Path(sys.prefix).resolve() == venv.resolve():
        raise UserError(
            f"{venv} does not have {', '.join(missing)}: remove that folder and run this again"
        )
    python = make(venv, root / _LOCK, missing)
    sys.stdout.flush()
    os.execv(python, [str(python), *sys.argv])


def make(venv: Path, lock: Path, missing: Sequence[str]) -> Path:
    """The interpreter of `venv`, made from `lock` first unless it is already up to date."""
    stamp, python = venv / STAMP, venv / "bin" / "python"
    try:
        with lock.open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)  # two commands at once: the second waits
            wanted = hashlib.sha256(held.read()).hexdigest()
            if stamp.exists() and stamp.read_text() == wanted and python.exists():
                return python
            if venv.exists() and not stamp.exists():
                raise UserError(
                    f"this Python does not have {', '.join(missing)}, and {venv} was not made by "
                    "warpgauge: activate an environment that has them, or remove that folder"
                )
            print("warpgauge: making .venv from requirements.lock, once ...", file=sys.stderr)
            if venv.exists():
                shutil.rmtree(venv)
            venv.mkdir()
            stamp.write_text("incomplete")
            _create(venv)
            _install(python, lock, missing)
            stamp.write_text(wanted)
    except OSError as fault:
        raise UserError(f"cannot make {venv}: {fault}") from fault
    return python


def _importable(name: str) -> bool:
    try:
        importlib.import_module(name)
    except Exception:  # a package of another Python or a broken one is as good as none
        return False
    return True


def _create(venv: Path) -> None:
    """python3 -m venv, with Debian's python3-venv installed where that is what is missing."""
    command = [sys.executable, "-m", "venv", str(venv)]
    made = _quietly(command)
    if made.returncode and "ensurepip" in made.stdout:
        system_packages.install(["python3-venv"], lambda line: print(line, file=sys.stderr))
        made = _quietly(command)
    if made.returncode:
        raise UserError(f"`{' '.join(command)}` failed: {_last_line(made.stdout)}")


def _install(python: Path, lock: Path, missing: Sequence[str]) -> None:
    pip = [str(python), "-m", "pip", "install", "--quiet", "--no-input", "--retries", "2"]
    done = _quietly([*pip, "--require-hashes", "--only-binary=:all:", "--requirement", str(lock)])
    if done.returncode:
        raise UserError(
            f"this Python does not have {', '.join(missing)}, and pip could not install "
            f"requirements.lock ({_last_line(done.stdout)}): run this once with a network, or "
            "start it with a Python that has them"
        )


def _quietly(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["it said nothing"])[-1]
