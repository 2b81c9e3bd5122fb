# SPDX-License-Identifier: Apache-2.0
"""Replace files so that a failure at any moment leaves the old ones."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

from warpgauge.files.undo import Work, beside, settle
from warpgauge.system import interrupts
from warpgauge.system.errors import UserError


def replace_all(contents: Mapping[Path, str | bytes | None], *, changed: str = "") -> None:
    """Write every file beside its place, then rename all; a failure leaves all files unchanged.

    A file whose content is None is deleted in the same step. Text becomes UTF-8. Folders are
    made as needed. Raise UserError, which says so if a file was changed after all. An interrupt
    takes effect before the first change, or after the last one and then says `changed`.

    After a kill, the next command that changes or reads that folder undoes a partial change. A
    link is refused: its target may lie in another folder, which no command reads.
    """
    for path in contents:
        if path.is_symlink():
            raise UserError(f"{path} is a link: replace it by the file that it points to")
    at: _Change | None = None
    changes: list[_Change] = []
    done = False
    with contextlib.ExitStack() as held:
        try:
            folders = list(dict.fromkeys(path.parent for path in contents))
            for folder in folders:
                folder.mkdir(parents=True, exist_ok=True)
                settle(folder)
            works = {folder: held.enter_context(beside(folder)) for folder in folders}
            for path, content in contents.items():
                at = _Change(path, works[path.parent], content)
                changes.append(at)
                at.prepare()
            with interrupts.postponed():
                for work in works.values():
                    work.begin()
                for at in changes:
                    at.commit()
                for work in works.values():
                    work.end()
                done = True
        except KeyboardInterrupt as stop:
            if not done:
                _put_back(changes)
            raise (interrupts.told(stop, changed) if done and changed else stop) from None
        except BaseException as fault:
            outcome = _put_back(changes)
            if not isinstance(fault, OSError):
                raise
            what = f"{at.path} cannot be {at.done}" if at else f"{fault.filename} cannot be written"
            raise UserError(f"{what} ({_why(fault)}); {outcome or 'nothing was changed'}") from None
    for folder in works:
        _sync(folder)


def write(path: Path, content: str | bytes) -> None:
    """Replace the file that `path` leads to, or write to the stream. Raise UserError."""
    if is_stream(path):
        write_stream(path, content)
    else:  # a link stays a link
        replace_all({resolved(path): content})


def is_stream(path: Path) -> bool:
    """Return whether this is a pipe or a character device, which cannot be replaced."""
    try:
        mode = path.stat().st_mode
    except OSError:  # absent or inaccessible
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def resolved(path: Path) -> Path:
    """Return the target of `path`, or `path` itself if unknown, as in a loop of links."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path


def write_stream(path: Path, content: str | bytes) -> None:
    """Write to a stream (`is_stream`) directly; its reader may close it. Raise UserError."""
    try:
        with path.open("wb") as stream:
            stream.write(_bytes(content))
    except BrokenPipeError:
        pass
    except OSError as fault:
        raise UserError(f"{path} cannot be written ({_why(fault)})") from None


def _put_back(changes: list[_Change]) -> str:
    """Undo the changes; return a sentence on files that could not be restored, or ""."""
    changed = [one for one in changes if not one.put_back()]
    for work in {one.work for one in changes}:
        work.stuck = any(one.work is work for one in changed)
        if not work.stuck and work.begun:
            with contextlib.suppress(OSError):
                work.end()
    return "; ".join(
        f"{one.path} could not be restored; its old content is in {one.old}" for one in changed
    )


class _Change:
    """The change of one file, in two steps, and its undoing.

    A file to delete is renamed, and removed when all files are changed. For any other file the new
    content is first written beside it, and the old content is kept until all are renamed.
    """

    def __init__(self, path: Path, work: Work, content: str | bytes | None) -> None:
        self.path = path
        self.work = work
        self.done = "written" if content is not None else "deleted"
        self._content = content
        self._prepared = False

    @property
    def old(self) -> Path:
        return self.work.of("old", self.path.name)

    @property
    def _new(self) -> Path:
        return self.work.of("new", self.path.name)

    def prepare(self) -> None:
        """Do everything that can fail, while the file is untouched."""
        if self._content is None:
            return
        with self._new.open("wb") as stream:
            stream.write(_bytes(self._content))
            stream.flush()
            os.fsync(stream.fileno())
        if os.path.lexists(self.path):
            try:
                os.link(self.path, self.old, follow_symlinks=False)
            except OSError:  # a file system without hard links
                shutil.copy2(self.path, self.old, follow_symlinks=False)
        else:
            self.work.of("absent", self.path.name).touch()
        self._prepared = True

    def commit(self) -> None:
        """Change the file, by one rename."""
        if self._content is None:
            self.path.replace(self.old)
        else:
            self._new.replace(self.path)

    def put_back(self) -> bool:
        """Undo the change if there was one; return whether the file is as before."""
        if self._content is None:
            untouched = os.path.lexists(self.path) or not os.path.lexists(self.old)
        else:
            untouched = not self._prepared or os.path.lexists(self._new)
        if untouched:
            return True
        try:
            if os.path.lexists(self.old):
                self.old.replace(self.path)
            else:
                self.path.unlink()
        except OSError:
            return False
        return True


def _bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


def _sync(folder: Path) -> None:
    """Make the renames in `folder` durable."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as fault:
        raise UserError(
            f"the files in {folder} were replaced, but a power failure now may undo it "
            f"({_why(fault)}); check its disk"
        ) from None


def _why(fault: OSError) -> str:
    return fault.strerror or str(fault)
