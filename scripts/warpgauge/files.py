# SPDX-License-Identifier: Apache-2.0
"""Replacing files so that a failure at any moment leaves what was there before."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from warpgauge.errors import UserError


def replace_all(texts: Mapping[Path, str]) -> None:
    """Write every file beside its place, then rename all; on failure all are what they were.

    Folders are made as needed. Raises UserError, which says so when a file was changed after all.
    """
    replacements = [_Replacement(path) for path in texts]
    at = Path()
    try:
        for one in replacements:
            at = one.path
            one.prepare(texts[at])
        for one in replacements:
            at = one.path
            one.new.replace(at)
    except BaseException as fault:
        changed = [one for one in replacements if not one.put_back()]
        if not isinstance(fault, OSError):  # Ctrl-C, most likely
            raise
        outcome = "; ".join(
            f"{one.path} could not be put back, what it held is in {one.old}" for one in changed
        )
        raise UserError(
            f"{at} cannot be written ({_why(fault)}); {outcome or 'nothing was changed'}"
        ) from None
    finally:
        for one in replacements:
            one.clean()
    for folder in {one.path.parent for one in replacements}:
        _sync(folder)


class _Replacement:
    """One file: its new content beside it, and its old one kept until all files are renamed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.new = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        self.old = path.with_name(f".{path.name}.{os.getpid()}.old")
        self._prepared = False
        self._stuck = False

    def prepare(self, text: str) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.new.open("w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        if os.path.lexists(self.path):
            self.old.unlink(missing_ok=True)
            _duplicate(self.path, self.old)
        self._prepared = True

    def put_back(self) -> bool:
        """Undo the rename if there was one; whether the file is what it was."""
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
