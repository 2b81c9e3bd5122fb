# SPDX-License-Identifier: Apache-2.0
"""scripts/bench measures a manifest's kernels, held to baselines beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import fake_binary
from bench_process import uuid
from clone import GitRepository, runs_of
from driver_runs import in_second_round, interrupted_in_second_round
from manifests import KERNELS, write_manifest
from traces import process, text
from warpgauge.commands import bench, explain
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.locks import alone
from warpgauge.why import cupti

NAMES = ["external/scale/f32/n:256", "external/scale/f32/n:4096"]


class Project(GitRepository):
    """A git clone of kernels from elsewhere; warpgauge, which builds here, lies elsewhere."""

    @property
    def warpgauge(self) -> Path:
        return self.root.parent / "warpgauge"

    def built_with(self, times: Mapping[str, float], gpus: Sequence[str] = ()) -> None:
        folder = self.warpgauge / "build" / "release" / "benchmarks"
        for old in folder.glob("*.count"):
            old.unlink()
        # Extra work of the self-check is found by its lock-step.
        fake_binary.make(folder, "external", times, plans=True, gpus=gpus)

    def bench(self, *argv: str) -> ExitStatus:
        return bench.main(["sub/kernels.toml", *argv], self.warpgauge)

    def runs(self) -> list[Path]:
        return runs_of(self.warpgauge / "build")

    def commit_all(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=more")


@pytest.fixture
def project(clone: GitRepository, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project(clone.root, clone.capsys)
    monkeypatch.chdir(made.root)
    release = made.warpgauge / "build" / "release"
    monkeypatch.setattr("warpgauge.measure.build.build", lambda *arguments: release)
    write_manifest(made.root / "sub")
    made.commit_all()
    made.built_with({})
    return made


def context(run: Path) -> dict[str, Any]:
    return dict(json.loads(run.read_text())["context"])


def test_kernels_are_held_to_baselines_beside_their_manifest(project: Project) -> None:
    assert project.bench("--record", "--processes=5") is ExitStatus.OK
    (recorded,) = (project.root / "sub" / "baselines").glob("*/*")
    assert recorded.name == "external.json"
    assert [row["name"] for row in json.loads(recorded.read_text())["benchmarks"]] == NAMES
    told = context(project.runs()[0])
    assert (told["commit"], told["dirty"]) == (project.git("rev-parse", "HEAD"), "false")
    project.built_with({})
    assert project.bench() is ExitStatus.OK
    project.output()
    project.built_with({NAMES[1]: 1500.0})
    assert project.bench() is ExitStatus.REGRESSION
    shown = project.output()[0]
    again = "scripts/bench sub/kernels.toml --filter"
    assert f"{again} '^{NAMES[1]}$'" in shown
    assert "the kernels of another commit cannot be built" in shown


@pytest.mark.parametrize("folder", ["sub", "elsewhere in the clone"])
def test_uncommitted_kernels_are_not_recorded(project: Project, folder: str) -> None:
    cubin = write_manifest(project.root / folder).with_name("scale.cubin")
    named = f'"../{folder}/scale.cubin"'
    write_manifest(project.root / "sub", KERNELS.replace('"scale.cubin"', named))
    project.commit_all()
    cubin.write_bytes(b"\x7fELF another")
    with pytest.raises(UserError, match="--record needs a committed tree"):
        project.bench("--record")


def test_a_filter_leaves_some_of_the_kernels(project: Project) -> None:
    project.bench("--processes=3", "--filter=n:256$")
    (run,) = project.runs()
    assert [row["name"] for row in json.loads(run.read_text())["benchmarks"]] == NAMES[:1]
    project.output()
    with pytest.raises(UserError, match="no benchmark matches"):
        project.bench("--filter=nothing")


def test_they_are_listed_without_being_measured(project: Project) -> None:
    assert project.bench("--list") is ExitStatus.OK
    assert project.capsys.readouterr().out.splitlines() == NAMES
    assert project.runs() == []


def test_what_is_not_built_yet_is_listed_and_cannot_be_measured(
    project: Project, nobody_waits: None
) -> None:
    (project.warpgauge / "build" / "release" / "benchmarks" / "bench_external").unlink()
    with alone(project.warpgauge / "build"):  # as while another command builds
        assert project.bench("--list") is ExitStatus.OK
    assert project.capsys.readouterr().out.splitlines() == NAMES
    with pytest.raises(UserError, match=r"bench_external .* nvcc"):
        project.bench()


def test_a_budget_is_spent_on_more_processes(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warpgauge.measure.ab_run.LAST_LOOK", 9)
    project.bench("--budget=60s")
    (run,) = project.runs()
    assert context(run)["processes"] == "9"
    rows = json.loads(run.read_text())["benchmarks"]
    assert [len(row["process_medians"]) for row in rows] == [9, 9]


def test_an_interrupted_run_goes_on_unless_a_kernel_changed(project: Project) -> None:
    interrupted_in_second_round(lambda: project.bench("--processes=3"))
    cubin = project.root / "sub" / "scale.cubin"
    before = cubin.read_bytes()
    cubin.write_bytes(b"\x7fELF another")
    with pytest.raises(UserError, match="its programs, GPU or commit changed since"):
        bench.main(["--resume"], project.warpgauge)
    cubin.write_bytes(before)
    assert bench.main(["--resume"], project.warpgauge) is ExitStatus.NOT_MEASURED
    assert len(project.runs()) == 1


def test_a_run_ends_at_a_kernel_that_is_replaced_meanwhile(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    cubin = project.root / "sub" / "scale.cubin"
    in_second_round(monkeypatch, lambda: cubin.write_bytes(b"\x7fELG"))
    with pytest.raises(UserError, match=r"sub/scale\.cubin was replaced while it was measured"):
        project.bench("--processes=3")
    kept = project.warpgauge.rglob("*.journal/*.plan")
    assert len([*kept]) == 1  # that of the cubin as it was


def test_each_gpu_measures_them(project: Project) -> None:
    project.built_with({}, [uuid(1), uuid(2)])
    assert project.bench("--device=all", "--processes=3") is ExitStatus.NOT_MEASURED  # no baseline
    assert [context(run)["gpu_uuid"] for run in project.runs()] == [uuid(1), uuid(2)]


def test_the_gate_is_tested_with_kernels_too(project: Project) -> None:
    assert project.bench("--self-check") is ExitStatus.OK
    assert list((project.root / "sub" / "baselines").glob("self-check*.json"))


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--against=HEAD"], "manifest .* cannot be combined with --against"),
    ],
)
def test_what_cannot_be_is_refused(project: Project, argv: list[str], said: str) -> None:
    with pytest.raises(UserError, match=said):
        project.bench(*argv)


def test_a_wrong_manifest_is_refused_before_anything_is_built(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("warpgauge.measure.build.build")
    text = KERNELS.replace("ceil_div(n, 256)", "n / (n - 256)")
    write_manifest(project.root / "sub", text)
    at = r"kernels\.toml, kernels\.scale\.grid\[0\] at n = 256"
    with pytest.raises(UserError, match=rf"{at}: 'n / \(n - 256\)' divides by zero"):
        project.bench()


ONE_OF_TWO = "sub/kernels.toml:scale/f32/n:4096"


def test_one_of_them_is_profiled(project: Project) -> None:
    folder = project.warpgauge / "build" / "release"
    trace = text(process(NAMES[1], replays=5))
    fake_binary.make(folder / "benchmarks", "external", {}, plans=True, trace=trace)
    (folder / "benchmarks" / cupti.LIBRARY).touch()
    assert explain.main([ONE_OF_TWO], project.warpgauge) is ExitStatus.OK
    assert "cudaGraphLaunch" in project.output()[0]
    with pytest.raises(UserError, match="holds no machine code"):
        explain.main([ONE_OF_TWO, "--sass"], project.warpgauge)


def test_one_of_them_is_compared_with_that_of_a_commit(project: Project) -> None:
    first = project.git("rev-parse", "HEAD")
    (project.root / "sub" / "scale.cubin").write_bytes(b"\x7fELF another")
    path = project.root / "why.json"
    argv = [ONE_OF_TWO, "--against=HEAD", f"--format=json={path}"]
    assert explain.main(argv, project.warpgauge) is ExitStatus.OK
    (found,) = json.loads(path.read_text())["benchmarks"]
    assert found["name"] == NAMES[1]
    (old,) = (project.warpgauge / "build" / "external" / "base").glob("*/sub/scale.cubin")
    assert first.startswith(old.parents[1].name)
    assert old.read_bytes() == b"\x7fELF"
    told = context(project.runs()[-1])
    assert (told["commit"], told["dirty"]) == (first, "true")


def test_a_kernel_that_the_commit_did_not_have_is_one_sentence(project: Project) -> None:
    write_manifest(project.root / "sub", KERNELS.replace("n = [256, 4096]", "n = [512]"))
    with pytest.raises(
        UserError, match=r"external/base/.*: 'scale/f32/n:512' names 0 benchmarks; "
    ):
        explain.main(["sub/kernels.toml:scale", "--against=HEAD"], project.warpgauge)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["sub/kernels.toml:scale"], "names 2 benchmarks; name one of 'scale/f32/n:256', 's"),
        (["sub/kernels.toml:scale/f32/n:25"], "names 0 benchmarks; name one of 'scale/f32/n:2"),
        (["sub/kernels.toml:scal"], "measures no kernel 'scal'; did you mean 'scale'"),
        (["sub/none.toml:scale"], r"none\.toml: cannot be read \(No such file"),
        (["bench_x.py", "sub/kernels.toml:scale"], r"FILE\.py cannot be combined with a manifest"),
    ],
)
def test_what_names_no_single_kernel_is_refused(
    project: Project, argv: list[str], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        explain.main(argv, project.warpgauge)
