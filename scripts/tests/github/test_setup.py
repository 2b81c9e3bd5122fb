# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci check-setup: each setting right, wrong, and kept from us."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

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


def reviewed(**rule: object) -> dict[str, object]:
    """An environment with a rule for its reviewers."""
    usual = {"type": "required_reviewers", "prevent_self_review": True, "reviewers": [{"id": 1}]}
    return {"protection_rules": [{"type": "wait_timer"}, {**usual, **rule}]}


def requiring(*checks: str) -> list[dict[str, object]]:
    listed = [{"context": check, "integration_id": 15368} for check in checks]
    parameters = {"required_status_checks": listed}
    return [{"type": "deletion"}, {"type": "required_status_checks", "parameters": parameters}]


class Hosted:
    """A repository that is set up. Each answer may be changed before it is checked."""

    def __init__(self, root: Path, api: FakeGitHub) -> None:
        self.root, self.api = root, api
        api.get(API, {"full_name": HOME, "private": False, "default_branch": "release/1"})
        api.get(f"{ENVIRONMENTS}/gpu", {"name": "gpu"})
        api.get(f"{ENVIRONMENTS}/gpu-outside", reviewed())
        api.get(f"{PERMISSIONS}/workflow", {"default_workflow_permissions": "read"})
        api.get(APPROVAL, {"approval_policy": "all_external_contributors"})
        api.get(VARIABLES, {"variables": [{"name": "WARPGAUGE_GPU", "value": "on"}]})
        api.get(RULES, requiring("ci", *GATES))
        file_of(root).parent.mkdir()
        models = [{**one, "runs_on": LABELS, "minutes": 60} for one in (H200, A100)]
        file_of(root).write_text(json.dumps({"gpus": models}))

    def private(self, **settings: object) -> None:
        self.api.get(API, {"full_name": HOME, "private": True, "default_branch": "release/1"})
        self.api.on("GET", APPROVAL, Answer({"message": "not for private repositories"}, 422))
        self.api.get(PRIVATE, settings)

    def check(self) -> ExitStatus:
        given = {"GH_TOKEN": TOKEN, "GITHUB_API_URL": self.api.url}
        return check_setup(["--repository", HOME], self.root, given)


@pytest.fixture
def hosted(tmp_path: Path) -> Iterator[Hosted]:
    with FakeGitHub() as api:
        yield Hosted(tmp_path, api)


Captured = pytest.CaptureFixture[str]


def lines(capsys: Captured) -> dict[str, tuple[str, str]]:
    """By the point: how it is marked, and what is told."""
    found = {}
    for line in capsys.readouterr().out.splitlines():
        mark, _, rest = line.partition(" ")
        name, _, told = rest.strip().partition(": ")
        found[name] = (mark, told)
    return found


def test_what_is_set_up_is_said_line_by_line_and_nothing_is_written(
    hosted: Hosted, capsys: Captured
) -> None:
    assert hosted.check() is ExitStatus.OK
    found = lines(capsys)
    assert [*found] == POINTS
    assert [mark for mark, _ in found.values()] == ["ok"] * 4 + ["note", "ok", "note"]
    assert hosted.api.writes == []


WRONG: list[tuple[str, str, object, str]] = [
    ("environment gpu-outside", f"{ENVIRONMENTS}/gpu-outside", {}, "no required reviewers"),
    ("environment gpu-outside", f"{ENVIRONMENTS}/gpu-outside", {"protection_rules": "all"},
     "no required reviewers"),
    ("environment gpu-outside", f"{ENVIRONMENTS}/gpu-outside", reviewed(reviewers=[]),
     "no required reviewers"),
    ("environment gpu-outside", f"{ENVIRONMENTS}/gpu-outside", reviewed(type="wait_timer"),
     "no required reviewers"),
    ("environment gpu-outside", f"{ENVIRONMENTS}/gpu-outside", reviewed(prevent_self_review=False),
     "their own jobs"),
    ("workflow permissions", f"{PERMISSIONS}/workflow", {"default_workflow_permissions": "write"},
     "may write"),
    ("workflow permissions", f"{PERMISSIONS}/workflow", {}, "may write"),
    ("workflows of forks", APPROVAL, {"approval_policy": "first_time_contributors"},
     "without approval"),
    ("workflows of forks", APPROVAL, {}, "without approval"),
    ("required checks", RULES, [], "does not require gate (NVIDIA H200), gate (NVIDIA A100"),
    ("required checks", RULES, requiring("gate", GATES[0]), f"does not require {GATES[1]}"),
    ("required checks", RULES, [{"type": "required_status_checks", "parameters": None}],
     "does not require"),
    ("required checks", RULES,
     [{"type": "workflows", "parameters": {"workflows": [{"path": ".github/workflows/ci.yml"}]}}],
     "does not require"),
]  # fmt: skip


