# SPDX-License-Identifier: Apache-2.0
"""The data types that all other modules use. Times are seconds per operation, everywhere."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from warpgauge.system.text import plural

if TYPE_CHECKING:  # commands that print help need no packages
    from warpgauge.records.row import Row

# Keys of the context of another project's measurements: the folder of its programs (`warpgauge ab`;
# they need not state their build type), its build folder (warpgauge bench --build-dir), and the
# manifest of its kernels.
PROGRAMS, BUILD_DIR, MANIFEST = "programs", "build_dir", "manifest"
FILE = "file"  # of benchmarks in Python

PROCESSES = "processes"  # key of the context: the number of processes of a side
# Key of the context: whether the programs were isolated from the machine, "yes" or "no (REASON)".
ISOLATED = "isolated"


class Source(Enum):
    """What wrote a record: warpgauge, or another tool, whose files are called plain."""

    RUN = "run file"
    BASELINE = "baseline"
    GOOGLE_BENCHMARK = "Google Benchmark JSON"
    NVBENCH = "nvbench JSON"
    PYTEST_BENCHMARK = "pytest-benchmark JSON"
    HYPERFINE = "hyperfine JSON"
    CATCH2 = "Catch2 XML"

    @property
    def is_plain(self) -> bool:
        return self not in (Source.RUN, Source.BASELINE)


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
class Record:
    """One side of a comparison: rows by name, in file order, and their sessions.

    A plain file is one process, unless `of_processes`: then each time of a row is a process's, as
    those of hyperfine, and those of several files. `faults` are sentences on rows of plain files
    that cannot be read, which are errors.
    """

    path: Path
    source: Source
    sessions: Mapping[str, Session]
    rows: Mapping[str, Row]
    of_processes: bool = False
    faults: tuple[str, ...] = ()

    @property
    def single_process(self) -> bool:
        """Whether a row's times are repetitions within one process, as in a single plain file."""
        return self.source.is_plain and not self.of_processes


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
