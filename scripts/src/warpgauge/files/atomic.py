# SPDX-License-Identifier: Apache-2.0
"""Replacing files so that a failure at any moment leaves what was there before."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

from warpgauge.system.errors import UserError


def replace_all(contents: Mapping[Path, str | bytes | None]) -> None:
    """Write every file beside its place, then rename all; on failure all are what they were.

    A file whose content is None is deleted, as part of the same. Text becomes UTF-8. Folders are
    made as needed. Raises UserError, which says so when a file was changed after all.
    """
    changes: list[_Change] = [
        _Deletion(path) if content is None else _Replacement(path, content)
        for path, content in contents.items()
    ]
    at = _Change(Path())
    try:
        for at in changes:
            at.prepare()
        for at in changes:
            at.commit()
    except BaseException as fault:
        changed = [one for one in changes if not one.put_back()]
        if not isinstance(fault, OSError):  # Ctrl-C, most likely
            raise
        outcome = "; ".join(
            f"{one.path} could not be put back, what it held is in {one.old}" for one in changed
        )
        raise UserError(
            f"{at.path} cannot be {at.done} ({_why(fault)}); {outcome or 'nothing was changed'}"
        ) from None
    finally:
        for one in changes:
            one.clean()
    for folder in {one.path.parent for one in changes}:
        _sync(folder)


def is_stream(path: Path) -> bool:
    """Whether this is a pipe or a character device: it can be written to, and not replaced."""
    try:
        mode = path.stat().st_mode
    except OSError:  # nothing there, or nothing that can be told
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def resolved(path: Path) -> Path:
    """What `path` leads to, or itself where nobody can tell, as in a loop of links."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path


def write_stream(path: Path, content: str | bytes) -> None:
    """Write to what `is_stream`, directly; its reader may have had enough. Raises UserError."""
    try:
        with path.open("wb") as stream:
            stream.write(_bytes(content))
    except BrokenPipeError:
        pass
    except OSError as fault:
        raise UserError(f"{path} cannot be written ({_why(fault)})") from None


class _Change:
    """What becomes of one file, in two steps, and how that is undone."""

    done = "changed"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.old = path.parent / f".{path.name}.{os.getpid()}.old"

    def prepare(self) -> None:
        """All that can fail without the file's being touched."""

    def commit(self) -> None:
        """The change itself, in one step."""

    def put_back(self) -> bool:
        """Undo the change if there was one; whether the file is what it was."""
        return True

    def clean(self) -> None:
        """Remove what lies beside the file, unless it is the only one that holds the content."""


class _Deletion(_Change):
    """The file is renamed, and removed under that name when all files are changed."""

    done = "deleted"
    _stuck = False

    def commit(self) -> None:
        self.path.replace(self.old)

    def put_back(self) -> bool:
        if os.path.lexists(self.path):
            return True
        try:
            self.old.replace(self.path)
        except OSError:
            self._stuck = os.path.lexists(self.old)
        return not self._stuck

    def clean(self) -> None:
        if not self._stuck:
            with contextlib.suppress(OSError):
                self.old.unlink(missing_ok=True)


class _Replacement(_Change):
    """Its new content lies beside it, and its old one is kept until all files are renamed."""

    done = "written"

    def __init__(self, path: Path, content: str | bytes) -> None:
        super().__init__(path)
        self.new = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        self._content = content
        self._prepared = False
        self._stuck = False

    def prepare(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.new.open("wb") as stream:
            stream.write(_bytes(self._content))
            stream.flush()
            os.fsync(stream.fileno())
        if os.path.lexists(self.path):
            self.old.unlink(missing_ok=True)
            _duplicate(self.path, self.old)
        self._prepared = True

    def commit(self) -> None:
        self.new.replace(self.path)

    def put_back(self) -> bool:
        if not self._prepared or os.path.lexists(self.new):
            return True
        try:
            if os.path.lexists(self.old):
                self.old.replace(self.path)
            else:
                self.path.unlink()
        except OSError:
            self._stuck = True
        return not self._stuck

    def clean(self) -> None:
        for beside in (self.new,) if self._stuck else (self.new, self.old):
            with contextlib.suppress(OSError):
                beside.unlink(missing_ok=True)


def _bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


def _duplicate(path: Path, beside: Path) -> None:
    """A second name for the same content, or where the file system has none a copy."""
    try:
        os.link(path, beside, follow_symlinks=False)
    except OSError:
        shutil.copy2(path, beside, follow_symlinks=False)


def _sync(folder: Path) -> None:
    """Make the renames in `folder` outlive a power cut."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as fault:
        raise UserError(
            f"the files in {folder} were replaced, but a power cut now may undo it "
            f"({_why(fault)}); see to its disk"
        ) from None


def _why(fault: OSError) -> str:
    return fault.strerror or str(fault)
