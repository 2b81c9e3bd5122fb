# SPDX-License-Identifier: Apache-2.0
"""warpgauge ab: what a folder lacks or breaks is no pass; what is written where, and refused."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from test_streams import ended, interrupted

from two_folders import TIMES, TwoFolders
from warpgauge.commands import ab
from warpgauge.commands.main import main as warpgauge
from warpgauge.measure import gpu_watch, run_file
from warpgauge.measure.options import FIRST_LOOK, schedule
from warpgauge.system import environment, locks
from warpgauge.system.errors import ExitStatus, UserError

SLOW = {**TIMES, "BM_copy/64": 6000.0}


def test_a_slower_program_is_a_regression_confirmed_in_turns(folders: TwoFolders) -> None:
    folders.make("base", "copy bench")
    folders.make("candidate", "copy bench", SLOW)
    assert folders.beside() is ExitStatus.REGRESSION
    out, err = folders.output()
    assert "1 slower: BM_copy/64 +20.0 % · 1 within tolerance (at most " in out
    assert "BM_copy/64" in out
    assert "Confirmed in alternating processes of both builds." in out
    assert "Measured in pairs, programs in base against programs in candidate: 8 pairs" in out
    assert "programs base → candidate" in out
    again = out.rpartition("To reproduce: ")[2].partition(" Report: ")[0]
    program, *words = shlex.split(again)
    assert words == ["ab", "base", "candidate", "--filter", "^BM_copy/64$"]
    assert Path(program).samefile(environment.ROOT / "scripts" / "warpgauge")  # from this folder
    assert (folders.root / out.rpartition(" Report: ")[2]).is_file()
    assert "Measuring 2 benchmarks in pairs" in err
    one, other = folders.documents()
    assert one["context"]["pair_id"] == other["context"]["pair_id"] != ""
    rounds = {row["name"]: row["process_rounds"] for row in other["benchmarks"]}
    assert rounds["BM_copy/8"] == [*range(1, FIRST_LOOK + 1)]
    assert len(rounds["BM_copy/64"]) >= schedule()[1]
    assert (one["context"]["programs"], other["context"]["programs"]) == ("base", "candidate")


def test_programs_written_with_warpgauge_run_in_lock_step(folders: TwoFolders) -> None:
    for side, times in (("base", TIMES), ("candidate", SLOW)):  # names of two programs
        folders.make(side, "one", plain=False)
        folders.make(side, "two", times, plain=False)
    assert folders.beside("--format=json=told.json") is ExitStatus.REGRESSION
    told = json.loads((folders.root / "told.json").read_text())["verdicts"]
    assert {row["name"].partition("/")[0] for row in told} == {"one", "two"}
    assert {row["evidence"] for row in told} == {"lock_step"}
    assert {row["clock"] for row in told} == {"host"}  # a fake knows no clock of a GPU


def test_a_budget_is_kept_and_told(folders: TwoFolders) -> None:
    folders.make("base", "copy bench")
    folders.make("candidate", "copy bench", SLOW)
    assert folders.beside("--budget=2m") is ExitStatus.REGRESSION
    out, err = folders.output()
    assert "(budget 120.0 s)" in out
    assert "of the budget of 120.0 s." in err


def test_two_commands_are_compared_by_what_they_print(folders: TwoFolders) -> None:
    printing = ["echo took 1000.$(($$ % 10)) us", "echo took 1200.$(($$ % 10)) us"]
    argv = ["--command", *printing, "--metric", r"took ([\d.]+)"]
    assert ab.main(argv, folders.root) is ExitStatus.REGRESSION
    out, _ = folders.output()
    assert "1 slower: command +20.0 %" in out
    assert {row["name"] for row in folders.documents()[1]["benchmarks"]} == {"command"}


def test_a_command_does_not_run_while_another_measures(
    folders: TwoFolders, nobody_waits: None
) -> None:
    with locks.alone(folders.root / "build" / "runs"), pytest.raises(UserError):
        ab.main(["--command", "touch ran", "touch ran"], folders.root)
    assert not (folders.root / "ran").exists()


def test_a_program_that_lost_its_mode_is_not_left_out_by_a_variable(folders: TwoFolders) -> None:
    folders.root.joinpath("base").mkdir()
    (folders.root / "base" / "gone").symlink_to("absent")
    argv = ["base", "--axis", "A=1,2", "--format=json=told.json"]
    assert ab.main(argv, folders.root) is ExitStatus.NOT_MEASURED
    rows = json.loads((folders.root / "told.json").read_text())["verdicts"]
    assert [(row["name"], row["outcome"]) for row in rows] == [("gone", "ERROR")]


def test_a_folder_is_compared_with_itself_in_another_environment(folders: TwoFolders) -> None:
    body = """import json, os
