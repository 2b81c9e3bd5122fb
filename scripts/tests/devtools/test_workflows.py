# SPDX-License-Identifier: Apache-2.0
"""What every workflow and action holds to, so that nobody's pull request gets more than a look;
and that those that record hand over what `warpgauge ci propose` and `history` take.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import shell
import workflows
from warpgauge.commands import bisect
from warpgauge.commands.ci import gate
from warpgauge.commands.ci.results import BASELINE_WORKFLOW
from warpgauge.commands.measuring_command import RunPaths
from warpgauge.github import artifact, gpus, nights
from warpgauge.github.artifact import MOST_ARTIFACTS
from warpgauge.github.gpus import TOPIC
from warpgauge.reports import recorded
from warpgauge.reports.formats import json as comparison_json
from warpgauge.system.environment import ROOT
from workflows import Call, Job, Step, calls, files, jobs, run_steps

PINNED = re.compile(r"uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
# What one may be started by. By pull_request_target, which gives a stranger's code our rights where
# that is checked out, in one place alone.
TRIGGERS = {"push", "pull_request", "workflow_dispatch", "workflow_run", "schedule"}
TRIGGERS |= {"issue_comment", "merge_group", "workflow_call"}
TARGETED = "comment.yml"
RIGHTS = {"actions", "checks", "contents", "pull-requests", "security-events", "statuses"}
# Of the job alone that publishes the site.
PUBLISHES, SITE_RIGHTS = "pages.yml/publish", {"pages": "write", "id-token": "write"}
SECRET = re.compile(r"secrets\.|github\.token|GITHUB_TOKEN|GH_TOKEN")

# The action at our root, which `$/` cannot name.
CHECKED_OUT = "./warpgauge"
# Of the default branch, or of the commit of ours that another project's workflow names.
OURS = {None, "${{ job.workflow_sha }}", "${{ job.workflow_repository }}"}

every_job = pytest.mark.parametrize("job", jobs(), ids=str)
every_file = pytest.mark.parametrize("path", files(), ids=lambda path: path.relative_to(ROOT))
gpu_jobs = pytest.mark.parametrize("job", [one for one in jobs() if one.on_gpu], ids=str)
every_run = pytest.mark.parametrize("step", run_steps(), ids=str)
every_call = pytest.mark.parametrize("call", calls(), ids=str)


def actions(job: Job, name: str) -> list[Mapping[str, Any]]:
    """What the steps of this action are given."""
    used = [step for step in job.steps if str(step.get("uses", "")).startswith(f"{name}@")]
    return [step.get("with", {}) for step in used]


@pytest.mark.parametrize("path", workflows.workflows(), ids=lambda path: path.name)
def test_a_workflow_begins_without_a_right_or_a_cache_and_one_at_a_time(path: Path) -> None:
    workflow = workflows.workflows()[path]
    assert workflow["permissions"] == {}
    assert workflow["cache-mode"] == "none"
    assert workflow["concurrency"]["group"]
    assert isinstance(workflow["on"], dict), f"{path.name}: say what starts it as a mapping"
    targeted = {"pull_request_target"} if path.name == TARGETED else set()
    assert workflow["on"].keys() <= TRIGGERS | targeted


def test_a_changed_base_is_told_by_the_default_branch_s_code_which_reads_only_a_number() -> None:
    (job,) = [job for job in jobs() if job.path.name == TARGETED]
    assert job.workflow["on"]["pull_request_target"] == {"types": ["edited"]}
    assert job.told["if"].startswith("github.event.changes.base ||")
    assert job.writes == ["pull-requests"]
    assert not job.on_gpu
    ours, theirs = actions(job, "actions/checkout")
    assert {ours["repository"], ours["ref"]} <= OURS
    assert theirs.keys() == {"persist-credentials", "path"}  # of who calls this, by workflow_run
    used = {str(step["uses"]).partition("@")[0] for step in job.steps if "uses" in step}
    assert used == {"actions/checkout", "actions/upload-artifact"}
    # Nothing else of what a stranger wrote: not a title, a branch's name or a commit.
    read = set(re.findall(r"github\.event\.pull_request[.\w]*", job.path.read_text()))
    assert read == {"github.event.pull_request.number"}
    prepare, *_ = [step for step in job.steps if "run" in step]
    assert prepare["run"] == "scripts/warpgauge ci prepare"
    assert "env" not in prepare  # packages are installed before the token is there
    assert job.steps[-1]["run"] == "scripts/warpgauge ci comment"  # which reads the event's number


def test_of_an_event_numbers_are_read_and_what_a_dispatch_gave_and_no_text_of_a_stranger() -> None:
    files = (ROOT / "scripts" / "src" / "warpgauge").rglob("*.py")
    source = "".join(path.read_text() for path in files)
    read = re.findall(r'(\w+)\(job\.event, "(\w+)", "(\w+)"', source)
    assert set(read) == {
        *(("number", *keys) for keys in (("pull_request", "number"), ("workflow_run", "id"))),
        ("number", "comment", "id"),
        *(("text", "inputs", name) for name in ("gpu", "sessions")),
    }
    assert len(re.findall(r"job\.event\b", source)) == len(read) + 1  # `in`, which tells them apart


def test_what_a_comment_is_told_is_what_the_command_reads() -> None:
    (job,) = [job for job in jobs() if job.path.name == TARGETED]
    inputs = job.workflow["on"]["workflow_call"]["inputs"]
    told = {f"WARPGAUGE_{name.upper()}": f"${{{{ inputs.{name} }}}}" for name in inputs}
    pages = {"WARPGAUGE_PAGES": "${{ vars.WARPGAUGE_PAGES }}"}
    assert job.told["env"] == {**told, **pages}
    (answer,) = [one for one in jobs() if str(one) == "on-demand.yml/answer"]
    request = {"WARPGAUGE_REQUEST": "${{ needs.begin.outputs.request }}"}
    assert answer.told["env"] == {**request, **pages}
    source = (ROOT / "scripts/src/warpgauge/commands/ci/results.py").read_text()
    read = {f"WARPGAUGE_{name}" for name in re.findall(r'setting\("(\w+)"\)', source)}
    assert read == {*told, *pages, *request, "WARPGAUGE_REPORT"}


@pytest.mark.parametrize("path", ["comment.yml/comment", "on-demand.yml/answer"])
def test_the_report_that_a_comment_links_is_made_by_its_job_and_no_fault_of_it_is_silence(
    path: str,
) -> None:
    (job,) = [one for one in jobs() if str(one) == path]
    *_, made, kept, said = job.steps
    assert 'ci comment --reports "$RUNNER_TEMP/reports"' in made["run"]
    assert (made["continue-on-error"], kept["continue-on-error"]) == (True, True)
    assert made["timeout-minutes"] < job.told["timeout-minutes"]
    given = kept["with"]
    assert given["path"] == "${{ runner.temp }}/reports/*.html"
    name = f"steps.{made['id']}.outputs.name"
    assert kept["if"] == name
    # What is replaced is what this says, though a page alone is called like its file.
    assert given["name"] == f"${{{{ {name} }}}}"
    assert given["archive"] == f"${{{{ !endsWith({name}, '.html') }}}}"
    report = {"WARPGAUGE_REPORT": f"${{{{ steps.{kept['id']}.outputs.artifact-url }}}}"}
    assert said["env"] == {**made["env"], **report}  # otherwise both are told the same
    assert said["run"] == "scripts/warpgauge ci comment"
    # A job on a GPU of the same run could have taken the name.
    assert given.get("overwrite", False) is (job.path.name == "on-demand.yml")


@every_job
def test_a_job_says_its_rights_ends_in_time_and_leaves_no_credentials(job: Job) -> None:
    if str(job) == PUBLISHES:
        assert job.told["permissions"] == SITE_RIGHTS
    else:
        assert set(job.told["permissions"]) <= RIGHTS
    assert set(job.told["permissions"].values()) <= {"read", "write"}
    assert job.called or job.told["timeout-minutes"]
    assert "secrets" not in job.told
    for given in actions(job, "actions/checkout"):
        assert given["persist-credentials"] is False
        # What may write runs the default branch's code, on a hosted machine.
        assert not job.writes or {given.get("ref"), given.get("repository")} <= OURS
    assert not (job.writes and job.on_gpu)


@every_job
def test_what_a_pull_request_starts_writes_nothing_and_knows_no_secret(job: Job) -> None:
    if "pull_request" in job.workflow["on"]:
        assert job.writes == []
        assert SECRET.search(job.path.read_text()) is None


@every_file
def test_actions_are_pinned_by_commit_and_say_their_version(path: Path) -> None:
    lines = [line.strip().removeprefix("- ") for line in path.read_text().splitlines()]
    own = ("uses: $/", f"uses: {CHECKED_OUT} ")
    used = [line for line in lines if line.startswith("uses:") and not line.startswith(own)]
    assert [line for line in used if not PINNED.fullmatch(line)] == []


def test_an_action_that_is_checked_out_is_ours_and_loaded_before_the_change_runs() -> None:
    (job,) = [job for job in jobs() if CHECKED_OUT in str(job.steps)]
    names = [step.get("uses") for step in job.steps]
    steps = job.steps[: names.index(CHECKED_OUT)]
    given = {step["with"]["path"]: step["with"] for step in steps if "uses" in step}
    assert given.keys() == {"candidate", "warpgauge"}
    assert {given["warpgauge"]["repository"], given["warpgauge"]["ref"]} <= OURS
    assert given["candidate"].get("repository") is None
    clean, engine = [step["run"] for step in steps if "run" in step]
    assert clean.startswith("rm -rf ")
    assert {"candidate", "warpgauge"} <= {*clean.split()}
    assert "candidate" not in engine


@every_run
def test_nothing_is_pasted_into_a_shell(step: Step) -> None:
    assert "${{" not in step.run
    assert step.shell == "bash"


@gpu_jobs
def test_a_gpu_job_can_read_in_an_environment(job: Job) -> None:
    assert job.told["permissions"] == {"contents": "read"}
    assert SECRET.search(str(job.told)) is None
    assert SECRET.search(str(job.workflow.get("env", ""))) is None
    assert job.told["environment"] == "gpu" or "'gpu-outside' || 'gpu'" in job.told["environment"]
    uses = [str(step["uses"]) for step in job.steps if "uses" in step]
    artifacts = ("actions/upload-artifact@", "actions/download-artifact@")
    allowed = ("actions/checkout@", *artifacts, CHECKED_OUT)
    assert [action for action in uses if not action.startswith(allowed)] == []


@pytest.fixture
def measure() -> Job:
    (job,) = [job for job in jobs() if str(job) == "gpu.yml/measure"]
    return job


HEAD = (
    "inputs.head || github.event.pull_request.head.sha || github.event.merge_group.head_sha"
    " || github.sha"
)
BASE = "github.event.pull_request.base.sha || github.event.merge_group.base_sha || inputs.base"
ON = "needs.plan.outputs.enabled == 'true'"
TOPICAL = {"pull_request", "workflow_call"}  # what a fork can start, itself or through a caller


def test_a_pull_request_is_measured_at_the_commit_that_was_approved(measure: Job) -> None:
    assert measure.workflow["run-name"] == f"gpu ${{{{ {HEAD} }}}}"
    # A called workflow's plan runs the default branch's code: nobody has approved the other yet.
    refs = {"plan": HEAD.removeprefix("inputs.head || "), "changed": HEAD, "measure": HEAD}
    for job in jobs():
        if job.path == measure.path:
            for given in actions(job, "actions/checkout"):
                assert given["ref"] == f"${{{{ {refs[job.name]} }}}}"
            assert "head.ref" not in str(job.told)
            assert "head_ref" not in str(job.told)
    # A fork waits for a reviewer, and a branch of ours does not.
    outside = "github.event.pull_request.head.repo.full_name != github.repository"
    assert (
        f"(inputs.outside || github.event_name == 'pull_request' && {outside})"
        in (measure.told["environment"])
    )
    bases = [step["env"]["BASE"] for job in jobs() if job.path == measure.path
             for step in job.steps if "BASE" in step.get("env", ())]  # fmt: skip
    assert bases == [f"${{{{ {BASE} }}}}"] * 3


def plan_of(job: Job) -> Job:
    (plan,) = [one for one in jobs() if (one.path, one.name) == (job.path, "plan")]
    return plan


def changed_of(job: Job) -> Job:
    (changed,) = [one for one in jobs() if (one.path, one.name) == (job.path, "changed")]
    return changed


def test_what_changed_is_read_without_a_gpu_and_its_failure_measures_everything(
    measure: Job,
) -> None:
    changed = changed_of(measure)
    assert not changed.on_gpu
    assert changed.told["permissions"] == {"contents": "read"}
    assert measure.told["needs"] == ["plan", "changed"]
    (kept,) = actions(changed, "actions/upload-artifact")
    (read,) = [one for one in measure.steps if "download-artifact" in one.get("uses", "")]
    assert kept["name"] == read["with"]["name"] == artifact.CHANGED
    assert kept["path"] == f"{read['with']['path']}/{artifact.CHANGED_FILE}"
    assert read["continue-on-error"] is True
    (gate,) = [one for one in measure.steps if "--base" in one.get("run", "")]
    asked = f"steps.{read['id']}.outcome == 'success' && '{kept['path']}' || ''"
    assert gate["env"]["CHANGED"] == f"${{{{ {asked} }}}}"
    assert gate["run"].endswith(' ${CHANGED:+"--changed=$CHANGED"}')


def test_what_nobody_has_approved_is_built_in_no_run_of_a_comment() -> None:
    (job,) = [job for job in jobs() if job.called]
    assert job.told["with"]["all"] is True


@pytest.mark.parametrize("job", [one for one in jobs() if one.on_gpu], ids=lambda job: str(job))
def test_no_job_waits_for_a_gpu_that_the_repository_has_not_turned_on(job: Job) -> None:
    (asked,) = [step for step in plan_of(job).steps if step.get("id") == "gpus"]
    variable, topic = "vars.WARPGAUGE_GPU", f"contains(github.event.repository.topics, '{TOPIC}')"
    # Variables are kept from a fork's pull request, and a topic from a copy of the repository.
    told = f"{variable} || {topic}" if TOPICAL & job.workflow["on"].keys() else variable
    assert asked["env"]["WARPGAUGE_GPU"] == f"${{{{ {told} }}}}"
    assert job.told["if"].startswith(ON) or f"!cancelled() && {ON}" in job.told["if"]
    assert job.told["runs-on"] == "${{ matrix.runs_on }}"


def test_a_required_check_is_reported_where_nothing_that_is_measured_has_changed(
    measure: Job,
) -> None:
    (unchanged,) = [job for job in jobs() if str(job) == "gpu.yml/unchanged"]
    assert unchanged.told["name"] == measure.told["name"]
    measured = "needs.plan.outputs.measured"
    wanted = f"{ON} && ({measured} == 'true' || inputs.base)"
    assert measure.told["if"] == f"${{{{ !cancelled() && {wanted} }}}}"
    assert changed_of(measure).told["if"] == f"{wanted} && !inputs.all"
    assert unchanged.told["if"] == f"{ON} && {measured} == 'false' && !inputs.base"
    assert unchanged.told["permissions"] == {}
    (step,) = unchanged.steps
    assert step["run"].startswith('echo "::notice ')
    assert not unchanged.on_gpu


def test_one_asks_by_hand_and_from_another_workflow_for_the_same(measure: Job) -> None:
    on = measure.workflow["on"]
    asked, called = (
        {name: (told["type"], told.get("default")) for name, told in on[event]["inputs"].items()}
        for event in ("workflow_dispatch", "workflow_call")
    )
    assert asked == called
    assert {*asked} == {"head", "base", "gpu", "filter", "outside", "all"}
    assert on["merge_group"] == {"types": ["checks_requested"]}
    group = measure.workflow["concurrency"]["group"]
    for apart in ("event_name", "pull_request.number", "comment.id", "github.ref", "inputs.head"):
        assert apart in group


def test_a_gpu_job_is_called_as_the_comment_looks_for_it_and_ended_by_no_other(
    measure: Job,
) -> None:
    (gpu, *_) = gpus.read(gpus.file_of(ROOT))
    name = measure.told["name"].replace("${{ matrix.name }}", gpu.name)
    assert name == gpu.job_name
    # Neither another GPU nor an edited title ends a measurement.
    assert "inputs.gpu" in measure.workflow["concurrency"]["group"]
    assert "github.event.comment.id" in measure.workflow["concurrency"]["group"]
    assert measure.workflow["on"]["pull_request"] is None  # opened, synchronize, reopened


def test_a_run_is_told_of_when_it_begins_goes_on_after_an_approval_and_ends() -> None:
    (job,) = [job for job in jobs() if job.path.name == "comment.yml"]
    assert job.workflow["on"]["workflow_run"]["types"] == ["requested", "in_progress", "completed"]
    # Of those that wait only the newest is kept: it must be of the same run.
    assert "workflow_run.id" in job.workflow["concurrency"]["group"]


def test_a_comment_runs_the_default_branch_s_code_and_only_where_a_command_stands() -> None:
    begin, measure, answer = [job for job in jobs() if "issue_comment" in job.workflow["on"]]
    for job in (begin, answer):
        assert not job.on_gpu
        assert job.told["permissions"]["contents"] == "read"
        assert job.writes == ["pull-requests"]
        # Without a ref it is the default branch's commit that GitHub says.
        (given,) = actions(job, "actions/checkout")
        assert given.keys() == {"persist-credentials"}
        # Nothing that a stranger wrote is as much as handed to a command.
        assert "comment.body" not in str(job.steps)
        assert "pull_request" not in str(job.steps)
    assert begin.workflow["on"]["issue_comment"] == {"types": ["created"]}
    assert begin.told["if"].split(" && ") == [
        "github.event.issue.pull_request",
        "startsWith(github.event.comment.body, '/warpgauge run')",
        'contains(fromJSON(\'["OWNER", "MEMBER", "COLLABORATOR", "CONTRIBUTOR"]\'),'
        " github.event.comment.author_association)",
    ]
    asked = "needs.begin.outputs.request"
    assert (measure.told["needs"], measure.told["if"]) == ("begin", asked)
    assert (answer.told["needs"], answer.told["if"]) == (
        ["begin", "measure"],
        f"always() && {asked}",
    )
    # Packages are installed before the token is there.
    assert "env" not in answer.steps[1]
    assert answer.steps[1]["run"] == "scripts/warpgauge ci prepare"


def test_a_called_workflow_gets_what_it_takes_no_more_rights_and_a_group_of_its_own() -> None:
    by_name = {path.name: told for path, told in workflows.workflows().items()}
    callers = [job for job in jobs() if job.called]
    assert [str(job) for job in callers] == ["on-demand.yml/measure"]
    for job in callers:
        called = by_name[job.called]
        assert job.told["with"].keys() == called["on"]["workflow_call"]["inputs"].keys()
        assert job.told["permissions"] == {"contents": "read"}
        # A job of a called workflow that wants more than its caller gives ends the whole run.
        wanted = [told["permissions"] for told in called["jobs"].values()]
        assert [one for one in wanted if not one.items() <= job.told["permissions"].items()] == []
        groups = job.workflow["concurrency"]["group"], called["concurrency"]["group"]
        name = "${{ github.workflow }}"  # the caller's, there
        assert groups[0] != groups[1].replace(name, job.workflow["name"])


def test_results_are_kept_of_what_failed_above_all(measure: Job) -> None:
    kept, _ = [step for step in measure.steps if "upload-artifact" in step.get("uses", "")]
    assert kept["if"] == "always()"
    assert kept["with"]["name"] == "warpgauge-${{ matrix.slug }}"
    (gate,) = [step for step in measure.steps if "--base" in step.get("run", "")]
    assert f"--out-dir {kept['with']['path']}" in gate["run"]


@every_call
def test_a_command_of_ours_takes_what_it_is_given(call: Call) -> None:
    name, *words = call.script.split()
    assert (ROOT / name).stat().st_mode & 0o111
    name = "scripts/test" if name == ".ci/run" else name  # which hands everything on
    assert sorted(call.flags - options((name, *words))) == []


@cache
def options(command: tuple[str, ...]) -> frozenset[str]:
    """Those that a command of ours has."""
    name, *words = command

    def shown(option: str) -> frozenset[str]:
        line = [sys.executable, str(ROOT / name), *words, option]
        done = subprocess.run(line, capture_output=True, text=True, check=True)
        return frozenset(re.findall(r"(?<![\w-])--[a-z][a-z-]*", done.stdout))

    usual = shown("--help")
    return shown("--help-all") if "--help-all" in usual else usual


def test_the_calls_are_found() -> None:
    found = {call.script for call in calls()}
    assert {f"scripts/warpgauge {name}" for name in ("ci gate", "ci gpus", "ab")} <= found
    assert ".ci/run" in found
    assert "scripts/devtools/sanitize" in found


def workflow(name: str) -> Any:  # noqa: ANN401 - a YAML file's
    return workflows.parsed((workflows.GITHUB / "workflows" / name).read_text())


def upload(job: Any) -> Any:  # noqa: ANN401
    step, *pages = [one for one in job["steps"] if "upload-artifact" in one.get("uses", "")]
    assert all(one["with"]["archive"] is False for one in pages)
    return step


@pytest.mark.parametrize(
    ("name", "job", "folder"),
    [
        ("gpu.yml", "measure", "build/gate"),
        ("gate.yml", "gate", "gate"),
        ("nightly.yml", "measure", "${{ runner.temp }}"),
    ],
)
def test_a_gpu_job_keeps_its_report_as_a_page_of_its_own_name(
    name: str, job: str, folder: str
) -> None:
    steps = workflow(name)["jobs"][job]["steps"]
    (page,) = [one for one in steps if one.get("with", {}).get("archive") is False]
    assert page["with"]["path"] == f"{folder}/{gate.page_of('${{ matrix.slug }}')}"
    assert page["with"]["if-no-files-found"] == "ignore"
    assert page["if"] in ("always()", "${{ !cancelled() }}")


def test_the_site_is_made_of_the_default_branch_in_a_run_without_a_gpu_and_published_alone() -> (
    None
):
    told = workflow("pages.yml")
    build, publish = told["jobs"]["build"], told["jobs"]["publish"]
    assert told["on"]["workflow_run"] == {"workflows": ["nightly"], "types": ["completed"]}
    assert "vars.WARPGAUGE_PAGES &&" in build["if"].replace("\n", " ")
    assert "github.ref_name == github.event.repository.default_branch" in build["if"]
    assert not [job for job in jobs() if job.path.name == "pages.yml" and job.on_gpu]
    assert {*build["permissions"].values()} == {"read"}
    prepare, make = [one for one in build["steps"] if "run" in one]
    assert "env" not in prepare  # packages are installed before the token is there
    (upload,) = [one for one in build["steps"] if "upload-pages-artifact" in one.get("uses", "")]
    assert f"ci pages build/history {upload['with']['path']} " in make["run"]
    # What may publish runs nothing but the action that does.
    assert publish["needs"] == "build"
    # Also where the site was made without lines of the history, which fails the step.
    assert "index.html" in make["run"]
    assert f"steps.{make['id']}.outputs.made" in upload["if"]
    assert build["outputs"]["made"] == f"${{{{ steps.{make['id']}.outputs.made }}}}"
    assert publish["if"] == "${{ !cancelled() && needs.build.outputs.made }}"
    assert publish["environment"]["name"] == "github-pages"
    assert [one["uses"].partition("@")[0] for one in publish["steps"]] == ["actions/deploy-pages"]


def test_one_can_choose_every_gpu_on_a_branch_and_as_many_sessions_as_there_are_jobs() -> None:
    found = workflow(BASELINE_WORKFLOW)
    inputs = found["on"]["workflow_dispatch"]["inputs"]
    assert inputs["gpu"]["options"] == [gpu.slug for gpu in gpus.read(gpus.file_of(ROOT))]
    # A pull request goes into a branch: a tag is refused before anything is measured.
    assert "github.ref_type == 'branch'" in found["jobs"]["plan"]["if"]
    sessions = found["jobs"]["record"]["strategy"]["matrix"]["session"]
    for number in map(int, inputs["sessions"]["options"]):
        assert f"'{[*range(1, number + 1)]}'" in sessions
        assert number <= MOST_ARTIFACTS


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Where steps run; what our command is given there stands in `given`."""
    fake = tmp_path / "scripts" / "warpgauge"
    fake.parent.mkdir()
    shell.script(fake, 'printf "%s\\n" "$@" > given\necho "::found"\nexit 3')
    return tmp_path


