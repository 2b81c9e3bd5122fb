# SPDX-License-Identifier: Apache-2.0
"""Lets one command at a time use a folder or a GPU. A process that dies releases its lock.

Standard library only, and valid in Python 3.8, because environment.py imports it.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Optional

from warpgauge.system.errors import UserError

# One folder per GPU, common to all users and trees; read permission is enough.
_GPUS = Path("/tmp")
# The holder's pid; None if the system does not report it.
Holder = Optional[int]  # noqa: UP045 - Python 3.8


def of_gpu(uuid: str) -> Path:
    """Return the folder that represents a GPU."""
    return _GPUS / f"warpgauge-{re.sub(r'[^0-9A-Za-z-]', '_', uuid)}"


@contextmanager
def alone(folder: Path, waiting: Callable[[Holder], None] = lambda _: None) -> Iterator[None]:
    """Lock `folder`, made as needed; if another command holds it, call `waiting` and wait.

    `waiting` may raise. On a file system without locks (some network ones) nobody waits. Raises
    UserError if the folder cannot be made or opened.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as fault:
        raise UserError(f"{folder} cannot be written ({fault.strerror or fault})") from None
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting(_holder(held))
            fcntl.flock(held, fcntl.LOCK_EX)
        except OSError:
            pass
        yield
    finally:
        os.close(held)


@contextmanager
def alone_on(
    gpus: Iterable[str], waiting: Callable[[Holder], None] = lambda _: None
) -> Iterator[None]:
    """Lock all of the GPUs with these UUIDs, like `alone`.

    All commands lock in the same order, so that two which share GPUs cannot deadlock.
    """
    with ExitStack() as held:
        for uuid in sorted({*gpus}):
            held.enter_context(alone(of_gpu(uuid), waiting))
        yield


def _holder(held: int) -> Holder:
    """Return the process that holds the lock, from Linux's list of locks (proc(5))."""
    try:
        locks = Path("/proc/locks").read_text()
    except OSError:
        return None
    # 1: FLOCK ADVISORY WRITE 1234 08:01:131 0 EOF; pid -1 or 0 belongs to another namespace.
    line = rf"^\d+: FLOCK +\S+ +\S+ +([1-9]\d*) +\S+:{os.fstat(held).st_ino} "
    found = re.search(line, locks, re.MULTILINE)
    return int(found[1]) if found else None