for word in sys.argv:
    if word == "--benchmark_list_tests" and not any("filter" in other for other in sys.argv):
        print("BM_copy")
    if word.startswith("--benchmark_out="):
        time = (1000 + os.getpid() % 7) * float(os.environ["FACTOR"])
        row = dict(name="BM_copy", run_name="BM_copy", run_type="iteration", iterations=1,
                   real_time=time, cpu_time=time, time_unit="ns")
        with open(word.partition("=")[2], "w") as file:
            json.dump({"context": {}, "benchmarks": [row]}, file)
sys.exit("--describe" in sys.argv)"""
    folders.script("base", "copy", body)
    assert ab.main(["base", "--axis", "FACTOR=1,1.2"], folders.root) is ExitStatus.REGRESSION
    out, _ = folders.output()
    assert "1 slower: BM_copy +" in out
    assert "programs with FACTOR=1 against programs with FACTOR=1.2" in out


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["base"],
        ["base", "candidate", "--command", "true", "true"],
        ["base", "candidate", "--metric", "(1)"],
        ["--command", "true", "false"],
        ["base", "--axis", "A=1"],
        ["base", "--axis", "A=1,1"],
        ["base", "candidate", "--axis", "A=1,2"],
        ["absent", "--axis", "A=1,2"],
        ["--command", "true", "true", "--metric", "no group"],
        ["--command", "true", "true", "--metric", "("],
    ],
)
def test_what_is_no_pair_of_folders_or_commands_is_bad_usage(
    folders: TwoFolders, argv: list[str]
) -> None:
    folders.make("base", "copy bench")
    folders.make("candidate", "copy bench")
    with pytest.raises(UserError):
        ab.main(argv, folders.root)


def test_known_commits_are_in_the_run_files_and_folders_that_may_be_gone_in_no_advice(
    folders: TwoFolders,
) -> None:
    folders.make("base", "copy bench")
    folders.make("candidate", "copy bench", SLOW)
    folders.beside("--commits", "a" * 40, "b" * 40)
    told = [one["context"] for one in folders.documents()]
    assert [(one["programs"], one["commit"]) for one in told] == [
        ("base", "a" * 40),
        ("candidate", "b" * 40),
    ]
    again = f"{environment.started('ab')} BASE_FOLDER CANDIDATE_FOLDER --filter '^BM_copy/64$'"
    assert f"To reproduce: {again} Report: " in folders.output()[0]
    with pytest.raises(UserError, match="--commits: 'main'"):
        folders.beside("--commits", "a" * 40, "main")


def test_a_program_that_sleeps_beside_what_it_times_is_not_believed(folders: TwoFolders) -> None:
    folders.make("base", "bench")
    real = str(folders.make("elsewhere", "bench"))
    run = f"os.execv({real!r}, [{real!r}, *sys.argv[1:]])"
    folders.script(
        "candidate", "bench", f"import os, time\n'list' in str(sys.argv) or time.sleep(0.3)\n{run}"
    )
    status, outcomes = folders.outcomes()
    assert status is ExitStatus.NOT_MEASURED
    assert {*outcomes.values()} == {"INVALID"}


def test_times_of_no_known_clock_are_the_hosts(folders: TwoFolders) -> None:
    folders.make("base", "a")
    folders.make("candidate", "a", {**TIMES, "BM_copy/64": 5060.0})
    assert folders.beside("--format=terminal=shown.txt") is ExitStatus.OK
    assert "at least 1.5 % of host time" in " ".join(Path("shown.txt").read_text().split())


def test_a_program_that_tells_the_sm_clock_timed_the_device(folders: TwoFolders) -> None:
    for side, times in (("base", TIMES), ("candidate", {**TIMES, "BM_copy/64": 5090.0})):
        folders.make(side, "a", times, counters={"sm_clock_hz": 1.98e9})
    assert folders.beside("--format=terminal=shown.txt") is ExitStatus.REGRESSION
    shown = folders.output()[0]
    assert "--format terminal=FILE has " in shown
    assert "at least 0.5 %" not in shown
    assert "at least 0.5 % of device time" in " ".join(Path("shown.txt").read_text().split())


def test_what_only_one_folder_has_is_missing_or_new_whatever_its_program(
    folders: TwoFolders,
) -> None:
    folders.make("base", "before", {"BM_before": 1000.0, "BM_moved": 1000.0})
    folders.make("candidate", "after", {"BM_after": 1000.0, "BM_moved": 1000.0})
    assert folders.outcomes() == (
        ExitStatus.NOT_MEASURED,
        {"BM_before": "MISSING", "BM_after": "NEW", "BM_moved": "PASS"},
    )


def test_a_name_of_two_programs_is_told_apart_by_theirs_on_both_sides(folders: TwoFolders) -> None:
    folders.both("a")
    folders.make("candidate", "b", {"BM_copy/8": 9000.0, "BM_b": 1000.0})
    folders.make("base", "b", {"BM_b": 1000.0})
    assert folders.outcomes() == (
        ExitStatus.OK,
        {"a/BM_copy/8": "PASS", "a/BM_copy/64": "PASS", "b/BM_copy/8": "NEW", "b/BM_b": "PASS"},
    )


def test_a_shared_name_can_be_asked_for_and_looked_at_again(folders: TwoFolders) -> None:
    for program in "ab":
        folders.make("base", program, {"BM_x": 3e6, "BM_y": 3e6})
        folders.make("candidate", program, {"BM_x": 9e6, "BM_y": 9e6})
    folders.beside("--filter=^a/")  # eight pairs show no change
    err = folders.output()[1]
    assert f"Rounds 9 to {schedule()[1]} of 2 open benchmarks" in err
    rows = folders.documents()[1]["benchmarks"]
    assert [row["name"] for row in rows] == ["a/BM_x", "a/BM_y"]
    assert all(len(row["process_rounds"]) > 3 for row in rows)


@pytest.mark.parametrize("side", ["base", "candidate"])
def test_a_program_that_ends_badly_is_an_error_beside_the_others(
    folders: TwoFolders, side: str
) -> None:
    folders.both("well", {"BM_well": 1000.0})
    faults = ("crash", "status 4", "garbage", "no start", "early exit")
    for fault in faults:
        folders.both(fault, {f"BM {fault}": 1000.0})
        folders.make(side, fault, {f"BM {fault}": 1000.0}, faults={"2": fault})
    status, outcomes = folders.outcomes()
    assert status is ExitStatus.NOT_MEASURED
    assert outcomes == {"BM_well": "PASS", **{f"BM {fault}": "ERROR" for fault in faults}}


def test_a_program_that_hangs_is_ended(folders: TwoFolders, clock_of_hangs: None) -> None:
    folders.make("base", "a")
    folders.make("candidate", "a", ill={"BM_copy/64": "hang"})
    status, outcomes = folders.outcomes("--timeout=1")
    assert status is ExitStatus.NOT_MEASURED
    assert outcomes == {"BM_copy/8": "PASS", "BM_copy/64": "ERROR"}
    assert "reported nothing for 1 s and was killed" in folders.output()[0]


@pytest.mark.parametrize(
    ("side", "argv"),
    [("candidate", []), ("base", ["--filter=copy"]), ("candidate", ["--filter=c"])],
)
def test_what_lists_nothing_is_an_error_whatever_is_asked_for(
    folders: TwoFolders, side: str, argv: list[str]
) -> None:
    folders.both("a")
    folders.script(side, "helper", "")
    folders.make("candidate" if side == "base" else "base", "helper", {"BM_copy/1": 1.0})
    status, outcomes = folders.outcomes(*argv)
    assert status is ExitStatus.NOT_MEASURED
    assert outcomes["helper"] == "ERROR"
    assert (
        "lists no benchmark, so it is probably not a Google Benchmark program"
    ) in folders.output()[0]


@pytest.mark.parametrize(
    ("filter", "said", "status"),
    [
        ("BM_b", "base: .* --filter 'BM_b'", ExitStatus.NOT_MEASURED),
        ("BM_cpy", "matches --filter 'BM_cpy': did you mean 'BM_copy'", ExitStatus.BAD_USAGE),
    ],
)
def test_a_filter_compares_what_both_folders_have(
    folders: TwoFolders, filter: str, said: str, status: ExitStatus
) -> None:
    folders.both("a")
    folders.make("candidate", "b", {"BM_b": 1.0})
    with pytest.raises(UserError, match=said) as fault:
        folders.beside(f"--filter={filter}")
    assert fault.value.status is status


def test_a_side_that_says_it_is_no_release_build_is_not_comparable(folders: TwoFolders) -> None:
    folders.make("base", "a", context={"build_type": "Release"})
    folders.make("candidate", "a", context={"build_type": "Release"})
    folders.make("candidate", "b", {"BM_b": 1.0}, context={"build_type": "Debug"})
    status, outcomes = folders.outcomes()
    assert status is ExitStatus.NOT_MEASURED
    assert set(outcomes.values()) == {"INVALID"}
    assert "a build of type 'Debug and Release'" in folders.output()[0]
    assert folders.beside("--allow=build-type") is ExitStatus.OK


def test_a_benchmark_called_host_is_judged_as_any_other(folders: TwoFolders) -> None:
    folders.make("base", "host", {"host/copy": 1000.0})
    folders.make("candidate", "host", {"host/copy": 1500.0})
    assert folders.beside() is ExitStatus.REGRESSION


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
    assert warpgauge(["compare", *pair]) == ExitStatus.REGRESSION
    assert folders.beside("--policy=baselines/policy.toml") is ExitStatus.OK
    assert "accepted: ours" in folders.output()[0]


def test_what_the_bases_policy_expects_too_is_in_the_base(folders: TwoFolders) -> None:
    folders.make("base", "a")
    folders.make("candidate", "a", SLOW)
    named = "--policy=policy.toml", "--base-policy=base.toml"
    text = (
        '[[expected]]\npattern = "BM"\nslower_by_at_most_percent = 50\nreason = "known"\n'
        "expires = 9999-01-01\n"
    )
    (folders.root / "policy.toml").write_text(text)
    assert folders.beside(*named) is ExitStatus.OK  # the base had none
    (folders.root / "base.toml").write_text(text)
    assert folders.beside(*named) is ExitStatus.REGRESSION
    (folders.root / "base.toml").write_text("no policy")
    with pytest.raises(UserError, match=r"base\.toml"):
        folders.beside(*named)


def test_out_names_both_run_files_and_the_log_of_the_turns(folders: TwoFolders) -> None:
    folders.both("my bench")
    folders.both("b", {"BM_b": 1.0})
    assert folders.beside("--out=there.json") is ExitStatus.OK
    assert json.loads(Path("there-base.json").read_text())["context"]["pair_side"] == "base"
    assert json.loads(Path("there.json").read_text())["context"]["pair_side"] == "candidate"
    log = Path("there.log").read_text()
    assert log.startswith("# warpgauge: commands, ")
    assert f": {environment.started('ab base candidate')} " in log.splitlines()[0]
    turns = re.findall(r"^\S*/(\w+)/(my bench|b)'?  # round \d, (\w+)", log, re.MULTILINE)
    sides = [side for _, program, side in turns if program == "my bench"]
    assert sides[:4] == ["base", "candidate", "candidate", "base"]
    assert all(folder == side for folder, _, side in turns)


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


def test_an_interrupt_leaves_no_run_file(
    folders: TwoFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders.both("a")
    monkeypatch.setattr(run_file, "write", interrupted)
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


def test_several_gpus_are_all_locked_and_seen(
    folders: TwoFolders, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, nobody_waits: None
) -> None:
    monkeypatch.setattr(gpu_watch, "all_gpus", lambda: {"GPU-2": "H200", "GPU-1": "H200"})
    monkeypatch.setattr(locks, "_GPUS", tmp_path)
    folders.both("a")
    assert folders.beside("--device=0,1", "--out=there.json") is ExitStatus.OK
    context = json.loads(Path("there.json").read_text())["context"]
    assert (context["gpu_uuid"], context["gpu_name"]) == ("GPU-1,GPU-2", "H200 x2")
    *_, last = Path("there.log").read_text().splitlines()
    assert last.startswith("env CUDA_VISIBLE_DEVICES=GPU-1,GPU-2 ")
    for gpu in ("GPU-1", "GPU-2"):
        with locks.alone(locks.of_gpu(gpu)), pytest.raises(UserError, match="on this GPU"):
            folders.beside("--device=0,1")


def test_gpus_of_different_models_are_not_measured_together(
    folders: TwoFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_watch, "all_gpus", lambda: {"GPU-1": "H200", "GPU-2": "L4"})
    folders.both("a")
    with pytest.raises(UserError, match="cannot be measured together: they are H200 and L4"):
        folders.beside("--device=0,1")
    with pytest.raises(UserError, match="there is no GPU 2 here: choose one of 0: "):
        folders.beside("--device=1,2")


def test_a_build_of_this_tree_is_not_waited_for(folders: TwoFolders, nobody_waits: None) -> None:
    folders.both("a")
    with locks.alone(folders.root / "build"):
        assert folders.beside() is ExitStatus.OK


@pytest.mark.parametrize(
    "argv", [[], ["base"], ["", "b"], ["a", ""], ["base", "b", "c"], ["a", "b", "--programs=("],
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


def test_a_folder_that_a_shell_may_misread_is_not_pasted(folders: TwoFolders) -> None:
    folders.make("ba$(se", "a")
    folders.make("candidate", "a", SLOW)
    assert ab.main(["ba$(se", "candidate"], folders.root) == 1
    assert "/warpgauge ab BASE_FOLDER candidate --filter" in folders.output()[0]
