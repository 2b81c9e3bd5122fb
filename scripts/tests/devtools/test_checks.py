# SPDX-License-Identifier: Apache-2.0
"""scripts/test and scripts/lint hide no failure, and end on a line that says it all.

clang-tidy looks at what differs, and what includes it.
"""

from __future__ import annotations

import json
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from devtools import check_runner, checks, skips
from devtools.changed_sources import affected
from devtools.check_runner import Check, Result
from hosted_repository import git

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


def test_a_failure_is_shown_and_all_runs_but_what_builds_on_it(tmp_path: Path) -> None:
    failing = check("one", "echo why; exit 1", tmp_path)
    after = check("three", "touch ran", tmp_path, after="one")
    good, said = ran([failing, check("two", "echo end", tmp_path), after])
    assert not good
    text = "\n".join(said)
    for words in ("one            FAILED", "why", "two            ok"):
        assert words in text
    assert "not run, for one did not succeed" in said
    assert not (tmp_path / "ran").exists()
    assert said[-1] == "\nFAILED: one, three"
    assert "\nend\n" in said
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


# As ctest 3.25 and, with labels behind, later ones write it.
OUTPUT = """\
100% tests passed, 0 tests failed out of 4

Label Time Summary:
gpu     =   0.17 sec*proc (3 tests)

Total Test time (real) =   2.62 sec

The following tests did not run:
\t  2 - gpu_case_test (Skipped)
\t  3 - large_test (Skipped)       gpu
\t  4 - snippet_runs (Skipped)
"""
DRIVER = (
    "a.hpp:19: Skipped\nno usable GPU: no NVIDIA driver on this machine: install it\n[  SKIPPED ]\n"
)
MEMORY = "b.cu:30: Skipped\nneeds 9 bytes of device memory, 3 are free\n[  SKIPPED ]\n"


def log(**tests: str) -> str:
    """LastTest.log with what each test said."""
    entries = [
        f"{index}/{len(tests)} Testing: {name}\n{index}/{len(tests)} Test: {name}\n{said}\n"
        for index, (name, said) in enumerate(tests.items(), 1)
    ]
    return "Start testing: Nov 21 11:53 UTC\n" + "".join(entries)


def test_tests_without_a_gpu_are_counted_in_one_wording() -> None:
    said = log(host_test="ok", gpu_case_test=2 * DRIVER, large_test=DRIVER, snippet_runs="no GPU")
    assert skips.of_ctest(OUTPUT, said) == "3 GPU tests skipped: no usable GPU"
    assert skips.of_ctest(OUTPUT, "") == "3 GPU tests skipped: no usable GPU"


def test_another_reason_is_told_even_where_the_test_as_a_whole_passed() -> None:
    said = log(host_test=MEMORY, gpu_case_test=DRIVER, large_test=MEMORY, snippet_runs="")
    assert skips.of_ctest(OUTPUT, said) == (
        "2 GPU tests skipped: no usable GPU; "
        "2 test cases skipped: needs 9 bytes of device memory, 3 are free"
    )


def test_skipped_python_tests_are_counted_and_where_none_was_nothing_is_said() -> None:
    assert skips.of_pytest(PYTEST) == "1 Python test skipped"
    assert skips.of_pytest("....\n===== 3 passed in 0.1s =====\n") == ""
    assert skips.of_pytest("crashed: 3 skipped\n") == ""
    assert skips.of_ctest("100% tests passed, 0 tests failed out of 2\n", log(a="ok", b="")) == ""


def test_the_closing_lines_are_the_runners_own_without_its_list_of_skipped_tests() -> None:
    assert checks.ctest_summary("no tests") == ""
    assert checks.pytest_summary(PYTEST).splitlines()[1].startswith("SKIPPED")
    assert checks.pytest_summary("...\n=== 3 passed ===\n") == "=== 3 passed ==="
    assert checks.pytest_summary("crashed") == ""
    summary = checks.ctest_summary("1/4 Test #1: a_test ...   Passed\n" + OUTPUT)
    assert summary.startswith("100% tests passed, 0 tests failed out of 4\n")
    assert summary.endswith("Total Test time (real) =   2.62 sec")
    disabled = checks.ctest_summary(OUTPUT + "\t  5 - gone (Disabled)\n")
    assert disabled.endswith("The following tests did not run:\n\t  5 - gone (Disabled)")
    failed = checks.ctest_summary(OUTPUT + "\nThe following tests FAILED:\n\t  1 - a (Failed)\n")
    assert "did not run" not in failed
    assert failed.endswith("The following tests FAILED:\n\t  1 - a (Failed)")


FILES = {
    "fixtures/core/units.hpp": "",
    "fixtures/gpu/replay.hpp": "#include <warpgauge/core/units.hpp>\n",
    "fixtures/gpu/replay.cpp": "#include <warpgauge/gpu/replay.hpp>\n#include <vector>\n",
    "fixtures/gpu/nvml.cpp": "#include <dlfcn.h>\n",
    "benchmarks/host.cpp": '#include "benchmarks/ways.hpp"\n',
    "benchmarks/ways.hpp": "",
    ".clang-tidy": "",
}
SOURCES = [name for name in FILES if name.endswith(".cpp")]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A clone on a branch of its own, with one commit."""
    git(tmp_path, "init", "--initial-branch", "main")
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    commit(tmp_path)
    git(tmp_path, "switch", "--create", "mine")
    return tmp_path


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--message", "one")


def names(root: Path) -> list[str]:
    sources = [str(root / name) for name in SOURCES]
    return [str(Path(found).relative_to(root)) for found in affected(root, sources)]


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("fixtures/core/units.hpp", ["fixtures/gpu/replay.cpp"]),
        ("fixtures/gpu/nvml.cpp", ["fixtures/gpu/nvml.cpp"]),
        ("benchmarks/ways.hpp", ["benchmarks/host.cpp"]),
        ("README.md", []),
        (".clang-tidy", SOURCES),
    ],
)
def test_what_differs_and_what_leads_to_it(
    root: Path, changed: str, expected: list[str], committed: bool
) -> None:
    (root / changed).write_text("// another\n")
    if committed:
        commit(root)
    assert names(root) == expected


def test_where_nothing_differs_the_last_commit_is_looked_at_or_else_every_source(
    root: Path,
) -> None:
    git(root, "switch", "main")  # its first commit
    assert names(root) == SOURCES
    (root / "fixtures/gpu/nvml.cpp").write_text("// another\n")
    commit(root)
    assert names(root) == ["fixtures/gpu/nvml.cpp"]