@pytest.mark.parametrize(("point", "path", "answer", "said"), WRONG)
def test_what_is_wrong_is_said_with_where_to_change_it(
    hosted: Hosted, capsys: Captured, point: str, path: str, answer: object, said: str
) -> None:
    hosted.api.get(path, answer)
    assert hosted.check() is ExitStatus.BAD_USAGE
    found = lines(capsys)
    mark, told = found[point]
    assert mark == "WRONG"
    assert said in told
    assert "Settings, " in told
    assert [name for name, (mark, _) in found.items() if mark == "WRONG"] == [point]


ASKED = {
    f"{ENVIRONMENTS}/gpu": ["environment gpu"],
    f"{ENVIRONMENTS}/gpu-outside": ["environment gpu-outside"],
    f"{PERMISSIONS}/workflow": ["workflow permissions"],
    APPROVAL: ["workflows of forks"],
    VARIABLES: ["GPU jobs", "pages"],
    RULES: ["required checks"],
}


@pytest.mark.parametrize("status", [403, 404])
@pytest.mark.parametrize("path", ASKED)
def test_what_github_does_not_tell_counts_as_not_set_up(
    hosted: Hosted, capsys: Captured, path: str, status: int
) -> None:
    hosted.api.on("GET", path, Answer({"message": "Resource not accessible"}, status))
    assert hosted.check() is ExitStatus.BAD_USAGE
    found = lines(capsys)
    assert [*found] == POINTS  # the others are checked all the same
    assert [name for name, (mark, _) in found.items() if mark == "WRONG"] == ASKED[path]
    assert TOKEN not in str(found)


def test_nothing_is_said_of_a_repository_that_cannot_be_seen(
    hosted: Hosted, capsys: Captured
) -> None:
    hosted.api.on("GET", API, Answer({"message": "Not Found"}, 404))
    with pytest.raises(UserError, match="404 Not Found; check the name"):
        hosted.check()
    assert capsys.readouterr().out == ""


def test_an_answer_of_another_shape_is_not_taken_for_set_up(
    hosted: Hosted, capsys: Captured
) -> None:
    for path in ASKED:
        hosted.api.get(path, "yes")
    assert hosted.check() is ExitStatus.BAD_USAGE
    assert {mark for mark, _ in lines(capsys).values()} == {"WRONG"}


def test_reviewers_count_where_github_does_not_tell_of_self_review(
    hosted: Hosted, capsys: Captured
) -> None:
    hosted.api.get(f"{ENVIRONMENTS}/gpu-outside", reviewed(prevent_self_review=None))
    assert hosted.check() is ExitStatus.OK
    assert "does not report whether" in lines(capsys)["environment gpu-outside"][1]


@pytest.mark.parametrize(
    ("settings", "mark"),
    [
        ({"run_workflows_from_fork_pull_requests": False}, "ok"),
        ({"require_approval_for_fork_pr_workflows": True, "send_write_tokens_to_workflows": False,
          "send_secrets_and_variables": False}, "ok"),
        ({"require_approval_for_fork_pr_workflows": True, "send_write_tokens_to_workflows": True,
          "send_secrets_and_variables": False}, "WRONG"),
        ({"require_approval_for_fork_pr_workflows": True}, "WRONG"),
        ({"run_workflows_from_fork_pull_requests": True}, "WRONG"),
        ({}, "WRONG"),
    ],
)  # fmt: skip
def test_a_private_repository_has_settings_of_its_own(
    hosted: Hosted, capsys: Captured, settings: dict[str, object], mark: str
) -> None:
    hosted.private(**settings)
    assert (hosted.check() is ExitStatus.OK) == (mark == "ok")
    assert lines(capsys)["workflows of forks"][0] == mark


@pytest.mark.parametrize(
    "variables", [[], [{"name": "WARPGAUGE_GPU", "value": " Off "}], [{"name": "X", "value": "on"}]]
)
def test_a_check_that_nothing_reports_need_not_be_required(
    hosted: Hosted, capsys: Captured, variables: list[object]
) -> None:
    hosted.api.get(VARIABLES, {"variables": variables})
    hosted.api.get(RULES, [])
    assert hosted.check() is ExitStatus.OK
    found = lines(capsys)
    assert found["GPU jobs"][1].startswith("are off")
    assert found["required checks"][0] == "note"


