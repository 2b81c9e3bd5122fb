# SPDX-License-Identifier: Apache-2.0
"""The comment on a pull request: on which one, where in it, and when nothing is said."""

from __future__ import annotations

import pytest

import archives
from fake_github import Answer, Asked
from gate_pair import A100, H200, HEAD, OTHER, Json, archive_of, slower
from hosted_run import (
    FORK,
    HOME,
    PULL,
    RUN,
    RUN_URL,
    HostedRun,
    in_a_process,
)
from warpgauge.commands.ci.results import comment
from warpgauge.reports.formats.markdown import MARK
from warpgauge.system.errors import ExitStatus, UserError

COMMENTS = f"/repos/{HOME}/issues/{PULL}/comments"


def silence(hosted: HostedRun, status: ExitStatus = ExitStatus.OK) -> str:
    """The sentence with which nothing was written."""
    with pytest.raises(UserError) as raised:
        hosted.comment()
    assert raised.value.status is status
    assert hosted.api.writes == []
    return str(raised.value)


def test_the_verdict_goes_to_the_pull_request_of_the_head(
    hosted: HostedRun, capsys: pytest.CaptureFixture[str]
) -> None:
    hosted.pulls.insert(0, hosted.pull(3, repository="other/gauge"))
    assert hosted.comment() is ExitStatus.OK
    (written,) = hosted.api.writes
    assert (written.method, written.path) == ("POST", COMMENTS)
    assert hosted.body.startswith(MARK)
    assert hosted.body.count(MARK) == 1
    assert "**1 slower" in hosted.body
    assert "gemm/tiled" in hosted.body
    assert "abababab" in hosted.body
    assert f"[run]({RUN_URL})" in hosted.body
    assert f"[files]({RUN_URL}/artifacts/909)" in hosted.body
    assert "@everyone" not in hosted.body
    assert capsys.readouterr().out.startswith("posted: https://github.com/")


def test_a_second_run_changes_the_same_comment(hosted: HostedRun) -> None:
    hosted.pulls = [hosted.pull(repository=FORK.lower())]  # owners' names have no case
    hosted.comment()
    hosted.replace(slower(name="memcpy/h2d"))
    hosted.comment()
    assert [one.method for one in hosted.api.writes] == ["POST", "PATCH"]
    assert "memcpy/h2d" in hosted.body
    assert "gemm/tiled" not in hosted.body


def test_another_comment_is_left_alone(hosted: HostedRun) -> None:
    for number, login in enumerate(("Stranger", "github-actions", "other-app[bot]"), 1):
        hosted.said(f"{MARK}mine", number, login)
    hosted.said(f"The mark is {MARK}", 4)  # ours, which only quotes it
    before = [comment["body"] for comment in hosted.comments]
    hosted.comment()
    assert [comment["body"] for comment in hosted.comments[:4]] == before
    assert [asked.method for asked in hosted.api.writes] == ["POST"]


def test_two_comments_of_ours_become_one_the_older(hosted: HostedRun) -> None:
    hosted.said(f"{MARK}second", 5)
    hosted.said(f"{MARK}first", 2)
    hosted.said(f"{MARK}hello", 1, "Stranger")
    hosted.comment()
    assert [one["id"] for one in hosted.comments] == [2, 1]
    assert "**1 slower" in hosted.comments[0]["body"]


def test_a_run_that_begins_marks_the_comment_and_leaves_the_rest(hosted: HostedRun) -> None:
    hosted.comment()
    before = hosted.body
    hosted.run |= {"status": "queued", "conclusion": None, "head_sha": OTHER}
    hosted.pulls[0]["head"]["sha"] = OTHER
    for _ in range(2):
        assert hosted.comment() is ExitStatus.OK
        lines = hosted.body.split("\n")
        assert lines[1].startswith("> **Outdated.** Commit `cdcdcdcd")
        assert f"[run]({RUN_URL})" in lines[1]
        assert "\n".join([lines[0], *lines[3:]]) == before
    hosted.run |= {"status": "completed"}
    hosted.replace(slower(OTHER))
    hosted.comment()
    assert "Outdated" not in hosted.body


def test_no_pull_request_of_the_head_is_no_comment(hosted: HostedRun) -> None:
    changes: list[Json] = [{"head": OTHER}, {"state": "closed"}]
    changes += [{"repository": name} for name in ("other/gauge", "Stranger/copy")]
    for change in changes:
        hosted.pulls = [hosted.pull(**change)]
        assert "no open pull request has it as its head" in silence(hosted)
    hosted.run["head_repository"] = None
    assert "was deleted" in silence(hosted)


