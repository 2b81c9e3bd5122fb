# SPDX-License-Identifier: Apache-2.0
"""baseline.yml and nightly.yml hand over what `warpgauge ci propose` and `history` take."""

from __future__ import annotations

from typing import Any

import pytest

import workflows
from warpgauge.commands.ci import propose
from warpgauge.github import gpus, history_branch, recorded_files
from warpgauge.github.recorded_files import MOST_ARTIFACTS
from warpgauge.system.environment import ROOT


def workflow(name: str) -> Any:  # noqa: ANN401 - a YAML file's
    return workflows.parsed((workflows.GITHUB / "workflows" / name).read_text())


def upload(job: Any) -> Any:  # noqa: ANN401
    (step,) = [one for one in job["steps"] if "upload-artifact" in one.get("uses", "")]
    return step


def test_one_can_choose_every_gpu_on_a_branch_and_as_many_sessions_as_there_are_jobs() -> None:
    found = workflow(propose.WORKFLOW)
    inputs = found["on"]["workflow_dispatch"]["inputs"]
    assert inputs["gpu"]["options"] == [gpu.slug for gpu in gpus.read(gpus.file_of(ROOT))]
    # A pull request goes into a branch: a tag is refused before anything is measured.
    assert "github.ref_type == 'branch'" in found["jobs"]["plan"]["if"]
    sessions = found["jobs"]["record"]["strategy"]["matrix"]["session"]
    for number in map(int, inputs["sessions"]["options"]):
        assert f"'{[*range(1, number + 1)]}'" in sessions
        assert number <= MOST_ARTIFACTS


@pytest.mark.parametrize(
    ("name", "job", "artifact"),
    [
        (propose.WORKFLOW, "record", "session-${{ matrix.slug }}-${{ matrix.session }}"),
        (history_branch.WORKFLOW, "measure", "nightly-${{ matrix.slug }}"),
    ],
)
def test_the_run_file_is_where_it_is_looked_for(name: str, job: str, artifact: str) -> None:
    told = workflow(name)["jobs"][job]
    assert upload(told)["with"]["name"] == artifact
    paths = upload(told)["with"]["path"].splitlines()
    assert paths[0] == f"${{{{ runner.temp }}}}/{recorded_files.RUN_FILE}"
    # More than one, or their folder would be another: all lie in the archive's root.
    assert len(paths) > 1
    assert {path.rpartition("/")[0] for path in paths} == {"${{ runner.temp }}"}
    assert any(f'--out "$RUNNER_TEMP/{recorded_files.RUN_FILE}"' in one.get("run", "")
               for one in told["steps"])  # fmt: skip


@pytest.mark.parametrize(
    ("name", "job"), [(propose.WORKFLOW, "propose"), (history_branch.WORKFLOW, "history")]
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
    jobs = workflow(history_branch.WORKFLOW)["jobs"]
    assert upload(jobs["measure"])["if"] == "${{ !cancelled() }}"
    assert "!cancelled()" in jobs["history"]["if"]
    assert "pull-requests" not in jobs["history"]["permissions"]
