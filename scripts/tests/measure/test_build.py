# SPDX-License-Identifier: Apache-2.0
"""A build is quiet, kept in a log, and says why it failed."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

import clocks
import cmake_project
import shell
from cmake_project import Project
from warpgauge.measure import build, manifest, toolkit
from warpgauge.system.errors import ExitStatus, UserError


@pytest.fixture(autouse=True)
def presets(tmp_path: Path) -> Path:
    """Those of a clone."""
    path = tmp_path / "CMakePresets.json"
    path.touch()
    return path


def fake_cmake(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    shell.script(folder / "cmake", script)
    monkeypatch.setenv("PATH", f"{folder}:/bin")
    monkeypatch.delenv("CUDACXX", raising=False)


def test_it_builds_the_preset_and_shows_its_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_cmake(tmp_path, monkeypatch, 'echo "[1/2] Building $1"; echo "[2/2] Linking $2"')
    said: list[str] = []
    folder = build.build(tmp_path, "release", said.append)
    assert folder == tmp_path / "build" / "release"
    assert said == ["configuring", "building", "building, step 1 of 2", "building, step 2 of 2"]
    log = (tmp_path / "build" / "bench-build.log").read_text()
    assert "$ cmake --preset release" in log
    assert "$ cmake --build --preset release -j" in log
    assert "[2/2] Linking" in log


def test_a_failure_shows_from_its_first_error_on_or_else_its_last_lines() -> None:
    output = ["[1/3] a", "FAILED: b.o", "error: no", "[2/3] c"]
    assert build.telling(output) == output[1:]
    output = [str(number) for number in range(100)]
    assert build.telling(output) == output[-build.SHOWN_LINES :]


def test_a_missing_cmake_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="cannot run cmake"):
        build.build(tmp_path, "release", print)


def test_a_folder_that_is_no_clone_is_one_sentence_and_stays_as_it_is(presets: Path) -> None:
    presets.unlink()
    with pytest.raises(UserError, match="is not a clone of warpgauge"):
        build.build(presets.parent, "release", print)
    assert [*presets.parent.iterdir()] == []


def test_the_compiler_on_path_or_named_is_told_to_cmake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvcc = tmp_path / "nvcc"
    nvcc.touch(mode=0o755)
    monkeypatch.delenv("CUDACXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert f"-DCMAKE_CUDA_COMPILER={nvcc}" in build.configure_command("release")
    monkeypatch.setenv("CUDACXX", "/opt/nvcc")
    assert "-DCMAKE_CUDA_COMPILER=/opt/nvcc" in build.configure_command("release")


def test_another_tree_is_built_with_the_same_compilers_for_the_same_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "CMakeCache.txt").write_text(
        "// A comment\n"
        "CMAKE_BUILD_TYPE:STRING=Release\n"
        "CMAKE_CUDA_ARCHITECTURES:STRING=90a-real;80\n"
        "CMAKE_CUDA_FLAGS:STRING=\n"
        "CMAKE_CXX_COMPILER:FILEPATH=/usr/bin/g++-12\n"
        "CMAKE_CXX_COMPILER-ADVANCED:INTERNAL=1\n"
    )
    told = build.settings(tmp_path)
    assert told == [
        "-DCMAKE_CUDA_ARCHITECTURES=90a-real;80",
        "-DCMAKE_CUDA_FLAGS=",
        "-DCMAKE_CXX_COMPILER=/usr/bin/g++-12",
    ]
    assert build.settings(tmp_path / "gone") == []
    fake_cmake(tmp_path, monkeypatch, 'echo "$*"')
    build.build(tmp_path, "release", print, told)
    assert " ".join(told) in build.log_of(tmp_path).read_text()


def test_no_compiler_outlives_an_interrupted_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A compiler below a build tool, as nvcc is below ninja.
    compiler_says = f"echo $$ >{tmp_path}/pid; echo [1/2] x; exec sleep 60"
    compiles = f"sh -c {shlex.quote(compiler_says)} & wait"
    fake_cmake(tmp_path, monkeypatch, f'case "$1" in --build) {compiles};; esac')

    def impatient(line: str) -> None:
        if "step 1 of 2" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build.build(tmp_path, "release", impatient)
    compiler = Path("/proc") / (tmp_path / "pid").read_text().strip() / "stat"

    def died() -> bool:
        """Whether the compiler is gone, or dead and waiting for somebody to count it."""
        return not compiler.exists() or compiler.read_text().split()[2] == "Z"

    clocks.wait_until(died)  # a killed process may run on for a moment


def test_the_nearest_tool_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, toolkits, packages = (tmp_path / name for name in ("path", "toolkit", "packages"))
    monkeypatch.setenv("PATH", str(path))
    monkeypatch.setattr(build, "cuda_compiler", lambda: str(toolkits / "nvcc"))
    monkeypatch.setattr(toolkit, "packaged", lambda: packages)
    with pytest.raises(UserError, match="cuobjdump is missing: install") as caught:
        toolkit.tool("cuobjdump")
    assert caught.value.status is ExitStatus.NOT_MEASURED
    for folder in (packages, toolkits, path):
        folder.mkdir()
        (folder / "cuobjdump").touch(0o755)
        assert toolkit.tool("cuobjdump") == str(folder / "cuobjdump")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project, and a toolkit 1.5."""
    made = cmake_project.project(tmp_path, monkeypatch)
    made.toolkit("1.5")
    return made


