# SPDX-License-Identifier: Apache-2.0
"""scripts/test: everything that proves the project sound, in one command."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from devtools import check_runner, skips, workflow_checks
from devtools.check_runner import Check, Command
from devtools.tools import CLANG_FORMAT, CLANG_TIDY
from warpgauge.execution import build
from warpgauge.system import packages

CPP_FOLDERS = ("kernels", "fixtures", "benchmarks")
CPP_SUFFIXES = (".cpp", ".hpp", ".cu", ".cuh")
# More at once would make tests of deadlines miss them.
_MOST_PYTESTS = 8
# So many runs of pytest for each that runs at once: files take from a second to a minute.
_SHARES = 4


def main(argv: Sequence[str], root: Path) -> int:
    """Exit status 0 when nothing failed, else 1."""
    parser = argparse.ArgumentParser(
        prog="test", description="Builds and runs every test and every static check.",
        allow_abbrev=False,
    )  # fmt: skip
    parser.add_argument("--no-cuda", action="store_true", help="build as if there were no nvcc")
    parser.add_argument(
        "--allow-missing-tools",
        action="store_true",
        help="skip a check whose tool is not installed, as on a machine without a network",
    )
    given = parser.parse_args(argv)
    packages.provide(packages.TEST, _say)
    checks = [
        *_cpp(root, given.no_cuda),
        *workflow_checks.checks(root),
        *_python(root / "scripts"),
    ]
    good = check_runner.run(checks, given.allow_missing_tools, _say)
    return 0 if good else 1


def _cpp(root: Path, no_cuda: bool) -> list[Check]:
    folder = root / "build" / ("ci-no-cuda" if no_cuda else "ci")
    configure = build.configure_command("ci")
    if no_cuda:
        configure = ["cmake", "--preset", "ci", "-DWARPGAUGE_CUDA=OFF"]
    elif shutil.which("nvidia-smi") is None and "CUDAARCHS" not in os.environ:
        # What cannot run here is compiled for one architecture: each takes minutes on two cores.
        configure = [*configure, "-DCMAKE_CUDA_ARCHITECTURES=90"]
    jobs = str(build.jobs())
    ctest = [
        "ctest",
        "--test-dir",
        str(folder),
        "--output-on-failure",
        "--no-tests=error",
        "--label-exclude",
        "^bench$",
    ]
    sources = sorted(
        str(path.relative_to(root))
        for part in CPP_FOLDERS
        for path in (root / part).rglob("*")
        if path.suffix in CPP_SUFFIXES
    )

    def skipped(output: str) -> str:
        return skips.of_ctest(output, last_log(folder))

    def tidy() -> Sequence[Command]:
        return [
            [CLANG_TIDY, "--quiet", "-p", str(folder), source]
            for source in host_sources(root, folder)
        ]

    return [
        Check("configure", _one([*configure, "-B", str(folder)]), root, "cmake"),
        Check("build", _one(["cmake", "--build", str(folder), "-j", jobs]), root, "cmake",
              after="configure"),
        Check("ctest", _one(ctest), root, "ctest", after="build", closing=ctest_summary,
              skipped=skipped),
        Check("clang-format", _one([CLANG_FORMAT, "--dry-run", "-Werror", *sources]), root,
              CLANG_FORMAT),
        Check("clang-tidy", tidy, root, CLANG_TIDY, after="configure", at_once=int(jobs)),
    ]  # fmt: skip


def _python(scripts: Path) -> list[Check]:
    def module(*arguments: str) -> Callable[[], Sequence[Command]]:
        return _one([sys.executable, "-m", *arguments])

    at_once, pytest = min(build.jobs(), _MOST_PYTESTS), [sys.executable, "-m", "pytest"]

    def shares() -> Sequence[Command]:
        """Each with a share of the files: many tests wait for processes more than they compute."""
        files = sorted(
            str(path.relative_to(scripts)) for path in scripts.glob("tests/**/test_*.py")
        )
        parts = [files[share :: _SHARES * at_once] for share in range(_SHARES * at_once)]
        return [[*pytest, "-m", "not timed", *part] for part in parts if part]

    return [
        Check("ruff", module("ruff", "check", "."), scripts, "python:ruff"),
        Check("ruff format", module("ruff", "format", "--check", "."), scripts, "python:ruff"),
        Check("mypy", module("mypy"), scripts, "python:mypy"),
        Check(
            "pytest",
            shares,
            scripts,
            "python:pytest",
            closing=pytest_summary,
            skipped=skips.of_pytest,
            at_once=at_once,
        ),
        Check(
            "pytest timed",
            _one([*pytest, "-m", "timed"]),
            scripts,
            "python:pytest",
            closing=pytest_summary,
        ),
    ]


def _one(command: Command) -> Callable[[], Sequence[Command]]:
    return lambda: [command]


def host_sources(root: Path, folder: Path) -> list[str]:
    """The project's own C++ sources that were compiled without nvcc; raises OSError, ValueError.

    Without tests: GoogleTest's macros expand to what clang-tidy objects to, and double the time.
    """
    entries = json.loads((folder / "compile_commands.json").read_text())
    files = {Path(entry["directory"], entry["file"]).resolve() for entry in entries}
    own = [root / part for part in CPP_FOLDERS]
    return sorted(
        str(file)
        for file in files
        if file.suffix == ".cpp"
        and not file.stem.endswith("_test")
        and any(part in file.parents for part in own)
    )


def ctest_summary(output: str) -> str:
    """ctest's own closing lines, from `100% tests passed` on, but for what was skipped."""
    found = re.search(r"^\d+% tests passed", output, re.MULTILINE)
    return skips.without_skipped(output[found.start() :]).rstrip() if found else ""


def last_log(folder: Path) -> str:
    """What all tests of ctest's last run said, those that passed included."""
    try:
        return (folder / "Testing" / "Temporary" / "LastTest.log").read_text(errors="replace")
    except OSError:
        return ""


def pytest_summary(output: str) -> str:
    """pytest's own closing lines: its summary of skips and failures, and the count; of each run."""
    return "\n".join(filter(None, map(_summary, re.split(r"^\$ ", output, flags=re.MULTILINE))))


def _summary(output: str) -> str:
    begin = output.rfind("= short test summary info =")
    if begin >= 0:
        return output[output.rfind("\n", 0, begin) + 1 :].rstrip()
    lines = output.rstrip().splitlines()
    return lines[-1] if lines and lines[-1].startswith("=") else ""


def _say(line: str) -> None:
    print(line, flush=True)
