# SPDX-License-Identifier: Apache-2.0
"""One command at a time on a folder: the next one waits until this one has ended, however it did.

Two that measure in one tree would disturb each other and build over each other; two that add a
session to a baseline would lose one of the two.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from warpgauge.errors import UserError


@contextmanager
def alone(folder: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold `folder`, made as needed; `waiting` is called once where another command holds it.

    Where the file system cannot say (some network ones), nobody waits. Raises UserError for a
    folder that cannot be made or opened.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = os.open(folder, os.O_RDONLY)
    except OSError as fault:
        raise UserError(f"{folder} cannot be written ({fault.strerror or fault})") from None
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(held, fcntl.LOCK_EX)
        except OSError:
            pass
        yield
    finally:
        os.close(held)
