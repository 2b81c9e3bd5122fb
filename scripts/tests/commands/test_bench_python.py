# SPDX-License-Identifier: Apache-2.0
"""Commands with FILE.py: the file's folder is the project, whose commits are measured in pairs."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from test_build_dir import context

import fake_binary
from clone import TIMES, GitRepository
from driver_runs import DriverRuns
from traces import process, text
from warpgauge.commands import bench, bisect, explain, sweep
from warpgauge.measure import any_command, python_file
from warpgauge.system import environment
from warpgauge.system import process as processes
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.why import cupti

FILE = "bench_sync.py"
TRACE = text(process("sync/busy", replays=5))
SLOW = {**TIMES, "sync/idle": 2000.0}


class Project(GitRepository):
    """A clone with a file of benchmarks; warpgauge lies elsewhere."""

    @property
    def tree(self) -> Path:
        return self.root.parent / "warpgauge"

    def bench(self, *argv: str) -> ExitStatus:
        return bench.main([FILE, *argv], self.tree)

    def takes(self, times: dict[str, float]) -> None:
        (self.root / FILE).write_text(json.dumps(times))

    def commits(self, times: dict[str, float], **files: str) -> str:
        """Commit the file, and others; return the commit."""
        for name, content in files.items():
            (self.root / name).write_text(content)
        self.takes(times)
        return self.commit({})


@pytest.fixture
def project(clone: GitRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The program of a file takes the times that stand in it."""

    def provide(path: Path) -> Path:
        if not path.exists():
            raise UserError(f"{path} is no file")
        content = path.read_text()
        folder = tmp_path / "made" / hashlib.sha256(f"{path} {content}".encode()).hexdigest()
        fake_binary.make(folder, "sync", json.loads(content), trace=TRACE)
        return folder

    made = Project(clone.root, clone.capsys)
    monkeypatch.setattr(python_file, "provide", provide)
    monkeypatch.delattr("warpgauge.measure.build.build")  # nothing may be built
    monkeypatch.setattr(environment, "ROOT", made.tree)
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


def test_without_a_gpu_a_file_is_listed_or_its_own_fault_is_told(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "why_no_gpu", lambda: "none here")
    assert project.bench("--list") is ExitStatus.OK
    assert project.output()[0] == "sync/idle sync/busy"
    broken = tmp_path / "broken"
    monkeypatch.setattr(python_file, "provide", lambda _: broken)
    fake_binary.make(broken, "sync", TIMES, listing_fault="exit")
    with pytest.raises(UserError, match="bench_sync cannot list its benchmarks"):
        project.bench("--list")


def test_a_change_is_measured_in_pairs_with_a_commit_of_the_file(project: Project) -> None:
    assert project.bench("--against=HEAD") is ExitStatus.OK
    project.takes(SLOW)
    project.output()
    assert project.bench("--against=HEAD") is ExitStatus.REGRESSION
    shown, _ = project.output()
    assert "sync/idle" in shown
    assert f"scripts/warpgauge explain {FILE} sync/idle --against" in shown


def test_what_a_baseline_flags_is_measured_in_pairs_with_its_commit(project: Project) -> None:
    project.bench("--record", "--processes=5")
    project.takes(SLOW)
    project.output()
    assert project.bench() is ExitStatus.REGRESSION
    assert "Measured again in pairs with its commit" in project.output()[0]
    assert not (project.root / "build" / "base").exists()


def test_an_interrupted_run_of_a_file_is_resumed_by_its_name(
    project: Project, driver_runs: DriverRuns
) -> None:
    driver_runs.interrupt(2)
    with pytest.raises(KeyboardInterrupt):
        project.bench("--processes=5")
    driver_runs.interrupt(after=None)
    with pytest.raises(UserError, match=r"FILE\.py --resume"):
        bench.main(["--resume"], project.tree)
    bench.main([FILE, "--resume"], project.tree)
    assert len(driver_runs.plans) == 3
    assert "Resuming" in project.output()[1]


def test_a_sweep_is_over_all_benchmarks_of_a_file_or_some(project: Project) -> None:
    names = [f"{name}/n:{n}" for name in ("copy/ours", "copy/theirs", "sum") for n in (64, 128)]
    project.takes(dict.fromkeys([*names, "copy/idle"], 1e3))

    def columns(*argv: str, axis: str = "n") -> list[str]:
        assert sweep.main([FILE, f"--axis={axis}", *argv], project.tree) is ExitStatus.OK
        lines = project.capsys.readouterr().out.splitlines()
        return next(line.split()[1:] for line in lines if line.split()[:1] == ["n"])

    assert columns() == ["copy/ours", "copy/theirs", "sum"]
    assert columns("copy/ours") == ["copy/ours"]
    assert columns("copy", axis="n=1Ki..4Ki") == ["copy/ours", "copy/theirs"]


