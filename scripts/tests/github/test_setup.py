# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci check-setup: each setting right, wrong, and kept from us."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import pytest

from fake_github import TOKEN, Answer, FakeGitHub
from gate_pair import A100, H200
from hosted_run import HOME
from warpgauge.commands.ci.hosted import check_setup
from warpgauge.github.gpus import TOPIC, file_of
from warpgauge.system.errors import ExitStatus, UserError

API = f"/repos/{HOME}"
ENVIRONMENTS, PERMISSIONS = f"{API}/environments", f"{API}/actions/permissions"
APPROVAL = f"{PERMISSIONS}/fork-pr-contributor-approval"
PRIVATE = f"{PERMISSIONS}/fork-pr-workflows-private-repos"
VARIABLES = f"{API}/actions/variables"
RULES = f"{API}/rules/branches/release%2F1"
PROTECTION = f"{API}/branches/release%2F1/protection/required_status_checks"
POINTS = [
    "environment gpu", "environment gpu-outside", "workflow permissions", "workflows of forks",
    "GPU jobs", "required checks", "pages",
]  # fmt: skip
LABELS = ["self-hosted", "Linux", "gpu"]
GATES = [f"gate ({one['name']})" for one in (H200, A100)]


SITE = "https://warp.github.io/gauge/"
PUBLIC = {"full_name": HOME, "private": False, "default_branch": "release/1"}
ON = {"name": "WARPGAUGE_GPU", "value": "on"}
HOSTILE = "x\n::error::\x1b[31m\u202e##[group]"
Answers = dict[str, object]  # by path
Captured = pytest.CaptureFixture[str]


def reviewed(**rule: object) -> Answers:
    """An environment with a rule for its reviewers."""
    usual = {"type": "required_reviewers", "prevent_self_review": True, "reviewers": [{"id": 1}]}
    rules = [{"type": "wait_timer"}, {**usual, **rule}]
    return {f"{ENVIRONMENTS}/gpu-outside": {"protection_rules": rules}}


def requiring(*checks: str) -> list[dict[str, object]]:
    listed = [{"context": check, "integration_id": 15368} for check in checks]
    parameters = {"required_status_checks": listed}
    return [{"type": "deletion"}, {"type": "required_status_checks", "parameters": parameters}]


def of_workflow(name: str) -> Answers:
    required = {"workflows": [{"path": f".github/workflows/{name}", "repository_id": 1}]}
    return {RULES: [{"type": "workflows", "parameters": required}]}


def variables(*those: Mapping[str, object]) -> Answers:
    return {VARIABLES: {"variables": [*those]}}


def private(**settings: object) -> Answers:
    why = Answer({"message": "not for private repositories"}, 422)
    return {API: {**PUBLIC, "private": True}, APPROVAL: why, PRIVATE: settings}


def published(environment: object = None, **site: object) -> Answers:
    """A repository whose variable asks for the site, and what publishes it."""
    usual = {"html_url": SITE, "build_type": "workflow", "public": True}
    rules = {"deployment_branch_policy": {"custom_branch_policies": True}}
    return {
        **variables(ON, {"name": "WARPGAUGE_PAGES", "value": SITE}),
        f"{API}/pages": {**usual, **site},
        f"{ENVIRONMENTS}/github-pages": rules if environment is None else environment,
    }


