# SPDX-License-Identifier: Apache-2.0
"""warpgauge explain --axis: one source with two compilers, packages or libraries."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from test_explain_slower import reason_of

import fake_binary
import shell
from clone import TIMES, GitRepository, recorded
from manifests import write_manifest
from warpgauge.commands import bisect
from warpgauge.commands import explain as command
from warpgauge.measure import build, toolkit
from warpgauge.records.counters import Clock
from warpgauge.records.model import Session
from warpgauge.system import environment
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.verdict import comparability

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
    found = reason_of(tree, NAME, "--axis=LD_LIBRARY_PATH=old,new")
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
    found = reason_of(tree, NAME, "--axis=FACTOR=0,1")
    assert differences(found) == [("FACTOR", "0", "1")]
    assert re.match(r"FACTOR does not make it slower: .* at most \+0\.\d+ %\. ", found["paragraph"])
    assert "the same libraries" in found["paragraph"]


def test_what_is_faster_is_called_so(tree: GitRepository) -> None:
    found = reason_of(tree, NAME, "--axis=FACTOR=2,")
    assert found["slowdown"] < -0.1
    assert found["paragraph"].startswith(
        "It is faster with FACTOR 2 → empty. Both sides load the same"
    )


def test_the_first_value_of_a_variable_that_makes_it_slower_is_found(tree: GitRepository) -> None:
    assert bisect.main(["--axis=FACTOR=0,1,2", NAME], tree.root) is ExitStatus.OK
    assert "Slower since FACTOR=2 " in tree.output()[0]


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
    found = reason_of(tree, NAME, "--axis=nvcc=12.8,13.0")
    assert asked == [("12.8", "^(bench_sync)$"), ("13.0", "^(bench_sync)$")]
    assert differences(found) == [("nvcc", "12.8", "13.0")]
    assert found["slowdown"] == pytest.approx(0.2, abs=0.01)


def test_libraries_that_cannot_be_listed_are_no_fault(
    tree: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise UserError("bench_sync has no loader")

    monkeypatch.setattr("warpgauge.why.profiling.Profiling.libraries", refuse)
    found = reason_of(tree, NAME, "--axis=FACTOR=1,2")
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
        ([NAME, "--axis=LD_LIBRARY_PATH=absent,old"], "absent is not a folder"),
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


OLD = {"driver_version": "570.1", "cublas_version": "12.8.4", "nvcc_version": "12.8.93"}
NEW = {"driver_version": "580.1", "cublas_version": "13.1.0", "nvcc_version": "13.0.88"}


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, str]], None]:
    """Sets what programs that are built from now on state of the environment."""

    def states(facts: Mapping[str, str]) -> None:
        for key, value in facts.items():
            monkeypatch.setitem(fake_binary.GPU, key, value)

    return states


@pytest.fixture
def moved(clone: GitRepository, machine: Callable[[Mapping[str, str]], None]) -> GitRepository:
    """Its baseline was recorded on a machine that was faster."""
    machine(OLD)
    recorded(clone)
    machine(NEW)
    clone.weather = 1.5
    return clone


def explained(clone: GitRepository, *argv: str) -> list[dict[str, Any]]:
    path = clone.root / "build" / "why.json"
    assert command.main([*argv, f"--format=json={path}"], clone.root) is ExitStatus.OK
    return list(json.loads(path.read_text())["benchmarks"])


def screened(clone: GitRepository) -> Path:
    (run,) = (path for path in clone.runs() if "-confirm" not in path.name)
    return run


def test_what_pairs_acquit_is_explained_by_the_environment(moved: GitRepository) -> None:
    assert moved.bench() is ExitStatus.OK
    found = {one["name"]: one for one in explained(moved)}
    assert found.keys() >= {"sync/idle", "sync/busy"}
    why = found["sync/busy"]
    assert why["slowdown"] == pytest.approx(0.5, abs=0.01)
    assert {one[0]: one[1:] for one in differences(why)} == {
        key: (OLD[key], NEW[key]) for key in OLD
    }
    assert "In pairs with the baseline's commit" in why["paragraph"]
    assert "explain sync/busy --axis nvcc=12.8,13.0" in why["paragraph"]
    assert "--axis LD_LIBRARY_PATH=OLD,NEW" in why["paragraph"]
    assert "restore driver_version" in why["paragraph"]
    (named,) = explained(moved, str(screened(moved)), "sync/busy")
    assert named == why


def test_versions_of_nvcc_that_no_axis_tells_apart_are_restored(
    moved: GitRepository, machine: Callable[[Mapping[str, str]], None]
) -> None:
    machine(OLD | {"nvcc_version": "12.8.61"})
    assert moved.bench() is ExitStatus.OK
    (why,) = explained(moved, str(screened(moved)), "sync/busy")
    assert "--axis" not in why["paragraph"]
    assert "restore nvcc_version" in why["paragraph"]


@pytest.mark.parametrize("words", [["--against=HEAD"], ["--against=HEAD", "--hunks"], ["RUN"]])
def test_without_a_difference_of_the_source_the_environment_remains(
    moved: GitRepository, words: list[str]
) -> None:
    assert moved.bench("--no-confirm") is ExitStatus.REGRESSION
    argv = [str(screened(moved)) if word == "RUN" else word for word in words]
    (why,) = explained(moved, "sync/busy", *argv)
    assert {one[0] for one in differences(why)} == OLD.keys()
    assert "No source differs from the baseline's commit" in why["paragraph"]


def test_an_environment_without_a_difference_is_said_to_have_none(
    moved: GitRepository, machine: Callable[[Mapping[str, str]], None]
) -> None:
    machine(OLD)
    assert moved.bench("--no-confirm") is ExitStatus.REGRESSION
    (why,) = explained(moved, "sync/busy", "--against=HEAD")
    assert why["differs"] == []
    assert "nothing that is recorded of the environment" in why["paragraph"]


def test_a_gpu_that_ran_at_another_clock_is_named() -> None:
    fast, slow, same = ({"sm_clock_hz": hertz} for hertz in (1.98e9, 1.7e9, 1.979e9))
    sides = Session("a"), Session("b")
    (clock,) = comparability.of_environment(*sides, Clock.DEVICE, (fast, slow))
    assert (clock.baseline, clock.candidate) == ("1.980 GHz", "1.700 GHz")
    for other in (same, {}):
        assert comparability.of_environment(*sides, Clock.DEVICE, (fast, other)) == ()


def test_what_host_times_depend_on_explains_no_device_time() -> None:
    sides = Session("a", {"cpu_model": "A"}), Session("b", {"cpu_model": "B"})
    found = [comparability.of_environment(*sides, clock, ({}, {})) for clock in Clock]
    assert [len(of_clock) for of_clock in found] == [clock is Clock.HOST for clock in Clock]


def changed_source(clone: GitRepository) -> None:
    clone.commit({"sync": {**TIMES, "sync/busy": 5001.0}})


def injected(clone: GitRepository) -> None:
    for path in clone.runs():
        path.unlink()
    clone.bench("--no-confirm", "--inject", "sync=2")


def no_baseline(clone: GitRepository) -> None:
    shutil.rmtree(clone.root / "baselines")


def no_run(clone: GitRepository) -> None:
    for path in clone.runs():
        path.unlink()


@pytest.mark.parametrize("spoilt", [injected, no_baseline, no_run, changed_source])
def test_the_environment_is_not_blamed_where_something_else_may_differ(
    moved: GitRepository, spoilt: Callable[[GitRepository], None]
) -> None:
    moved.bench("--no-confirm")
    spoilt(moved)
    if spoilt is changed_source:
        moved.bench("--no-confirm")
    with pytest.raises(UserError, match="is this tree") as caught:
        command.main(["sync/busy", "--against=HEAD"], moved.root)
    assert caught.value.status is ExitStatus.BAD_USAGE


def test_what_is_not_slower_than_its_baseline_needs_another_commit(moved: GitRepository) -> None:
    moved.weather = 1.0
    moved.bench("--no-confirm")
    with pytest.raises(UserError, match="is this tree"):
        command.main(["sync/busy", "--against=HEAD"], moved.root)
