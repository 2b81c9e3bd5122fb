# SPDX-License-Identifier: Apache-2.0
"""Why it is slower, by warpgauge explain and in runs: fake binaries, a fake ncu, a clone."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import fake_binary
import shell
from clone import HOST_TIMES, TIMES, GitRepository
from counter_sets import ncu_table
from traces import process, text
from two_folders import TwoFolders
from warpgauge.commands import ab
from warpgauge.commands import explain as command
from warpgauge.measure import build
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.why import cupti, explain
from warpgauge.why.ncu import METRICS

NAME = "sync/busy"
NO_PERMISSION = "==ERROR== ERR_NVGPUCTRPERM - no permission"
_REASON = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
_WAVES = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
_BUSY = "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed"
_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"
FAST = {
    "gpu__time_duration.sum": 5000.0,
    "smsp__inst_executed.sum": 1e6,
    "smsp__average_warp_latency_per_inst_issued.ratio": 20.0,
    _REASON.format("short_scoreboard"): 4.0,
    _REASON.format("long_scoreboard"): 16.0,
    "smsp__inst_executed_op_shared_ld.sum": 1e5,
    "smsp__inst_executed_op_shared_st.sum": 1e5,
    _WAVES: 2e5,
    _CONFLICTS: 0.0,
    _BUSY: 0.05,
}
SLOW = {
    **FAST,
    "gpu__time_duration.sum": 9000.0,
    "smsp__average_warp_latency_per_inst_issued.ratio": 36.0,
    _REASON.format("short_scoreboard"): 20.0,
    _WAVES: 32e5,
    _CONFLICTS: 30e5,
    _BUSY: 0.5,
}


def counted(values: Mapping[str, float]) -> str:
    """What ncu prints of one kernel."""
    units = {name: "ns" if "time" in name else "" for name in METRICS if name in values}
    return ncu_table([{"Kernel Name": "f", **{key: f"{values[key]:f}" for key in units}}], units)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of tools that are first on PATH."""
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


def add_ncu(folder: Path, base: str, candidate: str) -> None:
    """Prints by which side's program it is to run."""
    for name, table in (("base", base), ("candidate", candidate)):
        (folder / name).write_text(table)
    by_side = f'case "$*" in */base/*) cat {folder}/base;; *) cat {folder}/candidate;; esac'
    shell.script(folder / "ncu", by_side)


@pytest.fixture
def slower(clone: GitRepository) -> GitRepository:
    """A clone in whose last commit a benchmark of the device became slower."""
    # In a time this long, a nanosecond more for each process is no change.
    times = {**TIMES, "sync/idle": 1e6}
    clone.commit({"sync": times})
    clone.commit({"sync": {**times, NAME: 9000.0, "sync/new": 1e6}})
    return clone


def reason_of(clone: GitRepository, *argv: str) -> dict[str, Any]:
    """The only benchmark of the JSON that the command writes."""
    path = clone.root / "build" / "why.json"
    path.parent.mkdir(exist_ok=True)
    assert command.main([*argv, f"--format=json={path}"], clone.root) is ExitStatus.OK
    (found,) = json.loads(path.read_text())["benchmarks"]
    return dict(found)


def test_the_cause_is_named_with_its_share(slower: GitRepository, tools: Path) -> None:
    add_ncu(tools, counted(FAST), counted(SLOW))
    found = reason_of(slower, NAME, "--against", "HEAD~1")
    (cause,) = found["causes"]
    assert cause["key"] == "bank_conflicts"
    assert cause["share"] == pytest.approx(1.0, abs=0.1)
    assert found["slowdown"] == pytest.approx(0.8, abs=0.05)
    out = slower.output()[0]
    assert "bank conflicts in shared memory" in out
    assert found["paragraph"] in " ".join(out.split())


def test_another_launch_is_named_and_not_what_it_changed(
    slower: GitRepository, tools: Path
) -> None:
    launch = {"launch__grid_size": 4096.0, "launch__block_size": 128.0}
    other = {"launch__grid_size": 1024.0, "launch__block_size": 512.0}
    add_ncu(tools, counted({**FAST, **launch}), counted({**SLOW, **other}))
    found = reason_of(slower, NAME, "--against", "HEAD~1")
    (cause,) = found["causes"]
    assert (cause["key"], cause["share"]) == ("block", None)
    assert cause["words"] == "threads per block 128 → 512"
    assert "bank conflicts" in {change["words"] for change in found["others"]}