def built(project: Project, asked: str = "") -> Path:
    folder, version = toolkit.project(project.root, "1.5", project.root.parent, asked, print)
    assert version == "1.5"
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_file() and not path.suffix)


def test_a_project_is_built_again_and_only_what_is_selected(project: Project) -> None:
    project.add({"bench_a": "a", "bench_b": "b", "helper": ""})
    folder = built(project, "^bench_a$")
    assert names(folder) == names(folder / "cmake" / "bin") == ["bench_a"]
    assert built(project) == folder
    assert names(folder) == ["bench_a", "bench_b", "helper"]
    built(project, "^bench_")
    assert names(folder) == ["bench_a", "bench_b"]
    assert (folder / "bench_b").read_text() == "b"
    kit = project.toolkits / "cuda-1.5"
    log = (folder / "build.log").read_text()
    assert f"-DCMAKE_CUDA_COMPILER={kit}/bin/nvcc -DCUDAToolkit_ROOT={kit}" in log
    with pytest.raises(UserError, match="no program matches --programs 'bnch_a': did you mean"):
        built(project, "bnch_a")


def test_of_a_project_with_a_manifest_only_its_benchmarks_are_built(project: Project) -> None:
    project.add({"bench_a": "a", "a_test": "b"})
    listed = manifest.Program(Path("bin", "bench_a"))
    manifest.write(project.root, manifest.Manifest((listed,)))
    folder = built(project)
    assert names(folder) == names(folder / "cmake" / "bin") == ["bench_a"]


@pytest.mark.parametrize(
    ("presets", "is_used"),
    [
        ('{"configurePresets": [{"name": "release"}]}', True),
        ('{"configurePresets": [{"name": "ci"}]}', False),
        ('{"configurePresets": 3}', False),
        ("[]", False),
        ("no JSON", False),
    ],
)
def test_a_project_s_own_release_preset_is_used(
    project: Project, presets: str, is_used: bool
) -> None:
    (project.root / "CMakePresets.json").write_text(presets)
    log = (built(project) / "build.log").read_text()
    assert ("--preset release" in log) is is_used
    assert ("-DCMAKE_BUILD_TYPE=Release" in log) is not is_used


@pytest.mark.parametrize(
    ("output", "cause"),
    [
        (
            "[1/2] a\nFAILED: b.o\nnvcc -o b.o\nb.cu(7): error: no\n1 error\nninja: stopped",
            "b.cu(7): error: no",
        ),
        ("FAILED: b.o\nptxas fatal   : Unresolved extern\n", "ptxas fatal   : Unresolved extern"),
        (
            "-- a\nCMake Error at CMakeLists.txt:3 (message):\n  too\n\n\n  old\n",
            "CMake Error at CMakeLists.txt:3 (message): too",
        ),
        ("Killed\n", "Killed"),
        ("", "it said nothing"),
    ],
)
def test_a_project_that_does_not_build_is_one_sentence_with_the_cause(
    project: Project, output: str, cause: str
) -> None:
    (project.root / "wrong").write_text(output)
    with pytest.raises(UserError) as caught:
        built(project)
    nvcc = project.toolkits / "cuda-1.5" / "bin" / "nvcc"
    fault, _, log = str(caught.value).partition("; the build log is ")
    assert fault == f"{project.root} does not build with {nvcc}: {cause}"
    assert Path(log).is_file()


def test_nvcc_is_named_by_version_or_path(project: Project) -> None:
    nvcc = project.toolkits / "cuda-1.5" / "bin" / "nvcc"
    for named in ("1.5", str(nvcc), str(nvcc.parents[1])):
        assert toolkit.nvcc_of(named) == nvcc
    with pytest.raises(UserError, match=r"no nvcc '1\.6': .* has \(1\.5\)"):
        toolkit.nvcc_of("1.6")


def test_a_replaced_toolkit_builds_anew(project: Project) -> None:
    project.add({"bench_a": "a"})
    folder = built(project)
    os.utime(project.toolkits / "cuda-1.5" / "bin" / "nvcc", (1, 1))
    assert built(project) != folder
