# SPDX-License-Identifier: Apache-2.0
"""Keeps what a run has measured on disk, so that an interrupted run can be resumed.

A journal is a folder. The driver writes its lines into it (N.lines), beside what it is asked
(N.plan). A resumed run does the same as the first time: where it would ask the driver the same, it
reads those lines instead. Other documents are kept under a digest of their key.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import msgspec

from warpgauge.measure import drive_lines
from warpgauge.measure.drive_lines import Begin, End, Fault, Line
from warpgauge.system import contract
from warpgauge.system.atomic import replace_all
from warpgauge.system.errors import UserError
from warpgauge.system.location import Place

SUFFIX = ".journal"
_START = "start.json"

T = TypeVar("T")


class Start(contract.Document, frozen=True, tag="journal/1"):
    """What identifies a run: how it was called, and what it measures."""

    argv: tuple[str, ...]
    seed: int
    run: str
    folder: str  # working directory of the call
    part: str = ""  # name in its files, if it is of one of several GPUs
    programs: str = ""
    gpu: str = ""
    source: dict[str, str] = msgspec.field(default_factory=dict)


@dataclass
class Journal:
    folder: Path
    used: list[Path] = field(default_factory=list)  # plans, in the order in which they were asked
    is_replayed: bool = False  # the last one was recorded, and more are

    @cached_property
    def _left(self) -> list[Path]:
        """The plans of the interrupted run that this one has not asked yet."""
        plans = sorted(self.folder.glob("*.plan"), key=lambda path: int(path.stem))
        if plans:
            _cut(plans[-1].with_suffix(".lines"))
        return plans

    def recorded(self, plan: bytes) -> list[Line] | None:
        """Return what the driver has reported for this plan; None if it must be asked."""
        path = next((one for one in self._left if one.read_bytes() == plan), None)
        if path is None:
            return None
        self._left.remove(path)
        self.used.append(path)
        self.is_replayed = bool(self._left)
        return drive_lines.recorded(path.with_suffix(".lines"))

    def begin(self, plan: bytes) -> tuple[Path, Path]:
        """Write a plan for the driver; return its path, and that of the lines."""
        self.folder.mkdir(parents=True, exist_ok=True)
        last = max((int(path.stem) for path in self.folder.glob("*.plan")), default=0)
        path = self.folder / f"{last + 1}.plan"
        path.write_bytes(plan)
        self.used.append(path)
        self.is_replayed = False
        return path, path.with_suffix(".lines")

    def forget(self, first: int, programs: int = 0) -> None:
        """Remove `used[first:]`, which a resumed run must measure anew.

        What the first of these says of so many `programs` stays.
        """
        if programs:
            path = self.used[first].with_suffix(".lines")
            _shorten(path, sum(line.program < programs for line in drive_lines.recorded(path)))
            first += 1
        for path in self.used[first:]:
            path.unlink(missing_ok=True)
            path.with_suffix(".lines").unlink(missing_ok=True)
        del self.used[first:]

    @property
    def is_empty(self) -> bool:
        """Whether the driver has reported nothing."""
        return not any(path.stat().st_size for path in self.folder.glob("*.lines"))

    def find(self, key: Sequence[str], kind: type[T]) -> T | None:
        """Return what was kept under this key; None if absent or unreadable."""
        try:
            return msgspec.convert(json.loads(self._path(key).read_text("utf-8")), kind)
        except (OSError, ValueError):
            return None

    def keep(self, key: Sequence[str], document: object) -> None:
        """Write a document to disk before returning. Raises UserError."""
        _write(self._path(key), document)

    def of(self, what: str) -> Path:
        """Return the folder of the nested journal `what`, which may not exist."""
        return self.folder / f"{what}{SUFFIX}"

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, key: Sequence[str]) -> Path:
        digest = hashlib.sha256("\0".join(key).encode(errors="surrogateescape")).hexdigest()
        return self.folder / f"{digest[:24]}.json"


def _cut(path: Path) -> None:
    """Remove the lines of a benchmark that was interrupted.

    A fault may be the interruption itself: who killed the driver killed its programs, too.
    """
    lines = drive_lines.recorded(path)
    begins = (number for number, line in enumerate(lines) if isinstance(line, Begin))
    begun = max(begins, default=0)
    rest = lines[begun:]
    has_ended = rest and isinstance(rest[-1], End) and rest[-1].program == rest[0].program
    if not has_ended or any(isinstance(line, Fault) for line in rest):
        _shorten(path, begun)


def _shorten(path: Path, count: int) -> None:
    """Leave so many lines in a file."""
    whole = path.read_bytes().split(b"\n")[:count] if count else []
    replace_all({path: b"".join(line + b"\n" for line in whole)})


def scratch(folder: Path) -> Journal:
    """Return a new journal in `folder`, of a run that is not to be resumed."""
    return Journal(Path(tempfile.mkdtemp(dir=folder)))


def begin(folder: Path, start: Start) -> Journal:
    journal = Journal(folder)
    journal.remove()
    _write(folder / _START, start)
    return journal


def _write(path: Path, document: object) -> None:
    replace_all({path: json.dumps(msgspec.to_builtins(document))})


def is_begun(folder: Path) -> bool:
    """Return whether a journal was begun. A run killed at once may leave only the folder."""
    return (folder / _START).is_file()


def opened(folder: Path) -> tuple[Journal, Start]:
    """Open an existing journal and return it with its start record. Raises UserError."""
    try:
        start = json.loads((folder / _START).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        fault = f"{folder} holds no run to resume: name a folder with the suffix {SUFFIX}"
        raise UserError(fault) from None
    return Journal(folder), contract.decoded(start, Start, Place(folder), "measure anew")


def newest(runs: Path) -> Path:
    """Return the journal in `runs` that was written last. Raises UserError if there is none."""
    found = [path.parent for path in runs.glob(f"*{SUFFIX}/{_START}")]
    if not found:
        raise UserError(
            f"{os.path.relpath(runs)} holds no interrupted run to resume; if the run was of a file "
            f"of benchmarks, name that (FILE.py --resume); if it was written elsewhere (--out), "
            f"its folder <run file>{SUFFIX}"
        )
    return max(found, key=lambda folder: folder.stat().st_mtime_ns)
