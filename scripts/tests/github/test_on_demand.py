# SPDX-License-Identifier: Apache-2.0
"""/warpgauge run FILTER on GPU: who may ask, what is measured, and what answers the comment."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from builders import STEADY, baseline, context, row, write
from fake_github import Answer, Asked, FakeGitHub
from gate_pair import A100, BASE, H200, HEAD, OTHER, Json, Pair, pair, slower
from hosted_run import FORK, HOME, PULL, RUN, RUN_URL, HostedRun
from hostile_text import ALIVE, RENDERER, TAG, outside_code
from warpgauge.commands.ci.hosted import on_demand as command
from warpgauge.system import environment
from warpgauge.system.errors import ExitStatus, UserError

BOT, ASKING = "github-actions[bot]", 1
API = f"/repos/{HOME}"
COMMENTS = f"{API}/issues/{PULL}/comments"


class OnDemand(HostedRun):
    """A comment that asks, and the run of on-demand.yml that it starts."""

    def __init__(self, folder: Path, api: FakeGitHub, storage: FakeGitHub) -> None:
        super().__init__(folder, api, storage)
        home = self.run["repository"]
        self.run |= {
            "path": ".github/workflows/on-demand.yml", "event": "issue_comment",
            "status": "in_progress", "conclusion": None, "head_sha": OTHER, "head_branch": "trunk",
            "head_repository": home,
        }  # fmt: skip
        self.event = {"comment": {"id": ASKING}}
        self.permission: object = "write"
        self.home: Json = {"full_name": HOME, "default_branch": "trunk"}
        self.gpus(H200, A100)
        self.jobs[:] = [
            {**self.job("start the measurement", "success"), "labels": ["ubuntu-24.04"]},
            self.job("measure / gate (NVIDIA H200)"),
            {**self.job("post the result"), "conclusion": None, "completed_at": None},
        ]
        self.replace(slower_of("^gemm/"))
        self.said("/warpgauge run ^gemm/ on nvidia-h200", ASKING, "octocat")
        api.on("GET", API, lambda _: Answer(self.home))
        api.on("GET", f"{API}/collaborators/octocat/permission", self._permission)
        for number in range(1, 10):
            api.on("GET", f"{API}/issues/comments/{number}", self._comment)

    def ask(self, body: str = "") -> ExitStatus:
        if body:
            self.comments[0]["body"] = body
        return command([], self.root, self.environment())

    def answer(self, request: str) -> ExitStatus:
        return self.comment(REQUEST=request)

    @property
    def reply(self) -> str:
        """The only comment of ours."""
        (ours,) = [one for one in self.comments if one["user"]["login"] == BOT]
        return str(ours["body"])

    def _permission(self, asked: Asked) -> Answer:
        return Answer({"permission": self.permission, "user": {"login": "octocat"}})

    def _comment(self, asked: Asked) -> Answer:
        found = [one for one in self.comments if asked.path.endswith(f"/{one['id']}")]
        return Answer(found[0]) if found else Answer({"message": "Not Found"}, 404)


def slower_of(filter: str) -> Pair:
    """What a job leaves that was asked for one benchmark, which got slower."""
    return pair({"gemm/tiled": 1.05}, filter=filter)


@pytest.fixture
def hosted(tmp_path: Path) -> Iterator[OnDemand]:
    with FakeGitHub() as api, FakeGitHub() as storage:
        yield OnDemand(tmp_path, api, storage)


@pytest.fixture
def asked(hosted: OnDemand, capsys: pytest.CaptureFixture[str]) -> str:
    """What begins has begun: the request that it prints."""
    hosted.ask()
    return request_in(capsys.readouterr().out)


def request_in(output: str) -> str:
    """What a workflow reads from the lines of $GITHUB_OUTPUT."""
    (line,) = output.splitlines()
    return line.removeprefix("request=")


def with_(request: str, **changes: object) -> str:
    return json.dumps({**json.loads(request), **changes})


def assert_inert(comment: str) -> None:
    """Whatever somebody typed stands in code, but for our own link to the run."""
    shown = RENDERER.render(comment.replace(f"[run]({RUN_URL})", "run"))
    assert ALIVE.search(outside_code(shown)) is None
    assert TAG.sub("", shown).replace("\n", "").isprintable()


def test_a_comment_is_answered_at_once_and_then_with_the_result(
    hosted: OnDemand, capsys: pytest.CaptureFixture[str]
) -> None:
    hosted.pulls[0]["head"]["repo"]["full_name"] = HOME.upper()
    assert hosted.ask() is ExitStatus.OK
    request = request_in(capsys.readouterr().out)
    assert json.loads(request) == {
        "pull": PULL, "comment": ASKING + 1, "head": HEAD, "base": BASE, "branch": "main",
        "gpu": "nvidia-h200", "filter": "^gemm/", "outside": False,
    }  # fmt: skip
    assert hosted.reply == (
        "**Measuring** `^gemm/` on NVIDIA H200 at commit `ababababab`, as `octocat` asked "
        f"([run]({RUN_URL})). The result will replace this text."
    )
    assert hosted.answer(request) is ExitStatus.OK
    assert [(one.method, one.path) for one in hosted.api.writes] == [
        ("POST", COMMENTS), ("PATCH", f"{API}/issues/comments/{ASKING + 1}")
    ]  # fmt: skip
    assert hosted.reply.startswith("**FAIL**")
    assert hosted.reply.endswith("Requested: `^gemm/` at commit `ababababab`.")
    assert "1 slower" in hosted.reply
    assert "gemm/tiled" in hosted.reply
    assert f"[run]({RUN_URL})" in hosted.reply
    assert "NVIDIA A100" not in hosted.reply
    assert "no longer the head" not in hosted.reply
    assert capsys.readouterr().out.startswith("posted: https://github.com/")


def test_it_is_not_the_comment_that_pushes_change(hosted: OnDemand, asked: str) -> None:
    hosted.answer(asked)
    reply = hosted.reply
    hosted.run |= {
        "path": ".github/workflows/gpu.yml", "event": "pull_request", "status": "completed",
        "conclusion": "failure", "head_sha": HEAD, "head_branch": "faster-sums",
        "head_repository": {"full_name": FORK},
    }  # fmt: skip
    hosted.event = {"workflow_run": {"id": RUN}}
    hosted.jobs[1]["name"] = "gate (NVIDIA H200)"
    hosted.replace(slower())
    hosted.comment()
    assert hosted.comments[1]["body"] == reply
    assert len(hosted.comments) == 3


@pytest.mark.parametrize(
    ("body", "gpu", "filter"),
    [
        ("/warpgauge run .", "", "."),
        ("/warpgauge run all", "", "all"),
        ("/warpgauge run ^a|b$ on NVIDIA A100", "nvidia-a100", "^a|b$"),
        ("/warpgauge run  x  on  nvidia h200  \r\nthank you", "nvidia-h200", "x"),
        ("/warpgauge run -^gemm/\n/warpgauge run y", "", "-^gemm/"),
        ("/warpgauge run -->`@all`<b>", "", "-->`@all`<b>"),
        ("/warpgauge run ${{github.token}}<<EOF", "", "${{github.token}}<<EOF"),
        ("/warpgauge run $(id)`id`\"';&&|\\\\", "", "$(id)`id`\"';&&|\\\\"),
        (f"/warpgauge run {'`' * 100}", "", "`" * 100),
    ],
)
def test_what_was_asked_for_is_measured_and_shown_as_text(
    hosted: OnDemand,
    body: str,
    gpu: str,
    filter: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    hosted.ask(body)
    assert_inert(hosted.reply)
    request = request_in(capsys.readouterr().out)
    told = json.loads(request)
    assert (told["gpu"], told["filter"]) == (gpu, filter)
    hosted.jobs.clear()
    hosted.answer(request)
    assert_inert(hosted.reply)


def test_all_asks_for_the_whole_suite_on_every_gpu(
    hosted: OnDemand, capsys: pytest.CaptureFixture[str]
) -> None:
    hosted.ask("/warpgauge run all")
    hosted.replace(slower())
    hosted.answer(request_in(capsys.readouterr().out))
    assert "1 slower" in hosted.reply
    assert "**NVIDIA A100: NOT DECIDED** · It had no job" in hosted.reply


@pytest.mark.parametrize("repository", [{"full_name": FORK}, None])
def test_code_of_a_fork_waits_for_its_approval(
    hosted: OnDemand, repository: Json | None, capsys: pytest.CaptureFixture[str]
) -> None:
    hosted.pulls[0]["head"]["repo"] = repository
    hosted.ask()
    assert json.loads(request_in(capsys.readouterr().out))["outside"] is True
    assert "A maintainer has to approve this run of a fork first" in hosted.reply


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
        ("/warpgauge run `@all`[", "regular expression"),
        ("/warpgauge run x on @everyone <img src=x> [a](b)", "does not list this GPU"),
        ("/warpgauge run x on \u202eH200", "does not list this GPU"),
        ("/warpgauge run x on nvidia-h20", "it lists"),
    ],
)
def test_a_mistake_is_answered_in_a_sentence_and_measures_nothing(
    hosted: OnDemand, body: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UserError, match=words) as raised:
        hosted.ask(body)
    assert raised.value.status is ExitStatus.BAD_USAGE
    assert capsys.readouterr().out == ""
    reply = hosted.reply
    assert reply.startswith("**Nothing is measured**: ")
    assert "\n" not in reply
    assert_inert(reply)


@pytest.mark.parametrize(
    ("login", "permission"),
    [
        *(("octocat", permission) for permission in ("read", "none", "triage", "", None)),
        *((login, "write") for login in ("dependabot[bot]", BOT, "../x", "stranger", "")),
    ],
)
def test_who_may_not_push_or_is_no_collaborator_gets_no_answer(
    hosted: OnDemand, login: str, permission: object, capsys: pytest.CaptureFixture[str]
) -> None:
    hosted.comments.clear()
    hosted.said("/warpgauge run @everyone(", ASKING, login)
    hosted.permission = permission
    assert hosted.ask() is ExitStatus.OK
    assert hosted.api.writes == []
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)


def test_what_cannot_be_measured_or_answered_is_not_begun(
    hosted: OnDemand, capsys: pytest.CaptureFixture[str]
) -> None:
    hosted.pulls[0]["state"] = "closed"
    with pytest.raises(UserError, match="not open"):
        hosted.ask()
    assert "not open" in hosted.reply
    hosted.pulls[0]["state"] = "open"
    hosted.api.on("POST", COMMENTS, Answer({"message": "slow down"}, 429, {"Retry-After": "60"}))
    with pytest.raises(UserError, match="rate limit"):
        hosted.ask()
    hosted.comments[0]["issue_url"] = f"https://api.github.com{API}/issues/3"
    with pytest.raises(UserError, match="404"):
        hosted.ask()
    hosted.comments.clear()
    with pytest.raises(UserError, match="404"):
        hosted.ask()
    assert capsys.readouterr().out == ""


def left(made: Pair) -> Callable[[OnDemand], object]:
    return lambda hosted: hosted.replace(made)


def job(**changes: object) -> Callable[[OnDemand], object]:
    return lambda hosted: hosted.jobs[1].update(changes)


@pytest.mark.parametrize(
    ("change", "words", "status"),
    [
        (job(conclusion="cancelled"), "Its job was cancelled", 0),
        (job(conclusion=None), "Its job ended for an unknown reason", 0),
        (job(name="measure / gate (${{ matrix.name }})"),
         "was not measured: the run had no job for any GPU", 0),
        *((left(slower_of(filter)), "Its result was refused: its base states filter", 2)
          for filter in ("", "all", "^gemm", ".", "^gemm/ ")),
        (left(pair({"gemm/tiled": 1.0}, filter="^gemm/", commit=OTHER)), "states commit", 2),
        (left(pair({"gemm/tiled": 1.0}, filter="^gemm/", base=OTHER)), "another base", 2),
    ],
)  # fmt: skip
def test_what_is_not_the_result_that_was_asked_for_is_not_shown(
    hosted: OnDemand, asked: str, change: Callable[[OnDemand], object], words: str, status: int
) -> None:
    change(hosted)
    assert hosted.answer(asked) == status
    assert "**Measuring**" not in hosted.reply
    assert words in hosted.reply
    assert "gemm/tiled" not in hosted.reply


def test_only_what_was_asked_for_can_be_missing(hosted: OnDemand, asked: str) -> None:
    times = {"process_medians": {"s": [*STEADY]}}
    for family, names in (("gemm", ["gemm/tiled", "gemm/gone"]), ("sync", ["sync/idle"])):
        path = f"baselines/nvidia-h200/{family}.json"
        rows = [row(name, **times) for name in names]
        kept = write(hosted.root / path, baseline(rows, {"s": context()}, "NVIDIA H200"))
        hosted.file(path, kept.read_text())
    hosted.answer(asked)
    assert "gemm/gone" in hosted.reply
    assert "sync/idle" not in hosted.reply


def test_a_filter_that_takes_too_long_ends_and_is_said(
    hosted: OnDemand, capsys: pytest.CaptureFixture[str]
) -> None:
    path, slow = "baselines/nvidia-h200/gemm.json", "^gemm/(a|a)*!|tiled"
    times = {"process_medians": {"s": [*STEADY]}}
    rows = [row("gemm/tiled", **times), row(f"gemm/{'a' * 60}", **times)]
    write(hosted.root / path, baseline(rows, {"s": context()}, "NVIDIA H200"))
    hosted.ask(f"/warpgauge run {slow} on nvidia-h200")
    request = request_in(capsys.readouterr().out)
    hosted.replace(slower_of(slow))
    assert hosted.answer(request) is ExitStatus.BAD_USAGE
    assert "takes too long" in capsys.readouterr().err
    assert "Its result was refused" in hosted.reply


def test_what_github_does_not_answer_leaves_no_promise(
    hosted: OnDemand, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warpgauge.github.api._PAUSES_S", ())
    hosted.api.on("GET", f"{API}/actions/runs/{RUN}/artifacts", Answer(b"", 500))
    with pytest.raises(UserError):
        hosted.answer(asked)
    assert "**Measuring**" not in hosted.reply
    assert "could not be read" in hosted.reply


def test_a_result_of_an_older_head_says_so(hosted: OnDemand, asked: str) -> None:
    hosted.pulls[0]["head"]["sha"] = OTHER
    hosted.pulls[0]["state"] = "closed"
    hosted.answer(asked)
    assert "at commit `ababababab`, which is no longer the head" in hosted.reply
    assert "1 slower" in hosted.reply


@pytest.mark.parametrize(
    "changes",
    [
        {"path": ".github/workflows/gpu.yml"},
        {"event": "pull_request"},
        {"event": "workflow_dispatch"},
        {"head_branch": "forged"},
        {"head_repository": {"full_name": FORK}},
        {"head_repository": None},
        {"id": RUN + 1},
    ],
)
def test_another_run_neither_begins_nor_answers(
    hosted: OnDemand, asked: str, changes: Json
) -> None:
    before = len(hosted.api.writes)
    hosted.run |= changes
    with pytest.raises(UserError):
        hosted.ask()
    with pytest.raises(UserError):
        hosted.answer(asked)
    assert len(hosted.api.writes) == before


def test_a_comment_that_is_not_ours_is_not_changed(hosted: OnDemand, asked: str) -> None:
    before = len(hosted.api.writes)
    issue = f"https://api.github.com{API}/issues/1{PULL}"
    ours = hosted.comments[1]
    for changes in (
        {"user": {"login": "octocat", "type": "User"}},
        {"user": {"login": "github-actions", "type": "Bot"}},
        {"user": {"login": BOT, "type": "User"}},
        {"issue_url": issue},
    ):
        hosted.comments[1] = {**ours, **changes}
        with pytest.raises(UserError, match="not ours"):
            hosted.answer(asked)
    with pytest.raises(UserError, match="404"):
        hosted.answer(with_(asked, comment=9))
    assert len(hosted.api.writes) == before


@pytest.mark.parametrize("text", ["{", "[]", "1", '"x"', "{}", '{"novel": 1}', "\x1b"])
def test_what_is_no_request_is_refused(hosted: OnDemand, text: str) -> None:
    with pytest.raises(UserError, match="is not the output of warpgauge") as raised:
        hosted.answer(text)
    assert str(raised.value).isprintable()


def test_without_a_request_the_event_of_a_comment_posts_nothing(hosted: OnDemand) -> None:
    with pytest.raises(UserError, match="no number called workflow_run"):
        hosted.answer("")
    assert hosted.api.writes == []


def test_it_needs_nothing_but_python(hosted: OnDemand) -> None:
    script = environment.ROOT / "scripts" / "warpgauge"
    line = [sys.executable, "-S", "-E", str(script), "ci", "on-demand"]
    given = hosted.environment()
    done = subprocess.run(line, capture_output=True, text=True, check=True, env=given)
    assert json.loads(request_in(done.stdout))["head"] == HEAD
    assert done.stderr == ""
