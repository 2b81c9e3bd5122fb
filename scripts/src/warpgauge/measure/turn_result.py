# SPDX-License-Identifier: Apache-2.0
"""What came of one program in one round."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from warpgauge.measure.discovery import Binary, Names
from warpgauge.records import program_report
from warpgauge.records.program_report import Report
from warpgauge.system.document import Failure
from warpgauge.system.errors import UserError

# Bytes needed for the report of a large program.
_ROOM = 128 * 1024

# Called with the name of the benchmark that is running.
Running = Callable[[str], None]


@dataclass(frozen=True)
class TurnResult:
    """A row or a fault, or both, for each benchmark of `binary`; a fault takes precedence.

    `pair_ratios` are times relative to the first lane's, by benchmark, if measured in lock-step.
    """

    binary: Binary
    round: int
    report: Report
    faults: Mapping[str, str]
    seconds: float
    side: str = ""
    remarks: Sequence[str] = ()  # problems that cost no benchmark
    pair_ratios: Mapping[str, float] = field(default_factory=dict)

    @property
    def missing(self) -> Names:
        """The benchmarks with neither row nor fault."""
        known = {row["name"] for row in self.report.get("benchmarks", [])} | self.faults.keys()
        return tuple(name for name in self.binary.names if name not in known)

    @cached_property
    def failures(self) -> Mapping[str, Failure]:
        """Why benchmarks have no result in this turn: faults, errors and skips."""
        found: dict[str, Failure] = {}
        for row in self.report.get("benchmarks", []):
            why = program_report.fault_of(row) if program_report.is_run(row) else None
            known = found.get(row["name"])
            if why is not None and (known is None or known.skipped):  # an error outranks a skip
                found[row["name"]] = why
        return {**found, **{name: Failure(why) for name, why in self.faults.items()}}


def require_room(folder: Path) -> None:
    """Raise UserError if a full disk, rather than a benchmark, may have cost a report."""
    with suppress(OSError):  # the folder may be gone
        if shutil.disk_usage(folder).free < _ROOM:
            raise UserError(
                f"{folder} has too little space for the output of the programs: free some, or set "
                "TMPDIR to another folder"
            )
