# SPDX-License-Identifier: Apache-2.0
"""The action builds both sides and hands on what another repository's workflow gives it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import shell
import workflows
from hosted_job import OURS, HostedJob
from hosted_repository import git
from two_folders import TIMES, TwoFolders
from warpgauge import __version__
from warpgauge.commands.ci import gate
from warpgauge.system import git as clone
from warpgauge.system.environment import ROOT
from workflows import Step

BUILD, MEASURE = (step for step in workflows.run_steps() if step.where.startswith("action.yml"))
ACTION = workflows.parsed(workflows.ACTION.read_text())
GIVEN = {"SIDES": "/s d", "PROGRAMS": "$(touch x)", "OUT": "out", "GPU": "h 1",
         "BASE": "a" * 40, "CANDIDATE": "b" * 40}  # fmt: skip
PROGRAMS = ["/s d/base/$(touch x)", "/s d/candidate/$(touch x)"]
HANDED_ON = ["ci", "gate", "--programs", *PROGRAMS, "--out-dir", "out", "--gpu=h 1", "--"]
# What an option is made of, unless the input is empty.
OPTIONAL = {
    "BUDGET": ["--budget=5 m"],
    "POLICY": ["--policy=/s d/candidate/5 m", "--base-policy=/s d/base/5 m"],
}


def run(step: Step, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """As GitHub would."""
    bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.run]
    environment = {**os.environ, **variables}
    return subprocess.run(
        bash, capture_output=True, text=True, env=environment, cwd=folder, check=False
    )


@pytest.mark.parametrize("value", ["-^x y", "", "x; touch y"])
@pytest.mark.parametrize("name", ["", *OPTIONAL])
def test_every_input_is_handed_on_as_it_is_and_the_gate_understands_it(
    tmp_path: Path, value: str, name: str
) -> None:
    fake = shell.script(tmp_path / "warpgauge", "printf '%s\\n' \"$@\"\nexit 3")
    empty = dict.fromkeys(OPTIONAL, "")
    variables = {**GIVEN, **empty, "WARPGAUGE": str(fake), "FILTER": value}
    ended = run(MEASURE, tmp_path, **{**variables, **({name: "5 m"} if name else {})})
    assert ended.returncode == 3  # the gate's own
    assert sorted(path.name for path in tmp_path.iterdir()) == ["warpgauge"]
    arguments = ended.stdout.splitlines()
    further = [f"--filter={value}", "--commits", "a" * 40, "b" * 40, *OPTIONAL.get(name, [])]
    assert arguments == [*HANDED_ON, *further]
    options = gate.parse(arguments[2:])
    assert options.programs == PROGRAMS
    assert options.further == tuple(further)


def test_it_calls_the_gate_that_it_came_with_and_every_input_reaches_a_step() -> None:
    place = MEASURE.env["WARPGAUGE"].replace("${{ github.action_path }}", str(ROOT))
    assert Path(place).resolve() == ROOT / "scripts" / "warpgauge"
    text = " ".join([*BUILD.env.values(), *MEASURE.env.values()])
    assert {*re.findall(r"inputs\.([\w-]+)", text)} == ACTION["inputs"].keys()
    for name, given in ACTION["inputs"].items():
        assert given.get("required") or "default" in given, name


def test_its_outputs_are_those_that_the_gate_writes() -> None:
    outputs = {name: output["value"] for name, output in ACTION["outputs"].items()}
    assert outputs.keys() == {"verdict", "worst", "exit-status", "report"}
    for name, value in outputs.items():
        assert value == f"${{{{ steps.gate.outputs.{name} }}}}"


def test_the_marketplace_can_list_it() -> None:
    assert len(ACTION["description"]) <= 125
    assert ACTION["branding"].keys() == {"icon", "color"}  # scripts/lint knows their values


class PullRequest:
    """To a repository whose program takes `factor` as long in the change."""

    def __init__(self, folders: TwoFolders, factor: float) -> None:
        self.folder, self.project = folders.root, folders.root / "project"
        self.project.mkdir()
        git(self.project, "init", "--quiet", "--initial-branch=main")
        self.base, self.head = (
            self._commit(
                folders.make(side, "copy", {name: time * by for name, time in TIMES.items()})
            )
            for side, by in (("base", 1.0), ("candidate", factor))
        )

    def _commit(self, program: Path) -> str:
        for path in (program, Path(f"{program}.told")):
            shutil.copy(path, self.project)
        git(self.project, "add", "--all")
        git(self.project, "commit", "--quiet", "--allow-empty", "--message", "a commit")
        return git(self.project, "rev-parse", "HEAD")

    def job(self) -> HostedJob:
        known = {
            "github.event.pull_request.head.sha": self.head,
            "github.event.pull_request.base.sha": self.base,
        }
        return HostedJob(self.folder / "workspace", self.project, known)

    def build(self, commands: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the first step by itself."""
        paths = {"RUNNER_TEMP": self.folder, "GITHUB_OUTPUT": self.folder / "outputs"}
        given = {"CHECKOUT": "project", "REF": self.base, "BUILD": commands, **variables}
        named = {name: str(path) for name, path in paths.items()}
        return run(BUILD, self.folder, **named, **given)


