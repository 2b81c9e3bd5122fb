# SPDX-License-Identifier: Apache-2.0
"""What a user chooses of a measurement, whichever command measures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class MeasurementOptions:
    """What to build and to run, how often, where, and beside what."""

    filter: str
    suite: str
    processes: int
    build_dir: Path | None  # of another project
    baselines: Path | None  # the folder of that project's
    device: int | str | None
    against: str
    confirm_beside: str
    confirm: bool
    second_look: bool
    record: bool
    inject: str
    seed: int
    timeout_s: float
    build: bool
    verbose: bool

    @property
    def injected_regex(self) -> str:
        return self.inject.rpartition("=")[0]
