# SPDX-License-Identifier: Apache-2.0
"""/warpgauge run FILTER on GPU: who may ask, what begins, and which run answers which comment."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fake_github import TOKEN, Answer, Asked, FakeGitHub
from hosted_run import A100, FORK, H200, HEAD, HOME, OTHER, PULL
from hostile_text import ALIVE, RENDERER, TAG, outside_code
from warpgauge.commands.ci import on_demand as command
from warpgauge.github import on_demand
from warpgauge.github.gpus import file_of
from warpgauge.github.on_demand import Request
from warpgauge.system import environment
from warpgauge.system.errors import ExitStatus, UserError

Json = dict[str, Any]

BOT, ASKING, BASE, RUN, URL = "github-actions[bot]", 5, "ef" * 20, 4242, "https://github.com/r/4242"
API = f"/repos/{HOME}"
COMMENTS = f"{API}/issues/{PULL}/comments"
DISPATCH = f"{API}/actions/workflows/gpu.yml/dispatches"


class Hosted:
    """What GitHub would answer. Each part may be changed before a command is called."""

    def __init__(self, root: Path, api: FakeGitHub) -> None:
        self.root, self.api = root, api
        self.permission, self.dispatched = "write", Answer(
            {"workflow_run_id": RUN, "run_url": "x", "html_url": URL}
        )  # fmt: skip
        self.comments: dict[int, Json] = {}
        self.said("/warpgauge run ^gemm/ on nvidia-h200", ASKING, "octocat")
        self.pull: Json = {
            "number": PULL, "state": "open",
            "head": {"sha": HEAD, "repo": {"full_name": HOME.upper()}},
            "base": {"ref": "release/1", "repo": {"full_name": HOME, "default_branch": "trunk"}},
        }  # fmt: skip
        self.run: Json = {
            "id": RUN, "path": ".github/workflows/gpu.yml", "event": "workflow_dispatch",
            "status": "completed", "run_attempt": 1, "head_branch": "trunk", "html_url": URL,
            "display_title": f"gpu {HEAD} request {ASKING + 1}", "actor": {"login": BOT},
            "triggering_actor": {"login": BOT}, "head_repository": {"full_name": HOME},
        }  # fmt: skip
        api.get(API, {"full_name": HOME, "default_branch": "trunk"})
        api.on("GET", f"{API}/collaborators/octocat/permission", self._permission)
        api.on("GET", f"{API}/pulls/{PULL}", lambda _: Answer(self.pull))
        api.on("GET", f"{API}/actions/runs/{RUN}", lambda _: Answer(self.run))
        merge_base = {"merge_base_commit": {"sha": BASE}}
        api.get(f"{API}/compare/release%2F1...{HEAD}", merge_base)
        api.on("POST", DISPATCH, lambda _: self.dispatched)
        api.on("POST", COMMENTS, lambda asked: Answer(self.said(asked.body["body"]), 201))
        for number in range(ASKING, ASKING + 5):
            api.on("GET", f"{API}/issues/comments/{number}", self._comment)
            api.on("PATCH", f"{API}/issues/comments/{number}", self._comment)
        models = [{**one, "runs_on": ["self-hosted", "gpu"], "minutes": 60} for one in (H200, A100)]
        path = file_of(root)
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"gpus": models}))

    def said(self, body: str, number: int = 0, login: str = BOT) -> Json:
        number = number or max(self.comments) + 1
        self.comments[number] = {
            "id": number, "body": body, "html_url": f"https://github.com/c/{number}",
            "user": {"login": login, "type": "Bot" if login.endswith("[bot]") else "User"},
            "issue_url": f"https://api.github.com{API}/issues/{PULL}",
        }  # fmt: skip
        return self.comments[number]

    def ask(self, body: str = "") -> ExitStatus:
        if body:
            self.comments[ASKING]["body"] = body
        return self.call("begin", "--comment", str(ASKING))

    def call(self, *words: str) -> ExitStatus:
        given = {"GH_TOKEN": TOKEN, "GITHUB_API_URL": self.api.url}
        return command.main([*words, "--repository", HOME], self.root, given)

    def request(self) -> Request | None:
        return on_demand.request_of(self.api.api, HOME, self.run)

    @property
    def inputs(self) -> Json:
        (asked,) = [one for one in self.api.writes if one.path == DISPATCH]
        inputs: Json = asked.body["inputs"]
        return inputs

    @property
    def reply(self) -> str:
        """The only comment of ours."""
        (ours,) = [one for one in self.comments.values() if one["user"]["login"] == BOT]
        return str(ours["body"])

    def _permission(self, asked: Asked) -> Answer:
        return Answer({"permission": self.permission, "user": {"login": "octocat"}})

    def _comment(self, asked: Asked) -> Answer:
        number = int(asked.path.rpartition("/")[2])
        if number not in self.comments:
            return Answer({"message": "Not Found"}, 404)
        if asked.method == "PATCH":
            self.comments[number]["body"] = asked.body["body"]
        return Answer(self.comments[number])


@pytest.fixture
def hosted(tmp_path: Path) -> Iterator[Hosted]:
    with FakeGitHub() as api:
        yield Hosted(tmp_path, api)


def assert_inert(comment: str) -> None:
    """Whatever somebody typed stands in code, but for our own link to the run."""
    shown = RENDERER.render(comment.rpartition("-->\n")[2].replace(f"[run]({URL})", "run"))
    assert ALIVE.search(outside_code(shown)) is None
    assert TAG.sub("", shown).strip().isprintable()


def test_the_measurement_begins_and_the_pull_request_is_told_at_once(
    hosted: Hosted, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hosted.ask() is ExitStatus.OK
    assert capsys.readouterr().out == f"run={RUN}\n"
    first, dispatch, last = hosted.api.writes
    assert (first.method, first.path) == ("POST", COMMENTS)
    _, words = first.body["body"].split("\n")
    assert (
        words == "**Measuring** `^gemm/` on NVIDIA H200 at commit `ababababab`, as `octocat` asked."
    )
    assert dispatch.body == {
        "ref": "refs/heads/trunk",
        "inputs": {"head": HEAD, "base": BASE, "gpu": "nvidia-h200", "filter": "^gemm/",
                   "request": str(ASKING + 1), "outside": "false"},
        "return_run_details": True,
    }  # fmt: skip
    assert (last.method, last.path) == ("PATCH", f"{API}/issues/comments/{ASKING + 1}")
    assert f"[run]({URL})" in hosted.reply
    assert "approve" not in hosted.reply
    assert hosted.request() == Request(
        HOME, PULL, HEAD, BASE, "nvidia-h200", "^gemm/", ASKING + 1, RUN
    )  # fmt: skip


@pytest.mark.parametrize(
    ("body", "gpu", "filter"),
    [
        ("/warpgauge run .", "", "."),
        ("/warpgauge run ^a|b$ on NVIDIA A100", "nvidia-a100", "^a|b$"),
        ("/warpgauge run  x  on  nvidia h200  \r\nthank you", "nvidia-h200", "x"),
        ("/warpgauge run -^gemm/\n/warpgauge run y", "", "-^gemm/"),
        ("/warpgauge run -->`@all`<b>", "", "-->`@all`<b>"),
    ],
)
def test_what_was_asked_for_is_measured_and_known_again(
    hosted: Hosted, body: str, gpu: str, filter: str
) -> None:
    hosted.ask(body)
    assert (hosted.inputs["gpu"], hosted.inputs["filter"]) == (gpu, filter)
    mark, rest = hosted.reply.split("\n", 1)
    assert mark.count(">") == 1
    assert_inert(rest)
    found = hosted.request()
    assert found is not None
    assert (found.gpu, found.filter) == (gpu, filter)


@pytest.mark.parametrize("repository", [{"full_name": FORK}, None])
def test_code_of_a_fork_waits_for_its_approval(hosted: Hosted, repository: Json | None) -> None:
    hosted.pull["head"]["repo"] = repository
    hosted.ask()
    assert hosted.inputs["outside"] == "true"
    assert "A maintainer has to approve the run first" in hosted.reply


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("/warpgauge run", "on the first line"),
        ("/warpgauge runs x", "on the first line"),
        ("\n/warpgauge run x", "on the first line"),
        ("/warpgauge run two words", "on the first line"),
        ("/warpgauge run x on", "on the first line"),
        ("/warpgauge run x\u2028on", "printable ASCII"),
        ("/warpgauge run gemm\u202e", "printable ASCII"),
        ("/warpgauge run \u05d0", "printable ASCII"),
        ("/warpgauge run \x1b[31m", "printable ASCII"),
        (f"/warpgauge run {'x' * 101}", "100"),
        ("/warpgauge run a(", "regular expression"),
        ("/warpgauge run \\d+", "one thing to Python"),
        ("/warpgauge run `@all`[", "regular expression"),
        ("/warpgauge run x on @everyone <img src=x> [a](b)", "no such GPU"),
        ("/warpgauge run x on \u202eH200", "no such GPU"),
        ("/warpgauge run x on nvidia-h20", "it has"),
    ],
)
def test_a_mistake_is_answered_in_a_sentence_and_measures_nothing(
    hosted: Hosted, body: str, words: str
) -> None:
    with pytest.raises(UserError, match=words) as raised:
        hosted.ask(body)
    assert raised.value.status is ExitStatus.BAD_USAGE
    assert [asked.path for asked in hosted.api.writes] == [COMMENTS]
    reply = hosted.reply
    assert reply.startswith("**Nothing is measured**: ")
    assert "\n" not in reply
    assert_inert(reply)


@pytest.mark.parametrize("permission", ["read", "none", "triage", "", None])
def test_who_may_not_push_gets_no_answer(
    hosted: Hosted, permission: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    hosted.permission = permission  # type: ignore[assignment]
    assert hosted.ask("/warpgauge run @everyone(") is ExitStatus.OK
    assert hosted.api.writes == []
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)


@pytest.mark.parametrize("login", ["dependabot[bot]", BOT, "../x", "stranger", ""])
def test_whom_github_does_not_know_as_a_collaborator_gets_no_answer(
    hosted: Hosted, login: str
) -> None:
    hosted.said("/warpgauge run x", ASKING, login)
    assert hosted.ask() is ExitStatus.OK
    assert hosted.api.writes == []


def test_a_closed_pull_request_is_not_measured(hosted: Hosted) -> None:
    hosted.pull["state"] = "closed"
    with pytest.raises(UserError, match="not open"):
        hosted.ask()
    assert "not open" in hosted.reply


def test_a_comment_that_is_gone_or_on_no_pull_request_measures_nothing(hosted: Hosted) -> None:
    hosted.comments[ASKING]["issue_url"] = f"https://api.github.com{API}/issues/3"
    with pytest.raises(UserError, match="404"):
        hosted.ask()
    del hosted.comments[ASKING]
    with pytest.raises(UserError, match="404"):
        hosted.ask()
    assert DISPATCH not in [one.path for one in hosted.api.writes]


@pytest.mark.parametrize(
    "answer",
    [
        Answer({"message": "API rate limit exceeded"}, 403, {"X-RateLimit-Remaining": "0"}),
        Answer({"message": "No ref found for: trunk"}, 422),
        Answer(b"", 204),  # of a GitHub that does not say which run it is
    ],
)
def test_a_run_that_cannot_be_begun_is_not_said_to_have_begun(
    hosted: Hosted, answer: Answer
) -> None:
    hosted.dispatched = answer
    with pytest.raises(UserError):
        hosted.ask()
    assert "**Not measured**: GitHub did not say that a run has begun" in hosted.reply
    assert "**Measuring**" not in hosted.reply
    assert hosted.request() is None


def test_a_limit_that_is_reached_before_anything_was_said_begins_nothing(hosted: Hosted) -> None:
    limited = Answer({"message": "slow down"}, 429, {"Retry-After": "60"})
    hosted.api.on("POST", COMMENTS, limited)
    with pytest.raises(UserError, match="rate limit"):
        hosted.ask()
    assert [one.path for one in hosted.api.writes] == [COMMENTS]


def test_the_run_s_end_changes_the_comment_and_again_when_it_is_run_again(hosted: Hosted) -> None:
    hosted.ask()
    for attempt, words in ((1, "first"), (2, "second")):
        hosted.run |= {"run_attempt": attempt, "triggering_actor": {"login": "octocat"}}
        request = hosted.request()
        assert request is not None
        on_demand.answer(hosted.api.api, request, hosted.run, words)
        about, _, found = hosted.reply.split("\n")[1:]
        assert about.startswith(f"`^gemm/` at commit `ababababab` ([run]({URL})")
        assert (", attempt 2" in about) == (attempt == 2)
        assert found == words


def test_a_result_of_an_older_head_says_so(hosted: Hosted) -> None:
    hosted.ask()
    hosted.pull["head"]["sha"] = OTHER
    hosted.pull["state"] = "closed"
    request = hosted.request()
    assert request is not None
    on_demand.answer(hosted.api.api, request, hosted.run, "x" * 70_000)
    assert "at commit `ababababab`, which is no longer the head" in hosted.reply
    assert len(hosted.reply) == 65_536


@pytest.mark.parametrize(
    "changes",
    [
        {"actor": {"login": "octocat"}},  # by hand
        {"actor": None},
        {"head_branch": "forged"},  # another gpu.yml, whose run-name says what it likes
        {"head_repository": {"full_name": FORK}},
        {"head_repository": None},
        {"event": "pull_request"},
        {"id": RUN + 1},  # a second dispatch with the same request
        {"display_title": f"gpu {OTHER} request {ASKING + 1}"},
        {"display_title": f"gpu {HEAD}"},
        {"display_title": f"gpu {HEAD} request {ASKING + 1} "},
        {"display_title": f"gpu {HEAD} request {ASKING}"},
        {"display_title": f"gpu {HEAD} request 999"},
        {"display_title": None},
    ],
)
def test_another_run_answers_no_comment(hosted: Hosted, changes: Json) -> None:
    hosted.ask()
    assert hosted.request() is not None
    hosted.run |= changes
    assert hosted.request() is None


def test_a_comment_that_only_looks_like_ours_is_not_changed(hosted: Hosted) -> None:
    hosted.ask()
    ours = hosted.comments[ASKING + 1]
    body = ours["body"]
    for login in ("octocat", "github-actions", "other[bot]"):
        hosted.said(body, ASKING + 1, login)
        assert hosted.request() is None
    hosted.said(body, ASKING + 1)["user"]["type"] = "User"
    assert hosted.request() is None
    for forged in (f"> {body}", body.replace("gpu=", "gpu=../"), body.replace(str(RUN), "0"), ""):
        hosted.said(forged, ASKING + 1)
        assert hosted.request() is None
    del hosted.comments[ASKING + 1]
    assert hosted.request() is None


def test_it_waits_for_the_end_through_github_s_stumbles(
    hosted: Hosted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_PAUSE_S", 0.0)
    limited = Answer({"message": "slow down"}, 429)
    answers = iter([Answer({**hosted.run, "status": "queued"}), limited, Answer(hosted.run)])
    hosted.api.on("GET", f"{API}/actions/runs/{RUN}", lambda _: next(answers))
    assert hosted.call("wait", "--run-id", str(RUN)) is ExitStatus.OK
    assert next(answers, None) is None
    with pytest.raises(UserError, match="404"):
        hosted.call("wait", "--run-id", str(RUN + 1))


def test_a_run_that_does_not_end_in_time_is_told_of(
    hosted: Hosted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_LONGEST_WAIT_S", 0.0)
    hosted.ask()
    hosted.run["status"] = "waiting"
    hosted.call("wait", "--run-id", str(RUN))
    assert "**Not measured yet**" in hosted.reply
    assert f"[run]({URL})" in hosted.reply


def test_it_needs_nothing_but_python(hosted: Hosted) -> None:
    hosted.permission = "read"
    script = environment.ROOT / "scripts" / "warpgauge"
    line = [sys.executable, "-S", "-E", str(script), "ci", "on-demand", "begin"]
    given = {"GH_TOKEN": TOKEN, "GITHUB_API_URL": hosted.api.url}
    line += ["--repository", HOME, "--comment", str(ASKING)]
    done = subprocess.run(line, capture_output=True, text=True, check=True, env=given)
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert hosted.api.writes == []
