# SPDX-License-Identifier: Apache-2.0
"""What is known of commit and machine is said, and what is not costs nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shell
from clone import HOST_TIMES, TIMES, GitRepository
from warpgauge.measure import machine_context
from warpgauge.system.errors import UserError


@pytest.mark.parametrize(
    ("changed", "dirty"),
    [("", "false"), ("baselines/gpu/gemm.json", "false"), ("suite.json", "true"), ("x.cu", "true")],
)
def test_a_changed_or_new_file_makes_a_tree_dirty_unless_it_is_a_baseline(
    clone: GitRepository, changed: str, dirty: str
) -> None:
    if changed:
        (clone.root / changed).parent.mkdir(parents=True, exist_ok=True)
        (clone.root / changed).write_text("2")
    commit = clone.git("rev-parse", "HEAD")
    assert machine_context.source(clone.root) == {"commit": commit, "dirty": dirty}


@pytest.mark.parametrize("ignored", [True, False])
def test_an_exported_tree_in_somebody_elses_repository_has_none_of_its_commits(
    clone: GitRepository, monkeypatch: pytest.MonkeyPatch, ignored: bool
) -> None:
    if ignored:
        (clone.root / ".git" / "info" / "exclude").write_text("/exported/\n")
    exported = clone.root / "exported"
    exported.mkdir()
    (exported / "kernel.cu").write_text("2")
    assert machine_context.source(exported) == {"commit": "", "dirty": ""}
    monkeypatch.setenv("WARPGAUGE_COMMIT", "c0ffee")
    assert machine_context.source(exported) == {"commit": "c0ffee", "dirty": "false"}


def test_only_a_committed_tree_may_be_recorded() -> None:
    machine_context.require_committed({"commit": "c0ffee", "dirty": "false"})
    with pytest.raises(UserError, match="commit or stash your changes"):
        machine_context.require_committed({"commit": "c0ffee", "dirty": "true"})
    with pytest.raises(UserError, match="needs to know the commit"):
        machine_context.require_committed({"commit": "", "dirty": ""})


def test_without_git_the_commit_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine_context.source(tmp_path) == {"commit": "", "dirty": ""}
    monkeypatch.setenv("WARPGAUGE_COMMIT", "c0ffee")
    assert machine_context.source(tmp_path) == {"commit": "c0ffee", "dirty": "false"}
    assert machine_context.gpu("GPU-1") == {}
    assert {"boot_id", "kernel_release", "cpu_model"} <= machine_context.machine().keys()


def test_nvidia_smi_is_asked_for_this_gpu_and_blanks_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = '[ "$4" = GPU-1 ] && echo "580.1, 700.00, 3201, [N/A]"'
    shell.script(tmp_path / "nvidia-smi", answers)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    told = {"driver_version": "580.1", "power_limit_watts": "700.00"}
    assert machine_context.gpu("GPU-1") == {**told, "max_memory_clock_mhz": "3201"}
    assert machine_context.gpu("GPU-2") == {}


SUITE = {"host": HOST_TIMES, "sync": TIMES}


def measured(clone: GitRepository) -> tuple[str, str]:
    """Commit and state that the newest run file names."""
    newest = max(clone.runs(), key=lambda path: path.stat().st_mtime_ns)
    context = json.loads(newest.read_text())["context"]
    return context["commit"], context["dirty"]


def test_without_a_build_the_programs_are_taken_to_be_of_this_commit(clone: GitRepository) -> None:
    clone.commit(SUITE)
    clone.bench("--processes=3")
    assert "--no-build" not in clone.output()[1]
    head = clone.commit(SUITE)
    clone.bench("--processes=3", "--no-build")
    assert f"build/release is assumed to be a build of commit {head[:10]}" in (clone.output()[1])
    assert measured(clone) == (head, "false")


@pytest.mark.parametrize(
    ("cpuinfo", "model"),
    [
        ("processor\t: 0\nmodel name\t: Xeon 8480\n\nmodel name\t: Xeon 8480\n", "Xeon 8480"),
        ("CPU implementer\t: 0x41\nCPU part\t: 0xd4f\n", "implementer 0x41 part 0xd4f"),
        ("", ""),
    ],
)
def test_a_processor_is_its_model_or_on_arm_its_maker_and_part(cpuinfo: str, model: str) -> None:
    assert machine_context.cpu_model(cpuinfo) == model
