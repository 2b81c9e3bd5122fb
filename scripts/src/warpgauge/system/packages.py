# SPDX-License-Identifier: Apache-2.0
"""Distribution packages that a build needs: found, installed, or requested from the user.

Standard library only, and valid in Python 3.8, because environment.py imports it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from warpgauge.system.errors import UserError


class Need(NamedTuple):
    """A requirement: Debian's package, its description, and whether it is present."""

    package: str
    what: str
    present: Callable[[], bool]
    required: bool = True  # if not, the build works without it (it fetches the sources itself)


def _version(program: str, *arguments: str) -> tuple[int, ...]:
    """Return the first version number that the program prints; () if it cannot be run."""
    command = [program, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    found = re.search(r"\d+(\.\d+)*", done.stdout)
    return tuple(int(part) for part in found.group().split(".")) if found else ()


def _has(program: str) -> Callable[[], bool]:
    return lambda: shutil.which(program) is not None


def _header(name: str) -> Callable[[], bool]:
    """Return a check for a C++ header where compilers and CMake look."""
    roots = ("benchmark_ROOT", "nlohmann_json_ROOT")
    variables = ("CPATH", "CPLUS_INCLUDE_PATH", "CMAKE_PREFIX_PATH", *roots)
    extra = [p for v in variables for p in re.split("[:;]", os.environ.get(v, "")) if p]
    places = [Path("/usr"), Path("/usr/local"), *map(Path, extra)]
    return lambda: any((p / name).exists() or (p / "include" / name).exists() for p in places)


def _compiler() -> bool:
    chosen = os.environ.get("CXX")  # CMake checks a compiler that the user chose
    return bool(chosen) or _version("g++", "-dumpfullversion", "-dumpversion") >= (12,)


_COMPARE = Path("/usr/share/benchmark/compare.py")

BUILD = (
    Need("cmake", "CMake 3.25 or newer", lambda: _version("cmake", "--version") >= (3, 25)),
    Need("ninja-build", "Ninja", _has("ninja")),
    Need("g++", "g++ 12 or newer", _compiler),
    Need("git", "git", _has("git"), required=False),
    Need("libbenchmark-dev", "Google Benchmark", _header("benchmark/benchmark.h"), required=False),
    Need("nlohmann-json3-dev", "nlohmann's JSON", _header("nlohmann/json.hpp"), required=False),
)
TEST = (
    *BUILD,
    Need("libgtest-dev", "GoogleTest", _header("gtest/gtest.h"), required=False),
    Need("libbenchmark-tools", "Google Benchmark's compare.py", _COMPARE.exists, required=False),
    Need("chromium", "the browser Chromium", _has("chromium"), required=False),
)


def provide(needs: Sequence[Need], say: Callable[[str], None]) -> None:
    """Install those of `needs` that are missing; otherwise change nothing.

    Raises UserError if a required one stays missing; reports optional ones that do.
    """
    required = [need for need in needs if need.required and not need.present()]
    optional = [need for need in needs if not need.required and not need.present()]
    if required:
        install([need.package for need in required], say)
    if optional:
        _install_if_there(optional, say)
    too_old = [need.what for need in required if not need.present()]
    if too_old:
        raise UserError(
            f"this distribution's packages of {', '.join(too_old)} are too old: install newer ones "
            "and put them first on PATH"
        )


def _install_if_there(needs: Sequence[Need], say: Callable[[str], None]) -> None:
    """Install all at once, or one by one: a distribution may lack some of them."""
    try:
        install([need.package for need in needs], say)
    except UserError as fault:
        if len(needs) == 1:
            say(f"continuing without {needs[0].what}: {fault}")
            return
        for need in needs:
            _install_if_there([need], say)


def install(packages: Sequence[str], say: Callable[[str], None]) -> None:
    """Run apt-get install as root or with passwordless sudo. UserError has the line to type."""
    apt_get = shutil.which("apt-get")
    if apt_get is None or not Path("/etc/debian_version").exists():
        raise UserError(f"missing here: {', '.join(packages)} (Debian's names); install them")
    line = f"apt-get install --no-install-recommends {' '.join(packages)}"
    if os.geteuid() == 0:
        prefix = []
    elif shutil.which("sudo") and output_of(["sudo", "-n", "true"])[0] == 0:
        prefix = ["sudo", "-n"]
    else:
        raise UserError(f"missing here: {', '.join(packages)}; type: sudo {line}")
    say(f"installing {' '.join(packages)} ...")
    command = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", apt_get, "-q", "-y"]
    command += ["-o", "Acquire::http::Timeout=15"]  # the default is 2 min without a network
    output_of([*command, "update"])  # if it fails, the old lists may suffice
    status, output = output_of([*command, "install", "--no-install-recommends", *packages])
    if status:
        names = ", ".join(packages)
        raise UserError(f"missing here: {names}; `{line}` failed: {last_line(output)}")


def output_of(command: Sequence[str]) -> tuple[int, str]:
    """Run `command`, and return its exit status and output."""
    null, pipe = subprocess.DEVNULL, subprocess.PIPE
    done = subprocess.run(command, stdin=null, stdout=pipe, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def last_line(output: str) -> str:
    """Return the last line of `output`, preferably one that pip marks as an error."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["it said nothing"])[-1]
