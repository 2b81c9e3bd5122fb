# SPDX-License-Identifier: Apache-2.0
"""Without a GPU, commands that need one say so before a build that takes minutes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from clone import HOST_TIMES, GitRepository
from fidelity import command as fidelity
from manifests import write_manifest
from warpgauge.commands import bench, bisect, evaluate, explain, sweep
from warpgauge.measure import build, toolkit
from warpgauge.measure.drive_lines import TARGET
from warpgauge.system import process
from warpgauge.system.errors import ExitStatus, UserError

Main = Callable[[Sequence[str], Path], int]


class BuildBegan(Exception):
    """Raised in place of a build; with its last argument, the programs that are built."""


@pytest.fixture
def tree(clone: GitRepository, monkeypatch: pytest.MonkeyPatch) -> GitRepository:
    """A clone with a family that needs a GPU, `sync`, and one that does not, on such a machine."""

    def begins(*arguments: object) -> None:
        raise BuildBegan(arguments[-1])

    monkeypatch.setattr(build, "build", begins)
    monkeypatch.setattr(process, "GPU_DEVICES", ())
    monkeypatch.setattr(process, "_LOADED_DRIVER", "/nowhere")
    monkeypatch.setattr(process, "nvidia_smi", lambda *_: "")
    monkeypatch.setattr(toolkit, "tool", lambda name: name)
    monkeypatch.chdir(clone.root)
    (clone.root / "benchmarks").mkdir()
    for name in ("sync.cu", "host.cpp"):
        (clone.root / "benchmarks" / name).touch()
    write_manifest(clone.root)
    clone.git("add", "--all")
    clone.git("commit", "--quiet", "--message", "families")
    return clone


@pytest.mark.parametrize(
    ("main", "argv"),
    [
        (sweep.main, "sync/copy --axis n"),
        (sweep.main, "kernels.toml --axis n"),
        (explain.main, "sync/idle"),
        (explain.main, "sync/idle --sass"),
        (evaluate.main, "sync/idle sync/busy"),
        (evaluate.main, "kernels.toml:scale sync/busy"),
        (bisect.main, "HEAD~1 HEAD sync/idle"),
        (fidelity.main, "sync"),
        (fidelity.main, "kernels.toml"),
        (bench.main, "--record"),
        (bench.main, "--self-check"),
        (bench.main, "kernels.toml"),
        (bench.main, "--device all"),
        (bench.main, "--device all --no-build"),
        (bench.main, "--device 0,1"),
        (bench.main, "--device 7"),
    ],
)
def test_what_needs_a_gpu_is_refused_before_the_build(
    tree: GitRepository, main: Main, argv: str
) -> None:
    with pytest.raises(UserError, match="no GPU was found: no NVIDIA driver is loaded") as caught:
        main(argv.split(), tree.root)
    assert caught.value.status is ExitStatus.NOT_MEASURED


@pytest.mark.parametrize(
    ("main", "argv"),
    [
        (sweep.main, "host/copy --axis n"),
        (sweep.main, "host/copy sync --axis n"),
        (evaluate.main, "host/copy host/copy_again"),
        (bisect.main, "HEAD~1 HEAD host/copy"),
        (bench.main, ""),
    ],
)
def test_what_can_do_something_without_a_gpu_builds(
    tree: GitRepository, main: Main, argv: str
) -> None:
    with pytest.raises(BuildBegan):
        main(argv.split(), tree.root)


@pytest.mark.parametrize(
    ("main", "argv", "said"),
    [
        (evaluate.main, ["host/copy", "gmem/a"], "'gmem/a': unknown family; the families are"),
        (evaluate.main, ["a", "b"], "'a', 'b': unknown family"),
        (sweep.main, ["hots/copy", "--axis=n"], "unknown family"),
        (sweep.main, ["", "--axis=n"], "'' names no benchmarks"),
        (sweep.main, ["", "host", "--axis=n"], "'' names no benchmarks"),
    ],
)
def test_a_name_that_no_build_can_have_is_refused_before_it(
    tree: GitRepository, main: Main, argv: Sequence[str], said: str
) -> None:
    with pytest.raises(UserError) as refusal:
        main(argv, tree.root)
    assert said in str(refusal.value)
    assert refusal.value.status is ExitStatus.BAD_USAGE


def test_only_the_programs_that_can_run_are_built(tree: GitRepository) -> None:
    with pytest.raises(BuildBegan) as caught:
        bench.main([], tree.root)
    assert caught.value.args == (["bench_host", TARGET],)


def test_of_a_base_its_own_programs_are_built(
    clone: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets: list[object] = []

    def begins(root: Path, preset: str, say: Callable[[str], None], *rest: object) -> None:
        targets.append(rest[-1])
        clone.build(root, preset, say)

    monkeypatch.setattr(build, "build", begins)
    monkeypatch.setattr(process, "GPU_DEVICES", ())
    monkeypatch.setattr(process, "nvidia_smi", lambda *_: "")
    (clone.root / "benchmarks").mkdir()
    for name in ("host.cpp", "another.cpp"):
        (clone.root / "benchmarks" / name).touch()
        clone.commit({"host": HOST_TIMES})
    assert clone.bench("--against", "HEAD~1", "--processes=1") is ExitStatus.NOT_MEASURED
    assert targets == [["bench_another", "bench_host", TARGET], ["bench_host"]]


def test_a_program_that_is_not_built_for_want_of_a_gpu_needs_one(
    tree: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.build(tree.root, "release", print)
    monkeypatch.setattr(build, "build", lambda *_: (tree.built / "bench_sync").unlink())
    with pytest.raises(UserError, match="measured: it needs a GPU: ") as caught:
        tree.bench("--filter", "^sync/")
    assert caught.value.status is ExitStatus.NOT_MEASURED


def test_without_a_build_it_is_the_gpu_that_is_missing_and_not_the_programs_for_it(
    tree: GitRepository,
) -> None:
    tree.build(tree.root, "release", print)
    (tree.built / "bench_sync").unlink()
    assert tree.bench("--no-build", "--processes=3") is ExitStatus.NOT_MEASURED
    err = tree.output()[1]
    assert "No GPU was measured: no NVIDIA driver is loaded." in err
    assert "Not built" not in err


def test_what_needs_a_gpu_is_not_explained_nor_built_without(tree: GitRepository) -> None:
    with pytest.raises(UserError, match="no NVIDIA driver is loaded") as caught:
        explain.main(["sync/idle", "--against=HEAD~1"], tree.root)
    assert caught.value.status is ExitStatus.NOT_MEASURED


def test_times_of_the_host_are_explained_without_a_gpu(tree: GitRepository) -> None:
    with pytest.raises(BuildBegan):
        explain.main(["host/copy", "--against=HEAD~1"], tree.root)
