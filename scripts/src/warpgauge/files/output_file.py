# SPDX-License-Identifier: Apache-2.0
"""Checks before the work whether an output file that the user named may be written."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from warpgauge.files.atomic import is_stream
from warpgauge.system.errors import UserError

# Its other names. What else is printed there would spoil a report for its reader.
STANDARD_OUTPUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")

# Found in the text and not by parsing: a damaged one is still one.
_RUN_FILE = re.compile(rb'"warpgauge_format"\s*:\s*"run/')
_FIDELITY = re.compile(rb'"warpgauge_format"\s*:\s*"fidelity/')


def check_run_file(path: Path, baselines: Path, inputs: Sequence[Path]) -> None:
    """A run file may replace another one, but nothing in the baselines' folder and no input."""
    _require_replaceable(path, baselines, inputs, _RUN_FILE, "is not a run file")


def check_fidelity_file(path: Path, baselines: Path) -> None:
    """Findings of `warpgauge fidelity` may replace others, and go nowhere among the baselines."""
    told = "holds no findings of scripts/warpgauge fidelity"
    _require_replaceable(path, baselines, [], _FIDELITY, told)


def check_report(
    path: Path, baselines: Path, inputs: Sequence[Path], own: re.Pattern[bytes], kind: str
) -> None:
    """A report may replace one of its `kind` ("SVG"), which has `own` in it.

    It goes nowhere among the baselines. A pipe or a device has nothing to replace.
    """
    if not is_stream(path):
        _require_replaceable(path, baselines, inputs, own, f"is no {kind}")
        return
    _refuse_folder(path, path.resolve(), baselines)
    if not os.access(path, os.W_OK):
        raise _refusal(path, "it is read-only")


def require_empty(folder: Path) -> None:
    """Raises UserError where it is there with something in it, or is a file."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} exists and is not empty: remove it, or name another --out-dir")


def _require_replaceable(
    path: Path, baselines: Path, inputs: Sequence[Path], own: re.Pattern[bytes], told: str
) -> None:
    """Nothing there, an empty file, or one that has `own` in it; `told` is any other."""
    target = _target(path, inputs)
    _refuse_folder(path, target, baselines)
    try:
        held = target.read_bytes() if target.exists() else b""
    except OSError as fault:
        raise _refusal(path, fault.strerror or str(fault)) from None
    if held.strip() and not own.search(held):
        raise _refusal(path, f"the file exists and {told}; name another file")


def _target(path: Path, inputs: Sequence[Path]) -> Path:
    """What `path` leads to: a file that can be written, or a place where one can be."""
    try:
        target = path.resolve()
        if target.is_dir():
            raise _refusal(path, "it is a folder")
        if target.exists() and not target.is_file():
            raise _refusal(path, "it is not a regular file")
        if target.exists() and not os.access(target, os.W_OK):
            raise _refusal(path, "it is read-only")
        for given in inputs:
            if target == given.resolve() or (
                given.is_dir() and target in map(Path.resolve, given.iterdir())
            ):
                raise _refusal(path, f"it would replace {given}, which is in use")
            if target.suffix == ".json" and given.is_dir() and target.parent == given.resolve():
                raise _refusal(path, f"{given} is compared, and every *.json in it is read")
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except RuntimeError:  # Python before 3.13 finds a loop of links so
        raise _refusal(path, "its links form a cycle") from None
    except OSError as fault:
        raise _refusal(path, fault.strerror or str(fault)) from None
    return target


def _refuse_folder(path: Path, target: Path, baselines: Path) -> None:
    if target.is_relative_to(baselines.resolve()):
        raise _refusal(
            path, f"{baselines} holds baselines, which only --record writes; name another file"
        )


def _refusal(path: Path, why: str) -> UserError:
    return UserError(f"cannot write {path}: {why}")
