# SPDX-License-Identifier: Apache-2.0
"""scripts/bench as a process of its own, over the fake programs that a folder holds already."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from forked import Forked
from warpgauge.commands import bench
from warpgauge.measure import build, gpu_watch
from warpgauge.system import entry_point, environment, locks


@dataclass(frozen=True)
class Done:
    """How a command ended; texts in one line each."""

    status: int | None
    out: str
    err: str


@dataclass(frozen=True)
class BenchProcess:
    """The tree at `root`, whose commit is known by the environment."""

    root: Path

    @property
    def built(self) -> Path:
        return self.root / "build" / "release"

    def start(self, *argv: str) -> Forked:
        """`argv` of scripts/bench, whose build takes no time."""

        def work() -> int:
            os.chdir(self.root)
            os.environ |= {"COLUMNS": "200", "WARPGAUGE_COMMIT": "0123456789" * 4}
            gpu_watch.all_gpus = dict
            locks._GPUS = self.root / "gpus"
            build.build = lambda *arguments: self.built
            environment.provide = lambda needs, say: None
            return entry_point.run("bench", lambda: bench.main(argv, self.root))

        return Forked(work)

    def run(self, *argv: str) -> Done:
        started = self.start(*argv)
        out, err = started.communicate()
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
