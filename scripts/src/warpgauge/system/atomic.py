# SPDX-License-Identifier: Apache-2.0
"""Replace each file by one rename, so that a reader never finds half a file."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from warpgauge.system import interrupts
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
    done: list[Path] = []
    try:
        for path, content in contents.items():
            if content is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                new[path] = path.with_name(f".warpgauge-{secrets.token_hex(8)}.new")
                _write_durably(new[path], content)
        with interrupts.postponed():
            for path in contents:
                if path in new:
                    new[path].replace(path)
                else:
                    path.unlink()
                done.append(path)
    except KeyboardInterrupt as stop:
        if changed and len(done) == len(contents):
            raise interrupts.told(stop, changed) from None
        raise
    except OSError as fault:
        what = f"{path} cannot be {'deleted' if contents[path] is None else 'written'}"
        names = [path.name for path in done]
        before = f"already changed: {listed(names)}" if names else "nothing was changed"
        raise UserError(f"{what} ({_why(fault)}); {before}") from None
    finally:
        for left in new.values():
            left.unlink(missing_ok=True)
    for folder in dict.fromkeys(path.parent for path in contents):
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


def _bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


def _write_durably(path: Path, content: str | bytes) -> None:
    """Write a new file, and wait until the disk has it."""
    with path.open("xb") as stream:
        stream.write(_bytes(content))
        stream.flush()
        os.fsync(stream.fileno())


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
