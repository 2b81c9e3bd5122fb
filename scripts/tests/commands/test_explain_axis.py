# SPDX-License-Identifier: Apache-2.0
"""warpgauge explain --axis: one source with two compilers, packages or libraries."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fake_binary
import shell
from clone import TIMES, GitRepository
from manifests import write_manifest
from warpgauge.commands import explain as command
from warpgauge.measure import build, toolkit
from warpgauge.system import environment
from warpgauge.system.errors import ExitStatus, UserError

NAME = "sync/idle"
# In a time this long, a nanosecond more for each process is no change.
FAST, SLOW = {**TIMES, NAME: 1e6}, {**TIMES, NAME: 1.2e6}


@pytest.fixture
def tree(clone: GitRepository, monkeypatch: pytest.MonkeyPatch) -> GitRepository:
    """Its bench_sync is slower where FACTOR is 2, or where LD_LIBRARY_PATH ends in /new."""

    def made(root: Path, preset: str, say: Callable[[str], None], *rest: object) -> None:
        built = root / "build" / "release"
        for speed, times in (("fast", FAST), ("slow", SLOW)):
            fake_binary.make(built / speed, "sync", times)
        fake_binary.make(built, "sync", FAST)
        choice = 'case "$FACTOR$LD_LIBRARY_PATH" in 2|*/new) speed=slow;; *) speed=fast;; esac'
        shell.script(built / "bench_sync", f'{choice}\nexec {built}/$speed/bench_sync "$@"')

    monkeypatch.setattr(build, "build", made)
    monkeypatch.chdir(clone.root)
    return clone


def told(tree: GitRepository, *argv: str) -> dict[str, Any]:
    """The benchmark of the JSON that the command writes."""
    path = tree.root / "build" / "why.json"
    path.parent.mkdir(exist_ok=True)
    assert command.main([*argv, f"--format=json={path}"], tree.root) is ExitStatus.OK
    (found,) = json.loads(path.read_text())["benchmarks"]
    return dict(found)


def differences(found: dict[str, Any]) -> list[tuple[str, ...]]:
    return [tuple(one.values()) for one in found["differs"]]


def copied_libraries(folder: Path) -> None:
    """The C library, in a folder `old`, and with a byte more in a folder `new`."""
    maps = Path("/proc/self/maps").read_text()
    libc = re.search(r"(/\S+/libc(?:\.so\.6|-[\d.]+\.so))$", maps, re.MULTILINE)
    assert libc
    for name, more in (("old", b""), ("new", b"\0")):
        (folder / name).mkdir()
        (folder / name / "libc.so.6").write_bytes(Path(libc[1]).read_bytes() + more)


def test_the_library_that_makes_it_slower_is_named_first(tree: GitRepository) -> None:
    copied_libraries(tree.root)
    found = told(tree, NAME, "--axis=LD_LIBRARY_PATH=old,new")
    assert found["slowdown"] == pytest.approx(0.2, abs=0.01)
    variable, library = differences(found)
    assert variable == ("LD_LIBRARY_PATH", "old", "new")
    assert library[0] == "libc.so"
    assert library[1] != library[2]
    assert found["paragraph"].startswith("What makes it slower is LD_LIBRARY_PATH")
    assert "unknown" not in found["paragraph"]
    out = tree.output()[0]
    assert 0 < out.index("LD_LIBRARY_PATH old new") < out.index("libc.so 6 ")


def test_what_is_not_slower_has_a_bound(tree: GitRepository) -> None:
    found = told(tree, NAME, "--axis=FACTOR=0,1")
    assert differences(found) == [("FACTOR", "0", "1")]
    assert re.match(r"FACTOR does not make it slower: .* at most \+0\.\d+ %\. ", found["paragraph"])
    assert "the same libraries" in found["paragraph"]


def test_what_is_faster_is_called_so(tree: GitRepository) -> None:
    found = told(tree, NAME, "--axis=FACTOR=2,")
    assert found["slowdown"] < -0.1
    assert found["paragraph"].startswith("It is faster with FACTOR 2 → . Both sides load the same")


def test_both_compilers_build_the_program_of_the_benchmark(
    tree: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def project(_: Path, version: str, work: Path, asked_for: str, say: object) -> tuple[Path, str]:
        asked.append((version, asked_for))
        folder = work / "axis" / version
        fake_binary.make(folder / toolkit.BUILT, "sync", SLOW if version == "13.0" else FAST)
        return folder, version

    monkeypatch.delattr(build, "build")
    monkeypatch.setattr(toolkit, "nvcc_of", Path)
    monkeypatch.setattr(toolkit, "project", project)
    (tree.root / "benchmarks").mkdir()
    (tree.root / "benchmarks" / "sync.cu").touch()
    found = told(tree, NAME, "--axis=nvcc=12.8,13.0")
    assert asked == [("12.8", "^(bench_sync)$"), ("13.0", "^(bench_sync)$")]
    assert differences(found) == [("nvcc", "12.8", "13.0")]
    assert found["slowdown"] == pytest.approx(0.2, abs=0.01)


def test_libraries_that_cannot_be_listed_are_no_fault(
    tree: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise UserError("bench_sync has no loader")

    monkeypatch.setattr("warpgauge.why.profiling.Profiling.libraries", refuse)
    found = told(tree, NAME, "--axis=FACTOR=1,2")
    assert "The libraries are not compared: bench_sync has no loader." in found["missing"]
    assert "same libraries" not in found["paragraph"]


def test_a_package_that_does_not_exist_is_one_sentence(
    tree: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "_run", lambda command: (1, "ERROR: no such package"))
    (tree.root / "mine.py").touch()
    with pytest.raises(UserError, match="nosuch==1 cannot be installed: ERROR: no such package"):
        command.main(["mine.py", "--axis=nosuch=1,2"], tree.root)


@pytest.mark.parametrize(
    ("argv", "fault"),
    [
        ([NAME, "--axis=LD_LIBRARY_PATH=absent,old"], "absent is no folder"),
        ([NAME, "--axis=FACTOR=1"], "two different versions"),
        ([NAME, "--axis=FACTOR=1,1"], "two different versions"),
        ([NAME, "--axis=FACTOR=1,2,3"], "two different versions"),
        ([NAME, "--axis=nvcc=,1"], "two different versions"),
        ([NAME, "--axis=factor=1,2"], "whose name is in capitals"),
        (["mine.py", "--axis=nvcc=1,2"], "a package for those of a FILE"),
        ([NAME, "--axis=nvcc=0.1,0.2"], "there is no nvcc '0.1'"),
        (["--axis=FACTOR=1,2"], "name one benchmark"),
        ([NAME, "--axis=FACTOR=1,2", "--against=HEAD"], "no other base"),
        ([NAME, "--axis=FACTOR=1,2", "--against=."], "no other base"),
        ([NAME, "--axis=FACTOR=1,2", "--hunks"], "no other base"),
        ([NAME, "run.json", "--axis=FACTOR=1,2"], "no other base"),
        (["kernels.toml:scale/f32/n:256", "--axis=FACTOR=1,2"], "no other base"),
        ([NAME, "--axis=nvcc=1,2", "--build-dir=."], "no --build-dir"),
        ([NAME, "--axis=FACTOR=1,2", "--sass"], "omit --against, --axis"),
        (["sync/none", "--axis=FACTOR=1,2"], "no benchmark named 'sync/none'"),
    ],
)
def test_what_is_no_axis_of_a_benchmark_is_bad_usage(
    tree: GitRepository, argv: list[str], fault: str
) -> None:
    (tree.root / "mine.py").touch()
    write_manifest(tree.root)
    with pytest.raises(UserError, match=fault) as caught:
        command.main(argv, tree.root)
    assert caught.value.status is ExitStatus.BAD_USAGE
