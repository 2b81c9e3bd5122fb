# SPDX-License-Identifier: Apache-2.0
"""Output files that the user named: checked before the work, and written after it."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path

from warpgauge.system.atomic import replace_all
from warpgauge.system.errors import UserError

# Other names of standard output. Anything else printed there would spoil a report.
STANDARD_OUTPUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def check_file(
    path: Path, baselines: Path, inputs: Sequence[Path], own: re.Pattern[bytes], kind: str
) -> None:
    """Raise UserError unless a file may be written: a new one, or over one of its `kind`.

    `own` recognises that kind, in the text, so that damaged files are recognised too. The file must
    not replace an input, and not go among the baselines.
    """
    try:
        target = path.resolve()
        if target.is_relative_to(baselines.resolve()):
            why = f"{baselines} holds baselines, which only --record writes; name another file"
            raise _refusal(path, why)
        if target.exists() and not target.is_file():
            raise _refusal(path, "it is not a regular file")
        if target.exists() and not os.access(target, os.W_OK):
            raise _refusal(path, "it is read-only")
        for source in (given.resolve() for given in inputs):
            if target == source or (target.parent == source and target.suffix == ".json"):
                raise _refusal(path, f"{source} is in use; of a folder, every *.json is")
        with tempfile.TemporaryFile(dir=target.parent):
            held = target.read_bytes() if target.exists() else b""
    except RuntimeError:  # a loop of links, before Python 3.13
        raise _refusal(path, "its links form a cycle") from None
    except OSError as fault:
        raise _refusal(path, fault.strerror or str(fault)) from None
    if held.strip() and not own.search(held):
        raise _refusal(path, f"the file exists and is no {kind}; name another file")


def check_report(
    path: Path, baselines: Path, inputs: Sequence[Path], own: re.Pattern[bytes], kind: str
) -> None:
    """Like `check_file`, but the report may go to a pipe or a device."""
    if not is_stream(path):
        check_file(path, baselines, inputs, own, kind)


def require_empty(folder: Path) -> None:
    """Raise UserError if the folder exists and is not empty, or is a file."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} exists and is not empty: remove it, or name another --out-dir")


def is_stream(path: Path) -> bool:
    """Return whether this is a pipe or a character device, which cannot be replaced."""
    try:
        mode = path.stat().st_mode
    except OSError:  # absent or inaccessible
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def write(path: Path, content: str | bytes) -> None:
    """Replace the file that `path` leads to, or write to the stream. Raise UserError."""
    content = content.encode() if isinstance(content, str) else content
    if not is_stream(path):
        replace_all({path.resolve(): content})  # a link stays a link
        return
    try:
        path.write_bytes(content)
    except BrokenPipeError:  # its reader left
        pass
    except OSError as fault:
        raise _refusal(path, fault.strerror or str(fault)) from None


def _refusal(path: Path, why: str) -> UserError:
    return UserError(f"cannot write {path}: {why}")
