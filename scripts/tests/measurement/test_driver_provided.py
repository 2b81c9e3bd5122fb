# SPDX-License-Identifier: Apache-2.0
"""The driver is there when programs are measured, whoever built them."""

from __future__ import annotations

from pathlib import Path

import pytest

from clone import Repository
from two_folders import TwoFolders
from warpgauge.execution import build, drive_lines
from warpgauge.system import environment
from warpgauge.system.errors import UserError


@pytest.fixture
def targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What is built where no driver is; nothing comes of it."""
    built: list[object] = []

    def begins(*_: object, targets: object = ()) -> None:
        built.append(targets)

    monkeypatch.setenv(drive_lines.VARIABLE, str(tmp_path / "gone" / "warpgauge_drive"))
    monkeypatch.setattr(build, "build", begins)
    monkeypatch.setattr(environment, "provide", lambda *_: None)
    return built


def test_a_driver_that_is_missing_is_built_for_programs_of_ours(
    folders: TwoFolders, targets: list[object]
) -> None:
    for side in ("base", "candidate"):
        folders.make(side, "ours", plain=False)
    with pytest.raises(UserError, match=r"gone/warpgauge_drive: .* No such file .*: build it"):
        folders.beside()
    assert targets == [[drive_lines.TARGET]]


def test_other_programs_need_no_driver(folders: TwoFolders, targets: list[object]) -> None:
    folders.both("theirs")
    folders.beside("--budget=2m")
    assert targets == []


def test_programs_that_are_not_built_here_get_a_driver_too(
    repository: Repository, targets: list[object]
) -> None:
    with pytest.raises(UserError, match="build it"):
        repository.bench("--quick", "--no-build")
    assert targets == [[drive_lines.TARGET]]
