# SPDX-License-Identifier: Apache-2.0
"""scripts/bench --build-dir holds another project's programs to that project's baselines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import fake_binary
from clone import TIMES, GitRepository, runs_of
from driver_runs import interrupted_in_second_round
from warpgauge.commands import bench
from warpgauge.measure import manifest
from warpgauge.system import environment
from warpgauge.system.errors import ExitStatus, UserError

SLOW = {**TIMES, "sync/idle": 2000.0}


class Project(GitRepository):
    """A git clone of another project, whose build folder lies in it; warpgauge lies elsewhere."""

    @property
    def folder(self) -> Path:
        return self.root / "out" / "build"

    def built_with(self, times: Mapping[str, float]) -> None:
        for old in self.folder.glob("*.count"):
            old.unlink()
        fake_binary.make(self.folder, "sync", times)
        listed = json.loads((self.folder / manifest.FILE).read_text())
        (self.folder / manifest.FILE).write_text(
            json.dumps({**listed, "source_dir": str(self.root)})
        )

    def bench(self, *argv: str) -> ExitStatus:
        warpgauge = self.root.parent / "warpgauge"
        return bench.main(["--build-dir=out/build", *argv], warpgauge)

    def runs(self) -> list[Path]:
        return runs_of(self.folder)


@pytest.fixture
def project(clone: GitRepository, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project(clone.root, clone.capsys)
    monkeypatch.chdir(made.root)
    monkeypatch.delattr("warpgauge.measure.build.build")  # nothing may be built
    made.built_with(TIMES)
    return made


def context(run: Path) -> dict[str, Any]:
    return dict(json.loads(run.read_text())["context"])


def test_a_project_is_held_to_baselines_of_its_own(project: Project) -> None:
    assert project.bench("--record", "--processes=5") is ExitStatus.OK
    assert [path.name for path in (project.root / "baselines").glob("*/*")] == ["sync.json"]
    (run,) = project.runs()
    head = project.git("rev-parse", "HEAD")
    assert (context(run)["commit"], context(run)["dirty"]) == (head, "false")
    project.built_with(TIMES)
    assert project.bench() is ExitStatus.OK
    # Neither the first session nor the build folder counts as a change of the sources.
    assert project.bench("--record") is ExitStatus.OK
    assert not (project.root.parent / "warpgauge").exists()


def test_what_is_flagged_is_not_measured_again_and_the_output_says_so(project: Project) -> None:
    project.bench("--record", "--processes=5")
    project.built_with(SLOW)
    project.output()
    assert project.bench() is ExitStatus.REGRESSION
    shown = project.output()[0]
    for said in (
        "1 of 2 benchmarks flagged. Not measured again in pairs with its commit: --build-dir",
        f"{environment.CLONE}/scripts/bench --build-dir out/build --filter '^sync/idle$'",
    ):
        assert said in shown


def test_sources_with_changes_or_without_a_name_are_no_commits(project: Project) -> None:
    (project.root / "kernel.cu").write_text("2")
    with pytest.raises(UserError, match="--record needs a committed tree"):
        project.bench("--record")
    project.bench("--processes=3")
    fake_binary.write_manifest(project.folder, [fake_binary.program("bench_sync")])
    project.bench("--processes=3")
    dirty, unknown = map(context, project.runs())
    assert (dirty["dirty"], unknown["commit"]) == ("true", "")


def test_an_interrupted_run_of_another_project_goes_on_by_its_journal(project: Project) -> None:
    interrupted_in_second_round(lambda: project.bench("--processes=3"))
    (journal,) = (project.folder / "runs").glob("*.journal")
    assert bench.main(["--resume", str(journal)], project.root) is ExitStatus.NOT_MEASURED
    assert len(project.runs()) == 1
    assert not journal.exists()


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--build-dir=nowhere"], "--build-dir: 'nowhere'"),
        (["--build-dir="], "--build-dir: ''"),
        (["--build-dir=out"], r"out/warpgauge_benchmarks\.json names no benchmark program"),
        (["--against=HEAD"], "--against cannot be combined with --build-dir"),
        (["--budget=60s"], "--budget cannot be combined with --build-dir"),
        ([], r"baselines/policy\.toml"),
    ],
)
def test_what_cannot_be_is_refused(project: Project, argv: list[str], said: str) -> None:
    (project.root / "baselines").mkdir()
    (project.root / "baselines" / "policy.toml").write_text("" if argv else "nonsense = 1\n")
    with pytest.raises(UserError, match=said):
        project.bench(*argv)
