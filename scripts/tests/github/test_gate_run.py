# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci gate over the real scripts/bench, fake programs and a git clone, from end to end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clone import HOST_TIMES, SLOW, TIMES, GitRepository, recorded, with_commands
from warpgauge.commands.ci import gate
from warpgauge.system import process
from warpgauge.system.errors import ExitStatus


@pytest.fixture
def pull_request(clone: GitRepository, monkeypatch: pytest.MonkeyPatch) -> GitRepository:
    """A topic branch of a clone that has a baseline; `main` has gone on meanwhile."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(process, "require_gpu", lambda: None)
    with_commands(clone)
    recorded(clone)
    clone.git("add", "--all")
    clone.git("commit", "--quiet", "--message", "a baseline")
    clone.git("checkout", "--quiet", "-b", "topic")
    clone.git("checkout", "--quiet", "main")
    clone.commit({"host": HOST_TIMES, "sync": {**TIMES, "sync/idle": 500.0}})
    clone.git("checkout", "--quiet", "topic")
    return clone


def run(clone: GitRepository) -> tuple[ExitStatus, Path]:
    out = clone.root / "build" / "gate"
    asked = ["--base", "main", f"--out-dir={out}"]
    return gate.main(asked, clone.root), out


def comparison(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "comparison.json").read_text())
    return found


def test_a_regression_is_measured_in_pairs_with_the_merge_base(pull_request: GitRepository) -> None:
    head = pull_request.commit({"host": HOST_TIMES, "sync": SLOW})
    base = pull_request.git("merge-base", "main", "topic")
    status, out = run(pull_request)
    assert status is ExitStatus.REGRESSION
    document = comparison(out)
    outcomes = {verdict["name"]: verdict["outcome"] for verdict in document["verdicts"]}
    assert outcomes["sync/busy"] == "REGRESSION"
    assert document["exit_status"] == 1
    assert document["candidate"]["sessions"][-1]["context"]["commit"] == head
    assert f"Measured in pairs with commit {base[:10]}" in document["method"]["text"]
    shown = pull_request.capsys.readouterr().out
    assert "title=slower%3A sync/busy::" in shown
    assert "::error title=Regression::" in shown
    names = {path.name for path in (out / "runs").iterdir()}
    assert names == {"run.json", "run-base.json"}
    rows = json.loads((out / "runs" / "run.json").read_text())["benchmarks"]
    why = {row["name"]: row["why"]["paragraph"] for row in rows if "why" in row}
    assert [*why] == ["sync/busy"]
    assert "sync/busy" in why["sync/busy"]
    assert (out / "commands.log").read_text().startswith("# warpgauge: commands")
    assert "1 slower" in (out / "log.txt").read_text()


def test_an_innocent_change_passes(pull_request: GitRepository) -> None:
    pull_request.commit({"host": HOST_TIMES, "sync": TIMES})
    status, out = run(pull_request)
    assert status is ExitStatus.OK
    assert comparison(out)["counts"]["PASS"] == 3
    assert "gate: No regression was found" in pull_request.capsys.readouterr().out


def test_what_is_new_is_no_fault_and_what_is_lost_is_one(pull_request: GitRepository) -> None:
    pull_request.commit({"host": HOST_TIMES, "sync": {"sync/busy": 5000.0, "sync/new": 1.0}})
    status, out = run(pull_request)
    assert status is ExitStatus.NOT_MEASURED
    outcomes = {one["name"]: one["outcome"] for one in comparison(out)["verdicts"]}
    assert (outcomes["sync/new"], outcomes["sync/idle"]) == ("NEW", "MISSING")


def test_a_base_that_does_not_build_is_told_and_is_no_pass(pull_request: GitRepository) -> None:
    pull_request.git("checkout", "--quiet", "main")
    pull_request.commit({"sync": {}})
    pull_request.git("checkout", "--quiet", "-b", "mended")
    pull_request.commit({"host": HOST_TIMES, "sync": TIMES})
    status, _ = run(pull_request)
    assert status is ExitStatus.NOT_MEASURED
    shown = pull_request.capsys.readouterr().out
    assert "does not build here; the build log is " in shown
    assert "::error title=Nothing was compared::" in shown


def test_a_head_that_does_not_build_is_told_in_one_line(pull_request: GitRepository) -> None:
    pull_request.commit({"sync": {}})
    status, out = run(pull_request)
    assert status is ExitStatus.BAD_USAGE
    assert not (out / "comparison.json").exists()
    *_, last = pull_request.capsys.readouterr().out.splitlines()
    assert last == (
        "::error title=Nothing was compared::the comparison ended with exit status 2: error: no"
    )
