# SPDX-License-Identifier: Apache-2.0
"""A run of the GPU workflow on GitHub, whose API is on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fake_github import FakeGitHub
from hosted_run import HostedRun
from warpgauge.github import api as github_api


@pytest.fixture
def hosted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HostedRun]:
    monkeypatch.setattr(github_api, "_PAUSES_S", ())
    with FakeGitHub() as api, FakeGitHub() as storage:
        yield HostedRun(tmp_path, api, storage)
