# SPDX-License-Identifier: Apache-2.0
"""The driver is there when programs are measured, whoever built them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import driver_of_tests
from clone import Repository
from two_folders import TwoFolders
from warpgauge.measure import build, drive_lines
from warpgauge.system import environment, locks
from warpgauge.system.errors import ExitStatus, UserError

DRIVER = Path("build", drive_lines.PRESET, drive_lines.TARGET)


def make(root: Path) -> None:
    (root / DRIVER).parent.mkdir(parents=True, exist_ok=True)
    (root / DRIVER).symlink_to(driver_of_tests.driver())


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What is built in a clone that was never built."""
    built: list[object] = []

    def begins(root: Path, preset: str, *_: object, targets: object = ()) -> None:
        built.append((preset, targets))
        make(root)

    monkeypatch.delenv(drive_lines.VARIABLE)
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    (tmp_path / "CMakePresets.json").touch()
    monkeypatch.setattr(build, "build", begins)
    monkeypatch.setattr(environment, "provide", lambda *_: None)
    return built


@pytest.fixture
def ours(folders: TwoFolders) -> TwoFolders:
    """Programs that use warpgauge."""
    for side in ("base", "candidate"):
        folders.make(side, "ours", plain=False)
    return folders


def test_a_driver_that_is_missing_is_built_once_for_programs_of_ours(
    ours: TwoFolders, built: list[object]
) -> None:
    assert ours.beside() is ExitStatus.OK
    assert ours.beside() is ExitStatus.OK
    assert built == [(drive_lines.PRESET, [drive_lines.TARGET])]


def test_a_driver_that_another_command_builds_is_waited_for(
    ours: TwoFolders, built: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def alone(folder: Path) -> Iterator[None]:
        assert folder == (ours.root / DRIVER).parent
        make(ours.root)  # by the one that held the lock
        yield

    monkeypatch.setattr(locks, "alone", alone)
    assert ours.beside() is ExitStatus.OK
    assert built == []


def test_the_driver_of_a_whole_build_is_preferred(ours: TwoFolders, built: list[object]) -> None:
    make(ours.root)
    whole = ours.root / "build" / "release" / drive_lines.TARGET
    whole.parent.mkdir()
    whole.symlink_to(driver_of_tests.driver())
    assert drive_lines.driver() == whole
    assert ours.beside() is ExitStatus.OK
    assert built == []


def test_the_driver_of_a_wheel_is_used_in_any_folder(
    ours: TwoFolders, built: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "ENGINE", tmp_path / "site" / "engine")
    wheels = environment.ENGINE / "bin" / drive_lines.TARGET
    wheels.parent.mkdir(parents=True)
    wheels.symlink_to(driver_of_tests.driver())
    assert drive_lines.driver() == wheels
    assert ours.beside() is ExitStatus.OK
    assert built == []


def test_a_driver_that_cannot_be_built_is_the_builds_own_error(
    ours: TwoFolders, built: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise UserError("`cmake` failed:\n  error: no")

    monkeypatch.setattr(build, "build", fails)
    with pytest.raises(UserError, match="`cmake` failed") as caught:
        ours.beside()
    assert caught.value.status is ExitStatus.BAD_USAGE


def test_where_there_is_no_clone_nothing_is_made(ours: TwoFolders, built: list[object]) -> None:
    (ours.root / "CMakePresets.json").unlink()
    with pytest.raises(UserError, match="is not a clone of warpgauge"):
        ours.beside()
    assert built == []
    assert not (ours.root / DRIVER).parent.exists()


def test_a_named_driver_is_not_built(
    ours: TwoFolders, built: list[object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(drive_lines.VARIABLE, str(tmp_path / "gone" / "warpgauge_drive"))
    with pytest.raises(UserError, match=r"gone/warpgauge_drive: .* No such file"):
        ours.beside()
    assert built == []


def test_programs_that_are_not_built_here_get_a_driver_too(
    repository: Repository, built: list[object]
) -> None:
    repository.bench("--processes=3", "--no-build")
    assert built == [(drive_lines.PRESET, [drive_lines.TARGET])]
