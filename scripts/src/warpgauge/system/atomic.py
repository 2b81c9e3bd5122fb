# SPDX-License-Identifier: Apache-2.0
"""Replace each file by one rename, so that a reader never finds half a file."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from warpgauge.system import entry_point
from warpgauge.system.errors import UserError
from warpgauge.system.text import listed


def replace_all(contents: Mapping[Path, str | bytes | None], *, changed: str = "") -> None:
    """Replace every file; one whose content is None is deleted. Text becomes UTF-8.

    All contents are written beside their places first, so that a full disk changes no file.
    Folders are made as needed. Raise UserError, which says whether files were changed before the
    failure; they stay, and git has what they were. An interrupt takes effect before the first
    change, or after the last one and then says `changed`.

    A link is refused: the rename would replace the link, and not the file that it points to.
    """
    for path in contents:
        if path.is_symlink():
            raise UserError(f"{path} is a link: replace it by the file that it points to")
    new: dict[Path, Path] = {}
    done: list[str] = []
    try:
        for path, content in contents.items():
            if content is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                new[path] = path.with_name(f".warpgauge-{secrets.token_hex(8)}.new")
                _write_durably(new[path], content)
        with entry_point.postponed():
            for path in contents:
                if path in new:
                    new[path].replace(path)
                else:
                    path.unlink()
                done.append(path.name)
        for folder in {path.parent for path in contents}:
            _sync(folder)
    except KeyboardInterrupt as stop:
        if changed and len(done) == len(contents):
            stop.args = (changed,)
        raise
    except OSError as fault:
        what = f"{path} cannot be {'deleted' if contents[path] is None else 'written'}"
        before = f"already changed: {listed(done)}" if done else "nothing was changed"
        raise UserError(f"{what} ({fault.strerror or fault}); {before}") from None
    finally:
        for left in new.values():
            left.unlink(missing_ok=True)


def _write_durably(path: Path, content: str | bytes) -> None:
    """Write a new file, and wait until the disk has it."""
    with path.open("xb") as stream:
        stream.write(content.encode() if isinstance(content, str) else content)
        stream.flush()
        os.fsync(stream.fileno())


def _sync(folder: Path) -> None:
    """Make the renames in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
