# SPDX-License-Identifier: Apache-2.0
"""scripts/test and scripts/lint: every test, and every linter."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from devtools import changed_sources, check_runner, skips, workflow_checks
from devtools.check_runner import Check, Command
from devtools.tools import CLANG_FORMAT, CLANG_TIDY
from warpgauge.measure import build
from warpgauge.system import environment

CPP_FOLDERS = ("kernels", "fixtures", "benchmarks", "scripts/tests", "examples")
CPP_SUFFIXES = (".cpp", ".hpp", ".cu", ".cuh")
# More at once take longer to start than they save.
_MOST_PYTESTS = 8
_say = partial(print, flush=True)
# ccache caches objects with a precompiled header only with this.
_CCACHE = {"CCACHE_SLOPPINESS": "pch_defines,time_macros"}

# Without a GPU the code is only compiled: for one architecture, and fast.
_WITHOUT_GPU = [
    "-DCMAKE_CUDA_ARCHITECTURES=90",
    "-DWARPGAUGE_UNITY=ON",
    "-DCMAKE_BUILD_TYPE=Debug",
    "-DCMAKE_CXX_FLAGS_DEBUG=-O1",
    "-DCMAKE_CUDA_FLAGS_DEBUG=-O0",
]


def test(argv: Sequence[str], root: Path) -> int:
    """Exit status 0 when nothing failed, else 1."""
    given = _parser("test", "Builds the project and runs every test.").parse_args(argv)
    environment.provide(environment.TEST, _say)
    for key, value in _CCACHE.items():
        os.environ.setdefault(key, value)
    checks = tests_of(root, given.no_cuda)
    return 0 if check_runner.run(checks, given.allow_missing_tools, _say) else 1


def tests_of(root: Path, no_cuda: bool) -> list[Check]:
    folder, jobs = _folder(root, no_cuda), str(build.jobs())
    ctest = ["ctest", "--test-dir", str(folder), "--output-on-failure", "--no-tests=error"]
    ctest += ["--label-exclude", "^bench$", "-j", jobs]
    workers = ["-n", str(min(build.jobs(), _MOST_PYTESTS)), "--dist", "worksteal"]

    return [
        _configure(root, folder, no_cuda),
        Check("build", _one(["cmake", "--build", str(folder), "-j", jobs]), root, "cmake",
              after="configure"),
        Check("ctest", _one(ctest), root, "ctest", after="build", closing=ctest_summary,
              skipped=lambda output: skips.of_ctest(output, last_log(folder))),
        Check("pytest", _one([sys.executable, "-m", "pytest", *workers]), root / "scripts",
              "python:xdist", closing=pytest_summary, skipped=skips.of_pytest),
    ]  # fmt: skip


def lint(argv: Sequence[str], root: Path) -> int:
    """Exit status 0 when nothing was found, else 1."""
    parser = _parser("lint", "Runs every formatter, linter and type check.")
    parser.add_argument(
        "--all", action="store_true",
        help="clang-tidy on every source, not only on what differs from the default branch, or "
        "else from the commit before, and what includes it",
    )  # fmt: skip
    given = parser.parse_args(argv)
    environment.provide(environment.TEST, _say)
    checks = lints_of(root, given.no_cuda, given.all)
    return 0 if check_runner.run(checks, given.allow_missing_tools, _say) else 1


def lints_of(root: Path, no_cuda: bool, of_all: bool) -> list[Check]:
    folder, scripts = _folder(root, no_cuda), root / "scripts"
    sources = sorted(
        str(path.relative_to(root))
        for part in CPP_FOLDERS
        for path in (root / part).rglob("*")
        if path.suffix in CPP_SUFFIXES
    )

    def tidy() -> Sequence[Command]:
        every = host_sources(root, folder)
        wanted = every if of_all else changed_sources.affected(root, every)
        return [[CLANG_TIDY, "--quiet", "-p", str(folder), source] for source in wanted]

    def module(*arguments: str) -> Callable[[], Sequence[Command]]:
        return _one([sys.executable, "-m", *arguments])

    folders = ("benchmarks", "fixtures", "docs", "examples")
    python = ("--config=pyproject.toml", ".", *(f"../{folder}" for folder in folders))
    return [
        _configure(root, folder, no_cuda),
        Check("clang-format", _one([CLANG_FORMAT, "--dry-run", "-Werror", *sources]), root,
              CLANG_FORMAT),
        Check("clang-tidy", tidy, root, CLANG_TIDY, after="configure", at_once=build.jobs(),
              may_be_empty=not of_all),
        *workflow_checks.checks(root),
        Check("ruff", module("ruff", "check", *python), scripts, "python:ruff"),
        Check("ruff format", module("ruff", "format", "--check", *python), scripts, "python:ruff"),
        Check("mypy", module("mypy"), scripts, "python:mypy"),
        Check("docs", module("mkdocs", "build", "--strict", "--config-file=docs/mkdocs.yml"), root,
              "python:mkdocs"),
    ]  # fmt: skip


def _parser(prog: str, description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=prog, description=description, allow_abbrev=False)
    parser.add_argument("--no-cuda", action="store_true", help="build as if there were no nvcc")
    parser.add_argument(
        "--allow-missing-tools", action="store_true",
        help="skip a check whose tool is not installed, as on a machine without a network",
    )  # fmt: skip
    return parser


def _folder(root: Path, no_cuda: bool) -> Path:
    return root / "build" / ("ci-no-cuda" if no_cuda else "ci")


def _configure(root: Path, folder: Path, no_cuda: bool) -> Check:
    command = build.configure_command("ci")
    if no_cuda:
        command = ["cmake", "--preset", "ci", "-DWARPGAUGE_CUDA=OFF"]
    elif shutil.which("nvidia-smi") is None and "CUDAARCHS" not in os.environ:
        command += _WITHOUT_GPU
    command += ["-DWARPGAUGE_PYTHON=ON", f"-DPython_EXECUTABLE={sys.executable}"]
    # Always named to CMake, which would otherwise remember a ccache that is gone.
    launcher = shutil.which("ccache") or ""
    for language in ("CXX", "CUDA"):
        variable = f"CMAKE_{language}_COMPILER_LAUNCHER"
        command.append(f"-D{variable}={os.environ.get(variable, launcher)}")
    return Check("configure", _one([*command, "-B", str(folder)]), root, "cmake")


def _one(command: Command) -> Callable[[], Sequence[Command]]:
    return lambda: [command]


def host_sources(root: Path, folder: Path) -> list[str]:
    """The project's own C++ sources that were compiled without nvcc; raises OSError, ValueError.

    Without tests: GoogleTest's macros expand to what clang-tidy objects to, and double the time.
    """
    entries = json.loads((folder / "compile_commands.json").read_text())
    files = {Path(entry["directory"], entry["file"]).resolve() for entry in entries}
    own = {root / part for part in CPP_FOLDERS}
    sources = [path for path in files if path.suffix == ".cpp" and not path.stem.endswith("_test")]
    return sorted(str(path) for path in sources if not own.isdisjoint(path.parents))


def ctest_summary(output: str) -> str:
    """ctest's own closing lines, from `100% tests passed` on, but for what was skipped."""
    found = re.search(r"^\d+% tests passed", output, re.MULTILINE)
    return skips.without_skipped(output[found.start() :]).rstrip() if found else ""


def last_log(folder: Path) -> str:
    """What all tests of ctest's last run said, those that passed included."""
    log = folder / "Testing" / "Temporary" / "LastTest.log"
    return log.read_text(errors="replace") if log.exists() else ""


def pytest_summary(output: str) -> str:
    """pytest's own closing lines: its summary of skips and failures, and the count."""
    begin = output.rfind("= short test summary info =")
    if begin >= 0:
        return output[output.rfind("\n", 0, begin) + 1 :].rstrip()
    last_line = output.rstrip().rpartition("\n")[2]
    return last_line if last_line.startswith("=") else ""
