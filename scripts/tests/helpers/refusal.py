# SPDX-License-Identifier: Apache-2.0
"""What a file that cannot be used is answered with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from warpgauge.records.load import load
from warpgauge.system.errors import ExitStatus, UserError


def fault(path: Path) -> str:
    """The one sentence of the error that loading `path` raises."""
    with pytest.raises(UserError) as raised:
        load(path)
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