def run_step(name: str, tree: Path, **given: str) -> int:
    """Run the shell of the step of this name; its status."""
    (step,) = [one for job in jobs() for one in job.steps if one.get("name") == name]
    told = {key: given[key] for key in step.get("env", {})}
    places = {"RUNNER_TEMP": str(tree), "GITHUB_STEP_SUMMARY": str(tree / "summary")}
    environment = {**os.environ, **places, "GITHUB_SHA": "b" * 40, **told}
    shell = ["bash", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(shell, cwd=tree, env=environment, check=False).returncode


def test_one_can_have_a_commit_searched_for_and_no_word_of_it_is_another_command(
    tree: Path,
) -> None:
    inputs = workflow("bisect.yml")["on"]["workflow_dispatch"]["inputs"]
    assert inputs["gpu"]["options"] == [gpu.slug for gpu in gpus.read(gpus.file_of(ROOT))]
    asked = {"ROWS": "a/b $(id) --help", "GOOD": "--x", "BAD": "$(id)", "BUDGET": "--y;id"}
    assert run_step("Find the commit", tree, **asked) == 3
    given = (tree / "given").read_text().splitlines()
    rows = ["a/b", "$(id)", "--help"]
    assert given == ["bisect", "--budget=--y;id", "--", "--x", "$(id)", *rows]
    assert run_step("Show it in the summary", tree) == 0
    assert (tree / "summary").read_text() == "    ::found\n"


def test_a_night_that_found_a_regression_names_a_search_here_and_there(tree: Path) -> None:
    name = "Name the command that finds the commit"
    found = json.loads(comparison_json.render(recorded.comparison()))
    (row,) = [one["name"] for one in found["verdicts"] if one["outcome"] == "REGRESSION"]
    summary = tree / "summary"
    (tree / "comparison.json").write_text(json.dumps(found))
    assert run_step(name, tree, GPU="nvidia-h200") == 0
    assert summary.read_text() == ""  # nothing was measured in pairs
    good = "106dabe04f"
    (tree / "run-confirm-base.json").write_text(json.dumps({"context": {"commit": good}}))
    assert run_step(name, tree, GPU="nvidia-h200") == 0
    here, there = map(shlex.split, summary.read_text().splitlines()[-2:])
    bad = "b" * 40
    assert here[0] == "scripts/warpgauge"
    options = bisect.parse(here[2:])
    assert (options.own.good, options.own.bad, options.own.rows) == (good, bad, (row,))
    assert there[:4] == ["gh", "workflow", "run", "bisect.yml"]
    asked = dict(word.split("=", 1) for word in there[5::2])
    assert asked == {"gpu": "nvidia-h200", "good": good, "bad": bad, "rows": row}
    assert asked.keys() <= workflow("bisect.yml")["on"]["workflow_dispatch"]["inputs"].keys()


@pytest.mark.parametrize(
    ("name", "job", "kept"),
    [
        (BASELINE_WORKFLOW, "record", "session-${{ matrix.slug }}-${{ matrix.session }}"),
        (nights.WORKFLOW, "measure", "nightly-${{ matrix.slug }}"),
    ],
)
def test_the_run_file_is_where_it_is_looked_for(name: str, job: str, kept: str) -> None:
    told = workflow(name)["jobs"][job]
    assert upload(told)["with"]["name"] == kept
    paths = upload(told)["with"]["path"].splitlines()
    assert paths[0] == f"${{{{ runner.temp }}}}/{artifact.RUN_FILE}"
    # More than one, or their folder would be another: all lie in the archive's root.
    assert len(paths) > 1
    assert {path.rpartition("/")[0] for path in paths} == {"${{ runner.temp }}"}
    assert any(f'--out "$RUNNER_TEMP/{artifact.RUN_FILE}"' in one.get("run", "")
               for one in told["steps"])  # fmt: skip


def test_what_the_history_reads_of_pairs_is_what_a_night_leaves() -> None:
    paths = RunPaths(Path(artifact.RUN_FILE))
    read = (*nights.OF_ALL, *nights.OF_FLAGGED)
    assert tuple(path.name for path in (*paths.pair, *paths.confirming)) == read
    left = upload(workflow(nights.WORKFLOW)["jobs"]["measure"])["with"]["path"]
    assert {f"${{{{ runner.temp }}}}/{name}" for name in read} <= {*left.splitlines()}


@pytest.mark.parametrize(
    ("name", "job"), [(BASELINE_WORKFLOW, "propose"), (nights.WORKFLOW, "history")]
)
def test_what_writes_gets_its_token_last_and_downloads_no_artifact(name: str, job: str) -> None:
    told = workflow(name)["jobs"][job]
    assert told["permissions"]["contents"] == "write"
    prepare, work = [one for one in told["steps"] if "run" in one]
    # Packages are installed before the token is there.
    assert "env" not in prepare
    assert prepare["run"] == "scripts/warpgauge ci prepare"
    assert work["env"]["GH_TOKEN"] == "${{ github.token }}"
    assert not any("download" in one.get("uses", "") for one in told["steps"])


def test_a_night_that_found_something_is_kept_and_added_all_the_same() -> None:
    jobs = workflow(nights.WORKFLOW)["jobs"]
    assert upload(jobs["measure"])["if"] == "${{ !cancelled() }}"
    assert "!cancelled()" in jobs["history"]["if"]
    assert "pull-requests" not in jobs["history"]["permissions"]
