# SPDX-License-Identifier: Apache-2.0
"""scripts/bench as a process of its own, over the fake programs that a folder holds already."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_DRIVER = """
import sys
from pathlib import Path
sys.path[:0] = [sys.argv[1]]
from warpgauge.system import locks as alone
from warpgauge.execution import build
from warpgauge.system import entry_point as command
from warpgauge.measurement import measuring
from warpgauge.system import packages as system_packages
from warpgauge.commands.bench import main
root = Path(sys.argv[2])
build.build = system_packages.provide = lambda *_: None
alone._GPUS, measuring._COOLING_S = root / "gpus", 0.0
sys.exit(command.run("bench", lambda: main(sys.argv[3:], root), "before a run file was written"))
"""


@dataclass(frozen=True)
class Done:
    """How a command ended; texts in one line each."""

    status: int
    out: str
    err: str


@dataclass(frozen=True)
class BenchProcess:
    """The tree at `root`, whose commit is known by the environment."""

    root: Path

    @property
    def built(self) -> Path:
        return self.root / "build" / "release"

    def start(self, *argv: str) -> subprocess.Popen[str]:
        """`argv` of scripts/bench, whose build takes no time."""
        scripts = str(Path(__file__).parents[2] / "src")
        words = [sys.executable, "-c", _DRIVER, scripts, str(self.root), *argv]
        if "--resume" not in argv:
            words.append("--seed=1")
        return subprocess.Popen(
            words,
            cwd=self.root,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "COLUMNS": "200", "WARPGAUGE_COMMIT": "0123456789" * 4},
        )

    def run(self, *argv: str) -> Done:
        started = self.start(*argv)
        out, err = started.communicate(timeout=120)
        return Done(started.returncode, " ".join(out.split()), " ".join(err.split()))

    def forget(self) -> None:
        """The next processes of the programs are their first ones."""
        for path in (*self.built.glob("*.count"), *self.built.glob("*.ran-*")):
            path.unlink()

    def ran(self, family: str, uuid: str) -> int:
        """How many processes of a program measured on a GPU, probes included."""
        path = self.built / f"bench_{family}.ran-{uuid}"
        return len(path.read_text().splitlines()) if path.exists() else 0


def uuid(number: int) -> str:
    """Of the fake machine's GPU of this number."""
    return f"GPU-{number:08x}-0000-0000-0000-000000000000"
