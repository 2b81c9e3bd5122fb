# SPDX-License-Identifier: Apache-2.0
"""warpgauge changed in a clone whose programs are fakes: host code alone, in one object each."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import shell
from clone import GitRepository
from warpgauge.commands import changed
from warpgauge.measure import build
from warpgauge.measure.discovery import Binary
from warpgauge.measure.program_code import Kernel, ProgramCode
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.why import changes

TIMES = {"sync/idle": 1.0, "sync/busy": 2.0}
BASE = {"sync": TIMES, "copy": {"copy/a": 1.0}, "host": {"host/a": 1.0}}
CHANGED = {**BASE, "copy": {"copy/a": 2.0}}


@pytest.fixture
def asked(
    clone: GitRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[Sequence[str], Sequence[str]]]:
    """The settings and targets of each build. The code of a program is its times."""
    tools = tmp_path / "tools"
    tools.mkdir()
    object_of = 'echo "$(basename "$5").o"'
    shell.script(tools / "ninja", f'if [ "$4" = inputs ]; then {object_of}; fi')
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    builds: list[tuple[Sequence[str], Sequence[str]]] = []

    def built(
        root: Path,
        preset: str,
        say: Callable[[str], None],
        settings: Sequence[str],
        targets: Callable[[Path], Sequence[str]],
    ) -> Path:
        clone.build(root, preset, say)
        folder = root / "build" / preset
        for family, times in json.loads((root / "suite.json").read_text()).items():
            (folder / f"bench_{family}.o").write_text(repr(times))
        builds.append((settings, targets(folder)))
        return folder

    monkeypatch.setattr(build, "build", built)
    return builds


def found(clone: GitRepository, *argv: str) -> dict[str, Any]:
    path = clone.root.parent / "changed.json"
    assert changed.main([*argv, f"--format=json={path}"], clone.root) is ExitStatus.OK
    return dict(json.loads(path.read_text()))


@pytest.mark.usefixtures("asked")
def test_the_programs_of_two_commits_are_compared(clone: GitRepository) -> None:
    first, second = clone.commit(BASE), clone.commit(CHANGED)
    result = found(clone, first, second)
    assert sorted(result["cannot_have_changed"]) == ["host/a", *sorted(TIMES)]
    (program,) = result["can_have_changed"]
    assert (program["name"], program["benchmarks"]) == ("bench_copy", ["copy/a"])
    assert program["host"] == ["bench_copy.o"]


@pytest.mark.usefixtures("asked")
def test_the_candidate_is_the_working_tree_by_default(clone: GitRepository) -> None:
    clone.commit(BASE)
    assert found(clone, "HEAD")["can_have_changed"] == []
    assert found(clone, "HEAD", "HEAD")["can_have_changed"] == []
    clone.write(CHANGED)
    changed = found(clone, "HEAD")
    assert [program["name"] for program in changed["can_have_changed"]] == ["bench_copy"]
    assert changed["candidate"] == "the working tree"


@pytest.mark.usefixtures("asked")
def test_the_file_names_whole_commits_also_for_a_clean_tree_and_is_read_as_theirs(
    clone: GitRepository,
) -> None:
    first, second = clone.commit(BASE), clone.commit(CHANGED)
    for candidate in ([], ["HEAD"]):
        result = found(clone, "HEAD~1", *candidate)
        assert (result["base"], result["candidate"]) == (first, second)
    read = changes.read(clone.root.parent / "changed.json", first, second)
    assert [*read.cannot_have_changed] == result["cannot_have_changed"]
    with pytest.raises(UserError, match="its base is"):
        changes.read(clone.root.parent / "changed.json", second, second)


def test_a_filter_limits_what_is_built_and_both_builds_have_no_line_numbers(
    clone: GitRepository, asked: list[tuple[Sequence[str], Sequence[str]]]
) -> None:
    clone.commit(BASE)
    argv = "HEAD", "--filter=^sync/busy", "--architectures=80,100a"
    assert found(clone, *argv)["cannot_have_changed"] == ["sync/busy"]
    assert [targets for _, targets in asked] == [["bench_sync"]] * 2
    assert all("-DCMAKE_CUDA_ARCHITECTURES=80-real;100a-real" in words for words, _ in asked)
    assert all(any("without_lines.cmake" in word for word in words) for words, _ in asked)


@pytest.mark.usefixtures("asked")
def test_the_result_is_for_people_in_plain_text_and_markdown(clone: GitRepository) -> None:
    first, second = clone.commit(BASE), clone.commit(CHANGED)
    for form in ("terminal", "markdown"):
        assert changed.main([first, second, f"--format={form}"], clone.root) is ExitStatus.OK
        out = clone.output()[0]
        assert "3 of 4 benchmarks cannot have changed" in out
        assert "bench_copy.o" in out
        assert first[:10] in out
        assert first[:11] not in out


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("form", ["terminal", "markdown"])
def test_a_kernel_that_begins_to_exceed_the_policy_fails(
    clone: GitRepository, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """With a kernel that has as many registers as its benchmark takes nanoseconds."""

    def code_of(binary: Binary, folder: Path, kept: Path) -> ProgramCode:
        times = json.loads((folder.parents[1] / "suite.json").read_text())[binary.family]
        kernel = Kernel("digest", int(max(times.values())), stack=0, shared=0)
        return ProgramCode(binary, {}, {90: {"sum": kernel}}, ())

    monkeypatch.setattr(changed, "code_of", code_of)
    first, second = (clone.commit({"sync": {"sync/sum": time}}) for time in (32.0, 48.0))
    policy = clone.root / "baselines" / "policy.toml"
    policy.parent.mkdir()
    for most, status in ((47, ExitStatus.REGRESSION), (48, ExitStatus.OK)):
        policy.write_text(f"[[resources]]\npattern = 'sum'\nregisters = {most}\n")
        assert changed.main([first, second, f"--format={form}"], clone.root) is status
        out = clone.output()[0]
        assert "32 → 48" in out
        assert ("48 registers instead of 32" in out) is (status is ExitStatus.REGRESSION)


@pytest.mark.usefixtures("asked")
def test_a_side_that_does_not_build_is_one_sentence_and_not_measured(clone: GitRepository) -> None:
    first, second = clone.commit(BASE), clone.commit({"sync": {}})
    with pytest.raises(UserError, match="cannot be built and read here") as caught:
        changed.main([first, second], clone.root)
    assert caught.value.status is ExitStatus.NOT_MEASURED


@pytest.mark.usefixtures("asked")
def test_a_filter_without_a_match_is_bad_usage(clone: GitRepository) -> None:
    clone.commit(BASE)
    with pytest.raises(UserError, match="no benchmark matches") as caught:
        changed.main(["HEAD", "--filter=^sync/none"], clone.root)
    assert caught.value.status is ExitStatus.BAD_USAGE


@pytest.mark.usefixtures("asked")
def test_a_program_that_cannot_be_read_is_not_measured(
    clone: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone.commit(BASE)

    def gone(*_: object) -> ProgramCode:
        raise OSError("no such file")

    monkeypatch.setattr(changed, "code_of", gone)
    with pytest.raises(UserError, match="no such file") as caught:
        changed.main(["HEAD"], clone.root)
    assert caught.value.status is ExitStatus.NOT_MEASURED


@pytest.mark.parametrize(
    "argv", [[], ["no_such_commit"], ["HEAD", "--architectures=sm_90"], ["HEAD", "--filter=("]]
)
def test_bad_usage_is_one_sentence(clone: GitRepository, argv: list[str]) -> None:
    clone.commit(BASE)
    with pytest.raises(UserError) as caught:
        changed.main(argv, clone.root)
    assert caught.value.status is ExitStatus.BAD_USAGE
