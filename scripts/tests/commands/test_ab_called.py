# SPDX-License-Identifier: Apache-2.0
"""How `warpgauge ab` is called, what it writes where, and what it refuses before it measures."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from test_streams import ended, interrupted

from two_folders import TIMES, TwoFolders
from warpgauge.commands import ab, compare
from warpgauge.execution import gpu_watch
from warpgauge.measurement import run_file
from warpgauge.system import environment, locks
from warpgauge.system.errors import ExitStatus, UserError

SLOW = {**TIMES, "BM_copy/64": 6000.0}


def test_this_trees_policy_is_not_theirs_but_a_named_one_is(
    folders: TwoFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders.make("base", "a")
    folders.make("candidate", "a", SLOW)
    ours = folders.root / "baselines" / "policy.toml"
    ours.parent.mkdir()
    ours.write_text('[[minimum_effect]]\npattern = "BM"\npercent = 50\nreason = "ours"\n')
    assert folders.beside() is ExitStatus.REGRESSION
    runs = folders.root / "build" / "runs"
    pair = [str(path) for path in sorted(runs.glob("*.json"), key=lambda one: -len(one.name))]
    monkeypatch.setattr(environment, "ROOT", folders.root)
    assert compare.starter(pair) == ExitStatus.REGRESSION
    assert folders.beside("--policy=baselines/policy.toml") is ExitStatus.OK
    assert "accepted: ours" in folders.output()[0]


def test_out_names_both_run_files_and_the_log(folders: TwoFolders) -> None:
    folders.both("my bench")
    assert folders.beside("--out=there.json") is ExitStatus.OK
    assert json.loads(Path("there-base.json").read_text())["context"]["pair_side"] == "base"
    assert json.loads(Path("there.json").read_text())["context"]["pair_side"] == "candidate"
    log = Path("there.log").read_text()
    assert log.startswith("# warpgauge: commands, ")
    assert ": scripts/warpgauge ab base candidate " in log.splitlines()[0]
    assert re.search(r"^'.*/base/my bench'  # round 1, base, ", log, re.MULTILINE)


@pytest.mark.parametrize(
    "option", ["--out=base/a", "--format=json=base/a", "--policy=none.toml", "--device=0"]
)
def test_what_cannot_be_is_refused_before_any_program_runs(
    folders: TwoFolders, option: str
) -> None:
    folders.both("a")
    program = (folders.root / "base" / "a").read_bytes()
    with pytest.raises(UserError):
        folders.beside(option)
    assert (folders.root / "base" / "a").read_bytes() == program
    assert not list(folders.root.rglob("*.count"))


def test_the_programs_run_in_turns_in_fresh_processes(folders: TwoFolders) -> None:
    folders.both("a")
    folders.both("b", {"BM_b": 1.0})
    folders.beside("--out=there.json", "--processes=2")
    lines = Path("there.log").read_text().splitlines()
    turns = re.findall(r"/(\w+)/(\w)'?  # round (\d), (\w+)", "\n".join(lines))
    assert [side for _, program, _, side in turns if program == "a"][:4] == [
        "base", "candidate", "candidate", "base",
    ]  # fmt: skip
    assert all(folder == side for folder, _, _, side in turns)


def test_an_interrupt_leaves_no_run_file(
    folders: TwoFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders.both("a")
    monkeypatch.setattr(run_file, "write_all", interrupted)
    with pytest.raises(KeyboardInterrupt):
        folders.beside()
    assert not list((folders.root / "build" / "runs").glob("*.json"))


def test_a_gpu_that_was_asked_for_is_all_that_the_programs_see(
    folders: TwoFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_watch, "all_gpus", lambda: {"GPU-1": "H200", "GPU-2": "H200"})
    folders.both("a")
    assert folders.beside("--device=1", "--out=there.json") is ExitStatus.OK
    assert "on one GPU" not in folders.output()[0]  # nothing changed
    context = json.loads(Path("there.json").read_text())["context"]
    assert (context["gpu_uuid"], context["gpu_name"]) == ("GPU-2", "H200")
    *_, last = Path("there.log").read_text().splitlines()
    assert last.startswith("env CUDA_VISIBLE_DEVICES=GPU-2 ")


def test_a_build_of_this_tree_is_not_waited_for(folders: TwoFolders) -> None:
    folders.both("a")
    with locks.alone(folders.root / "build"):
        assert folders.beside("--no-wait") is ExitStatus.OK


@pytest.mark.parametrize(
    "argv", [[], ["base"], ["base", "b", "c"], ["a", "b", "--processes=0"],
             ["a", "b", "--device=all"], ["a", "b", "--filter=("], ["a", "b", "--format=x"]]
)  # fmt: skip
def test_bad_usage_is_one_sentence(
    folders: TwoFolders, monkeypatch: pytest.MonkeyPatch, argv: list[str]
) -> None:
    folders.make("a", "x")
    folders.make("b", "x")
    monkeypatch.setattr(environment, "ROOT", folders.root)
    assert ended("warpgauge", monkeypatch, "ab", *argv) == ExitStatus.BAD_USAGE
    out, err = folders.capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1].startswith("ab: ")


def test_a_folder_that_a_shell_may_misread_is_not_pasted_into_a_command(
    folders: TwoFolders,
) -> None:
    folders.make("ba$(se", "a")
    folders.make("candidate", "a", SLOW)
    assert ab.main(["ba$(se", "candidate", "--processes=3"], folders.root) == 1
    assert "scripts/warpgauge ab BASE_FOLDER candidate --filter" in folders.output()[0]
