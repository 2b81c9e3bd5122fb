# SPDX-License-Identifier: Apache-2.0
"""The data types that all other modules use. Times are seconds per operation, everywhere."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from statistics import median
from typing import Annotated, Protocol, TypeVar

import msgspec
from msgspec import Meta

from warpgauge.system.text import plural

# Keys of the context of another project's measurements: the folder of its programs (`warpgauge ab`;
# they need not state their build type), its build folder (scripts/bench --build-dir), the manifest
# of its kernels (--kernels), and the folder of its baselines.
PROGRAMS, BUILD_DIR, MANIFEST, BASELINES = "programs", "build_dir", "manifest", "baselines"

# Key of the context: whether the programs were isolated from the machine, "yes" or "no (REASON)".
ISOLATED = "isolated"


class Clock(Enum):
    """The clock that timed a row. It decides how much times vary without a cause."""

    DEVICE = "device"
    HOST = "host"

    __hash__ = object.__hash__  # Enum's own is slow, and is called ten times per benchmark


class Source(Enum):
    """Where a record came from. A Google Benchmark file is one process (`Record.files`)."""

    RUN = "run file"
    BASELINE = "baseline"
    GOOGLE_BENCHMARK = "Google Benchmark JSON"


@dataclass(frozen=True)
class Session:
    """One boot of one GPU instance, and the context of its measurements."""

    key: str
    context: Mapping[str, str] = field(default_factory=dict)

    @property
    def gpu_uuid(self) -> str | None:
        return self.context.get("gpu_uuid") or None

    @property
    def gpus(self) -> int:
        """How many GPUs measured together; 1 if the context names none."""
        return (self.gpu_uuid or "").count(",") + 1

    @property
    def gpu_name(self) -> str | None:
        return self.context.get("gpu_name") or None

    @property
    def boot_id(self) -> str | None:
        return self.context.get("boot_id") or None

    @property
    def sm_clock_target_hz(self) -> float | None:
        """The SM clock that device times are stated for, or None if the context names none."""
        try:
            hz = float(self.context.get("sm_clock_target_hz", ""))
        except ValueError:
            return None
        return hz if math.isfinite(hz) and hz > 0.0 else None


@dataclass(frozen=True)
class Moved:
    """A quantity that changed, in words; an empty `cause` is that of the line above."""

    cause: str
    what: str
    before: str
    after: str


@dataclass(frozen=True)
class Why:
    """The cause of a slowdown: a paragraph, which also names what is unknown, and what changed."""

    paragraph: str
    moved: tuple[Moved, ...] = ()


LARGEST_LOG = 700.0  # of a ratio: exp() of more overflows


class Pair(msgspec.Struct, frozen=True, gc=False):
    """What is known of one process of a candidate beside the base's process of the same round.

    `log_ratio` is the log of the candidate's time over the base's, by `slices` slices in lock-step;
    None if the two processes followed each other: then that of their times counts.
    `look` is the number, from 1, of the look at the results that was the first to include the pair.
    """

    base_first: bool  # the base's process started first
    look: Annotated[int, Meta(ge=1)] = 1
    log_ratio: Annotated[float, Meta(ge=-LARGEST_LOG, le=LARGEST_LOG)] | None = None
    slices: int = 0


class Row(msgspec.Struct, frozen=True, gc=False):
    """One benchmark: for each session the median time of every process, in seconds.

    It is the type of a row from a process's report to the page. Of a report, `process_medians` has
    the times of its repetitions, and `launches` how each kernel is launched, by its mangled name.
    `rounds` numbers the processes if they ran in pairs with the other side's; `pairs`, of a
    candidate, has an entry for each of them.
    `elapsed` are, by round, the seconds that a slice (in lock-step), or the process of a plain
    program beyond what it reports, took by the driver's clock; None where unknown.
    `error` says why there are no times. If `skipped`, the machine cannot run it, which is no fault.
    `contradicted` means that the file's own summary differs from the times. `iterations` are those
    of all processes, `cpu_seconds` the CPU time per iteration: 0 if unknown.
    `machine_code` is a digest of its kernels' code and launches; empty if unknown.
    `why` explains a slowdown of the candidate, if the run looked into it (--why).
    """

    name: str
    process_medians: Mapping[str, tuple[float, ...]]
    clock: Clock
    counters: Mapping[str, float] = {}
    label: str = ""
    error: str | None = None
    rounds: tuple[int, ...] = ()
    pairs: tuple[Pair, ...] = ()
    elapsed: tuple[float | None, ...] = ()
    contradicted: bool = False
    iterations: int = 0
    cpu_seconds: float = 0.0
    skipped: bool = False
    machine_code: str = ""
    why: Why | None = None
    launches: Mapping[str, float] = {}

    @property
    def family(self) -> str:
        return self.name.split("/", 1)[0]

    @property
    def seconds(self) -> float:
        """The median over sessions of the median over processes. Only of a row without an error."""
        return median(map(median, self.process_medians.values()))

    @property
    def fault(self) -> str:
        """Why there are no times, in words; empty if there are."""
        return f"skipped: {self.error}" if self.skipped else self.error or ""


@dataclass(frozen=True)
class Record:
    """One side of a comparison: rows by name, in file order, and their sessions.

    `files` are several Google Benchmark files, one process each, in the order of every row's
    process medians. It is empty for any other record.
    """

    path: Path
    source: Source
    sessions: Mapping[str, Session]
    rows: Mapping[str, Row]
    files: tuple[Path, ...] = ()

    @property
    def single_process(self) -> bool:
        """Whether a row's times are repetitions within one process, as in a single plain file."""
        return self.source is Source.GOOGLE_BENCHMARK and not self.files


def skips(rows: Iterable[Row]) -> list[str]:
    """Return a line for each reason why rows were skipped: ``14 benchmarks skipped: …``."""
    reasons = Counter(row.error for row in rows if row.skipped)
    return [f"{plural(count, 'benchmark')} skipped: {why}" for why, count in reasons.items()]


class _OfAFamily(Protocol):
    @property
    def family(self) -> str: ...


_T = TypeVar("_T", bound=_OfAFamily)


def by_family(everything: Iterable[_T]) -> dict[str, list[_T]]:
    """Group by family, in the order of first appearance."""
    families: dict[str, list[_T]] = {}
    for one in everything:
        families.setdefault(one.family, []).append(one)
    return families
