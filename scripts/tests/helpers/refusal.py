# SPDX-License-Identifier: Apache-2.0
"""What a file that cannot be used is answered with."""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable
from pathlib import Path

import pytest

from warpgauge.records.load import load
from warpgauge.system.errors import ExitStatus, UserError


def fault(path: Path, within_s: float = 1.0) -> str:
    """The one sentence of the error that loading `path` raises, in time (of a usual core)."""
    begin = time.process_time()
    with pytest.raises(UserError) as raised:
        load(path)
    taken_s = time.process_time() - begin
    assert taken_s < within_s or taken_s < within_s * _slowness()
    assert raised.value.status is ExitStatus.BAD_USAGE
    sentence = str(raised.value)
    assert sentence.startswith(str(path))
    assert sentence.isprintable()
    assert "; " in sentence  # behind it stands what to do
    assert len(sentence) < 1000
    return sentence


def told(path: Path, load: Callable[[Path], object]) -> str:
    """The one sentence of the error that `load` raises, without the file's name."""
    with pytest.raises(UserError) as caught:
        load(path)
    message = str(caught.value)
    assert message.isprintable()
    assert message.startswith(str(path))
    assert caught.value.status is ExitStatus.BAD_USAGE
    return message.removeprefix(str(path))


def _slowness() -> float:
    """1 on a usual core or a faster one, 2 where everything takes twice as long at the moment."""
    loop = "for step in range(200_000): total += step * step"
    seconds = timeit.repeat(loop, "total = 0", time.process_time, repeat=3, number=1)
    return max(1.0, min(seconds) / 0.015)  # where Python 3.11 runs at 3 GHz
