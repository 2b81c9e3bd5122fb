# SPDX-License-Identifier: Apache-2.0
"""What a command needs of the machine: Python packages, which go to .venv, and Debian packages.

Standard library only, and valid in Python 3.8, so that an old Python gets an error message.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Optional

from warpgauge import __version__
from warpgauge.system.errors import UserError
from warpgauge.system.locks import alone
from warpgauge.system.text import file_name, nearby

LOCK = "requirements.lock"
_ABOVE = Path(__file__).resolve().parents[4]
# The clone that this file is part of; None if the package is installed. Only a clone is set up.
CLONE: Optional[Path] = _ABOVE if (_ABOVE / LOCK).is_file() else None  # noqa: UP045 - Python 3.8
# The project that commands work on: the clone, or the current folder.
ROOT = CLONE or Path.cwd()
# What a wheel has beside the modules: the driver, and the engine.
ENGINE = Path(__file__).resolve().parents[1] / "engine"
# The engine's package for CMake, which a clone may not have built.
CMAKE = CLONE / "build" / "release" if CLONE else ENGINE / "lib" / "cmake" / "warpgauge"
OLDEST_PYTHON = (3, 10)
# The TOML parser, part of Python since 3.11.
TOML = "tomllib" if sys.version_info >= (3, 11) else "tomli"
# Marks a .venv as made here. It holds the lock's hash and is written last, so that an interrupted
# installation is detected and repeated.
STAMP = "warpgauge-lock-sha256"


def started(command: str) -> str:
    """Return what starts `command`, as for a shell, in this folder, often another project's."""
    if CLONE is None or ("GITHUB_ACTIONS" in os.environ and Path.cwd() != CLONE):  # read elsewhere
        return f"warpgauge {command}"
    launcher = "" if command.startswith("bench") else "warpgauge "  # scripts/bench is its own
    return f"{shlex.quote(str(nearby(CLONE) / 'scripts'))}/{launcher}{command}"


def about(cmake: Path = CMAKE, clone: Path | None = CLONE) -> str:
    """Return the version, the commit, and which CUDA toolkit built the engine."""
    commit, engine = "", "not built"
    with suppress(OSError, ValueError):
        commit, engine = (cmake / "warpgauge-built.txt").read_text().splitlines()
    if clone:
        commit = _run(["git", "-C", str(clone), "describe", "--always", "--dirty"])[1].strip()
    return f"warpgauge {__version__} (commit {commit or 'unknown'}, engine {engine})"


def cmake_dir(cmake: Path = CMAKE) -> str:
    """Return the folder of the engine's package for CMake. Raises UserError if it is not built."""
    if not (cmake / "warpgauge-config.cmake").is_file():
        remedy = "cmake --preset release && cmake --build --preset release"
        raise UserError(f"the engine is not built in {cmake}: {remedy}")
    return str(cmake)


def ensure(packages: Sequence[str], clone: Path | None = CLONE, *, make: bool = True) -> None:
    """Return if this interpreter can import `packages`; otherwise run this command again in .venv.

    In a clone, a missing, incomplete or outdated .venv is made from the lock file; a second command
    waits. Unless that is to be made, return although packages are missing. Raises UserError.
    """
    if sys.version_info < OLDEST_PYTHON:
        raise UserError(
            f"Python {sys.version_info[0]}.{sys.version_info[1]} is too old; warpgauge needs 3.10 "
            f"or newer: install one and use it, e.g. `python3.12 {sys.argv[0]}`"
        )
    missing = [name for name in packages if not _importable(name)]
    if not missing:
        return
    if not make and (clone is None or not _is_complete(clone / ".venv", _digest(clone))):
        return
    lacks = f"this Python does not have {', '.join(missing)}"
    if clone is None:
        raise UserError(f"{lacks}: install warpgauge with its dependencies, or them alone")
    venv = clone / ".venv"
    python = venv / "bin" / "python"
    digest = _digest(clone)
    if Path(sys.prefix).resolve() == venv.resolve() and _is_complete(venv, digest):
        raise UserError(f"{lacks}: remove the folder {venv} and run this again")
    try:
        with alone(clone):
            if not _is_complete(venv, digest):
                _make(venv, clone / LOCK, digest, lacks)
    except OSError as fault:
        raise UserError(f"{lacks}, and {venv} cannot be made: {fault}") from fault
    sys.stdout.flush()
    os.execv(python, [str(python), *sys.argv])


def _digest(clone: Path) -> str:
    return hashlib.sha256((clone / LOCK).read_bytes()).hexdigest()


def _importable(name: str) -> bool:
    try:
        importlib.import_module(name)
    except Exception:  # broken, or for another Python: as good as missing
        return False
    return True


def _is_complete(venv: Path, digest: str) -> bool:
    stamp, python = venv / STAMP, venv / "bin" / "python"
    return stamp.exists() and python.exists() and stamp.read_text() == digest


def _make(venv: Path, lock: Path, digest: str, lacks: str) -> None:
    """Make `venv` anew from `lock`."""
    if venv.exists() and not (venv / STAMP).exists():
        raise UserError(
            f"{lacks}, and {venv} was not made by warpgauge: activate an environment that has "
            "them, or remove that folder"
        )
    if venv.is_symlink():
        raise UserError(f"{lacks}, and {venv} is a link, which is not followed: remove it")
    print(f"warpgauge: making .venv from {lock.name}, once ...", file=sys.stderr)
    base = os.path.realpath(sys.executable)  # which may be a link in the .venv that is removed here
    provide([VENV], lambda line: print(line, file=sys.stderr))
    install = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-input"]
    install += ["--retries=2", "--require-hashes", "--only-binary=:all:", "--requirement"]
    shutil.rmtree(venv, ignore_errors=True)
    venv.mkdir(exist_ok=True)
    (venv / STAMP).write_text("incomplete")
    for command in ([base, "-m", "venv", str(venv)], [*install, str(lock)]):
        status, output = _run(command)
        if status:
            raise UserError(
                f"{lacks}, and {venv} cannot be made ({_reason(output)}): run this once with "
                "network access, or with a Python that has them"
            )
    (venv / STAMP).write_text(digest)


