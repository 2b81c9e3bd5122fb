# SPDX-License-Identifier: Apache-2.0
"""Reads the file that libwarpgauge_trace.so leaves of a process (fixtures/trace/trace.hpp)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TypeGuard

from warpgauge.files.document import Object
from warpgauge.measurement.fidelity.trace import Activity, TraceFault
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import inert, plural

_MARK = "warpgauge_trace"


def read(path: Path) -> Sequence[Activity]:
    """All that the device did. Raises UserError when nothing was traced at all, which no other
    benchmark will mend, and TraceFault when something is missing.
    """
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as fault:
        why = "there is none" if isinstance(fault, FileNotFoundError) else str(fault.strerror)
        raise UserError(
            f"CUPTI left no trace ({why}): the driver could not load libwarpgauge_trace.so, as "
            "when the CUPTI that it was built with is gone; build again, in an empty build/release",
            ExitStatus.NOT_MEASURED,
        ) from None
    head = _object(lines[0] if lines else "")
    count, dropped, faults = (head.get(key) for key in ("activities", "dropped", "faults"))
    if _MARK not in head or not _is_count(count) or not _is_count(dropped):
        raise TraceFault("its trace is damaged: it does not begin as one")
    if not isinstance(faults, list):
        raise TraceFault("its trace is damaged: it has no list of faults")
    if faults:
        told = inert("; ".join(map(str, faults)))
        if count == 0:
            raise UserError(f"nothing could be traced: {told}", ExitStatus.NOT_MEASURED)
        raise TraceFault(f"its trace is incomplete: {told}")
    if dropped:
        raise TraceFault(f"its trace is incomplete: CUPTI dropped {plural(int(dropped), 'record')}")
    if len(lines) - 1 != count:
        raise TraceFault(f"its trace breaks off: {len(lines) - 1} of {count} records are there")
    return [_activity(line, number) for number, line in enumerate(lines[1:], start=1)]


def _activity(line: str, number: int) -> Activity:
    told = _object(line)
    kind, name, start, end = (told.get(key) for key in ("kind", "name", "start_ns", "end_ns"))
    if isinstance(kind, str) and isinstance(name, str) and _is_count(start) and _is_count(end):
        return Activity(kind, name, int(start), int(end))
    raise TraceFault(f"its trace is damaged: record {number} cannot be read")


def _object(line: str) -> Object:
    try:
        told = json.loads(line)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
