# SPDX-License-Identifier: Apache-2.0
"""The typed data every other module works on. Times are seconds an operation, everywhere."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Protocol, TypeVar

DEFAULT_SUITE, FULL_SUITE = "default", "full"  # a program's --suite


class Clock(Enum):
    """What a row was timed with; it decides how far the time may move without a cause."""

    DEVICE = "device"
    HOST = "host"

    __hash__ = object.__hash__  # Enum's own is slow, and it is asked for ten times a benchmark


class Source(Enum):
    """Where a record came from; a plain Google Benchmark file is one process (`Record.files`)."""

    RUN = "run file"
    BASELINE = "baseline"
    GOOGLE_BENCHMARK = "Google Benchmark JSON"


@dataclass(frozen=True)
class Session:
    """One boot of one GPU instance, with the context it was measured in."""

    key: str
    context: Mapping[str, str] = field(default_factory=dict)

    @property
    def gpu_uuid(self) -> str | None:
        return self.context.get("gpu_uuid") or None

    @property
    def gpu_name(self) -> str | None:
        return self.context.get("gpu_name") or None

    @property
    def boot_id(self) -> str | None:
        return self.context.get("boot_id") or None

    @property
    def sm_clock_target_hz(self) -> float | None:
        """The SM clock that device times stand for; None where the context names none."""
        try:
            hz = float(self.context.get("sm_clock_target_hz", ""))
        except ValueError:
            return None
        return hz if math.isfinite(hz) and hz > 0.0 else None


@dataclass(frozen=True, slots=True)
class Row:
    """One benchmark: for each session the central time of every process, in seconds.

    `rounds` numbers those processes where it matters which of two sides' ran beside each other.
    `pair_ratios` are, of a candidate, its times over the base's in those rounds, by slices in
    lock-step; None in a round in which the processes alternated. Empty where all did.
    `error` says why there are none. `skipped`: its machine cannot run it, and nobody is at fault.
    `contradicted` where the file's own summary of them is another time. `iterations` are those of
    all processes, `cpu_seconds` an iteration's on the CPU: 0 where the file does not tell.
    `machine_code` is a digest of its kernels' code and how they are launched; empty if unknown.
    """

    name: str
    process_medians: Mapping[str, tuple[float, ...]]
    clock: Clock
    counters: Mapping[str, float] = field(default_factory=dict)
    label: str = ""
    error: str | None = None
    rounds: tuple[int, ...] = ()
    pair_ratios: tuple[float | None, ...] = ()
    contradicted: bool = False
    iterations: int = 0
    cpu_seconds: float = 0.0
    skipped: bool = False
    machine_code: str = ""

    @property
    def family(self) -> str:
        return self.name.split("/", 1)[0]


@dataclass(frozen=True)
class Record:
    """One side of a comparison: rows by name, in file order, and the sessions they came from.

    `files` are several plain Google Benchmark files, each of them one process, in the order of
    every row's process medians; empty where a record comes from anything else.
    """

    path: Path
    source: Source
    sessions: Mapping[str, Session]
    rows: Mapping[str, Row]
    files: tuple[Path, ...] = ()

    @property
    def single_process(self) -> bool:
        """Whether the times of a row are repetitions within one process: those of a plain file."""
        return self.source is Source.GOOGLE_BENCHMARK and not self.files


class _OfAFamily(Protocol):
    @property
    def family(self) -> str: ...


_T = TypeVar("_T", bound=_OfAFamily)


def by_family(everything: Iterable[_T]) -> dict[str, list[_T]]:
    """In the order in which families begin, and each in the order given."""
    families: dict[str, list[_T]] = {}
    for one in everything:
        families.setdefault(one.family, []).append(one)
    return families