def test_a_branch_that_was_renamed_is_found_by_its_head(hosted: HostedRun) -> None:
    hosted.pulls = [hosted.pull(3, head=OTHER, branch="x"), hosted.pull(branch="another")]
    hosted.comment()
    assert [one.path for one in hosted.api.writes] == [COMMENTS]


def test_two_pull_requests_of_one_head_are_each_held_against_their_own_base(
    hosted: HostedRun, capsys: pytest.CaptureFixture[str]
) -> None:
    other = hosted.pull(18)
    other["base"]["ref"] = "release/1"
    hosted.pulls.append(other)
    hosted.add_comments(18)
    answer = Answer({"merge_base_commit": {"sha": OTHER}})
    hosted.api.on("GET", f"/repos/{HOME}/compare/release%2F1...{HEAD}", answer)
    hosted.later.append({**hosted.run, "id": RUN + 1, "run_number": 4})  # of the other one
    assert hosted.comment() is ExitStatus.OK
    assert [asked.path for asked in hosted.api.writes] == [COMMENTS]
    assert "gemm/tiled" in hosted.comments[0]["body"]
    assert "pull request than #18" in capsys.readouterr().out


def test_a_fault_with_one_pull_request_of_a_head_keeps_no_other_from_its_result(
    hosted: HostedRun,
) -> None:
    other = hosted.pull(16)
    other["base"]["ref"] = "gone"  # no comparison is laid out
    hosted.pulls.insert(0, other)
    hosted.add_comments(16)
    with pytest.raises(UserError, match="404"):
        hosted.comment()
    first, second = hosted.api.writes
    assert first.path == COMMENTS.replace("17", "16")
    assert "could not be read" in first.body["body"]
    assert "gemm/tiled" in second.body["body"]


def test_a_pull_request_from_the_repository_itself_is_found(hosted: HostedRun) -> None:
    hosted.run["head_repository"] = hosted.run["repository"]
    hosted.run["pull_requests"] = [{"number": PULL}]
    hosted.pulls = [hosted.pull(3, repository=HOME), hosted.pull(repository=HOME)]
    hosted.comment()
    assert hosted.api.writes[0].path == COMMENTS


def test_a_gpu_whose_job_failed_is_told_and_the_others_are_shown(hosted: HostedRun) -> None:
    hosted.gpus(A100, H200)
    hosted.jobs.append(hosted.job("gate (NVIDIA A100)"))
    hosted.comment()
    assert "Its job failed before anything was compared" in hosted.body
    assert f"[job]({RUN_URL}/job/5151)" in hosted.body
    assert "**1 slower" in hosted.body


@pytest.mark.parametrize("others", [[], [("log.txt", b"")], [("in.zip", archive_of(slower()))]])
def test_an_artifact_without_run_files_is_of_a_job_that_failed(
    hosted: HostedRun, others: list[tuple[str, bytes]]
) -> None:
    hosted.artifacts.clear()
    hosted.upload(archives.streamed(*others))
    hosted.jobs += [hosted.job("gate (NVIDIA H200 NVL)", "cancelled")]  # another GPU's
    hosted.comment()
    assert "Its job failed before anything was compared" in hosted.body


@pytest.mark.parametrize("jobs", [[], ["which GPUs"], ["gate (${{ matrix.name }})", "NVIDIA H200"]])
def test_a_run_without_any_job_marks_the_comment_as_one_that_begins_does(
    hosted: HostedRun, capsys: pytest.CaptureFixture[str], jobs: list[str]
) -> None:
    hosted.run["conclusion"] = "action_required"  # nobody has approved it: completed, for GitHub
    hosted.artifacts.clear()
    hosted.jobs = [hosted.job(name) for name in jobs]
    hosted.said("hello", 1, "Stranger")
    assert hosted.comment() is ExitStatus.OK
    assert hosted.api.writes == []
    assert capsys.readouterr().out.endswith("no comment to mark as outdated yet\n")
    hosted.comments.clear()
    hosted.said(f"{MARK}**0 regressions** of an older commit")
    assert hosted.comment() is ExitStatus.OK
    assert f"> **Outdated.** Commit `{HEAD[:10]}` was not measured" in hosted.body
    assert "`action_required`" in hosted.body
    assert "**0 regressions**" in hosted.body


