# SPDX-License-Identifier: Apache-2.0
"""Detects changes during a run to files that affect what the programs measure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from warpgauge.system.errors import ExitStatus, UserError

_PIECE_BYTES = 1 << 20


# Inode, size, modification time and change time. It changes when a file is replaced, written or
# touched, even by a copy that preserves the modification time.
_Stamp = tuple[int, int, int, int]
_Content = tuple[_Stamp | None, str]  # a digest; None and "" for an unreadable file


@dataclass
class InputFiles:
    """First known content of each file. A file is read again only if its stamp changes."""

    _first: dict[Path, _Content] = field(default_factory=dict)

    def digest(self, path: Path) -> str:
        """Return the digest of a file's content when it was first read."""
        if path not in self._first:
            self._first[path] = _content(path)
        return self._first[path][1]

    def require_unchanged(self, paths: Iterable[Path]) -> None:
        """Raise UserError for a file whose content differs from when it was first read."""
        for path in paths:
            first = self.digest(path)
            if _stamp(path) == self._first[path][0]:
                continue
            now = _content(path)
            if now[1] != first:
                fault = f"{path} was replaced while it was measured"
                raise UserError(f"{fault}: measure again", ExitStatus.NOT_MEASURED)
            self._first[path] = now


def _stamp(path: Path) -> _Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _content(path: Path) -> _Content:
    """Hash a file. The stamp is taken first, so that writes during reading are seen next time."""
    stamp, digest = _stamp(path), hashlib.sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE_BYTES):
                digest.update(piece)
    except OSError:
        return None, ""
    return stamp, digest.hexdigest()
