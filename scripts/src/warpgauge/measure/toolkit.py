# SPDX-License-Identifier: Apache-2.0
"""Finds and runs NVIDIA's tools, and builds projects with one of several compilers."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path

from warpgauge.measure import build, manifest
from warpgauge.system import command_log
from warpgauge.system.environment import is_variable
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import file_name, inert, listed, typed

NVCC = "nvcc"  # as an axis; others are packages
BUILT = "cmake"  # the build folder in that of a version
_DEADLINE_S = 300.0
_FILE_API = Path(".cmake", "api", "v1")  # CMake's list of what it configured
_PACKAGES = {
    "ncu": "Nsight Compute (e.g. cuda-nsight-compute-13-0)",
    "nsys": "Nsight Systems (e.g. cuda-nsight-systems-13-0)",
    "cuobjdump": "the CUDA toolkit's cuobjdump (e.g. cuda-cuobjdump-13-0)",
    "nvdisasm": "the CUDA toolkit's nvdisasm (e.g. cuda-nvdisasm-13-0)",
}


def packaged() -> Path:
    """Return where PyPI's nvidia-cuda-cuobjdump and nvidia-cuda-nvdisasm install their tools."""
    return Path(sysconfig.get_path("purelib"), "nvidia", "cu13", "bin")


def tool(name: str) -> str:
    """Find a tool on PATH, in the toolkit or in Python's packages. Raises UserError."""
    nvcc = build.cuda_compiler()
    folders = [None, *([Path(nvcc).parent] if nvcc else []), packaged()]
    for folder in folders:
        if found := shutil.which(name, path=folder and str(folder)):
            return found
    raise UserError(f"{name} is missing: install {_PACKAGES[name]}", ExitStatus.NOT_MEASURED)


def output_of(command: Sequence[str], folder: Path | None = None) -> bytes:
    """Return a tool's output. Raises UserError if it cannot run, fails, or takes too long."""
    try:
        with command_log.running(command) as logged:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, timeout=_DEADLINE_S, check=False
            )
            logged.ended(done.returncode)
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise UserError(f"{command[0]} did not finish ({fault})") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise UserError(f"{command[0]} failed: {said or f'status {done.returncode}'}")
    return done.stdout


def nvcc_of(version: str) -> Path:
    """Return the nvcc of a toolkit: of this version, or at this path. Raises UserError."""
    named, kit = Path(version), build.TOOLKITS / f"cuda-{version}"
    for nvcc in (kit / "bin" / "nvcc", named / "bin" / "nvcc", named):
        if nvcc.is_file() and os.access(nvcc, os.X_OK):
            return nvcc.absolute()
    there = sorted(kit.name.removeprefix("cuda-") for kit in build.TOOLKITS.glob("cuda-*"))
    raise UserError(
        f"there is no nvcc {typed(version)}: name a version that {build.TOOLKITS} has "
        f"({', '.join(there) or 'none'}), or the path of an nvcc or of a toolkit"
    )


def shown(axis: str, version: str) -> str:
    """Return what people call a version: ``nvcc 13.0``, ``LD_LIBRARY_PATH=/old/lib``."""
    return f"{axis}{'=' if is_variable(axis) else ' '}{version}"


def require_axis(axis: str, versions: Sequence[str], *, of_file: bool | None = None) -> None:
    """Raise UserError for an axis that this tree lacks, or a file in Python if it is `of_file`.

    Also for versions of which there is no nvcc, or that are the same one.
    """
    if of_file is not None and not is_variable(axis) and (axis == NVCC) is of_file:
        raise UserError(
            "--axis takes nvcc for the programs of this tree, a package for those of a FILE.py, "
            "and a variable, whose name is in capitals, for both"
        )
    if axis == NVCC and len({nvcc_of(version).resolve() for version in versions}) < len(versions):
        raise UserError(f"{listed(versions)} are not different compilers: name each once")


def project(
    source: Path, version: str, work: Path, asked: str, say: Callable[[str], None]
) -> tuple[Path, str]:
    """Build the programs of a project that `asked`, a REGEX, selects, with this version of nvcc.

    Return a folder in `work` with links to them and the build folder BUILT, and what CMake calls
    the version. Raises UserError.
    """

    def run(*command: str) -> None:
        status, output = build.run(["cmake", *command], source, log, say)
        if status:
            fault = f"{source} does not build with {nvcc}: {_cause(output)}"
            raise UserError(f"{fault}; the build log is {log}", ExitStatus.NOT_MEASURED)

    if not (source / "CMakeLists.txt").is_file():
        raise UserError(f"{source} has no CMakeLists.txt: name the folder of a CMake project")
    nvcc, there = nvcc_of(version), source.resolve()
    # A toolkit that was replaced builds anew, which neither CMake nor Ninja would do.
    identity = str(there), str(nvcc), nvcc.stat().st_mtime_ns
    folder = work / "axis" / file_name(f"{there.name}-{version}", *identity)
    built, log = folder / BUILT, folder / "build.log"
    shutil.rmtree(built / _FILE_API, ignore_errors=True)
    for query in ("codemodel-v2", "toolchains-v1"):
        (built / _FILE_API / "query" / query).mkdir(parents=True)
    for old in (log, *(path for path in folder.iterdir() if path.is_symlink())):
        old.unlink(missing_ok=True)
    say("configuring")
    how = ["--preset", "release"] if _has_release_preset(source) else ["-DCMAKE_BUILD_TYPE=Release"]
    kit = f"-DCUDAToolkit_ROOT={nvcc.parents[1]}"
    run("-S", ".", "-B", str(built), "-G", "Ninja", *how, f"-DCMAKE_CUDA_COMPILER={nvcc}", kit)
    replies = [json.loads(path.read_text()) for path in (built / _FILE_API).glob("reply/*.json")]
    chains = [chain for reply in replies for chain in reply.get("toolchains", ())]
    versions = [chain["compiler"]["version"] for chain in chains if chain["language"] == "CUDA"]
    if not versions:
        raise UserError(f"{source} compiles nothing with nvcc: name a project of CUDA")
    known = {program.path for program in manifest.read(built).programs}
    executables = [reply for reply in replies if reply.get("type") == "EXECUTABLE"]
    paths = {its["name"]: built / its["artifacts"][0]["path"] for its in executables}
    programs = {path.name: name for name, path in paths.items() if not known or path in known}
    chosen = manifest.chosen(source, sorted(programs), asked) if asked else [*programs]
    targets = ["--target", *(programs[name] for name in chosen)] if asked or known else []
    say("building")
    run("--build", str(built), "-j", str(build.jobs()), *targets)
    for name in chosen:
        if (path := paths[programs[name]]).exists():  # by default, some may not be built
            (folder / name).symlink_to(path)
    return folder, str(versions[0])


def _has_release_preset(source: Path) -> bool:
    try:
        presets = json.loads((source / build.PRESETS).read_text())["configurePresets"]
        return any(preset["name"] == "release" for preset in presets)
    except (OSError, ValueError, LookupError, TypeError):  # CMake says what is wrong with it
        return False


def _cause(output: Sequence[str]) -> str:
    """Return the first error of a compiler in the output of a failed build, or what CMake says."""
    lines = [line.strip() for line in build.telling(output) if line.strip()]
    errors = [line for line in lines if re.search(r"\b(error|fatal) *:", line)]
    return inert((errors or [" ".join(lines[:2] or ["it said nothing"])])[0])
