# SPDX-License-Identifier: Apache-2.0
"""Only the newest run of a pull request's head has a word in the comment, and only while it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from test_comment_command import silence

from fake_github import Answer, Asked, FakeGitHub
from hosted_run import OTHER, RUN, HostedRun, Json, archive_of, slower, text_of
from warpgauge.reports.markdown.report import MARK


@pytest.fixture
def hosted(tmp_path: Path) -> Iterator[HostedRun]:
    with FakeGitHub() as api, FakeGitHub() as storage:
        yield HostedRun(tmp_path, api, storage)


@pytest.mark.parametrize("status", ["completed", "in_progress"])
def test_an_older_run_of_the_head_says_nothing(hosted: HostedRun, status: str) -> None:
    hosted.run["status"] = status
    hosted.said(f"{MARK}of the later run")
    hosted.later.append({**hosted.run, "id": RUN + 1, "run_number": 4})
    assert "a later run measures it" in silence(hosted)


@pytest.mark.parametrize(
    "changes",
    [
        {"run_number": 2},
        {"head_branch": "another"},
        {"head_repository": {"full_name": "other/gauge"}},
        {"head_repository": None},
        {"head_sha": OTHER},
        {"event": "workflow_dispatch"},
    ],
)
def test_a_run_of_another_head_is_no_later_one(hosted: HostedRun, changes: Json) -> None:
    hosted.later.append({**hosted.run, "id": RUN + 1, "run_number": 4, **changes})
    hosted.comment()
    assert "**1 regression" in hosted.body


def test_a_push_while_the_artifacts_are_read_keeps_the_old_result_away(hosted: HostedRun) -> None:
    def pushed(asked: Asked) -> Answer:
        hosted.pulls = [hosted.pull(head=OTHER)]
        return Answer(archive_of(text_of(slower())))

    hosted.storage.on("GET", "/blob/909", pushed)
    assert "has moved on to another commit" in silence(hosted)
