# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci gate --clean-up empties a job's folder and sets the clocks back, no more."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from warpgauge.commands.ci import gate
from warpgauge.github import clean_up
from warpgauge.system.errors import ExitStatus, UserError


@dataclass
class Runner:
    """A job's folder with a clone in it, and what was asked of nvidia-smi."""

    workspace: Path
    temporary: Path
    asked: list[tuple[str, ...]] = field(default_factory=list)
    status: int | None = 0

    def nvidia_smi(self, *arguments: str) -> subprocess.CompletedProcess[str] | None:
        self.asked.append(arguments)
        if self.status is None:
            return None
        return subprocess.CompletedProcess([], self.status, "it says\n", "no\x1b permission\n")

    def clean_up(self) -> ExitStatus:
        return gate.main(["--clean-up"], self.workspace)


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    made = Runner(tmp_path / "work", tmp_path / "tmp")
    for folder in (made.workspace, made.temporary):
        folder.mkdir()
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(made.workspace))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(made.temporary))
    monkeypatch.setattr(clean_up, "nvidia_smi", made.nvidia_smi)
    return made


def test_the_folder_stays_and_is_empty(runner: Runner) -> None:
    for name in ("build/release/bench", ".git/config", "closed/inside"):
        path = runner.workspace / name
        path.parent.mkdir(parents=True)
        path.write_text("x")
    (runner.workspace / "closed").chmod(0)
    assert runner.clean_up() is ExitStatus.OK
    assert list(runner.workspace.iterdir()) == []


def test_what_a_link_leads_to_stays(runner: Runner, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o500)
    (runner.workspace / "folder").mkdir()
    for link in ("link", "folder/link"):
        (runner.workspace / link).symlink_to(elsewhere)
    (runner.workspace / "dangling").symlink_to("nowhere")
    runner.clean_up()
    assert list(runner.workspace.iterdir()) == []
    assert elsewhere.stat().st_mode & 0o777 == 0o500


def test_what_the_gate_left_in_tmp_goes_and_what_others_did_stays(runner: Runner) -> None:
    (runner.temporary / "warpgauge-gate-abc").mkdir()
    (runner.temporary / "warpgauge-GPU-0").mkdir()
    (runner.temporary / "somebody").write_text("else")
    runner.clean_up()
    assert sorted(path.name for path in runner.temporary.iterdir()) == [
        "somebody",
        "warpgauge-GPU-0",
    ]


def test_the_clocks_are_set_back(runner: Runner) -> None:
    runner.clean_up()
    assert runner.asked == [("--reset-gpu-clocks",), ("--reset-memory-clocks",)]


def test_only_the_gpu_of_this_runner_is_touched(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-1")
    runner.clean_up()
    assert {arguments[0] for arguments in runner.asked} == {"--id=GPU-1"}


@pytest.mark.parametrize(
    ("status", "said"), [(4, "nvidia-smi --reset-gpu-clocks: it says no\\x1b permission"), (0, "")]
)
def test_a_driver_that_will_not_is_told_and_fails_nothing(
    runner: Runner, capsys: pytest.CaptureFixture[str], status: int, said: str
) -> None:
    runner.status = status
    assert runner.clean_up() is ExitStatus.OK
    out = capsys.readouterr().out
    assert said in out
    assert ("nvidia-smi" in out) == bool(status)


def test_a_machine_without_a_driver_is_cleaned_all_the_same(runner: Runner) -> None:
    runner.status = None
    (runner.workspace / "x").write_text("")
    assert runner.clean_up() is ExitStatus.OK
    assert list(runner.workspace.iterdir()) == []


@pytest.mark.parametrize("change", ["actions", "workspace", "elsewhere"])
def test_anywhere_but_in_a_job_nothing_is_removed(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, change: str
) -> None:
    kept = runner.workspace / "diary.txt"
    kept.write_text("mine")
    if change == "actions":
        monkeypatch.delenv("GITHUB_ACTIONS")
    elif change == "workspace":
        monkeypatch.setenv("GITHUB_WORKSPACE", "")
    else:
        monkeypatch.setenv("GITHUB_WORKSPACE", str(runner.temporary))
    with pytest.raises(UserError):
        runner.clean_up()
    assert kept.read_text() == "mine"
    assert runner.asked == []


def test_what_cannot_be_removed_is_a_failure(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    (runner.workspace / "mounted\n").write_text("")

    def busy(path: Path, missing_ok: bool = False) -> None:
        raise OSError(16, os.strerror(16))

    monkeypatch.setattr(Path, "unlink", busy)
    with pytest.raises(UserError, match=r"1 entry of the job cannot be removed \(.*mounted\\n\)"):
        runner.clean_up()
