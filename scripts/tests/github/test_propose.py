# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci propose: a recorded session becomes a pull request, or nothing reaches GitHub."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import row, run
from hosted_project import NAMES, RUN, checked_out
from hosted_repository import NAME, git
from proposing import BASELINES, BRANCH, Proposing
from warpgauge.records.load import load
from warpgauge.reports.formats import markdown as report
from warpgauge.system import environment
from warpgauge.system.errors import ExitStatus, UserError


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proposing]:
    with checked_out(tmp_path, "baseline.yml") as made:
        monkeypatch.chdir(made.root)
        monkeypatch.setattr(environment, "CLONE", made.root)
        yield Proposing(made.root, made.hosted, made.workflow, made.commit)


def test_a_session_becomes_a_branch_with_the_baseline_and_nothing_else(project: Proposing) -> None:
    project.session(project.recorded())
    assert project.propose() is ExitStatus.OK
    assert git(project.root, "status", "--porcelain") == ""
    assert project.hosted.changed("main", BRANCH) == BASELINES
    (pull,) = project.hosted.pulls
    assert (pull["base"], pull["head"]) == ("main", BRANCH)
    git(project.root, "fetch", "--quiet", "origin", BRANCH)
    git(project.root, "checkout", "--quiet", "FETCH_HEAD")
    record = load(project.root / "baselines" / "nvidia-test")
    assert list(record.rows) == list(NAMES)
    (session,) = record.sessions.values()
    assert (session.boot_id, session.context["commit"]) == ("boot-1", project.commit)


def test_a_session_joins_those_that_are_there_and_is_compared_with_them(project: Proposing) -> None:
    project.with_baseline()
    project.session(project.recorded(1.5))
    project.propose()
    body = project.body
    assert "3 slower" in body
    assert "`memcpy/a`" in body
    assert "baselines/nvidia-test" in body
    assert "/tmp/" not in body
    text = git(project.hosted.git, "show", f"{BRANCH}:{BASELINES[0]}")
    assert [key[:10] for key in json.loads(text)["sessions"]] == ["2026-11-18", "2026-11-20"]


def test_several_sessions_are_one_pull_request_with_a_report_each(project: Proposing) -> None:
    project.with_baseline()
    for number in (1, 2):
        project.session(project.recorded(boot_id=f"boot-{number}"), number)
    project.propose(sessions="2")
    (pull,) = project.hosted.pulls
    assert pull["title"] == "Baseline: 2 sessions of NVIDIA Test"
    ((number, comment),) = project.hosted.comments
    assert number == 1
    assert "compared with the baseline before it" in comment
    assert "were asked for" not in project.body
    # None can be taken for the comment of the gate.
    assert report.MARK.strip() not in project.body + comment


def test_of_two_attempts_the_later_one_counts_and_hostile_text_stays_in_code_spans(
    project: Proposing,
) -> None:
    hostile = "@everyone <img src=x> [a](http://b) | `c` #1"
    project.session(project.recorded(boot_id="first"))
    project.session(project.recorded(driver_version=hostile, gpu_uuid="a\n\n# b"))
    project.propose()
    body = project.body
    assert "`first`" not in body
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


def test_nothing_recorded_is_status_3(project: Proposing) -> None:
    assert "recorded no session of NVIDIA Test" in project.refused(ExitStatus.NOT_MEASURED)


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"gpu_name": "NVIDIA Other"}, "states gpu_name 'NVIDIA Other'"),
        ({"gpu_name": ""}, "states gpu_name ''"),
        ({"commit": "f" * 40}, "states commit 'ffffffffff"),
        ({"dirty": "true"}, "uncommitted changes"),
        ({"inject": "a=1.5"}, "extra work was injected"),
        ({"build_type": "Debug"}, "its build type is 'Debug'"),
        ({"date": "2027-11-20T10:00:00+00:00"}, "in the future"),
        ({"note": "x" * 40_000}, "its context is longer"),
    ],
)
def test_a_run_that_must_not_be_recorded_is_refused(
    project: Proposing, keys: dict[str, str], why: str
) -> None:
    project.session(project.recorded(**keys))
    assert why in project.refused()


@pytest.mark.parametrize("name", ["evil/a", "../../x/a", "self-check-x/a", "README/a", ""])
def test_no_family_and_one_that_the_checkout_lacks_are_refused(
    project: Proposing, name: str
) -> None:
    project.session(run([row(name)] if name else [], commit=project.commit))
    why = "benchmarks/ does not have the family" if name else "holds no benchmark"
    assert why in project.refused()


def test_what_is_no_run_file_is_refused_with_the_good_one_beside_it(project: Proposing) -> None:
    project.with_baseline()
    baseline = (project.root / BASELINES[0]).read_bytes()
    for document, why in (
        (project.recorded(commit="f" * 40), "the artifact session-nvidia-test-2 is refused"),
        (baseline, "run.json is a baseline, not a run file"),
        (b"{", "ends in the middle"),
        (b" " * (9 * 2**20), "more than 8388608"),
    ):
        project.hosted.artifacts.clear()
        project.session(project.recorded(), 1)
        project.session(document, 2)
        assert why in project.refused()


def test_an_archive_without_a_run_file_or_too_large_is_refused(project: Proposing) -> None:
    project.session(project.recorded(), file="../run.json")
    assert "session-nvidia-test-1" in project.refused()
    project.hosted.asked.clear()
    project.hosted.artifacts[:] = [("session-nvidia-test-1", b"x" * (33 * 2**20))]
    assert "larger than 32 MiB" in project.refused()
    assert not any("/zip" in asked for asked in project.hosted.asked)


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("path", ".github/workflows/gpu.yml", "'.github/workflows/gpu.yml'"),
        ("event", "pull_request", "was started by 'pull_request'"),
        ("head_sha", "f" * 40, "measured commit ffffffffff"),
        ("head_sha", "main", "does not match GitHub's answer"),
        ("run_attempt", None, "has no number called run_attempt"),
    ],
)
def test_a_run_of_something_else_is_refused(
    project: Proposing, key: str, value: object, why: str
) -> None:
    project.session(project.recorded())
    project.hosted.runs[RUN][key] = value
    assert why in project.refused()


def test_a_run_that_is_not_there_and_changed_baselines_are_refused(project: Proposing) -> None:
    project.session(project.recorded())
    (project.root / "baselines" / "README.md").write_text("changed")
    with pytest.raises(UserError, match="baselines has uncommitted changes"):
        project.propose()
    assert project.hosted.writes() == []
    git(project.root, "checkout", "--quiet", ".")
    project.hosted.runs.clear()
    assert "404 Not Found" in project.refused()


@pytest.mark.parametrize("gpu", ["../x", "NVIDIA Test", "nvidia-h200"])
def test_a_gpu_that_the_list_does_not_have_is_refused(project: Proposing, gpu: str) -> None:
    with pytest.raises(UserError, match=r"gpus\.json does not list the GPU"):
        project.propose(gpu=gpu)
    assert project.hosted.asked == []
