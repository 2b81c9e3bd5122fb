# SPDX-License-Identifier: Apache-2.0
"""scripts/bench FILE.py: the file's folder is the project, whose commits are measured in pairs."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from test_build_dir import context

import fake_binary
from clone import TIMES, GitRepository
from warpgauge.commands import bench
from warpgauge.measure import python_file
from warpgauge.system.errors import ExitStatus

FILE = "bench_sync.py"
SLOW = {**TIMES, "sync/idle": 2000.0}


class Project(GitRepository):
    """A clone with a file of benchmarks; warpgauge lies elsewhere."""

    def bench(self, *argv: str) -> ExitStatus:
        return bench.main(["--seed=1", FILE, *argv], self.root.parent / "warpgauge")

    def takes(self, times: dict[str, float]) -> None:
        (self.root / FILE).write_text(json.dumps(times))


@pytest.fixture
def project(clone: GitRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The program of a file takes the times that stand in it."""

    def provide(path: Path) -> Path:
        text = path.read_text()
        folder = tmp_path / "made" / hashlib.sha256(f"{path} {text}".encode()).hexdigest()
        fake_binary.make(folder, "sync", json.loads(text))
        return folder

    made = Project(clone.root, clone.capsys)
    monkeypatch.setattr(python_file, "provide", provide)
    monkeypatch.delattr("warpgauge.measure.build.build")  # nothing may be built
    monkeypatch.chdir(made.root)
    made.takes(TIMES)
    made.git("add", FILE)
    made.git("commit", "--quiet", "--message=benchmarks")
    return made


def test_a_file_is_held_to_the_baselines_beside_it(project: Project) -> None:
    assert project.bench("--record", "--processes=5") is ExitStatus.OK
    (baseline,) = (project.root / "baselines").glob("*/*")
    assert baseline.name == "sync.json"
    assert "file" not in context(baseline)
    assert project.bench() is ExitStatus.OK


def test_a_change_is_measured_in_pairs_with_a_commit_of_the_file(project: Project) -> None:
    assert project.bench("--against=HEAD") is ExitStatus.OK
    project.takes(SLOW)
    project.output()
    assert project.bench("--against=HEAD") is ExitStatus.REGRESSION
    shown, _ = project.output()
    assert "sync/idle" in shown
    assert f"scripts/bench {FILE} --baselines baselines --against" in shown


def test_what_a_baseline_flags_is_measured_in_pairs_with_its_commit(project: Project) -> None:
    project.bench("--record", "--processes=5")
    project.takes(SLOW)
    project.output()
    assert project.bench() is ExitStatus.REGRESSION
    assert "Measured again in pairs with its commit" in project.output()[0]
    assert not (project.root / "build" / "base").exists()
