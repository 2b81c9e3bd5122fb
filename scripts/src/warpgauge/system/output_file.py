# SPDX-License-Identifier: Apache-2.0
"""Check before the work whether an output file that the user named may be written."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from warpgauge.system.atomic import is_stream
from warpgauge.system.errors import UserError

# Other names of standard output. Anything else printed there would spoil a report.
STANDARD_OUTPUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")

# Searched in the text instead of parsed, so that damaged files are recognised too.
_RUN_FILE = re.compile(rb'"warpgauge_format"\s*:\s*"run/')
_FIDELITY = re.compile(rb'"warpgauge_format"\s*:\s*"fidelity/')


def check_run_file(path: Path, baselines: Path, inputs: Sequence[Path]) -> None:
    """Raise UserError unless a run file may be written: not over an input or into the baselines."""
    _require_replaceable(path, baselines, inputs, _RUN_FILE, "is not a run file")


def check_fidelity_file(path: Path, baselines: Path) -> None:
    """Raise UserError unless a file of `warpgauge fidelity` may be written to `path`."""
    told = "holds no findings of scripts/warpgauge fidelity"
    _require_replaceable(path, baselines, [], _FIDELITY, told)


def check_report(
    path: Path, baselines: Path, inputs: Sequence[Path], own: re.Pattern[bytes], kind: str
) -> None:
    """Raise UserError unless a report may be written; it may replace one of its `kind` ("SVG").

    `own` recognises that kind. Reports may not go among the baselines. A pipe or device is fine.
    """
    if not is_stream(path):
        _require_replaceable(path, baselines, inputs, own, f"is no {kind}")
        return
    _refuse_baselines(path, path.resolve(), baselines)
    if not os.access(path, os.W_OK):
        raise _refusal(path, "it is read-only")


def require_empty(folder: Path) -> None:
    """Raise UserError if the folder exists and is not empty, or is a file."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} exists and is not empty: remove it, or name another --out-dir")


def _require_replaceable(
    path: Path, baselines: Path, inputs: Sequence[Path], own: re.Pattern[bytes], told: str
) -> None:
    """Raise UserError unless the file is absent, empty or holds `own`; `told` is the fault."""
    try:
        target = path.resolve()
        _refuse_baselines(path, target, baselines)
        if target.is_dir():
            raise _refusal(path, "it is a folder")
        if not target.parent.exists():
            raise _refusal(path, "its folder does not exist; create it, or name another file")
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
            held = target.read_bytes() if target.exists() else b""
    except RuntimeError:  # a loop of links, before Python 3.13
        raise _refusal(path, "its links form a cycle") from None
    except OSError as fault:
        raise _refusal(path, fault.strerror or str(fault)) from None
    if held.strip() and not own.search(held):
        raise _refusal(path, f"the file exists and {told}; name another file")


def _refuse_baselines(path: Path, target: Path, baselines: Path) -> None:
    if target.is_relative_to(baselines.resolve()):
        raise _refusal(
            path, f"{baselines} holds baselines, which only --record writes; name another file"
        )


def _refusal(path: Path, why: str) -> UserError:
    return UserError(f"cannot write {path}: {why}")