def example() -> dict[str, object]:
    """The workflow of the gate's page, for programs that need no compiler."""
    (text,) = workflows.blocks()
    assert len(text.splitlines()) <= 15
    (job,) = workflows.parsed(text)["jobs"].values()
    job["steps"][-1]["with"]["build"] = "mkdir -p build/bench && cp copy* build/bench"
    return dict(job)


@pytest.mark.parametrize(("factor", "verdict", "status"), [(1.2, "FAIL", "1"), (1.0, "PASS", "0")])
def test_the_fifteen_lines_of_the_page_fail_a_slower_pull_request_and_pass_an_equal_one(
    folders: TwoFolders, monkeypatch: pytest.MonkeyPatch, factor: float, verdict: str, status: str
) -> None:
    tools = folders.root / "tools"
    tools.mkdir()
    shell.script(tools / "sudo", 'test "$1" = apt-get')
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folders.root / "summary"))
    job = PullRequest(folders, factor).job()
    job.run(example())
    outputs = {name: job.known[f"steps..outputs.{name}"] for name in ACTION["outputs"]}
    assert (outputs["verdict"], outputs["exit-status"]) == (verdict, status), job.log
    assert job.failed == (verdict == "FAIL")
    assert Path(outputs["report"]).read_text() in (folders.root / "summary").read_text()
    if job.failed:
        assert outputs["worst"] in TIMES


def test_both_sides_are_built_in_clean_checkouts_of_their_commits(folders: TwoFolders) -> None:
    change = PullRequest(folders, 1.0)
    (change.project / "left").touch()
    for _ in range(2):  # two folders of programs in a job
        ended = change.build("git rev-parse HEAD > ../commit-$(basename $PWD)")
        assert ended.returncode == 0, ended.stderr
    outputs = workflows.outputs(folders.root / "outputs")
    assert (outputs["base"], outputs["candidate"]) == (change.base, change.head)
    sides = Path(outputs["sides"])
    assert sides.stat().st_mode & 0o005 == 0o005  # another user measures
    for side in ("base", "candidate"):
        assert (sides / f"commit-{side}").read_text().strip() == outputs[side]
        assert not (sides / side / "left").exists()


def test_a_side_that_does_not_build_and_a_history_that_is_missing_are_one_sentence(
    folders: TwoFolders,
) -> None:
    change = PullRequest(folders, 1.0)
    ended = change.build("false; true")
    assert ended.returncode == 3
    assert "::error title=Nothing was compared::The base does not build" in ended.stdout
    ended = change.build("true", REF="0" * 40)
    assert ended.returncode == 3
    assert "::error title=Nothing was compared::The checkout does not have" in ended.stdout
    assert "fetch-depth 0" in ended.stdout


def test_every_workflow_that_others_copy_names_the_release_of_this_version() -> None:
    listed = clone.require(ROOT, "ls-files", "*.md", "*.yml").splitlines()
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in listed if (ROOT / name).exists()]
    tags = [tag for text in texts for tag in re.findall(rf"uses: {OURS}\S*@(\S+)", text)]
    assert len(tags) >= 3
    assert {*tags} == {f"v{__version__}"}
