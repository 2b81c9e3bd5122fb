# SPDX-License-Identifier: Apache-2.0
"""What lies beside files while they are changed, and undoes a change that a kill cut off."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from warpgauge.system.errors import UserError

# Of the folder beside the files that holds what they are to become, and what they were: how its
# name begins, and how it ends before the first of them is changed, and from there to the last.
_BESIDE, _PREPARED, _CHANGING = ".warpgauge-", ".new", ".undo"


def settle(folder: Path) -> None:
    """Undo what a killed process left half changed in `folder`, and remove what it left there.

    Raises UserError where it cannot: the files are then of two kinds.
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
    """What lies beside the files of one folder while they are changed, in folders of its own.

    ``new`` holds what files are to become, ``old`` what they were, ``absent`` the names of those
    that were not there. It is locked for as long as its process lives.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stuck = False
        self._held: int | None = None

    def hold(self, *, own: bool = False) -> bool:
        """Whether it is nobody's any more, or was somebody's who is through with it now.

        Where the file system cannot say (some network ones), it is whose `own` it is.
        """
        self.stuck = True
        try:
            self._held = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            # Not removed, or another's of the same name, since it was opened.
            if self._locked(self._held, own):
                self.stuck = os.fstat(self._held).st_ino != self.path.lstat().st_ino
        except (FileNotFoundError, NotADirectoryError):
            pass
        return not self.stuck

    def _locked(self, held: int, own: bool) -> bool:
        try:
            # Who only prepares is waited for by nobody.
            fcntl.flock(held, fcntl.LOCK_EX | (0 if self.begun else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        except OSError:
            return own
        return True

    @property
    def begun(self) -> bool:
        """Whether some files were changed and others not."""
        return self.path.suffix == _CHANGING

    def of(self, kind: str, name: str = "") -> Path:
        return self.path / kind / name

    def begin(self) -> None:
        """From here on a failure undoes what was changed."""
        self._rename(_CHANGING)

    def end(self) -> None:
        self._rename(_PREPARED)

    def _rename(self, suffix: str) -> None:
        renamed = self.path.with_suffix(suffix)
        self.path.rename(renamed)
        self.path = renamed

    def undo(self, folder: Path) -> None:
        """What is there of it may be any part: whoever did this before was killed, too."""
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
        """All of it, unless a file could not be put back: then it is the only one that has it."""
        if not self.stuck and not self.begun:
            shutil.rmtree(self.path, ignore_errors=True)
        if self._held is not None:
            os.close(self._held)


@contextlib.contextmanager
def beside(folder: Path) -> Iterator[Work]:
    while not (work := Work(Path(tempfile.mkdtemp(_PREPARED, _BESIDE, folder)))).hold(own=True):
        work.remove()  # who sweeps here was faster
    try:
        for kind in ("new", "old", "absent"):
            work.of(kind).mkdir()
        yield work
    finally:
        work.remove()
