# SPDX-License-Identifier: Apache-2.0
"""The user's choices for a measurement, shared by all measuring commands."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from pathlib import Path

from warpgauge.records.sessions import FEWEST_OF_A_PASS

# Seven process medians per side let a t test detect 0.3 % of device time. Three suffice for
# screening; with fewer, all may be outliers (`screening`).
PROCESSES, QUICK_PROCESSES = 7, 3

# Rounds of pairs before the first look and before the last, after which open rows stay open.
FIRST_LOOK, LAST_LOOK = FEWEST_OF_A_PASS, 84
_GROWTH = 1.7


def schedule(first: int = FIRST_LOOK) -> list[int]:
    """Return the rounds after which to look at pairs: 8, 14, 24, 42, 84.

    All are even, so that each side begins equally often. Before eight nothing can be decided.
    """
    looks = [_even(max(first, FIRST_LOOK))]
    while (following := _even(looks[-1] * _GROWTH)) <= LAST_LOOK:
        looks.append(following if following * _GROWTH <= LAST_LOOK else LAST_LOOK)
    return looks


def new_seed() -> int:
    """Return a seed for the order of a run: each has its own."""
    return random.SystemRandom().getrandbits(32)


def _even(rounds: float) -> int:
    return 2 * math.ceil(rounds / 2)


@dataclass(frozen=True, kw_only=True)
class MeasurementOptions:
    """What to build and run, how often, where, and what to compare it with."""

    filter: str
    suite: str
    processes: int | None
    build_dir: Path | None  # build folder of another project, or of a file
    file: Path | None  # benchmarks in Python
    kernels: Path | None  # manifest of external kernels
    baselines: Path | None  # baselines of that project or of those kernels
    device: int | str | None
    against: str
    confirm: bool
    record: bool
    inject: str
    budget_s: float | None
    seed: int
    timeout_s: float
    isolate: str  # programs: "always", "auto" (where the machine can), or "" (never)
    build: bool
    energy: bool  # also measure it, of programs that use warpgauge

    @property
    def project(self) -> Path | None:
        """The folder of the benchmarks in Python, whose commits are measured."""
        return None if self.file is None else self.file.absolute().parent

    @property
    def schedule(self) -> list[int]:
        """The rounds of pairs after which to look, all even."""
        return schedule(self.processes or FIRST_LOOK)

    def screening(self, *, confirms: bool) -> int:
        """Return the processes of a run without pairs; `confirms` says whether pairs may follow."""
        few = confirms or self.budget_s is not None
        return self.processes or (QUICK_PROCESSES if few else PROCESSES)

    @property
    def injected_regex(self) -> str:
        return self.inject.rpartition("=")[0]
