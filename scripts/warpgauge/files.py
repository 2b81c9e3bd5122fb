# SPDX-License-Identifier: Apache-2.0
"""Replacing files so that a failure at any moment leaves what was there before."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from warpgauge.errors import UserError


def replace_all(texts: Mapping[Path, str]) -> None:
    """Write every file beside its place, then rename all; on failure none is touched.

    Folders are made as needed. Raises UserError.
    """
    written: dict[Path, Path] = {}
    try:
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
            written[path] = beside
            with beside.open("w", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
        for path, beside in written.items():
            beside.replace(path)
        for folder in {path.parent for path in written}:
            _sync(folder)
    except OSError as error:
        raise UserError(
            f"{error.filename or path} cannot be written ({error.strerror}); nothing was changed"
        ) from None
    finally:
        for beside in written.values():
            with contextlib.suppress(OSError):
                beside.unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    """Make the renames in `folder` outlive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
