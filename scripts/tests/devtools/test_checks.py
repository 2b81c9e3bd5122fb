# SPDX-License-Identifier: Apache-2.0
"""scripts/test and scripts/lint hide no failure, and end on one line that says it all."""

from __future__ import annotations

import json
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from devtools import check_runner, checks
from devtools.check_runner import Check, Result

CTEST = """\
1/2 Test #1: statistics_test ....   Passed    0.01 sec
50% tests passed, 1 tests failed out of 2

Total Test time (real) =   0.02 sec
"""
PYTEST = """\
..s [100%]
=========================== short test summary info ============================
SKIPPED [1] tests/test_x.py:1: no such tool
========================= 2 passed, 1 skipped in 0.1s ==========================
"""


def check(name: str, command: str, folder: Path, *, tool: str = "sh", after: str = "") -> Check:
    return Check(name, lambda: [["sh", "-c", command]], folder, tool, after, lambda text: text[-4:])


def ran(checks: Sequence[Check], allow_missing_tools: bool = False) -> tuple[bool, list[str]]:
    said: list[str] = []
    return check_runner.run(checks, allow_missing_tools, said.append), said


def test_a_failure_is_shown_and_the_rest_still_runs(tmp_path: Path) -> None:
    two = [check("one", "echo why; exit 1", tmp_path), check("two", "echo end", tmp_path)]
    good, said = ran(two)
    assert not good
    text = "\n".join(said)
    assert "one            FAILED" in text
    assert "why" in text
    assert "two            ok" in text
    assert said[-2:] == ["\nend\n", "\nFAILED: one"]


def test_all_good_is_true_and_the_last_line(tmp_path: Path) -> None:
    good, said = ran([check(name, "true", tmp_path) for name in ("one", "two", "three")])
    assert good
    assert said[-1] == "\nall 3 checks passed"


def test_the_last_line_says_what_was_left_out(tmp_path: Path) -> None:
    ctest = Check("ctest", list, tmp_path, "sh", skipped=lambda output: f"{output} skipped")
    lint = check("lint", "true", tmp_path)
    good = [Result(ctest, "ok", "12 GPU tests"), Result(lint, "ok")]
    assert check_runner.verdict(good) == "all 2 checks passed; 12 GPU tests skipped"
    missing = [good[0], Result(lint, "skipped: lint is not installed")]
    assert check_runner.verdict(missing) == (
        "1 of 2 checks passed, skipped: lint; 12 GPU tests skipped"
    )
    unread = [Result(ctest, "skipped: ctest is not installed", "an older run's"), good[1]]
    assert check_runner.verdict(unread) == "1 of 2 checks passed, skipped: ctest"
    bad = [Result(lint, "FAILED"), good[0], Result(check("mypy", "", tmp_path), "FAILED")]
    assert check_runner.verdict(bad) == "FAILED: lint, mypy"


def test_what_builds_on_a_failure_is_not_run(tmp_path: Path) -> None:
    two = [check("a", "exit 1", tmp_path), check("b", "touch ran", tmp_path, after="a")]
    good, said = ran(two)
    assert not good
    assert not (tmp_path / "ran").exists()
    assert "not run, for a did not succeed" in said


@pytest.mark.parametrize("tool", ["python:no_such_tool", "/no/such/no_such_tool"])
def test_a_missing_tool_is_a_failure_unless_it_is_allowed(tmp_path: Path, tool: str) -> None:
    lint = [check("lint", "true", tmp_path, tool=tool)]
    assert not ran(lint)[0]
    good, said = ran(lint, allow_missing_tools=True)
    assert good
    assert said[0].startswith("lint           skipped: no_such_tool is not installed")


def test_the_linters_are_those_of_the_environment(tmp_path: Path) -> None:
    tools = {one.name: one.tool for one in checks.lints_of(tmp_path, True, False)}
    for name in ("clang-format", "clang-tidy"):
        assert tools[name] == str(Path(sysconfig.get_path("scripts"), name))


def test_a_check_that_finds_nothing_to_check_fails_unless_it_may(tmp_path: Path) -> None:
    assert not ran([Check("tidy", list, tmp_path, "sh")])[0]
    assert ran([Check("tidy", list, tmp_path, "sh", may_be_empty=True)])[0]


def test_the_closing_lines_are_the_runners_own() -> None:
    assert checks.ctest_summary(CTEST).startswith("50% tests passed, 1 tests failed out of 2\n")
    assert checks.ctest_summary("no tests") == ""
    assert checks.pytest_summary(PYTEST).splitlines()[1].startswith("SKIPPED")
    assert checks.pytest_summary("...\n=== 3 passed ===\n") == "=== 3 passed ==="
    assert checks.pytest_summary("crashed") == ""


def test_only_our_own_host_sources_are_linted(tmp_path: Path) -> None:
    files = "../fixtures/a.cpp ../fixtures/a_test.cpp ../kernels/b.cu _deps/c.cpp ../fixtures/a.cpp"
    build = tmp_path / "build"
    build.mkdir()
    entries = [{"directory": str(build), "file": file, "command": "c++"} for file in files.split()]
    (build / "compile_commands.json").write_text(json.dumps(entries))
    assert checks.host_sources(tmp_path, build) == [str(tmp_path / "fixtures" / "a.cpp")]


@pytest.mark.parametrize("command", [checks.test, checks.lint])
def test_bad_usage_exits_with_2(command: Callable[[Sequence[str], Path], int]) -> None:
    with pytest.raises(SystemExit) as caught:
        command(["--no-such-option"], Path())
    assert caught.value.code == 2
