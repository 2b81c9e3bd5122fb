# SPDX-License-Identifier: Apache-2.0
"""What is known of commit and machine is said, and what is not costs nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import fake_binary
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


def test_programs_go_by_the_commit_that_they_were_built_from(clone: GitRepository) -> None:
    built = clone.commit(SUITE)
    clone.bench("--quick")
    clone.output()
    clone.bench("--quick", "--no-build")
    assert "--no-build" not in clone.output()[1]
    assert measured(clone) == (built, "false")
    head = clone.commit(SUITE)
    clone.bench("--quick", "--no-build")
    assert (
        f"--no-build: the programs were built from commit {built[:10]}, but this tree is at commit "
        f"{head[:10]}. The results belong to the programs' commit."
    ) in clone.output()[1]
    assert measured(clone) == (built, "false")


def test_programs_with_changes_stay_so_when_the_changes_are_gone(clone: GitRepository) -> None:
    head = clone.commit(SUITE)
    clone.write({**SUITE, "sync": {"sync/idle": 3.0}})
    clone.bench("--quick")
    clone.write(SUITE)
    clone.bench("--quick", "--no-build")
    assert f"from commit {head[:10]} with changes" in clone.output()[1]
    assert measured(clone) == (head, "true")


def test_programs_that_somebody_built_since_are_of_no_known_commit(clone: GitRepository) -> None:
    clone.commit(SUITE)
    clone.bench("--quick")
    program = fake_binary.make(clone.built, "sync", TIMES)
    later = program.stat().st_mtime_ns + 10**9
    os.utime(program, ns=(later, later))
    head = clone.commit(SUITE)
    clone.bench("--quick", "--no-build")
    assert "--no-build: it is unknown which commit" in clone.output()[1]
    assert measured(clone) == (head, "false")


def test_a_build_that_breaks_off_leaves_programs_of_no_known_commit(clone: GitRepository) -> None:
    clone.commit(SUITE)
    clone.bench("--quick")
    clone.commit({"sync": {}})  # does not build
    with pytest.raises(UserError):
        clone.bench("--quick")
    assert machine_context.known(clone.root) is None


@pytest.mark.parametrize("text", ["", "[]", '{"commit": 1}', "\xff"])
def test_what_is_no_note_tells_nothing(clone: GitRepository, text: str) -> None:
    machine_context.keep(clone.root, {"commit": "c", "dirty": "false"})
    (path,) = (clone.root / "build" / "release").glob("built-from.json")
    path.write_bytes(text.encode("latin-1"))
    assert machine_context.known(clone.root) is None