def is_variable(name: str) -> bool:
    """Return whether an axis is an environment variable; others are nvcc or a package."""
    return name.isidentifier() and name.isupper()


def installed(requirement: str, where: Path) -> Path:
    """Return a folder in `where` with only this version of a package, installed once.

    It is for the first python3 of PATH, which runs files of benchmarks. Raises UserError.
    """
    python = shutil.which("python3") or sys.executable
    folder = where / file_name(requirement, os.path.realpath(python))
    if not folder.exists():
        unfinished = where / f"{folder.name}.part"
        shutil.rmtree(unfinished, ignore_errors=True)
        command = [python, "-m", "pip", "install", "--quiet", "--no-input", "--no-deps"]
        status, output = _run([*command, "--target", str(unfinished), requirement])
        if status:
            raise UserError(f"{requirement} cannot be installed: {_reason(output)}")
        unfinished.rename(folder)
    return folder


class Need(NamedTuple):
    """A requirement: Debian's package, and whether what it brings is present."""

    package: str
    present: Callable[[], object]
    required: bool = True  # if not, the build works without it (it fetches the sources itself)


def _at_least(version: tuple[int, ...], program: str, *arguments: str) -> bool:
    """Return whether the first version number that the program prints is `version` or newer."""
    found = re.search(r"\d+(\.\d+)*", _run([program, *arguments])[1])
    return found is not None and tuple(map(int, found.group().split("."))) >= version


def _has_compiler() -> bool:
    chosen = os.environ.get("CXX")  # CMake checks a compiler that the user chose
    return bool(chosen) or _at_least((12,), "g++", "-dumpfullversion", "-dumpversion")


def _has_header(name: str) -> bool:
    """Return whether a C++ header is where compilers and CMake look."""
    variables = "CPATH CPLUS_INCLUDE_PATH CMAKE_PREFIX_PATH benchmark_ROOT nlohmann_json_ROOT"
    given = ":".join(os.environ.get(variable, "") for variable in variables.split())
    places = ["/usr", "/usr/local", *filter(None, re.split("[:;]", given))]
    return any(Path(p, name).exists() or Path(p, "include", name).exists() for p in places)


VENV = Need("python3-venv", lambda: importlib.util.find_spec("ensurepip"))
BUILD = (
    Need("cmake", lambda: _at_least((3, 25), "cmake", "--version")),
    Need("ninja-build", lambda: shutil.which("ninja")),
    Need("g++", _has_compiler),
    Need("git", lambda: shutil.which("git"), required=False),
    Need("libbenchmark-dev", lambda: _has_header("benchmark/benchmark.h"), required=False),
    Need("nlohmann-json3-dev", lambda: _has_header("nlohmann/json.hpp"), required=False),
)
TEST = (
    *BUILD,
    Need("libgtest-dev", lambda: _has_header("gtest/gtest.h"), required=False),
    Need("python3-dev", Path(sysconfig.get_path("include"), "Python.h").exists, required=False),
    Need("libbenchmark-tools", Path("/usr/share/benchmark/compare.py").exists, required=False),
    Need("chromium", lambda: shutil.which("chromium"), required=False),
)
_INSTALL = "apt-get install --no-install-recommends"


def provide(needs: Sequence[Need], say: Callable[[str], None]) -> None:
    """Install those of `needs` that are missing, as root or in CI; otherwise name the command.

    Raises UserError if a required one stays missing; reports optional ones that do.
    """
    missing = [need for need in needs if not need.present()]
    may_install = os.geteuid() == 0 or os.environ.get("CI")
    if missing and may_install and Path("/etc/debian_version").exists():
        _install(missing, say)
    for required in (True, False):
        left = [n.package for n in missing if n.required is required and not n.present()]
        names = " ".join(left)
        how = f"{names}; install a newer one, on Debian with: sudo {_INSTALL} {names}"
        if left and required:
            raise UserError(f"missing or too old here: {how}")
        if left:
            say(f"continuing without {how}")


def _install(needs: Sequence[Need], say: Callable[[str], None]) -> None:
    """Install Debian packages, as far as possible."""
    apt, *words = _INSTALL.split()
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    command = [*root, "env", "DEBIAN_FRONTEND=noninteractive", apt, "-q", "-y"]
    command += ["-o", "Acquire::http::Timeout=15"]  # the default is 2 min
    _run([*command, "update"])  # if it fails, the old lists may suffice
    for need in needs:  # one by one, because a distribution may lack some
        say(f"installing {need.package} ...")
        status, output = _run([*command, *words, need.package])
        if status:
            say(_reason(output))


def _run(command: Sequence[str]) -> tuple[int, str]:
    """Run `command`, and return its exit status and output."""
    null, pipe = subprocess.DEVNULL, subprocess.PIPE
    try:
        done = subprocess.run(command, stdin=null, stdout=pipe, stderr=subprocess.STDOUT, text=True)
    except OSError as fault:
        return 127, f"{command[0]}: {fault.strerror or fault}"
    return done.returncode, done.stdout


def _reason(output: str) -> str:
    """Return the last line of `output`, preferably one that pip marks as an error."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["it said nothing"])[-1]
