# SPDX-License-Identifier: Apache-2.0
"""A clone of the project whose benchmark binaries are fakes, and scripts/bench run in it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

import fake_binary
from hosted_repository import git
from warpgauge.commands import bench
from warpgauge.measure import build, gpu_watch
from warpgauge.system import environment
from warpgauge.system.errors import ExitStatus, UserError

TIMES = {"sync/idle": 1000.0, "sync/busy": 5000.0}
HOST_TIMES = {"host/copy": 3000.0}
SLOW = {**TIMES, "sync/busy": 9000.0}


@dataclass
class Repository:
    """A clone; what it measures grows by a nanosecond a process."""

    root: Path
    capsys: pytest.CaptureFixture[str]

    def binary(
        self,
        family: str,
        times: Mapping[str, float] | None = None,
        *,
        fault: str = "",
        **more: Any,  # noqa: ANN401 - fake_binary's own
    ) -> None:
        faults = {"always": fault} if fault else {}
        fake_binary.make(self.built, family, times, faults=faults, **more)
        self.rewind()

    @property
    def built(self) -> Path:
        return self.root / "build" / "release"

    def rewind(self) -> None:
        """The next process of each binary is its first again."""
        for count in self.built.rglob("*.count"):
            count.unlink()

    def bench(self, *argv: str) -> ExitStatus:
        return bench.main(argv, self.root)

    def bench_in_full(self, *argv: str) -> tuple[ExitStatus, str]:
        """The exit status, and all that a report says, in one line."""
        file = self.root / "build" / "full.txt"
        status = self.bench(*argv, f"--format=terminal={file}")
        return status, " ".join(file.read_text().split())

    def resume(self, *argv: str) -> ExitStatus:
        return bench.main(["--resume", *argv], self.root)

    def record(self) -> ExitStatus:
        """A baseline of this clone's times; the next run repeats them."""
        status = self.bench("--record", "--processes=5")
        self.rewind()
        return status

    def output(self) -> tuple[str, str]:
        """Standard output and standard error so far, each in one line."""
        out, err = self.capsys.readouterr()
        return " ".join(out.split()), " ".join(err.split())

    def runs(self) -> list[Path]:
        return runs_of(self.root / "build")


def runs_of(build: Path) -> list[Path]:
    """Oldest first, which the names do not tell: two runs of one second differ by a number."""
    return sorted((build / "runs").glob("*.json"), key=lambda run: run.stat().st_mtime_ns)


C = TypeVar("C", bound="GitRepository")
Suite = Mapping[str, Mapping[str, float]]  # by family, the times of its benchmarks


@dataclass
class GitRepository(Repository):
    """A real git clone. What a commit measures is in its suite.json; `build` makes the fakes.

    Where it has a full_suite.json, those benchmarks are of the full suite alone.
    """

    weather: float = 1.0  # how much slower the machine has become for everybody
    no_gpu: str = ""

    def git(self, *arguments: str) -> str:
        return git(self.root, *arguments)

    def write(self, suite: Suite) -> None:
        """In the working tree, uncommitted."""
        (self.root / "suite.json").write_text(json.dumps(suite))

    def commit(self, suite: Suite, *, message: str = "a commit") -> str:
        """Its name in full."""
        self.write(suite)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")

    def build(self, root: Path, preset: str, say: Callable[[str], None], *rest: object) -> None:
        """What build.build is here."""
        say("building")
        (root / "build").mkdir(exist_ok=True)
        (root / "build" / "bench-build.log").write_text("error: no")
        built = root / "build" / "release"
        for old in built.glob("*"):
            old.unlink()
        file = root / "full_suite.json"
        full_suite = json.loads(file.read_text()) if file.exists() else []
        for family, times in json.loads((root / "suite.json").read_text()).items():
            if not times:
                raise UserError("`cmake` failed:\n  error: no")
            slowed = {name: time * self.weather for name, time in times.items()}
            no_gpu = "" if family == "host" else self.no_gpu
            full = [name for name in full_suite if name in times]
            further: dict[str, Any] = {"full_suite": full} if full else {}
            further |= {"no_gpu": no_gpu}
            fake_binary.make(built, family, slowed, **further)


def empty_clone(
    kind: type[C],
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> C:
    """A git clone without a commit, on a machine with a GPU, whose builds take no time."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("WARPGAUGE_COMMIT", raising=False)
    monkeypatch.delenv(gpu_watch.VARIABLE, raising=False)
    monkeypatch.setattr(gpu_watch, "all_gpus", dict)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(environment, "provide", lambda needs, say: None)
    root = folder / "clone"
    root.mkdir()
    made = kind(root, capsys)
    made.git("init", "--quiet", "--initial-branch=main")
    (root / ".gitignore").write_text("/build/\n")
    monkeypatch.setattr(build, "build", made.build)
    return made


def recorded(clone: GitRepository) -> str:
    """The commit whose times are the baseline from now on."""
    commit = clone.git("rev-parse", "HEAD")
    clone.bench("--record", "--processes=5")
    for path in clone.runs():
        path.unlink()
    clone.output()
    return commit


# The real scripts/bench over fake programs, as the gate starts it.
_PROGRAM = """
import sys
from pathlib import Path
root = Path(__file__).parents[1]
sys.path[:0] = {path!r}
from clone import GitRepository
from warpgauge.commands.bench import main
from warpgauge.measure import build
from warpgauge.measure import measuring, options
from warpgauge.system import entry_point, environment, locks, process
build.build = GitRepository(root, None).build
environment.provide = lambda *_: None
process.why_no_gpu = lambda: ""
locks._GPUS, measuring._COOLING_S = root / "build" / "gpus", 0.0
environment.ROOT, options.new_seed = root, lambda: 1
sys.exit(entry_point.run("bench", lambda: main(sys.argv[1:], root)))
"""


def with_commands(clone: GitRepository) -> GitRepository:
    """`clone` with a scripts/bench that git does not see."""
    helpers = Path(__file__).parent
    program = clone.root / "scripts" / "bench"
    program.parent.mkdir()
    program.write_text(_PROGRAM.format(path=[str(helpers.parents[1] / "src"), str(helpers)]))
    (clone.root / ".git" / "info" / "exclude").write_text("/scripts/\n")
    return clone
