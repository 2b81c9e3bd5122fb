# SPDX-License-Identifier: Apache-2.0
"""A project whose programs a fake cmake makes, and toolkits whose nvcc does nothing."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

import shell
from warpgauge.measure import build, manifest

# Its executables are the files of the project's folder `programs`, each of which gets the version
# of nvcc as FACTOR. What the file `wrong` holds is the output of a build that fails.
_CMAKE = """#!{python} -IS
import json, os, re, shutil, sys
here, words = os.getcwd(), sys.argv[1:]
names = sorted(os.listdir("programs"))
if "-S" in words:
    print("cmake", *words)
    built = words[words.index("-B") + 1]
    nvcc = next(word.partition("=")[2] for word in words if "CUDA_COMPILER" in word)
    version = os.path.basename(os.path.dirname(os.path.dirname(nvcc))).removeprefix("cuda-")
    reply = os.path.join(built, ".cmake/api/v1/reply")
    os.makedirs(reply)
    if os.path.exists("{manifest}"):
        shutil.copy("{manifest}", built)
    languages = open("languages").read().split()
    compilers = [dict(language=one, compiler=dict(version=version)) for one in languages]
    told = [dict(toolchains=compilers), dict(type="UTILITY", name="all")]
    told += [dict(type="EXECUTABLE", name="of " + name, artifacts=[dict(path="bin/" + name)])
             for name in names]
    for number, one in enumerate(told):
        with open(os.path.join(reply, str(number) + ".json"), "w") as file:
            json.dump(one, file)
    with open(os.path.join(built, "version"), "w") as file:
        file.write(version)
else:
    built = words[words.index("--build") + 1]
    if os.path.exists("wrong"):
        sys.exit(print(open("wrong").read()) or 1)
    os.makedirs(built + "/bin", exist_ok=True)
    version = open(os.path.join(built, "version")).read()
    wanted = words[words.index("--target") + 1 :] if "--target" in words else []
    for name in names:
        if not wanted or "of " + name in wanted:
            text = open("programs/" + name).read().replace("FACTOR", version)
            with open(built + "/bin/" + name, "w") as file:
                file.write(text)
            os.chmod(built + "/bin/" + name, 0o755)
"""

# A program of Google Benchmark, whose benchmark takes FACTOR us.
PROGRAM = f"""#!{sys.executable} -IS
import json, os, sys
for word in sys.argv:
    if word == "--benchmark_list_tests" and not any("filter" in other for other in sys.argv):
        print("BM_copy")
    if word.startswith("--benchmark_out="):
        time = (1000 + os.getpid() % 7) * float("FACTOR")
        row = dict(name="BM_copy", run_name="BM_copy", run_type="iteration", iterations=1,
                   real_time=time, cpu_time=time, time_unit="ns")
        with open(word.partition("=")[2], "w") as file:
            json.dump({{"context": {{}}, "benchmarks": [row]}}, file)
sys.exit("--describe" in sys.argv)
"""


@dataclass(frozen=True)
class Project:
    root: Path
    toolkits: Path

    def add(self, programs: Mapping[str, str]) -> None:
        for name, text in programs.items():
            (self.root / "programs" / name).write_text(text)

    def toolkit(self, version: str) -> Path:
        """The nvcc of a new toolkit."""
        path = self.toolkits / f"cuda-{version}" / "bin" / "nvcc"
        path.parent.mkdir(parents=True)
        return shell.script(path, "")


def project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project in `folder`, with the fake cmake on PATH."""
    made = Project(folder / "project", folder / "toolkits")
    (made.root / "programs").mkdir(parents=True)
    (made.root / "CMakeLists.txt").touch()
    (made.root / "languages").write_text("CXX CUDA")
    tools = folder / "tools"
    tools.mkdir()
    cmake = tools / "cmake"
    cmake.write_text(_CMAKE.format(python=sys.executable, manifest=manifest.FILE))
    cmake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    monkeypatch.setattr(build, "TOOLKITS", made.toolkits)
    return made