def test_a_sweep_of_a_file_says_what_it_lacks(project: Project) -> None:
    for argv, said in (
        (["--axis=m"], "no benchmark has the axis 'm': it has no axis"),
        (["--axis=n", "kernels.toml"], "FILE.py cannot be combined with a manifest"),
        (["--axis=n", "bench_other.py"], "'bench_other.py' is one too many"),
        (["--axis=n", "--no-build"], "--no-build"),
    ):
        with pytest.raises(UserError, match=said.replace("*", ".")):
            sweep.main([FILE, *argv], project.tree)


def test_a_program_of_a_file_that_cannot_list_is_a_fault_of_the_sweep(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake_binary.make(tmp_path / "bad", "sync", listing_fault="No module named 'torch'")
    monkeypatch.setattr(python_file, "provide", lambda path: tmp_path / "bad")
    with pytest.raises(UserError, match="No module named 'torch'") as refusal:
        sweep.main([FILE, "--axis=n"], project.tree)
    assert refusal.value.status is ExitStatus.NOT_MEASURED


def test_the_reason_is_searched_between_commits_of_a_file(project: Project) -> None:
    project.commits({**TIMES, "sync/busy": 9000.0})
    arguments = [FILE, "sync/busy", "--against=HEAD~1", "--format=json=why.json"]
    assert explain.main(arguments, project.tree) is ExitStatus.OK
    (found,) = json.loads(Path("why.json").read_text())["benchmarks"]
    assert found["name"] == "sync/busy"
    assert found["slowdown"] == pytest.approx(0.8, abs=0.05)
    with pytest.raises(UserError, match="one too many"):
        explain.main([FILE, "sync/busy", "sync/idle"], project.tree)


def test_a_run_of_a_file_explains_what_is_slower(project: Project) -> None:
    project.takes(SLOW)
    assert project.bench("--against=HEAD", "--format=json=run.json") is (ExitStatus.REGRESSION)
    verdicts = json.loads(Path("run.json").read_text())["verdicts"]
    (reason,) = (one["why"] for one in verdicts if one["name"] == "sync/idle")
    assert "sync/idle" in reason["paragraph"]


def test_a_benchmark_of_a_file_is_traced_by_the_library_of_warpgauge(project: Project) -> None:
    with pytest.raises(UserError, match=cupti.LIBRARY):
        explain.main([FILE, "sync/busy"], project.tree)
    folder = project.tree / "build" / "release" / "benchmarks"
    folder.mkdir(parents=True)
    (folder / cupti.LIBRARY).touch()
    for argv in (["sync/busy"], ["busy"]):
        assert explain.main([FILE, *argv], project.tree) is ExitStatus.OK
        assert "cudaGraphLaunch" in project.output()[0]
    for argv, said in (
        ([], "'' matches 2 benchmarks"),
        (["sync/busy", "--sass"], "holds no machine code"),
    ):
        with pytest.raises(UserError, match=said):
            explain.main([FILE, *argv], project.tree)


def test_the_commit_that_made_a_benchmark_of_a_file_slower_is_found(project: Project) -> None:
    fast, slow = {"sync/idle": 50_000.0}, {"sync/idle": 55_000.0}
    good = project.commits(fast)
    project.commits(fast, helper="1")
    guilty = project.commits(slow, helper="2")
    project.commits(slow, helper="3")
    search = [FILE, "sync/idle"]
    assert bisect.main([good, "HEAD", *search], project.tree) is ExitStatus.OK
    assert f"Slower since {guilty[:10]}" in project.output()[0]
    (project.root / FILE).unlink()
    project.commit({})
    project.commits(slow, helper="4")
    assert bisect.main([good, "HEAD", *search], project.tree) is ExitStatus.OK
    with pytest.raises(UserError, match=f"has no {FILE}") as refusal:
        bisect.main(["HEAD~1", "HEAD", *search], project.tree)
    assert refusal.value.status is ExitStatus.NOT_MEASURED


def test_the_version_of_a_package_that_made_it_slower_is_found(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = {"triton==3.4": TIMES, "triton==3.5": SLOW, "triton==3.6": SLOW}

    def with_variable(_: Path, folder: Path, programs: list[Path], *variable: str) -> Path:
        made = tmp_path / variable[1]
        fake_binary.make(made, "sync", times[variable[1]])
        return made

    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setattr(environment, "installed", lambda requirement, where: requirement)
    monkeypatch.setattr(any_command, "with_variable", with_variable)
    search = ["--axis=triton=3.4,3.5,3.6", FILE, "sync/idle"]
    assert bisect.main(search, project.tree) is ExitStatus.OK
    assert "Slower since triton 3.5 " in project.output()[0]
    with pytest.raises(UserError, match="takes nvcc for the programs of this tree"):
        bisect.main(["--axis=nvcc=1,2", FILE, "sync/idle"], project.tree)