class Hosted:
    """A repository that is set up."""

    def __init__(self, root: Path, api: FakeGitHub) -> None:
        self.root, self.api = root, api
        self.answers(
            {
                API: PUBLIC,
                f"{ENVIRONMENTS}/gpu": {"name": "gpu"},
                **reviewed(),
                f"{PERMISSIONS}/workflow": {"default_workflow_permissions": "read"},
                APPROVAL: {"approval_policy": "all_external_contributors"},
                **variables(ON),
                RULES: requiring("ci", *GATES),
            }
        )
        file_of(root).parent.mkdir()
        models = [{**one, "runs_on": LABELS, "minutes": 60} for one in (H200, A100)]
        file_of(root).write_text(json.dumps({"gpus": models}))

    def answers(self, answers: Answers) -> None:
        for path, answer in answers.items():
            self.api.on("GET", path, answer if isinstance(answer, Answer) else Answer(answer))

    def check(self, capsys: Captured) -> tuple[ExitStatus, dict[str, tuple[str, str]]]:
        """The status; and how each point is marked, and what is said of it."""
        given = {"GH_TOKEN": TOKEN, "GITHUB_API_URL": self.api.url}
        status = check_setup([HOME], self.root, given)
        out = capsys.readouterr().out
        assert out.replace("\n", "").isprintable()
        assert "##[" not in out
        found = {}
        for line in out.splitlines():
            mark, _, rest = line.partition(" ")
            name, _, said = rest.strip().partition(": ")
            found[name] = (mark, said)
        assert [*found] == POINTS
        return status, found


@pytest.fixture
def hosted(tmp_path: Path) -> Iterator[Hosted]:
    with FakeGitHub() as api:
        yield Hosted(tmp_path, api)


def test_what_is_set_up_is_said_line_by_line_and_nothing_is_written(
    hosted: Hosted, capsys: Captured
) -> None:
    status, found = hosted.check(capsys)
    assert status is ExitStatus.OK
    assert [mark for mark, _ in found.values()] == ["ok"] * 4 + ["note", "ok", "note"]
    assert hosted.api.writes == []


OUTSIDE, FORKS, REQUIRED = "environment gpu-outside", "workflows of forks", "required checks"
APPROVED = {"require_approval_for_fork_pr_workflows": True, "send_secrets_and_variables": False}
# What GitHub answers; the point that it concerns, how that is marked, and what is said.
CASES: list[tuple[Answers, str, str, str]] = [
    ({f"{ENVIRONMENTS}/gpu-outside": {}}, OUTSIDE, "WRONG", "no required reviewers"),
    ({f"{ENVIRONMENTS}/gpu-outside": {"protection_rules": "all"}}, OUTSIDE, "WRONG",
     "no required reviewers"),
    (reviewed(reviewers=[]), OUTSIDE, "WRONG", "no required reviewers"),
    (reviewed(type="wait_timer"), OUTSIDE, "WRONG", "no required reviewers"),
    (reviewed(prevent_self_review=False), OUTSIDE, "WRONG", "their own jobs"),
    (reviewed(prevent_self_review=None), OUTSIDE, "ok", "does not report whether"),
    ({f"{PERMISSIONS}/workflow": {"default_workflow_permissions": "write"}},
     "workflow permissions", "WRONG", "may write"),
    ({f"{PERMISSIONS}/workflow": {}}, "workflow permissions", "WRONG", "may write"),
    ({APPROVAL: {"approval_policy": "first_time_contributors"}}, FORKS, "WRONG",
     "without approval"),
    ({APPROVAL: {}}, FORKS, "WRONG", "without approval"),
    (private(run_workflows_from_fork_pull_requests=False), FORKS, "ok", "do not run"),
    (private(**APPROVED, send_write_tokens_to_workflows=False), FORKS, "ok", "wait for approval"),
    (private(**APPROVED, send_write_tokens_to_workflows=True), FORKS, "WRONG", "send neither"),
    (private(**APPROVED), FORKS, "WRONG", "send neither"),
    (private(run_workflows_from_fork_pull_requests=True), FORKS, "WRONG", "without approval"),
    (private(), FORKS, "WRONG", "without approval"),
    ({RULES: []}, REQUIRED, "WRONG", "does not require gate (NVIDIA H200), gate (NVIDIA A100"),
    ({RULES: requiring("gate", GATES[0])}, REQUIRED, "WRONG", f"does not require {GATES[1]}"),
    ({RULES: [{"type": "required_status_checks", "parameters": None}]}, REQUIRED, "WRONG",
     "does not require"),
    (of_workflow("ci.yml"), REQUIRED, "WRONG", "does not require"),
    (of_workflow("gpu.yml"), REQUIRED, "ok", "gpu.yml itself is required"),
    # Rules of the older kind count, and those of a caller of the workflow.
    ({RULES: requiring(f"performance / {GATES[0]}"), PROTECTION: {"contexts": [GATES[1]]}},
     REQUIRED, "ok", GATES[1]),
    # A check that nothing reports need not be required.
    *(({**variables(*those), RULES: []}, REQUIRED, "note", "GPU jobs are off")
      for those in ([], [{**ON, "value": " Off "}], [{**ON, "name": "X"}])),
    ({**variables(), RULES: []}, "GPU jobs", "note", "are off"),
    # A topic turns the jobs on for forks too.
    ({**variables(), API: {**PUBLIC, "topics": [TOPIC]}}, "GPU jobs", "note",
     "are on, also for pull requests from forks"),
    ({**variables(), API: {**PUBLIC, "topics": [TOPIC]}, RULES: []}, REQUIRED, "WRONG",
     "does not require"),
    (published(), "pages", "ok", f"are at {SITE}"),
    ({**private(run_workflows_from_fork_pull_requests=False), **published()}, "pages", "note",
     "private repository"),
    ({**private(run_workflows_from_fork_pull_requests=False), **published(public=False)},
     "pages", "ok", SITE),
    ({**published(), f"{API}/pages": Answer({}, 404)}, "pages", "WRONG", "there is no site"),
    (published(build_type="legacy"), "pages", "WRONG", "from a branch"),
    (published(build_type=None), "pages", "WRONG", "from a branch"),
    (published(html_url="https://other.github.io/"), "pages", "WRONG", "are at 'https://ot"),
    (published({"deployment_branch_policy": None}), "pages", "WRONG", "any branch may publish"),
    (published(Answer({}, 404)), "pages", "WRONG", "any branch may publish"),
    ({API: {**PUBLIC, "default_branch": HOSTILE}, APPROVAL: Answer({"message": HOSTILE}, 403),
      f"{API}/rules/branches/{quote(HOSTILE, safe='')}": requiring(*GATES)},
     FORKS, "WRONG", "GitHub does not report it"),
]  # fmt: skip


