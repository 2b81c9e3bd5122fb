# SPDX-License-Identifier: Apache-2.0
"""The checker of an evaluation in a thread, and programs that measure with the fake engine."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from warpgauge.callables import checker
from warpgauge.callables.messages import Channel, Values, names_of


@contextmanager
def serving(folder: Path, base: Path, **settings: object) -> Iterator[tuple[Channel, Values]]:
    """Yield the evaluation's channel to the checker, and the checker's first answer."""
    (folder / "checker.socket").unlink(missing_ok=True)
    names_of.cache_clear()  # it is another process
    ours, theirs = socket.socketpair()
    ours.settimeout(60)
    thread = Thread(target=checker.main, args=([str(theirs.detach())],), daemon=True)
    thread.start()
    control = Channel(ours)
    named = {"base": str(base), "function": "kernel", "inputs": str(base), **settings}
    control.send({"socket": str(folder / "checker.socket"), "axes": {}, "shapes": [], **named})
    answer, _ = control.receive()
    yield control, answer
    control.close()
    thread.join(60)
    assert not thread.is_alive()


def words(folder: Path, side: str, kernel: Path, answer: Values, name: str = "kernel") -> list[str]:
    """The command line of a side's program, after the checker's first answer."""
    common = [json.dumps(answer["axes"]), ",".join(answer["frameworks"])]
    return [str(folder / "checker.socket"), side, str(kernel), name, *common]
