# SPDX-License-Identifier: Apache-2.0
"""One benchmark's reason: evidence of both sides, weighed; without a time their machine code."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from warpgauge.execution.discovery import Binary
from warpgauge.measurement.measuring import Measuring
from warpgauge.records.model import Row
from warpgauge.system.errors import UserError
from warpgauge.system.text import clause
from warpgauge.why import code_causes, gather, trace_file
from warpgauge.why.causes import causes
from warpgauge.why.gather import Gathering
from warpgauge.why.reason import Reason

Pair = tuple[Binary, Binary]  # base and candidate, each with the one benchmark


@dataclass(frozen=True)
class Measured:
    """Both sides of a benchmark that has a time on both; 0.1 is a slowdown of 10 %."""

    base: Row
    candidate: Row
    slowdown: float


def explained(
    name: str,
    pair: Pair,
    found: Measured,
    measuring: Measuring,
    seconds: float,
    traces: Path | None = None,
) -> Reason:
    """Its reason, for which evidence is gathered for so many `seconds`.

    The folder `traces` gets those of both sides, for Perfetto.
    """
    library = _library(pair[1], measuring.root)
    device = measuring.options.device
    gathering = Gathering(measuring.scratch, device, library, seconds, traces)
    sides = (
        gathering.side(pair[0], name, found.base, "base"),
        gathering.side(pair[1], name, found.candidate, "candidate"),
    )
    return Reason(
        name,
        causes(*sides, found.slowdown),
        code_causes.code_changes(*sides),
        sides,
        code_causes.is_same_code(*sides),
        tuple(dict.fromkeys(gathering.missing)),
    )


def _library(binary: Binary, root: Path) -> Path | None:
    """The trace library of the build, or of this tree's."""
    for folder in (binary.path.parent, root / "build" / "release" / "benchmarks"):
        if (folder / trace_file.LIBRARY).exists():
            return folder / trace_file.LIBRARY
    return None


def by_code(name: str, pair: Pair, why: str) -> Reason:
    """What two programs tell without running: their machine code."""
    missing = [why]
    try:
        before, after = gather.changed_kernels(*(one.path for one in pair))
    except (UserError, OSError) as fault:
        return Reason(name, None, {}, missing=(*missing, f"{clause(str(fault))}."))
    return Reason(name, None, code_causes.changes_of(before, after), missing=tuple(missing))