@pytest.mark.parametrize(("answers", "point", "mark", "said"), CASES)
def test_each_setting_is_right_or_wrong_and_where_to_change_it_is_said(
    hosted: Hosted, capsys: Captured, answers: Answers, point: str, mark: str, said: str
) -> None:
    hosted.answers(answers)
    status, found = hosted.check(capsys)
    assert (found[point][0], said in found[point][1]) == (mark, True), found[point]
    wrong = [name for name, (mark, _) in found.items() if mark == "WRONG"]
    assert wrong == ([point] if mark == "WRONG" else [])
    assert (status is ExitStatus.BAD_USAGE) is bool(wrong)
    assert mark != "WRONG" or "GitHub does not" in said or "Settings, " in found[point][1]


ASKED = {
    f"{ENVIRONMENTS}/gpu": ["environment gpu"],
    f"{ENVIRONMENTS}/gpu-outside": [OUTSIDE],
    f"{PERMISSIONS}/workflow": ["workflow permissions"],
    APPROVAL: [FORKS],
    VARIABLES: ["GPU jobs", "pages"],
    RULES: [REQUIRED],
}


@pytest.mark.parametrize("answer", [Answer({"message": "no"}, 403), Answer({}, 404), Answer("yes")])
@pytest.mark.parametrize("path", ASKED)
def test_what_github_does_not_tell_counts_as_not_set_up(
    hosted: Hosted, capsys: Captured, path: str, answer: Answer
) -> None:
    hosted.answers({path: answer})
    status, found = hosted.check(capsys)
    assert status is ExitStatus.BAD_USAGE
    assert [name for name, (mark, _) in found.items() if mark == "WRONG"] == ASKED[path]
    assert TOKEN not in str(found)


def test_nothing_is_said_of_a_repository_that_cannot_be_seen(
    hosted: Hosted, capsys: Captured
) -> None:
    hosted.answers({API: Answer({"message": "Not Found"}, 404)})
    with pytest.raises(UserError, match="404 Not Found; check the name"):
        hosted.check(capsys)
    assert capsys.readouterr().out == ""
