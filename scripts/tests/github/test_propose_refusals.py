# SPDX-License-Identifier: Apache-2.0
"""What `ci propose` refuses: nothing of it reaches the repository, and one sentence says why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import row, run
from hosted_project import RUN, checked_out
from proposing import BASELINES, Proposing
from warpgauge.system.errors import ExitStatus, UserError


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proposing]:
    with checked_out(tmp_path, "baseline.yml") as made:
        monkeypatch.chdir(made.root)
        yield Proposing(made.root, made.hosted, made.workflow, made.commit)


def test_nothing_recorded_is_status_3(project: Proposing) -> None:
    assert "recorded no session of NVIDIA Test" in project.refused(ExitStatus.NOT_MEASURED)


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"gpu_name": "NVIDIA Other"}, "was measured on 'NVIDIA Other'"),
        ({"gpu_name": ""}, "was measured on ''"),
        ({"commit": "f" * 40}, "measured commit 'ffffffffff'"),
        ({"dirty": "true"}, "uncommitted changes"),
        ({"inject": "a=1.5"}, "extra work was injected"),
        ({"build_type": "Debug"}, "its build type is Debug"),
        ({"date": "2027-11-20T10:00:00+00:00"}, "a day to come"),
        ({"note": "x" * 40_000}, "its context is longer"),
    ],
)
def test_a_run_that_must_not_be_recorded_is_refused(
    project: Proposing, keys: dict[str, str], why: str
) -> None:
    project.session(project.recorded(**keys))
    assert why in project.refused()


@pytest.mark.parametrize("name", ["evil/a", "../../x/a", "self-check-x/a", "README/a"])
def test_a_family_that_the_checkout_lacks_is_refused(project: Proposing, name: str) -> None:
    document = run([row(name)], commit=project.commit)
    project.session(document)
    assert "benchmarks/ has no family" in project.refused()


def test_a_run_without_a_benchmark_is_refused(project: Proposing) -> None:
    project.session(run([], commit=project.commit))
    assert "holds no benchmark" in project.refused()


def test_one_bad_session_keeps_the_good_one_from_being_proposed(project: Proposing) -> None:
    project.session(project.recorded(), 1)
    project.session(project.recorded(commit="f" * 40), 2)
    assert "session-nvidia-test-2" in project.refused()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is empty"),
        (b"{", "breaks off"),
        (b"[" * 60_000, "nested too deeply"),
        (b"[]", "holds a list"),
        (b"\x00\x01", "holds zero bytes"),
        (b'{"benchmarks": []}', ""),
        (b" " * (9 * 2**20), "more than 8388608"),
    ],
)
def test_what_is_no_run_file_is_refused(project: Proposing, content: bytes, why: str) -> None:
    project.session(content)
    assert why in project.refused()


def test_a_baseline_in_place_of_a_run_file_is_refused(project: Proposing) -> None:
    project.with_baseline()
    project.session((project.root / BASELINES[0]).read_bytes())
    assert "it is a baseline, and no run file" in project.refused()


def test_an_archive_without_a_run_file_is_refused(project: Proposing) -> None:
    project.session(project.recorded(), file="../run.json")
    assert "session-nvidia-test-1" in project.refused()


def test_an_archive_that_is_too_large_is_not_fetched(project: Proposing) -> None:
    project.hosted.artifacts.append(("session-nvidia-test-1", b"x" * (17 * 2**20)))
    assert "larger than 16 MiB" in project.refused()
    assert not any("/zip" in one for one in project.hosted.asked)


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("path", ".github/workflows/gpu.yml", "is of '.github/workflows/gpu.yml'"),
        ("event", "pull_request", "was started by 'pull_request'"),
        ("head_sha", "f" * 40, "measured commit ffffffffff"),
        ("head_sha", "main", "has 'main' as head_sha"),
        ("run_attempt", None, "has no number called run_attempt"),
        ("triggering_actor", {"login": "a](x) @b"}, "as triggering_actor.login"),
    ],
)
def test_a_run_of_something_else_is_refused(
    project: Proposing, key: str, value: object, why: str
) -> None:
    project.session(project.recorded())
    project.hosted.runs[RUN][key] = value
    assert why in project.refused()


def test_a_run_that_is_not_there_is_refused(project: Proposing) -> None:
    project.hosted.runs.clear()
    assert "404 Not Found" in project.refused()


def test_a_checkout_with_changed_baselines_is_refused(project: Proposing) -> None:
    project.session(project.recorded())
    (project.root / "baselines" / "README.md").write_text("changed")
    with pytest.raises(UserError, match="differs from its commit"):
        project.propose()
    assert project.hosted.writes() == []


@pytest.mark.parametrize("name", ["a", "a/b/c", "../x", "./x", "a/b?c", "a b/c", ""])
def test_what_is_no_repository_is_refused(project: Proposing, name: str) -> None:
    with pytest.raises(UserError, match="is no repository"):
        project.propose("--repository", name)
    assert project.hosted.asked == []


@pytest.mark.parametrize("gpu", ["../x", "NVIDIA Test", "nvidia-h200"])
def test_a_gpu_that_the_list_does_not_have_is_refused(project: Proposing, gpu: str) -> None:
    with pytest.raises(UserError, match=r"gpus\.json has no GPU"):
        project.propose("--gpu", gpu)
    assert project.hosted.asked == []