def test_of_the_base_only_the_program_that_is_needed_is_built(
    slower: GitRepository, tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_ncu(tools, counted(FAST), counted(SLOW))
    asked: list[list[str]] = []

    def build_targets(
        root: Path, preset: str, say: Callable[[str], None], *rest: Sequence[str]
    ) -> None:
        asked.append([*rest[1]])
        slower.build(root, preset, say)
        if len(asked) == 2 and slower.root != root:
            raise UserError("ninja: unknown target 'bench_sync'")

    monkeypatch.setattr(build, "build", build_targets)
    reason_of(slower, NAME, "--against", "HEAD~1")
    assert asked == [[], ["bench_sync"], []]


def test_what_a_run_found_slower_is_explained_without_measuring_again(
    slower: GitRepository, tools: Path
) -> None:
    add_ncu(tools, counted(FAST), counted(SLOW))
    assert slower.bench("--against", "HEAD~1") is ExitStatus.REGRESSION
    before = slower.runs()
    (run,) = (path for path in before if not path.stem.endswith("-base"))
    for argv in ([], [str(run)]):
        found = reason_of(slower, *argv)
        assert (found["name"], found["causes"][0]["key"]) == (NAME, "bank_conflicts")
    assert "may be chance" in reason_of(slower, str(run), "sync/idle")["paragraph"]
    assert slower.runs() == before


def test_a_run_that_found_nothing_slower_leaves_nothing_to_explain(clone: GitRepository) -> None:
    clone.commit({"sync": TIMES})
    assert clone.bench("--against", "HEAD~1") is not ExitStatus.REGRESSION
    clone.output()
    assert command.main([], clone.root) is ExitStatus.OK
    out, err = clone.output()
    assert out == ""
    assert "nothing slower" in err


def test_pairs_that_confirmed_a_run_are_its_pairs(slower: GitRepository, tools: Path) -> None:
    add_ncu(tools, counted(FAST), counted(SLOW))
    slower.bench("--against", "HEAD~1")
    run = slower.root / "screened.json"
    for path in slower.runs():
        is_base = path.stem.endswith("-base")
        path.rename(run.with_stem("screened-confirm-base" if is_base else "screened-confirm"))
    run.write_bytes(run.with_stem("screened-confirm").read_bytes())
    assert reason_of(slower, str(run))["name"] == NAME


def test_a_folder_is_another_build(slower: GitRepository, tools: Path, tmp_path: Path) -> None:
    add_ncu(tools, counted(FAST), counted(SLOW))
    old = tmp_path / "base"
    slower.build(slower.root, "release", print)
    fake_binary.make(old, "sync", {**TIMES, "sync/idle": 1e6})
    assert reason_of(slower, NAME, f"--against={old}")["causes"][0]["key"] == "bank_conflicts"


def test_what_may_be_chance_is_called_so(slower: GitRepository, tools: Path) -> None:
    add_ncu(tools, counted(FAST), counted(FAST))
    found = reason_of(slower, "sync/idle", "--against", "HEAD~1")
    assert "may be chance" in found["paragraph"]
    assert "may be chance" not in reason_of(slower, NAME, "--against", "HEAD~1")["paragraph"]


def test_counters_that_do_not_move_leave_it_unknown(slower: GitRepository, tools: Path) -> None:
    add_ncu(tools, counted(FAST), counted(FAST))
    found = reason_of(slower, NAME, "--against", "HEAD~1")
    assert found["causes"] == []
    assert found["unexplained"] == pytest.approx(1.0)
    assert "unknown" in found["paragraph"]


def test_without_permission_it_says_so_and_goes_on(slower: GitRepository, tools: Path) -> None:
    add_ncu(tools, *[NO_PERMISSION] * 2)
    found = reason_of(slower, NAME, "--against", "HEAD~1")
    assert sum("administrators" in one for one in found["missing"]) == 2
    assert found["slowdown"] > 0.5


def test_of_the_host_no_trace_is_missing(clone: GitRepository, tools: Path) -> None:
    add_ncu(tools, counted(FAST), counted(SLOW))
    clone.commit({"host": {name: 2.0 * time for name, time in HOST_TIMES.items()}})
    found = reason_of(clone, "host/copy", "--against", "HEAD~1")
    assert found["slowdown"] > 0.5
    assert not any("traced" in one for one in found["missing"])


@pytest.mark.parametrize(
    ("argv", "remedy"),
    [
        ([], "no run in pairs yet: name a benchmark"),
        (["no.json"], "no.json"),
        (["a.json", "b.json"], "'b.json' is one too many"),
        (["sync/bussy", "--against", "HEAD~1"], NAME),
        (["sync/new", "--against", "HEAD~1"], "the base has no benchmark named 'sync/new'"),
        ([NAME, "--against", "."], "build first"),
    ],
)
def test_what_cannot_be_told_is_refused(
    argv: list[str], remedy: str, slower: GitRepository
) -> None:
    with pytest.raises(UserError, match=remedy) as caught:
        command.main(argv, slower.root)
    assert caught.value.status is ExitStatus.BAD_USAGE


def explained(clone: GitRepository, *argv: str) -> dict[str, Any]:
    """The verdicts of a run that finds regressions, by name."""
    path = clone.root / "verdict.json"
    options = [f"--format=json={path}", *argv]
    assert clone.bench("--against", "HEAD~1", *options) is ExitStatus.REGRESSION
    return {one["name"]: one for one in json.loads(path.read_text())["verdicts"]}


def test_a_regression_of_a_run_is_explained_in_every_report(
    slower: GitRepository, tools: Path
) -> None:
    add_ncu(tools, counted(FAST), counted(SLOW))
    page = slower.root / "report.md"
    verdicts = explained(slower, f"--format=markdown={page}")
    why = verdicts.pop(NAME)["why"]
    assert "Mostly: bank conflicts in shared memory" in why["paragraph"]
    assert why["moved"][0]["what"] == "bank conflicts"
    assert [one["why"] for one in verdicts.values()] == [None] * len(verdicts)
    assert "bank conflicts in shared memory" in page.read_text()
    assert "Why it is slower" in slower.output()[0]
    (html,) = (slower.root / "build" / "runs").glob("*.html")
    assert "bank conflicts in shared memory" in html.read_text()


def test_a_run_without_counters_says_so(slower: GitRepository, tools: Path) -> None:
    add_ncu(tools, NO_PERMISSION, NO_PERMISSION)
    why = explained(slower)[NAME]["why"]
    assert "only administrators" in why["paragraph"]
    assert "no libwarpgauge_trace.so" in why["paragraph"]


def test_what_is_over_the_budget_is_not_looked_into(
    clone: GitRepository,
    tools: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    add_ncu(tools, counted(FAST), counted(SLOW))
    clone.commit({"sync": {name: 2.0 * time for name, time in TIMES.items()}})
    monkeypatch.setattr(explain, "BUDGET_S", 0.0)
    verdicts = explained(clone)
    reasons = [
        row["why"]["paragraph"] for row in verdicts.values() if row["outcome"] == "REGRESSION"
    ]
    assert reasons
    assert all("explanations are used up" in reason for reason in reasons)


def test_a_fault_on_the_way_changes_no_verdict(
    slower: GitRepository,
    tools: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "why")

    add_ncu(tools, counted(FAST), counted(SLOW))
    monkeypatch.setattr(explain, "explanation", full)
    found = explained(slower)[NAME]
    assert found["why"]["paragraph"] == f"{NAME} is not explained: why: No space left on device."


def test_two_folders_are_explained(folders: TwoFolders, tools: Path) -> None:
    for side, time in (("base", 5000.0), ("candidate", 9000.0)):
        trace = text(process(NAME, replays=5))
        clock = {"all": {"sm_clock_hz": 1.98e9}}  # of a device time
        folder = folders.root / side
        fake_binary.make(folder, "sync", {NAME: time}, trace=trace, counters=clock)
        (folder / cupti.LIBRARY).touch()
    add_ncu(tools, counted(FAST), counted(SLOW))
    page = folders.root / "report.md"
    reason_of = ["--format=json=told.json", f"--format=markdown={page}"]
    assert folders.beside(*reason_of) is ExitStatus.REGRESSION
    (verdict,) = json.loads((folders.root / "told.json").read_text())["verdicts"]
    assert "Mostly: bank conflicts in shared memory" in verdict["why"]["paragraph"]
    assert "bank conflicts in shared memory" in page.read_text()


def test_a_slower_program_that_uses_no_gpu_is_not_told_to_be_profiled(
    folders: TwoFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    for side, time in (("base", 5000.0), ("candidate", 9000.0)):
        fake_binary.make(folders.root / side, "sync", {NAME: time}, plain=True)
    monkeypatch.setattr(ab, "may_use_gpu", lambda program: False)
    assert folders.beside("--format=json=told.json") is ExitStatus.REGRESSION
    (verdict,) = json.loads((folders.root / "told.json").read_text())["verdicts"]
    assert verdict["why"] is None


def test_a_program_of_host_libraries_alone_uses_no_gpu(tmp_path: Path) -> None:
    assert not ab.may_use_gpu(Path("/bin/sh").resolve())
    assert ab.may_use_gpu(fake_binary.make(tmp_path, "sync"))
    script = tmp_path / "script"
    script.write_text("#!/usr/bin/env python3\n")
    assert ab.may_use_gpu(script)
