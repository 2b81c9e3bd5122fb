# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci propose: a recorded session becomes a pull request with its provenance."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hosted_project import NAMES, RUN, checked_out
from hosted_repository import NAME, git
from proposing import BASELINES, BRANCH, Proposing
from warpgauge.records.load import load
from warpgauge.reports.markdown import report
from warpgauge.system.errors import ExitStatus, UserError


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proposing]:
    with checked_out(tmp_path, "baseline.yml") as made:
        monkeypatch.chdir(made.root)
        yield Proposing(made.root, made.hosted, made.workflow, made.commit)


def test_a_session_becomes_a_branch_with_the_baseline_and_nothing_else(project: Proposing) -> None:
    project.session(project.recorded())
    assert project.propose() is ExitStatus.OK
    assert project.hosted.changed("main", BRANCH) == BASELINES
    (pull,) = project.hosted.pulls
    assert (pull["base"], pull["head"]) == ("main", BRANCH)


def test_what_the_branch_holds_is_a_baseline_with_that_session(project: Proposing) -> None:
    project.session(project.recorded())
    project.propose()
    git(project.root, "fetch", "--quiet", "origin", BRANCH)
    git(project.root, "checkout", "--quiet", "FETCH_HEAD")
    record = load(project.root / "baselines" / "nvidia-test")
    assert list(record.rows) == list(NAMES)
    (session,) = record.sessions.values()
    assert (session.boot_id, session.context["commit"]) == ("boot-1", project.commit)


def test_the_checkout_stays_as_it_was(project: Proposing) -> None:
    project.session(project.recorded())
    project.propose()
    assert git(project.root, "status", "--porcelain") == ""


def test_the_body_compares_with_the_baseline_before(project: Proposing) -> None:
    project.with_baseline()
    project.session(project.recorded(1.5))
    project.propose()
    body = project.body
    assert "3 regressions" in body
    assert "`memcpy/a`" in body
    assert "baselines/nvidia-test" in body
    assert "/tmp/" not in body


def test_a_session_joins_those_that_are_there(project: Proposing) -> None:
    project.with_baseline()
    project.session(project.recorded())
    project.propose()
    text = git(project.hosted.git, "show", f"{BRANCH}:{BASELINES[0]}")
    assert [key[:10] for key in json.loads(text)["sessions"]] == ["2026-11-18", "2026-11-20"]


def test_no_report_can_be_taken_for_the_comment_of_the_gate(project: Proposing) -> None:
    project.with_baseline()
    for number in (1, 2):
        project.session(project.recorded(boot_id=f"boot-{number}"), number)
    project.propose("--sessions=2")
    ((_, comment),) = project.hosted.comments
    assert report.MARK.strip() not in project.body + comment


def test_several_sessions_are_one_pull_request_with_a_report_each(project: Proposing) -> None:
    project.with_baseline()
    for number in (1, 2):
        project.session(project.recorded(boot_id=f"boot-{number}"), number)
    project.propose("--sessions=2")
    (pull,) = project.hosted.pulls
    assert pull["title"] == "Baseline: 2 sessions of NVIDIA Test"
    ((number, comment),) = project.hosted.comments
    assert number == 1
    assert "beside the baseline as it was" in comment
    assert "were asked for" not in str(pull["body"])


def test_of_two_attempts_the_later_one_counts(project: Proposing) -> None:
    project.session(project.recorded(boot_id="first"))
    project.session(project.recorded(boot_id="second"))
    project.propose()
    body = project.body
    assert "`second`" in body
    assert "`first`" not in body


def test_hostile_text_in_the_context_stays_in_code_spans(project: Proposing) -> None:
    hostile = "@everyone <img src=x> [a](http://b) | `c` #1"
    project.session(project.recorded(driver_version=hostile, gpu_uuid="a\n\n# b"))
    project.propose()
    body = project.body
    (line,) = [line for line in body.splitlines() if "@everyone" in line]
    assert "``@everyone <img src=x> [a](http://b) \\| `c` #1``" in line
    assert r"`a\n\n# b`" in line


def test_a_pull_request_that_may_not_be_opened_leaves_the_branch_and_says_so(
    project: Proposing,
) -> None:
    project.session(project.recorded())
    project.hosted.refused[f"POST /repos/{NAME}/pulls"] = (403, "Actions may not create them")
    with pytest.raises(UserError, match="Actions may not create them") as raised:
        project.propose()
    assert f"on the branch baseline/nvidia-test-{RUN}-1" in str(raised.value)
    assert BRANCH in project.hosted.branches()


def test_the_same_attempt_is_not_proposed_twice(project: Proposing) -> None:
    project.session(project.recorded())
    project.propose()
    with pytest.raises(UserError, match="Reference already exists"):
        project.propose()
    assert len(project.hosted.pulls) == 1
