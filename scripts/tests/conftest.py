# SPDX-License-Identifier: Apache-2.0
"""Fixtures that several test files share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import builders
from baselines import Baselines
from clone import HOST_TIMES, TIMES, Repository
from warpgauge import build, system_packages
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


@pytest.fixture
def repository(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Repository:
    """A clone with a commit, on a machine with a GPU, whose build takes no time."""
    monkeypatch.setenv("WARPGAUGE_COMMIT", "0123456789" * 4)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(system_packages, "provide", lambda needs, say: None)
    monkeypatch.setattr(build, "build", lambda *arguments: None)
    made = Repository(tmp_path, capsys)
    made.binary("host", HOST_TIMES)
    made.binary("sync", TIMES)
    return made


@pytest.fixture
def baselines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Baselines:
    """The root that one is in, whose baselines are still to be written; the terminal is wide."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)
    return Baselines(tmp_path, capsys)
