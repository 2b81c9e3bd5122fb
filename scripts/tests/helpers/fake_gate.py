# SPDX-License-Identifier: Apache-2.0
"""A repository whose scripts/bench and scripts/warpgauge ab are fakes that do as they are told."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from forked import Forked
from hosted_repository import git
from warpgauge.commands.ci import gate
from warpgauge.system import entry_point
from warpgauge.system.errors import ExitStatus

# Writes what it was called with, each report it was asked for, and says what it was told to.
_PROGRAM = """
import json, os, sys, time
from pathlib import Path
here = Path(__file__).parent
told = json.loads((here / "told.json").read_text())
called = {"argv": sys.argv[1:], "environment": dict(os.environ)}
(here / f"{Path(__file__).name}.called").write_text(json.dumps(called))
sys.stdout.buffer.write(told["says"].encode())
sys.stdout.flush()
for argument in sys.argv[1:]:
    name, _, file = argument.removeprefix("--format=").partition("=")
    if argument.startswith("--out="):
        Path(file or argument[6:]).write_text("{}")
        Path(argument[6:]).with_suffix(".log").write_text("# warpgauge: commands")
        Path(argument[6:]).with_suffix(".html").write_text("page")
    elif argument.startswith("--format=") and told["reports"]:
        Path(file).write_text(told["texts"].get(name, f"a report: {name}\\n"))
print("sleeping" if told["sleeps"] else "the end", file=sys.stderr, flush=True)
time.sleep(told["sleeps"])
sys.exit(told["status"])
"""


@dataclass
class FakeGate:
    """`root` is a git clone with two commits, HEAD~1 of which is called `main`."""

    root: Path
    capsys: pytest.CaptureFixture[str]
    commits: list[str] = field(default_factory=list)

    def begin(self) -> None:
        scripts = self.root / "scripts"
        scripts.mkdir(parents=True)
        for name in ("bench", "warpgauge"):
            (scripts / name).write_text(_PROGRAM)
        self.git("init", "--quiet", "--initial-branch=main")
        self.commits = [self.commit("one")]
        self.git("checkout", "--quiet", "-b", "topic")
        self.commits.append(self.commit("two"))
        self.told()

    def told(
        self,
        status: int = 0,
        *,
        says: str = "measuring\n",
        reports: bool = True,
        sleeps: float = 0.0,
        texts: Mapping[str, str] | None = None,
    ) -> None:
        """What the next run does."""
        document = {"status": status, "says": says, "reports": reports, "sleeps": sleeps}
        document["texts"] = dict(texts or {})
        (self.root / "scripts" / "told.json").write_text(json.dumps(document))

    def git(self, *arguments: str) -> str:
        return git(self.root, *arguments)

    def commit(self, message: str) -> str:
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")

    @property
    def out(self) -> Path:
        return self.root / "build" / "gate"

    def run(self, *argv: str) -> ExitStatus:
        return gate.main([f"--out-dir={self.out}", *(argv or ("--base", "main"))], self.root)

    def called(self, name: str = "bench") -> list[str]:
        """The arguments of the last run, without those that name a place for results."""
        return [one for one in self._called(name)["argv"] if not one.startswith(("--out", "--for"))]

    def formats(self, name: str = "bench") -> dict[str, str]:
        """The files that reports were asked for, by their names."""
        asked = (word.partition("--format=")[2] for word in self._called(name)["argv"])
        pairs = (report.partition("=") for report in asked if report)
        return {Path(file).name: kind for kind, _, file in pairs}

    def environment(self) -> dict[str, str]:
        return dict(self._called("bench")["environment"])

    def _called(self, name: str) -> Any:  # noqa: ANN401
        return json.loads((self.root / "scripts" / f"{name}.called").read_text())

    def start(self, environment: Mapping[str, str]) -> Forked:
        """The same in a process of its own."""

        def work() -> int:
            os.environ |= environment
            return entry_point.run("gate", self.run)

        return Forked(work)
