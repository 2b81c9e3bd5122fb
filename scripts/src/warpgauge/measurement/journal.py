# SPDX-License-Identifier: Apache-2.0
"""What a run has delivered so far, kept on disk, so that an interrupted one can go on.

One file a turn, whole or not there. It is found again by what was run: whoever goes the same way
again is handed what is there, and measures the rest.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpgauge.files.atomic import replace_all
from warpgauge.system.errors import UserError

FORMAT = "journal/1"
SUFFIX = ".journal"
_START = "start.json"

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Journal:
    """The journal in `folder`."""

    folder: Path

    def find(self, key: Sequence[str]) -> Json | None:
        """What was kept under this key; None for nothing, or nothing that can be read."""
        try:
            kept = json.loads(self._path(key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return kept if isinstance(kept, dict) else None

    def keep(self, key: Sequence[str], delivered: Json) -> None:
        """On disk when this returns. Raises UserError."""
        replace_all({self._path(key): json.dumps(delivered)})

    def of(self, what: str) -> Path:
        """The folder of a journal within this one, of one of several runs; it may not be there."""
        return self.folder / f"{what}{SUFFIX}"

    @property
    def size(self) -> int:
        """How many turns it holds."""
        return sum(path.name != _START for path in self.folder.glob("*.json"))

    def remove(self) -> None:
        """It has served: the run file is there."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, key: Sequence[str]) -> Path:
        digest = hashlib.sha256("\0".join(key).encode(errors="surrogateescape")).hexdigest()
        return self.folder / f"{digest[:24]}.json"


def begin(folder: Path, facts: Json) -> Journal:
    """A new journal. Raises UserError."""
    journal = Journal(folder)
    journal.remove()
    replace_all({journal.folder / _START: json.dumps({"warpgauge_format": FORMAT, **facts})})
    return journal


def is_begun(folder: Path) -> bool:
    """Whether a journal is there; of one whose run was killed at once it may be the folder."""
    return (folder / _START).is_file()


def opened(folder: Path, keys: Collection[str]) -> tuple[Journal, Json]:
    """A journal that is there, and the facts that it began with, `keys` among them.

    Raises UserError.
    """
    try:
        start = json.loads((folder / _START).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UserError(
            f"{folder} holds no run to resume: name a folder that ends in {SUFFIX}"
        ) from None
    known = isinstance(start, dict) and start.get("warpgauge_format") == FORMAT
    if not known or not start.keys() >= set(keys):
        raise UserError(f"{folder} is no journal that this scripts/bench can read: measure anew")
    return Journal(folder), start


def newest(runs: Path) -> Path:
    """The journal in the folder `runs` that was written last. Raises UserError for none."""
    found = [path.parent for path in runs.glob(f"*{SUFFIX}/{_START}")]
    if not found:
        raise UserError(
            f"{os.path.relpath(runs)} holds no interrupted run to resume; name the folder, "
            f"<run file>{SUFFIX}, of one that was written elsewhere (--out)"
        )
    return max(found, key=lambda folder: folder.stat().st_mtime_ns)
