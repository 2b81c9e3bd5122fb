# SPDX-License-Identifier: Apache-2.0
"""What is known of the machine is said, and what is not costs nothing."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from warpgauge.execution import machine_context
from warpgauge.system.errors import UserError


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


def repository(folder: Path) -> Path:
    git(folder, "init", "-q")
    (folder / "kernel.cu").write_text("1")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "one")
    return folder


def test_a_committed_tree_is_clean(tmp_path: Path) -> None:
    source = machine_context.source(repository(tmp_path))
    assert len(source["commit"]) == 40
    assert source["dirty"] == "false"


@pytest.mark.parametrize("changed", ["kernel.cu", "new.cu"])
def test_a_changed_or_new_file_makes_it_dirty(tmp_path: Path, changed: str) -> None:
    repository(tmp_path).joinpath(changed).write_text("2")
    assert machine_context.source(tmp_path)["dirty"] == "true"


@pytest.mark.parametrize("ignored", [True, False])
def test_an_exported_tree_in_somebody_elses_repository_has_none_of_its_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ignored: bool
) -> None:
    folder = repository(tmp_path)
    if ignored:
        (folder / ".git" / "info" / "exclude").write_text("/exported/\n")
    exported = folder / "exported"
    exported.mkdir()
    (exported / "kernel.cu").write_text("2")
    assert machine_context.source(exported) == {"commit": "", "dirty": ""}
    monkeypatch.setenv("WARPGAUGE_COMMIT", "c0ffee")
    assert machine_context.source(exported) == {"commit": "c0ffee", "dirty": "false"}


def test_a_hooks_environment_leads_to_no_other_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = repository(tmp_path)
    source = machine_context.source(folder)
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert machine_context.source(folder) == source


def test_only_a_committed_tree_may_be_recorded() -> None:
    machine_context.require_committed({"commit": "c0ffee", "dirty": "false"})
    with pytest.raises(UserError, match="commit or stash your changes"):
        machine_context.require_committed({"commit": "c0ffee", "dirty": "true"})
    with pytest.raises(UserError, match="needs to know the commit"):
        machine_context.require_committed({"commit": "", "dirty": ""})


def test_a_baseline_is_no_part_of_what_is_measured(tmp_path: Path) -> None:
    folder = repository(tmp_path) / "baselines" / "gpu"
    folder.mkdir(parents=True)
    (folder / "gemm.json").write_text("{}")
    assert machine_context.source(tmp_path)["dirty"] == "false"


def test_without_git_the_commit_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine_context.source(tmp_path) == {"commit": "", "dirty": ""}
    monkeypatch.setenv("WARPGAUGE_COMMIT", "c0ffee")
    assert machine_context.source(tmp_path) == {"commit": "c0ffee", "dirty": "false"}
    assert machine_context.gpu("GPU-1") == {}


def test_the_machine_knows_its_boot_and_cpu() -> None:
    assert {"boot_id", "kernel_release", "cpu_model"} <= machine_context.machine().keys()


def test_nvidia_smi_is_asked_for_this_gpu_and_blanks_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    smi = tmp_path / "nvidia-smi"
    smi.write_text('#!/bin/sh\n[ "$4" = GPU-1 ] && echo "580.1, 700.00, 3201, [N/A]"\n')
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    found = machine_context.gpu("GPU-1")
    assert found == {
        "driver_version": "580.1",
        "power_limit_watts": "700.00",
        "max_memory_clock_mhz": "3201",
    }
    assert machine_context.gpu("GPU-2") == {}
