# SPDX-License-Identifier: Apache-2.0
"""Detects changes during a run to files that affect what the programs measure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from warpgauge.system.errors import ExitStatus, UserError

# Inode, size, modification time and change time. It changes when a file is replaced, written or
# touched, even by a copy that preserves the modification time. None if there is no file.
_Stamp = tuple[int, int, int, int] | None


@dataclass
class InputFiles:
    """The files of a run, as they were when the run first used them."""

    _first: dict[Path, _Stamp] = field(default_factory=dict)

    def digest(self, path: Path) -> str:
        """Return the digest of a file's content; empty if it cannot be read."""
        self.require_unchanged([path])
        try:
            return hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError:
            return ""

    def require_unchanged(self, paths: Iterable[Path]) -> None:
        """Raise UserError for a file that was replaced, written or touched since its first use."""
        for path in paths:
            now = _stamp(path)
            if self._first.setdefault(path, now) != now:
                fault = f"{path} was replaced while it was measured"
                raise UserError(f"{fault}: measure again", ExitStatus.NOT_MEASURED)


def _stamp(path: Path) -> _Stamp:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