def test_a_topic_that_turns_the_jobs_on_for_forks_too_has_them_required(
    hosted: Hosted, capsys: Captured
) -> None:
    home = {"full_name": HOME, "private": False, "default_branch": "release/1", "topics": [TOPIC]}
    hosted.api.get(API, home)
    hosted.api.get(VARIABLES, {"variables": []})
    hosted.api.get(RULES, [])
    assert hosted.check() is ExitStatus.BAD_USAGE
    found = lines(capsys)
    assert found["GPU jobs"][1].startswith("are on, also for pull requests from forks")
    assert found["required checks"][0] == "WRONG"


def test_rules_of_the_older_kind_count_and_those_of_a_caller_of_the_workflow(
    hosted: Hosted, capsys: Captured
) -> None:
    hosted.api.get(RULES, requiring(f"performance / {GATES[0]}"))
    hosted.api.get(PROTECTION, {"contexts": [GATES[1]]})
    assert hosted.check() is ExitStatus.OK
    assert lines(capsys)["required checks"][0] == "ok"


def test_a_ruleset_that_requires_the_workflow_itself_says_so(
    hosted: Hosted, capsys: Captured
) -> None:
    required = {"workflows": [{"path": ".github/workflows/gpu.yml", "repository_id": 1}]}
    hosted.api.get(RULES, [{"type": "workflows", "parameters": required}])
    assert hosted.check() is ExitStatus.OK
    assert "gpu.yml itself is required" in lines(capsys)["required checks"][1]


SITE = "https://warp.github.io/gauge/"
PUBLISHED = {"html_url": SITE, "build_type": "workflow", "public": True}
OF_ONE_BRANCH = {"deployment_branch_policy": {"custom_branch_policies": True}}


def publishing(
    hosted: Hosted, site: object = PUBLISHED, environment: object = OF_ONE_BRANCH
) -> None:
    """A repository whose variable asks for the site."""
    told = [{"name": "WARPGAUGE_GPU", "value": "on"}, {"name": "WARPGAUGE_PAGES", "value": SITE}]
    hosted.api.get(VARIABLES, {"variables": told})
    if site is not None:
        hosted.api.get(f"{API}/pages", site)
    if environment is not None:
        hosted.api.get(f"{ENVIRONMENTS}/github-pages", environment)


def test_a_site_is_published_by_the_workflow_from_the_default_branch_alone(
    hosted: Hosted, capsys: Captured
) -> None:
    publishing(hosted)
    assert hosted.check() is ExitStatus.OK
    assert lines(capsys)["pages"] == ("ok", f"are at {SITE}")


def test_that_everyone_reads_the_site_of_a_private_repository_is_noted(
    hosted: Hosted, capsys: Captured
) -> None:
    hosted.private(run_workflows_from_fork_pull_requests=False)
    for public, mark in ((True, "note"), (False, "ok")):
        publishing(hosted, {**PUBLISHED, "public": public})
        assert hosted.check() is ExitStatus.OK
        assert lines(capsys)["pages"][0] == mark


@pytest.mark.parametrize(
    ("site", "environment", "said"),
    [
        (None, OF_ONE_BRANCH, "there is no site"),
        ({**PUBLISHED, "build_type": "legacy"}, OF_ONE_BRANCH, "from a branch"),
        (
            {**PUBLISHED, "html_url": "https://other.github.io/"},
            OF_ONE_BRANCH,
            "are at 'https://ot",
        ),
        ({}, OF_ONE_BRANCH, "from a branch"),
        (PUBLISHED, {"deployment_branch_policy": None}, "any branch may publish"),
        (PUBLISHED, None, "any branch may publish"),
    ],
)
def test_a_site_that_is_not_as_the_comments_link_it_or_open_to_any_branch_is_wrong(
    hosted: Hosted, capsys: Captured, site: object, environment: object, said: str
) -> None:
    publishing(hosted, site, environment)
    assert hosted.check() is ExitStatus.BAD_USAGE
    found = lines(capsys)
    assert found["pages"][0] == "WRONG"
    assert said in found["pages"][1]
    assert [name for name, (mark, _) in found.items() if mark == "WRONG"] == ["pages"]


HOSTILE = "x\n::error::\x1b[31m\u202e##[group]"


def test_hostile_names_stay_on_their_line(hosted: Hosted, capsys: Captured) -> None:
    hosted.api.get(API, {"private": False, "default_branch": HOSTILE})
    hosted.api.get(VARIABLES, {"variables": [{"name": "WARPGAUGE_GPU", "value": HOSTILE}]})
    refusal = Answer({"message": HOSTILE}, 403)
    hosted.api.on("GET", APPROVAL, refusal)
    assert hosted.check() is ExitStatus.BAD_USAGE
    out = capsys.readouterr().out
    assert len(out.splitlines()) == len(POINTS)
    assert out.replace("\n", "").isprintable()
    assert "##[" not in out