def test_what_an_earlier_attempt_left_is_not_this_one_s(hosted: HostedRun) -> None:
    hosted.run["run_attempt"] = 2
    hosted.jobs[0]["started_at"] = "2026-11-20T11:00:00Z"  # and ends at noon
    hosted.comment()
    assert "Its job failed before anything was compared" in hosted.body
    assert ", attempt 2" in hosted.body
    hosted.upload(archive_of(slower(name="memcpy/h2d")), 910)
    hosted.artifacts[-1]["created_at"] = "2026-11-20T11:20:00Z"
    hosted.artifacts.reverse()
    hosted.comment()
    assert "memcpy/h2d" in hosted.body


def test_artifacts_of_other_names_are_not_fetched_and_an_empty_one_is(hosted: HostedRun) -> None:
    hosted.upload(b"", 910, "unknown-gpu")
    hosted.artifacts[-1]["size_in_bytes"] = 10**12
    hosted.artifacts[0]["size_in_bytes"] = 0
    hosted.comment()
    assert [asked.path for asked in hosted.storage.asked] == ["/blob/909"]
    assert "**1 slower" in hosted.body


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"GITHUB_REPOSITORY": ""}, "GITHUB_REPOSITORY is not set"),
        *(
            ({"GITHUB_REPOSITORY": name}, "as OWNER/NAME")
            for name in ("warp", "../gauge", "./x", "warp/..", "a/b/c", "a/b?x=1", "a b/c")
        ),
        ({"GITHUB_EVENT_PATH": ""}, "GITHUB_EVENT_PATH names no event"),
        ({"GITHUB_EVENT_PATH": "/no/such"}, "GITHUB_EVENT_PATH names no event"),
    ],
)
def test_outside_of_a_job_one_sentence_says_what_is_missing(
    hosted: HostedRun, changes: dict[str, str], words: str
) -> None:
    with pytest.raises(UserError, match=words):
        comment([], hosted.root, {**hosted.environment(), **changes})
    assert hosted.api.asked == []


@pytest.mark.parametrize(
    "event",
    [{}, [], 1, {"workflow_run": {"id": "4242"}}, {"workflow_run": {"id": 0}},
     {"workflow_run": {"id": True}}, {"workflow_run": None}, {"pull_request": {"number": "17"}},
     {"comment": {"id": 1}}],
)  # fmt: skip
def test_an_event_without_a_number_of_a_run_or_pull_request_asks_for_nothing(
    hosted: HostedRun, event: Json
) -> None:
    hosted.event = event
    with pytest.raises(UserError, match=r"GITHUB_EVENT_PATH|no number called"):
        hosted.comment()
    assert hosted.api.asked == []


def test_the_command_posts_and_says_where(hosted: HostedRun) -> None:
    done = in_a_process(hosted)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"posted: https://github.com/{HOME}/pull/{PULL}#issuecomment-1\n"
    assert HEAD[:10] in hosted.body


@pytest.mark.parametrize("status", ["completed", "in_progress"])
def test_an_older_run_of_the_head_says_nothing(hosted: HostedRun, status: str) -> None:
    hosted.run["status"] = status
    hosted.said(f"{MARK}of the later run")
    hosted.later.append({**hosted.run, "id": RUN + 1, "run_number": 4})
    assert "a later run measures it" in silence(hosted)


def test_a_run_of_another_head_is_no_later_one(hosted: HostedRun) -> None:
    later: Json = {**hosted.run, "id": RUN + 1, "run_number": 4}
    for changes in (
        {"run_number": 2},
        {"head_branch": "another"},
        {"head_repository": {"full_name": "other/gauge"}},
        {"head_repository": None},
        {"head_sha": OTHER},
        {"event": "workflow_dispatch"},
    ):
        hosted.later.append({**later, **changes})
    hosted.comment()
    assert "**1 slower" in hosted.body


def test_a_push_while_the_artifacts_are_read_keeps_the_old_result_away(hosted: HostedRun) -> None:
    def pushed(asked: Asked) -> Answer:
        hosted.pulls = [hosted.pull(head=OTHER)]
        return Answer(archive_of(slower()))

    hosted.storage.on("GET", "/blob/909", pushed)
    assert "no open pull request has it as its head" in silence(hosted)
