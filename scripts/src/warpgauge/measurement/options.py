# SPDX-License-Identifier: Apache-2.0
"""What a user chooses of a measurement, whichever command measures."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from pathlib import Path

from warpgauge.records.sessions import FEWEST_OF_A_CHANGE

# Seven process medians a side let a t test see 0.3 % of device time. Three tell what pairs have to
# decide, and are enough for a quick run: fewer may all be odd ones (`screening`).
PROCESSES, QUICK_PROCESSES = 7, 3

# Of pairs: the rounds before the first look, and before the last, after which open rows stay so.
FIRST_LOOK, LAST_LOOK = 4, 84
_GROWTH = 1.7


def schedule(first: int = FIRST_LOOK) -> list[int]:
    """The rounds after which to look at pairs: 4, 8, 14, 24, 42, 84.

    All are even: each side then begins equally often.
    """
    looks = [_even(first)]
    while (following := _even(looks[-1] * _GROWTH)) <= LAST_LOOK:
        looks.append(following if following * _GROWTH <= LAST_LOOK else LAST_LOOK)
    return looks


def _even(rounds: float) -> int:
    return 2 * math.ceil(rounds / 2)


@dataclass(frozen=True, kw_only=True)
class MeasurementOptions:
    """What to build and to run, how often, where, and against what."""

    filter: str
    suite: str
    processes: int | None
    build_dir: Path | None  # of another project
    kernels: Path | None  # the manifest of kernels from elsewhere
    baselines: Path | None  # the folder of that project's, or of those kernels'
    device: int | str | None
    against: str
    confirm: bool
    quick: bool  # no more pairs than a change needs
    record: bool
    inject: str
    budget_s: float | None
    seed: int
    timeout_s: float
    build: bool
    verbose: bool
    why: bool  # what regressions come from

    @property
    def schedule(self) -> list[int]:
        """The rounds of pairs after which to look; each side begins equally often."""
        looks = schedule(self.processes or FIRST_LOOK)
        return looks[: 1 + bisect_left(looks, FEWEST_OF_A_CHANGE)] if self.quick else looks

    def screening(self, *, confirms: bool) -> int:
        """The processes of a run by itself; `confirms` tells whether pairs follow where needed."""
        few = confirms or self.budget_s is not None or self.quick
        return self.processes or (QUICK_PROCESSES if few else PROCESSES)

    @property
    def injected_regex(self) -> str:
        return self.inject.rpartition("=")[0]
