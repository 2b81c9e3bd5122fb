# SPDX-License-Identifier: Apache-2.0
"""Working files beside files that are being changed; they undo a change cut off by a kill."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from warpgauge.system.errors import UserError

# Working folders lie beside the files and hold their new and old contents. The names begin with
# _BESIDE; they end in _PREPARED before the first change and in _CHANGING until the last one.
_BESIDE, _PREPARED, _CHANGING = ".warpgauge-", ".new", ".undo"


def settle(folder: Path) -> None:
    """Undo a partial change that a killed process left in `folder`, and remove its working files.

    Raise UserError if that fails: some files are then new and others old.
    """
    for left in sorted(folder.glob(f"{_BESIDE}*")):
        if left.suffix not in (_PREPARED, _CHANGING) or left.is_symlink():
            continue
        work = Work(left)
        try:
            if not work.hold():
                continue
            if work.begun:
                work.undo(folder)
        except OSError as fault:
            raise UserError(
                f"{folder}: a command that was changing its files was killed, and they cannot be "
                f"restored ({fault.strerror or fault}): check its permissions"
            ) from None
        finally:
            work.remove()


class Work:
    """The working folder for changes of one folder's files.

    ``new`` holds the new contents, ``old`` the old ones, ``absent`` the names of files that did not
    exist. The folder is locked for as long as its process lives.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stuck = False
        self._held: int | None = None

    def hold(self, *, own: bool = False) -> bool:
        """Lock the folder; return whether its process is gone or has finished.

        If the file system cannot lock (some network ones), return whether it is one's `own`.
        """
        self.stuck = True
        try:
            self._held = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            # Checks that it was not removed, or replaced by another, since it was opened.
            if self._locked(self._held, own):
                self.stuck = os.fstat(self._held).st_ino != self.path.lstat().st_ino
        except (FileNotFoundError, NotADirectoryError):
            pass
        return not self.stuck

    def _locked(self, held: int, own: bool) -> bool:
        try:
            # Waits only for a process that changes files, not for one that prepares.
            fcntl.flock(held, fcntl.LOCK_EX | (0 if self.begun else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        except OSError:
            return own
        return True

    @property
    def begun(self) -> bool:
        """Whether a change is in progress or was cut off."""
        return self.path.suffix == _CHANGING

    def of(self, kind: str, name: str = "") -> Path:
        return self.path / kind / name

    def begin(self) -> None:
        """Mark the start of the change; a later failure undoes it."""
        self._rename(_CHANGING)

    def end(self) -> None:
        self._rename(_PREPARED)

    def _rename(self, suffix: str) -> None:
        renamed = self.path.with_suffix(suffix)
        self.path.rename(renamed)
        self.path = renamed

    def undo(self, folder: Path) -> None:
        """Restore the files. Some may be restored already, if an earlier undo was killed too."""
        for name in self._names("absent"):
            if not os.path.lexists(self.of("new", name)):
                (folder / name).unlink(missing_ok=True)
        for name in self._names("old"):
            self.of("old", name).replace(folder / name)
        self.end()

    def _names(self, kind: str) -> list[str]:
        inside = self.of(kind)
        there = inside.is_dir() and not inside.is_symlink()
        return [one.name for one in inside.iterdir()] if there else []

    def remove(self) -> None:
        """Remove the working folder, unless it has the only copy of a file, and unlock it."""
        if not self.stuck and not self.begun:
            shutil.rmtree(self.path, ignore_errors=True)
        if self._held is not None:
            os.close(self._held)


@contextlib.contextmanager
def beside(folder: Path) -> Iterator[Work]:
    while not (work := Work(Path(tempfile.mkdtemp(_PREPARED, _BESIDE, folder)))).hold(own=True):
        work.remove()  # another process's `settle` was faster
    try:
        for kind in ("new", "old", "absent"):
            work.of(kind).mkdir()
        yield work
    finally:
        work.remove()
