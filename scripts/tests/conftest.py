# SPDX-License-Identifier: Apache-2.0
"""Fixtures that several test files share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import builders
from warpgauge.load import load
from warpgauge.model import Record

Loader = Callable[[object], Record]


@pytest.fixture
def loaded(tmp_path: Path) -> Loader:
    """Writes a document to a file of its own and loads it."""
    count = iter(range(1000))

    def write_and_load(document: object) -> Record:
        return load(builders.write(tmp_path / "loaded" / f"{next(count)}.json", document))

    return write_and_load
