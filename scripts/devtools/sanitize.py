# SPDX-License-Identifier: Apache-2.0
"""scripts/devtools/sanitize: every GPU test of a build, one by one, under compute-sanitizer."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpgauge.commands.arguments import Parser, duration
from warpgauge.github import gpus
from warpgauge.measure import build
from warpgauge.system import process
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import inert, plural

_TOOLS = {
    # Tests provoke calls that CUDA refuses, which are no errors of memory.
    "memcheck": ("--report-api-errors", "no"),
    "racecheck": (),
}
_LABEL = "gpu"
_DEADLINE_S = 600.0

_GOOD, _SKIPPED, _FAILED = "ok", "skipped", "FAILED"

# The exit status of compute-sanitizer for a finding; no test exits with it.
_FOUND = 86
_SAYS = "========="  # how its lines begin
_SHOWN_LINES = 60


@dataclass(frozen=True)
class Test:
    """A test as ctest runs it; it exits with `skip` where it cannot run here."""

    name: str
    command: Sequence[str]
    folder: str
    environment: Sequence[str]  # each NAME=VALUE
    skip: int | None


def main(argv: Sequence[str]) -> ExitStatus:
    """Raises UserError where nothing can be checked."""
    given = _parser().parse_args(argv)
    sanitizer = _sanitizer()
    if not gpus.here():
        raise UserError("there is no GPU here to run the tests on", ExitStatus.NOT_MEASURED)
    found = [test for test in tests(given.build) if given.regex.search(test.name)]
    if not found:
        raise UserError(f"no GPU test of {given.build} is called like {given.regex.pattern!r}")
    under = [sanitizer, "--tool", given.tool, "--error-exitcode", str(_FOUND)]
    under += ["--target-processes", "all", *_TOOLS[given.tool]]  # what a test starts, too
    with tempfile.TemporaryDirectory(prefix="warpgauge-") as scratch:
        results = [_checked(test, under, given.timeout, Path(scratch)) for test in found]
    skipped = results.count(_SKIPPED)
    if skipped == len(found):
        raise UserError("every test was skipped: nothing was checked", ExitStatus.NOT_MEASURED)
    failed = [test.name for test, result in zip(found, results, strict=True) if result == _FAILED]
    checked = f"{given.tool}: {plural(len(found), 'GPU test')}, {skipped} skipped"
    print(f"{checked}, {len(failed)} failed{': ' if failed else ''}{', '.join(failed)}")
    return ExitStatus.REGRESSION if failed else ExitStatus.OK


def tests(folder: Path) -> list[Test]:
    """All of the build in `folder` with the label `gpu`. Raises UserError where there is none."""
    listing = [shutil.which("ctest") or "ctest", "--show-only=json-v1"]
    try:
        said = subprocess.check_output(listing, cwd=folder, stderr=subprocess.DEVNULL)
        entries: list[dict[str, Any]] = json.loads(said)["tests"]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as fault:
        raise UserError(f"ctest cannot list the tests of {folder}: {inert(str(fault))}") from None
    found = []
    for entry in entries:
        properties = {each["name"]: each["value"] for each in entry.get("properties", [])}
        if _LABEL not in properties.get("LABELS", []):
            continue
        if not entry.get("command"):
            raise UserError(f"the program of the test {entry['name']} is not built")
        found.append(
            Test(entry["name"], entry["command"],
                 properties.get("WORKING_DIRECTORY", str(folder)),
                 properties.get("ENVIRONMENT", []), properties.get("SKIP_RETURN_CODE"))
        )  # fmt: skip
    if not found:
        raise UserError(
            f"{folder} has no test with the label {_LABEL}: build it with nvcc and with tests, as "
            "cmake --preset ci does"
        )
    return found


def _checked(test: Test, under: Sequence[str], deadline_s: float, scratch: Path) -> str:
    """Run it, and print its result, which is returned; of what failed, what was said, too."""
    # Tests of times and of faults on purpose skip themselves: fixtures/testing/under_sanitizer.hpp.
    place = ["env", f"--chdir={test.folder}", "WARPGAUGE_UNDER_SANITIZER=1", *test.environment]
    ending = process.run([*place, *under, *test.command], deadline_s, scratch)
    lines = f"{ending.stdout}\n{ending.stderr}".splitlines()
    result, why, shown = _FAILED, ending.ended_for, lines[-_SHOWN_LINES:]
    if not why and ending.status == _FOUND:
        why = "the sanitizer found something"
        shown = [line for line in lines if line.startswith(_SAYS)][:_SHOWN_LINES]
    elif not why and ending.status in (0, test.skip):
        result, shown = _SKIPPED if ending.status else _GOOD, []
    elif not why:
        why = f"status {ending.status}"
    print(f"{test.name}: {result}{': ' if why else ''}{why} ({ending.seconds:.0f} s)")
    for line in shown:
        print(f"  {inert(line)}")
    sys.stdout.flush()
    return result


def _sanitizer() -> str:
    """compute-sanitizer, also where a toolkit is installed but not on PATH. Raises UserError."""
    nvcc = build.cuda_compiler()
    beside = str(Path(nvcc).resolve().parent) if nvcc else None
    found = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path=beside)
    if found is None:
        message = "there is no compute-sanitizer here: it comes with the CUDA toolkit"
        raise UserError(message, ExitStatus.NOT_MEASURED)
    return found


def _parser() -> Parser:
    parser = Parser(
        prog="sanitize",
        description="Runs every GPU test of a build, one by one, under compute-sanitizer.",
        epilog="Exit status: 0 nothing was found; 1 a finding, a test that failed, or one that "
        "took too long; 2 bad usage; 3 there is no GPU or no compute-sanitizer.",
    )
    add = parser.add_argument
    add("build", metavar="BUILD_DIR", type=Path, help="as in build/ci")
    add("tool", nargs="?", choices=tuple(_TOOLS), default="memcheck", help="default memcheck")
    add("regex", metavar="REGEX", nargs="?", type=_regex, default="", help="only these tests")
    add("--timeout", metavar="TIME", type=duration, default=_DEADLINE_S,
        help=f"for one test; default {_DEADLINE_S:g}")  # fmt: skip
    return parser


def _regex(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as fault:
        raise argparse.ArgumentTypeError(f"{text!r} is not a regular expression: {fault}") from None
