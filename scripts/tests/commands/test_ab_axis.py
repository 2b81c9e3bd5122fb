# SPDX-License-Identifier: Apache-2.0
"""warpgauge ab --axis: one source and two compilers, or two versions of a package."""

from __future__ import annotations

from pathlib import Path

import pytest

import cmake_project
from cmake_project import PROGRAM, Project
from two_folders import TwoFolders
from warpgauge.commands import ab
from warpgauge.system import environment
from warpgauge.system.errors import ExitStatus, UserError


@pytest.fixture
def project(folders: TwoFolders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setattr(environment, "provide", lambda needs, say: None)
    made = cmake_project.project(tmp_path, monkeypatch)
    made.add({"copy": PROGRAM})
    return made


def test_the_same_source_is_measured_as_two_compilers_make_it(
    folders: TwoFolders, project: Project
) -> None:
    project.toolkit("1.0")
    project.toolkit("1.2")
    argv = ["project", "--axis=nvcc=1.0,toolkits/cuda-1.2"]
    assert ab.main(argv, folders.root) is ExitStatus.REGRESSION
    out, _ = folders.output()
    assert "1 slower: BM_copy +" in out
    assert "programs with nvcc 1.0 against programs with nvcc toolkits/cuda-1.2" in out
    base, candidate = folders.documents()
    assert [one["context"]["nvcc_version"] for one in (base, candidate)] == ["1.0", "1.2"]


def test_a_build_that_fails_is_told_in_one_sentence(folders: TwoFolders, project: Project) -> None:
    for version in ("1.0", "1.2"):
        project.toolkit(version)
    (project.root / "wrong").write_text("[1/9] x\nFAILED: x.o\nx.cu(3): error: no\nninja: stopped")
    with pytest.raises(UserError) as caught:
        ab.main([str(project.root), "--axis=nvcc=1.0,1.2"], folders.root)
    fault = str(caught.value)
    assert "cuda-1.0" in fault
    assert "x.cu(3): error: no" in fault
    assert "\n" not in fault
    assert caught.value.status is ExitStatus.NOT_MEASURED


@pytest.mark.parametrize(
    ("argv", "fault"),
    [
        (["project", "--axis=nvcc=1.0,9.9"], "there is no nvcc '9.9'"),
        (["project", "--axis=nvcc=1.0,toolkits/cuda-1.0"], "not different compilers"),
        (["project", "--axis=nvcc=1.0"], "two different versions"),
        (["project", "--axis=nvcc=1.0,"], "two different versions"),
        (["project", "--axis=nvcc=1.0,1.0"], "two different versions"),
        (["project", "--axis=nvcc=1.0,1.2,1.4"], "two different versions"),
        (["project", "--axis=a/b=1.0,1.2"], "two different versions"),
        (["project", "project", "--axis=nvcc=1.0,1.2"], "one folder with --axis"),
        (["--axis=nvcc=1.0,1.2"], "one folder with --axis"),
        (["toolkits", "--axis=nvcc=1.0,1.2"], "no CMakeLists.txt"),
    ],
)
def test_what_is_no_axis_is_bad_usage(
    folders: TwoFolders,
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    argv: list[str],
    fault: str,
) -> None:
    monkeypatch.chdir(project.root.parent)
    for version in ("1.0", "1.2"):
        project.toolkit(version)
    with pytest.raises(UserError, match=fault) as caught:
        ab.main(argv, folders.root)
    assert caught.value.status is ExitStatus.BAD_USAGE


def test_a_project_that_nvcc_has_no_part_in_is_bad_usage(
    folders: TwoFolders, project: Project
) -> None:
    (project.root / "languages").write_text("CXX")
    for version in ("1.0", "1.2"):
        project.toolkit(version)
    with pytest.raises(UserError, match="compiles nothing with nvcc"):
        ab.main([str(project.root), "--axis=nvcc=1.0,1.2"], folders.root)


def test_versions_of_a_package_come_first_on_the_path(
    folders: TwoFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    def installed(requirement: str, where: Path) -> Path:
        folder = where / requirement
        folder.mkdir(parents=True)
        (folder / "version").write_text(requirement.partition("==")[2])
        return folder

    monkeypatch.setattr(environment, "installed", installed)
    monkeypatch.setenv("PYTHONPATH", "/own")
    path = folders.root / "base" / "copy"
    path.parent.mkdir()
    reading = "open(places[0] + '/version').read()) * (places[1:] == ['/own']"
    program = PROGRAM.replace('"FACTOR"', reading)
    path.write_text(
        program.replace("time =", "places = os.environ['PYTHONPATH'].split(':')\n        time =")
    )
    path.chmod(0o755)
    argv = ["base", "--axis=some-kernels=1.0,1.2"]
    assert ab.main(argv, folders.root) is ExitStatus.REGRESSION
    assert "some-kernels 1.0 against programs with some-kernels 1.2" in folders.output()[0]
