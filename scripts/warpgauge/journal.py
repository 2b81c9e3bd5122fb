# SPDX-License-Identifier: Apache-2.0
"""What a run has delivered so far, kept on disk, so that an interrupted one can go on.

One file a process, whole or not there; it is found again by what was run, so that whoever goes the
same way again is handed what is there and measures the rest.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpgauge.errors import UserError
from warpgauge.files import replace_all

FORMAT = "journal/1"
_START = "start.json"
_SUFFIX = ".journal"

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Journal:
    """The journal in `folder`. Every method raises UserError for a disk that is full or gone."""

    folder: Path

    def find(self, key: Sequence[str]) -> Json | None:
        """What was kept under this key; None for nothing, or nothing that can be read."""
        try:
            kept = json.loads(self._path(key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return kept if isinstance(kept, dict) else None

    def keep(self, key: Sequence[str], delivered: Json) -> None:
        """On disk when this returns."""
        replace_all({self._path(key): json.dumps(delivered)})

    def kept(self) -> int:
        """How many there are."""
        return sum(path.name != _START for path in self.folder.glob("*.json"))

    def remove(self) -> None:
        """It has served: its run file is there."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, key: Sequence[str]) -> Path:
        digest = hashlib.sha256("\0".join(key).encode(errors="surrogateescape")).hexdigest()
        return self.folder / f"{digest[:24]}.json"


def of_run(run: Path) -> Path:
    """The journal's folder beside a run file."""
    return run.with_name(f"{run.stem}{_SUFFIX}")


def begin(run: Path, facts: Json) -> Journal:
    """A new journal for the run file `run`. Raises UserError."""
    journal = Journal(of_run(run))
    journal.remove()
    replace_all({journal.folder / _START: json.dumps({"warpgauge_format": FORMAT, **facts})})
    return journal


def resumed(folder: Path) -> tuple[Journal, Json]:
    """A journal that is there, and the facts that it began with. Raises UserError."""
    try:
        start = json.loads((folder / _START).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UserError(f"{folder} holds no run to resume: name a folder ending in {_SUFFIX}")
    if not isinstance(start, dict) or start.get("warpgauge_format") != FORMAT:
        raise UserError(f"{folder} is no journal that this scripts/bench can read: measure anew")
    return Journal(folder), start


def newest(runs: Path) -> Path:
    """The journal in the folder `runs` that was written last. Raises UserError for none."""
    found = [path.parent for path in runs.glob(f"*{_SUFFIX}/{_START}")]
    if not found:
        raise UserError(f"{os.path.relpath(runs)} holds no interrupted run to resume")
    return max(found, key=lambda folder: folder.stat().st_mtime)
