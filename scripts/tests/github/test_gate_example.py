# SPDX-License-Identifier: Apache-2.0
"""examples/gate in a repository of examples/google_benchmark and examples/fetch_content."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import workflows
from fake_github import FakeGitHub
from gate_pair import MEMBERS
from hosted_job import HostedJob
from hosted_repository import git
from hosted_run import HostedRun
from warpgauge.commands.ci.results import comment
from warpgauge.github.gpus import TOPIC
from warpgauge.records.load import load
from warpgauge.system.environment import ROOT
from warpgauge.system.errors import ExitStatus
from warpgauge.system.locks import alone
from warpgauge.verdict.comparison import exit_status
from warpgauge.verdict.judge import judge

EXAMPLES = ROOT / "examples"
EXAMPLE = EXAMPLES / "gate"
GATE = workflows.parsed((workflows.GITHUB / "workflows" / "gate.yml").read_text())
# Twice the work, for the same result.
SLOWER = "  double sum = 0;\n  for (const double one : x) {\n    sum += one * 0;\n  }\n"
QUICK = "-DCMAKE_CXX_FLAGS_RELEASE=-O1"  # to compile
WORST = ("BM_dot/1024/min_time:0.050", "dot/library/f64/n:1024")

needs_a_compiler = pytest.mark.skipif(
    None in map(shutil.which, ("cmake", "ninja", "c++"))
    or not Path("/usr/include/benchmark/benchmark.h").exists(),
    reason="cmake, ninja, a compiler or libbenchmark-dev is not installed",
)


def call(name: str) -> Mapping[str, Any]:
    """What the example gives to one of our workflows."""
    text = (EXAMPLE / ".github" / "workflows" / f"{name}.yml").read_text()
    (job,) = workflows.parsed(text)["jobs"].values()
    return dict(job["with"])


class PullRequest:
    """Of a slower library. `inputs` are those of the example's performance.yml."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.project = folder, folder / "project"
        shutil.copytree(EXAMPLES / "google_benchmark", self.project)
        shutil.copytree(EXAMPLE, self.project, dirs_exist_ok=True)
        shutil.copytree(EXAMPLES / "fetch_content", self.project / "engine")
        with (self.project / "CMakeLists.txt").open("a") as lists:
            lists.write("add_subdirectory(engine)\n")
        git(self.project, "init", "--quiet", "--initial-branch=main")
        self.base = self._commit()
        for source in self.project.rglob("dot.hpp"):
            source.write_text(source.read_text().replace("  double sum = 0;\n", SLOWER))
        self.head = self._commit()
        self.inputs = {
            **call("performance"),
            "engine": f"-DWARPGAUGE_CUDA=OFF {QUICK}",
            "budget": "20s",
        }
        self.inputs["build"] = self.inputs["build"].replace(
            "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_BUILD_TYPE=Release {QUICK}"
        )
        self.gpu: dict[str, object] = {}

    def _commit(self) -> str:
        git(self.project, "add", "--all")
        git(self.project, "commit", "--quiet", "--message", "a commit")
        return git(self.project, "rev-parse", "HEAD")

    def job(self, name: str, **further: object) -> HostedJob:
        """One that has not run yet."""
        inputs = {
            key: one.get("default") for key, one in GATE["on"]["workflow_call"]["inputs"].items()
        }
        known = {
            **{f"inputs.{key}": value for key, value in {**inputs, **self.inputs}.items()},
            **{f"matrix.{key}": value for key, value in self.gpu.items()},
            "vars.WARPGAUGE_GPU": "true",
            "github.event.pull_request.head.sha": self.head,
            "github.event.pull_request.base.sha": self.base,
            **further,
        }
        launcher = {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache"} if shutil.which("ccache") else {}
        environment = {"CMAKE_GENERATOR": "Ninja", **launcher}
        return HostedJob(self.folder / name, self.project, known, environment)

    def planned(self) -> dict[str, str]:
        """The outputs of the job that finds the GPUs, of which there is one."""
        outputs = self.job("plan").run(GATE["jobs"]["plan"])
        (self.gpu,) = json.loads(outputs["matrix"])["include"]
        return outputs

    def verdict(self, gate: Mapping[str, str], result: str) -> dict[str, str]:
        """The outputs of the job that ends it, after this of the GPU's."""
        found = {f"needs.gate.outputs.{name}": one for name, one in gate.items()}
        return self.job("verdict", **found, **{"needs.gate.result": result}).run(
            GATE["jobs"]["verdict"]
        )


@pytest.fixture
def pull_request(tmp_path: Path) -> PullRequest:
    return PullRequest(tmp_path)


@pytest.fixture
def workspace() -> Iterator[Path]:
    """Of a runner that is not thrown away: what was compiled of the engine stays beside it."""
    with alone(ROOT / "build" / "tests" / "gate_example"):
        (ROOT / "build" / "tests" / "engine").mkdir(exist_ok=True)
        yield ROOT / "build" / "tests" / "gate_example" / "workspace"


def measured(pull_request: PullRequest, workspace: Path) -> tuple[HostedJob, dict[str, str]]:
    pull_request.planned()
    job, engine = pull_request.job("gate"), workspace.parents[1] / "engine"
    job.folder = workspace
    job.before = {"Install the engine": lambda: (workspace / "engine").symlink_to(engine)}
    return job, job.run(GATE["jobs"]["gate"])


@needs_a_compiler
def test_a_slower_library_fails_on_each_gpu_and_leaves_what_the_comment_reads(
    pull_request: PullRequest, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, outputs = measured(pull_request, workspace)
    assert job.failed, job.log
    left = job.uploaded["warpgauge-nvidia-h200"]
    assert (left / MEMBERS[0]).exists(), job.log
    found = judge(load(left / MEMBERS[0]), load(left / MEMBERS[1]))
    assert exit_status(found) is ExitStatus.REGRESSION, job.log
    assert {one.name for one in found.verdicts} == set(WORST)
    sides = (found.baseline, pull_request.base), (found.candidate, pull_request.head)
    for side, commit in sides:
        assert [one.context["commit"] for one in side.sessions.values()] == [commit]
    # A command with the runner's folders is of no use to a reader.
    report = (left / "report.md").read_text()
    assert "warpgauge ab BASE_FOLDER CANDIDATE_FOLDER" in report.splitlines()
    told = pull_request.verdict(outputs, "failure")
    assert (told["verdict"], told["exit-status"]) == ("FAIL", "1")
    assert told["worst"] in WORST
    assert told["report"].endswith("/report-nvidia-h200.html")
    assert all(name in job.uploaded["report-nvidia-h200.html"].read_text() for name in WORST)
    monkeypatch.chdir(pull_request.folder)  # with the checkout `project`
    body = commented(pull_request, left)
    assert re.search("FAIL|2 slower", body)
    assert all(f"`{name}`" in body for name in WORST)
    assert "scripts/warpgauge ab BASE_FOLDER CANDIDATE_FOLDER" in body


def commented(pull_request: PullRequest, left: Path) -> str:
    """What the example's comment.yml posts on the run of its performance.yml, from main."""
    given, head = call("comment"), pull_request.head
    git(pull_request.project, "checkout", "--quiet", "main~1")
    root = pull_request.folder / "hosted"
    root.mkdir()
    with FakeGitHub() as api, FakeGitHub() as storage:
        hosted = HostedRun(root, api, storage)
        hosted.run |= {"path": given["workflow"], "head_sha": head}
        hosted.merge_base = pull_request.base
        hosted.pulls[:] = [hosted.pull(head=head)]
        (gpu,) = json.loads((pull_request.project / ".github" / "gpus.json").read_text())["gpus"]
        hosted.jobs[:] = [{**hosted.job("gate / gate (NVIDIA H200)"), "labels": [gpu["runs_on"]]}]
        base, candidate = ((left / member).read_bytes() for member in MEMBERS)
        hosted.replace((base, candidate))
        hosted.answer_for(head, Path(given["workflow"]).name)
        environment = hosted.environment(WORKFLOW=given["workflow"], POLICY=given["policy"])
        assert comment(["--reports", str(root / "reports")], ROOT, environment) is ExitStatus.OK
        page = (root / "reports" / "checked-report-nvidia-h200.html").read_text()
        assert all(name in page for name in WORST)
        assert comment([], ROOT, environment) is ExitStatus.OK
        return hosted.body


def test_a_side_that_does_not_build_is_no_verdict(pull_request: PullRequest) -> None:
    pull_request.planned()
    pull_request.inputs |= {"engine": "", "build": "echo 'g++: no such thing'; false; true"}
    job = pull_request.job("gate")
    outputs = job.run(GATE["jobs"]["gate"])
    assert job.failed
    assert "::error title=Nothing was compared::The base does not build" in job.log
    assert {*outputs.values()} == {"", "https://github.com/artifacts/warpgauge-nvidia-h200"}
    told = pull_request.verdict(outputs, "failure")
    assert (told["verdict"], told["exit-status"]) == ("NOT DECIDED", "3")


@pytest.mark.parametrize(
    ("variable", "topics", "enabled"),
    [("", [], "false"), ("off", [TOPIC], "false"), ("", [TOPIC], "true"), ("on", [], "true")],
)
def test_nothing_is_measured_unless_the_variable_or_a_topic_says_so_and_a_notice_tells_how(
    pull_request: PullRequest, variable: str, topics: list[str], enabled: str
) -> None:
    known = {"vars.WARPGAUGE_GPU": variable, "github.event.repository.topics": topics}
    plan = pull_request.job("off", **known)
    outputs = plan.run(GATE["jobs"]["plan"])
    assert outputs["enabled"] == enabled
    assert ("variable WARPGAUGE_GPU" in plan.log) == (enabled == "false")
    assert not plan.failed
    for job in ("gate", "unchanged"):
        assert "needs.plan.outputs.enabled == 'true'" in GATE["jobs"][job]["if"]


@pytest.mark.parametrize(
    ("gate", "result", "verdict", "status"),
    [
        ({}, "success", "PASS", "0"),
        ({"open": "3"}, "failure", "NOT DECIDED", "3"),
        ({"open": "3", "failed": "FAIL"}, "failure", "FAIL", "1"),  # two GPUs
        ({}, "failure", "NOT DECIDED", "3"),
    ],
)
def test_of_several_gpus_the_worst_is_the_verdict(
    pull_request: PullRequest, gate: dict[str, str], result: str, verdict: str, status: str
) -> None:
    told = pull_request.verdict(gate, result)
    assert (told["verdict"], told["exit-status"]) == (verdict, status)


@pytest.mark.parametrize(("name", "ours"), [("performance", "gate"), ("comment", "comment")])
def test_the_example_calls_our_workflows_as_they_are_to_be_called(name: str, ours: str) -> None:
    text = (EXAMPLE / ".github" / "workflows" / f"{name}.yml").read_text()
    example = workflows.parsed(text)
    (job,) = example["jobs"].values()
    called = workflows.parsed((workflows.GITHUB / "workflows" / f"{ours}.yml").read_text())
    inputs = called["on"]["workflow_call"]["inputs"]
    required = {key for key, one in inputs.items() if one.get("required")}
    assert required <= job["with"].keys() <= inputs.keys()
    assert f"/.github/workflows/{ours}.yml@" in job["uses"]
    # A called workflow has no more rights than its caller grants.
    for one in called["jobs"].values():
        assert one["permissions"].items() <= job["permissions"].items()
    assert example["permissions"] == {}
