# SPDX-License-Identifier: Apache-2.0
"""Keeps the results of a run on disk, so that an interrupted run can be resumed.

Each turn has one file, complete or absent. Its name is a digest of what was run.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from warpgauge.system import contract
from warpgauge.system.atomic import replace_all
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.location import Place

SUFFIX = ".journal"
_START = "start.json"

T = TypeVar("T")


class Start(contract.Document, frozen=True, tag="journal/1"):
    """What identifies a run: how it was called, and what it measures.

    `gpus` maps UUIDs to models; `faults` say why other GPUs are not measured.
    """

    argv: tuple[str, ...]
    seed: int
    run: str
    folder: str  # working directory of the call
    programs: str = ""
    gpu: str = ""
    at_once: str = ""
    source: dict[str, str] = msgspec.field(default_factory=dict)
    gpus: dict[str, str] = msgspec.field(default_factory=dict)
    faults: tuple[str, ...] = ()


class Kept(msgspec.Struct, frozen=True):
    """A turn's result without the fields that the turn itself provides."""

    report: dict[str, Any]
    faults: dict[str, str]
    seconds: float
    remarks: tuple[str, ...]
    pair_ratios: dict[str, float] = msgspec.field(default_factory=dict)


class _Ended(msgspec.Struct, frozen=True):
    status: ExitStatus


@dataclass(frozen=True)
class Journal:
    folder: Path

    def find(self, key: Sequence[str], kind: type[T]) -> T | None:
        """Return what was kept under this key; None if absent or unreadable."""
        try:
            return msgspec.convert(json.loads(self._path(key).read_text("utf-8")), kind)
        except (OSError, ValueError):
            return None

    def keep(self, key: Sequence[str], delivered: msgspec.Struct) -> None:
        """Write a result to disk before returning. Raises UserError."""
        _write(self._path(key), delivered)

    def keep_status(self, device: str, status: ExitStatus) -> None:
        """Keep the exit status of the run on one of several GPUs. Raises UserError."""
        self.keep(["gpu", device], _Ended(status))

    def status_of(self, device: str) -> ExitStatus | None:
        """Return the exit status of the run on one of several GPUs; None if it has not ended."""
        ended = self.find(["gpu", device], _Ended)
        return None if ended is None else ended.status

    def of(self, what: str) -> Path:
        """Return the folder of the nested journal `what`, which may not exist."""
        return self.folder / f"{what}{SUFFIX}"

    @property
    def size(self) -> int:
        """The number of turns kept."""
        return sum(path.name != _START for path in self.folder.glob("*.json"))

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, key: Sequence[str]) -> Path:
        digest = hashlib.sha256("\0".join(key).encode(errors="surrogateescape")).hexdigest()
        return self.folder / f"{digest[:24]}.json"


def begin(folder: Path, start: Start) -> Journal:
    journal = Journal(folder)
    journal.remove()
    _write(folder / _START, start)
    return journal


def _write(path: Path, kept: msgspec.Struct) -> None:
    replace_all({path: json.dumps(msgspec.to_builtins(kept))})


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
            f"{os.path.relpath(runs)} holds no interrupted run to resume; if the run was written "
            f"elsewhere (--out), name its folder <run file>{SUFFIX}"
        )
    return max(found, key=lambda folder: folder.stat().st_mtime_ns)
