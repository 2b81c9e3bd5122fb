# SPDX-License-Identifier: Apache-2.0
"""Configures and builds with CMake; output goes to a log, and errors are shown."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from warpgauge.system import command_log
from warpgauge.system.errors import UserError
from warpgauge.system.process import ends_within, started

SHOWN_LINES = 30
TOOLKITS = Path("/usr/local")
PRESETS = "CMakePresets.json"
_NINJA_STEP = re.compile(r"^\[(\d+)/(\d+)\]")

# Entries of CMake's cache that decide which code the compilers generate.
_DECISIVE = re.compile(
    r"^(CMAKE_(?:CUDA_ARCHITECTURES|CUDA_FLAGS|CUDA_FLAGS_RELEASE|CUDA_HOST_COMPILER|CXX_COMPILER"
    r"|CXX_FLAGS|CXX_FLAGS_RELEASE|PREFIX_PATH)):[A-Z]+=(.*)$",
    re.MULTILINE,
)


def jobs() -> int:
    """Return the number of compilers to run at once: the CPUs this process may use."""
    return len(os.sched_getaffinity(0))


def cuda_compiler() -> str | None:
    """Return the nvcc to build with, also from an installed toolkit that is not on PATH.

    CMake always gets this path. Otherwise it would cache that nvcc was missing at first.
    """
    named = os.environ.get("CUDACXX") or shutil.which("nvcc")
    if named:
        return named
    toolkits = [TOOLKITS / "cuda", *TOOLKITS.glob("cuda-*")]
    found = [kit / "bin" / "nvcc" for kit in toolkits if (kit / "bin" / "nvcc").exists()]

    def version(nvcc: Path) -> list[int]:
        return [int(part) for part in re.findall(r"\d+", nvcc.resolve().parts[-3])]

    return str(max(found, key=version)) if found else None


def configure_command(preset: str, settings: Sequence[str] = ()) -> list[str]:
    nvcc = cuda_compiler()
    hint = [f"-DCMAKE_CUDA_COMPILER={nvcc}"] if nvcc else []
    return ["cmake", "--preset", preset, *hint, *settings]


def settings(folder: Path) -> list[str]:
    """Return the compiler settings of the build in `folder`, to build another tree alike."""
    try:
        cache = (folder / "CMakeCache.txt").read_text(errors="replace")
    except OSError:
        return []
    return [f"-D{key}={value}" for key, value in _DECISIVE.findall(cache)]


def anew(like: Path) -> list[str]:
    """Return settings to build one tree after another in one folder, alike, as far as they are.

    `like` is the tree of the command. What the tree before has set does not stay, and code does not
    depend on the numbers of its lines.
    """
    without_lines = like / ".cmake" / "without_lines.cmake"
    return ["--fresh", f"-DCMAKE_PROJECT_INCLUDE={without_lines}"]


def log_of(root: Path) -> Path:
    return root / "build" / "bench-build.log"


def require_clone(root: Path) -> None:
    """Raise UserError unless there is something to build in `root`."""
    if not (root / PRESETS).exists():
        raise UserError(
            f"{root} is not a clone of warpgauge: run this in one, to build its programs"
        )


def build(
    root: Path,
    preset: str,
    say: Callable[[str], None],
    settings: Sequence[str] = (),
    targets: Sequence[str] | Callable[[Path], Sequence[str]] = (),
) -> Path:
    """Configure with `settings` and the preset, build, and return the folder build/<preset>.

    If `targets` are given, build only those; a function chooses them in the configured folder.
    `say` gets short status lines. Raises UserError with the command and the relevant lines of its
    output.
    """
    require_clone(root)
    log = log_of(root)
    log.parent.mkdir(exist_ok=True)
    log.unlink(missing_ok=True)
    say("configuring")
    _logged(configure_command(preset, settings), root, log)
    say("building")
    chosen = targets(log.parent / preset) if callable(targets) else targets
    only = ["--target", *chosen] if chosen else []
    _logged(["cmake", "--build", "--preset", preset, "-j", str(jobs()), *only], root, log, say)
    return log.parent / preset


def _logged(
    command: Sequence[str], root: Path, log: Path, say: Callable[[str], None] = lambda line: None
) -> None:
    status, output = run(command, root, log, say)
    if status:
        shown = "\n".join(f"  {line}" for line in telling(output))
        raise UserError(f"`{shlex.join(command)}` failed; its full output is in {log}:\n{shown}")


def run(
    command: Sequence[str], root: Path, log: Path, say: Callable[[str], None]
) -> tuple[int, list[str]]:
    """Return the exit status and the output of a command; `say` gets Ninja's steps."""
    output: list[str] = []
    with log.open("a", buffering=1) as file, command_log.running(command, folder=root) as logged:
        file.write(f"$ {shlex.join(command)}\n")
        both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with ExitStack() as at_the_end:
            try:
                compiling = started(command, cwd=root, text=True, errors="replace", **both)
                process = at_the_end.enter_context(compiling)
            except OSError as fault:
                raise UserError(f"cannot run {command[0]}: {fault.strerror}") from fault
            assert process.stdout is not None
            with process.stdout:
                for line in process.stdout:
                    file.write(line)
                    output.append(line.rstrip())
                    if step := _NINJA_STEP.match(line):
                        say(f"building, step {step[1]} of {step[2]}")
            ends_within(process, None)
        logged.ended(process.returncode)
    return process.returncode, output


def telling(output: Sequence[str]) -> Sequence[str]:
    """Return the lines of a failed build that say why: from the first error, or the last ones."""
    for index, line in enumerate(output):
        if line.startswith(("CMake Error", "FAILED:")):
            return output[index : index + SHOWN_LINES]
    return output[-SHOWN_LINES:]
