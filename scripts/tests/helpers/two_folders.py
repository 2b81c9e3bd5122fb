# SPDX-License-Identifier: Apache-2.0
"""Another project's programs in two folders, fakes all, and scripts/warpgauge ab over them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import fake_binary
from warpgauge.commands import ab
from warpgauge.measure import manifest
from warpgauge.system.errors import ExitStatus

TIMES = {"BM_copy/8": 1000.0, "BM_copy/64": 5000.0}


@dataclass
class TwoFolders:
    """The folders `base` and `candidate` in `root`, which is the working directory."""

    root: Path
    capsys: pytest.CaptureFixture[str]

    def make(
        self,
        side: str,
        name: str,
        times: Mapping[str, float] = TIMES,
        *,
        context: Mapping[str, str] | None = None,
        counters: Mapping[str, float] | None = None,
        plain: bool = True,
        **more: Any,  # noqa: ANN401 - fake_binary's own
    ) -> Path:
        """A program that tells nothing of itself but `context`; its file is called `name`."""
        folder, by_process = self.root / side, {"all": counters or {}}
        more |= {"context": context or {}, "counters": by_process, "plain": plain}
        path = fake_binary.make(folder, name, times, **more)
        for file in (path, Path(f"{path}.told")):
            file.rename(file.with_name(file.name.removeprefix("bench_")))
        (self.root / side / manifest.FILE).unlink()
        return path.with_name(name)

    def both(self, name: str, times: Mapping[str, float] = TIMES) -> None:
        for side in ("base", "candidate"):
            self.make(side, name, times)

    def script(self, side: str, name: str, body: str) -> Path:
        """A program in Python, whose text is `body`."""
        path = self.root / side / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!{sys.executable} -IS\nimport sys\n{body}\n")
        path.chmod(0o755)
        return path

    def beside(self, *argv: str) -> ExitStatus:
        return ab.main(["base", "candidate", *argv], self.root)

    def outcomes(self, *argv: str) -> tuple[ExitStatus, dict[str, str]]:
        """The exit status, and what was said of each benchmark."""
        status = self.beside(*argv, "--format=json=told.json")
        told = json.loads((self.root / "told.json").read_text())
        return status, {one["name"]: one["outcome"] for one in told["verdicts"]}

    def output(self) -> tuple[str, str]:
        """Standard output and standard error so far, each in one line."""
        out, err = self.capsys.readouterr()
        return " ".join(out.split()), " ".join(err.split())

    def documents(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The run files of the only run: base and candidate."""
        runs = sorted((self.root / "build" / "runs").glob("*.json"), key=lambda one: len(one.name))
        candidate, base = (json.loads(path.read_text()) for path in runs)
        return base, candidate
