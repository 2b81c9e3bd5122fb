# SPDX-License-Identifier: Apache-2.0
"""Whether a file that the user named for output may be written: told before the work for it."""

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

# Found in the text and not by parsing: a damaged baseline is still one.
_BASELINE = re.compile(rb'"warpgauge_format"\s*:\s*"baseline/')
_RUN_FILE = re.compile(rb'"warpgauge_format"\s*:\s*"run/')
_FIDELITY = re.compile(rb'"warpgauge_format"\s*:\s*"fidelity/')


def check_run_file(path: Path, baselines: Path, inputs: Sequence[Path]) -> None:
    """A run file may replace another one, but no baseline, nothing in their folder, no input."""
    target = _check(path, inputs)
    _refuse_folder(path, target, baselines)
    if _holds(path, target, _BASELINE):
        raise _refusal(path, "it is a baseline; name another file")
    if not _replaceable(path, target, _RUN_FILE):
        raise _refusal(path, "it is there and is no run file; name another file")


def check_fidelity_file(path: Path, baselines: Path) -> None:
    """Findings of `warpgauge fidelity` may replace others, and go nowhere among the baselines."""
    target = _check(path, [])
    _refuse_folder(path, target, baselines)
    if not _replaceable(path, target, _FIDELITY):
        raise _refusal(
            path, "it is there and holds no findings of scripts/warpgauge fidelity; name another"
        )


def check_report(
    path: Path, baselines: Path, inputs: Sequence[Path], own: re.Pattern[bytes], kind: str
) -> None:
    """A report may replace one of its `kind` ("SVG"), which has `own` in it.

    It goes nowhere among the baselines. A pipe or a device has nothing to replace.
    """
    if is_stream(path):
        _refuse_folder(path, path.resolve(), baselines)
        if not os.access(path, os.W_OK):
            raise _refusal(path, "it is read-only")
        return
    target = _check(path, inputs)
    _refuse_folder(path, target, baselines)
    if not _replaceable(path, target, own):
        raise _refusal(path, f"it is there and is no {kind}; name another file")


def _check(path: Path, inputs: Sequence[Path]) -> Path:
    """What `path` leads to: a file that can be written, or a place where one can be."""
    try:
        target = path.resolve()
        if target.is_dir():
            raise _refusal(path, "it is a folder")
        if target.exists() and not target.is_file():
            raise _refusal(path, "it is no regular file")
        if target.exists() and not os.access(target, os.W_OK):
            raise _refusal(path, "it is read-only")
        for given in inputs:
            if target == given.resolve() or (given.is_dir() and target in _inside(given)):
                raise _refusal(path, f"it would replace {given}, which is compared")
            if target.suffix == ".json" and given.is_dir() and target.parent == given.resolve():
                raise _refusal(path, f"{given} is compared, and every *.json in it is read")
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except RuntimeError:  # Python before 3.13 finds a loop of links so
        raise _refusal(path, "its links lead in a circle") from None
    except OSError as fault:
        raise _refusal(path, fault.strerror or str(fault)) from None
    return target


def _refuse_folder(path: Path, target: Path, baselines: Path) -> None:
    if target.is_relative_to(baselines.resolve()):
        raise _refusal(path, f"{baselines} holds baselines, which only --record writes")


def _inside(folder: Path) -> list[Path]:
    return [entry.resolve() for entry in folder.iterdir()]


def _holds(path: Path, target: Path, what: re.Pattern[bytes]) -> bool:
    try:
        return target.exists() and what.search(target.read_bytes()) is not None
    except OSError as fault:
        raise _refusal(path, fault.strerror or str(fault)) from None


def _replaceable(path: Path, target: Path, kind: re.Pattern[bytes]) -> bool:
    """Nothing there, an empty file, or one of the same kind."""
    return not _holds(path, target, re.compile(rb"\S")) or _holds(path, target, kind)


def _refusal(path: Path, why: str) -> UserError:
    return UserError(f"cannot write {path}: {why}")
