# SPDX-License-Identifier: Apache-2.0
"""A clone of the project whose benchmark binaries are fakes, and scripts/bench run in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

import fake_binary
from warpgauge import bench
from warpgauge.errors import ExitStatus

TIMES = {"sync/idle": 1000.0, "sync/busy": 5000.0}
HOST_TIMES = {"host/copy": 3000.0}


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
        counters: Mapping[int, Mapping[str, float]]
        | Mapping[str, Mapping[str, float]]
        | None = None,
        listing_fault: str = "",
        no_gpu: str = "",
    ) -> None:
        faults = {"always": fault} if fault else {}
        fake_binary.make(
            self.built,
            family,
            times,
            faults=faults,
            counters=counters,
            listing_fault=listing_fault,
            no_gpu=no_gpu,
        )
        self.rewind()

    @property
    def built(self) -> Path:
        return self.root / "build" / "release" / "benchmarks"

    def rewind(self) -> None:
        """The next process of each binary is its first again."""
        for count in self.built.glob("*.count"):
            count.unlink()

    def bench(self, *argv: str) -> ExitStatus:
        return bench.main(["--seed=1", *argv], self.root)

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
        return sorted((self.root / "build" / "runs").glob("*.json"))
