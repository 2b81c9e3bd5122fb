# SPDX-License-Identifier: Apache-2.0
"""Reads the JSON of a process, and checks its rows."""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from warpgauge.records.fields import CONTEXT_LIMIT, is_name
from warpgauge.system.document import TIME_UNITS, Failure, failure_of
from warpgauge.system.json_file import Object
from warpgauge.system.text import cut, quoted

Report = Mapping[str, Any]  # Google Benchmark's JSON as read

_LARGEST = 64 * 2**20  # bytes; a larger file is not a report


def read(path: Path) -> Report:
    """Return the report in a file; an empty one if there is none."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            return {}
        return parsed(path.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return {}


def parsed(text: str) -> Report:
    """Return the report in `text`; an empty one if it is none, or cannot become a run file."""
    try:
        # Not strict, because messages may contain raw control characters.
        document = json.loads(text, strict=False, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        return {}
    return document if _is_report(document) and _is_unicode(text, document) else {}


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return the members of an object; a row with a repeated key becomes an error.

    Google Benchmark writes such a row if a counter has the name of one of its own keys, which it
    writes first. The counter must not be taken for the time.
    """
    members = dict(pairs)
    if len(members) != len(pairs):
        keys = [key for key, _ in pairs]
        members = dict(reversed(pairs))
        if "run_name" in members:
            twice = quoted(next(key for key in members if keys.count(key) > 1))
            told = f"its row has {twice} twice: rename the counter of that name"
            members |= {"error_occurred": True, "error_message": told}
    return members


def _is_report(document: object) -> bool:
    """Return whether it can become a run file that can be read again."""
    return (
        isinstance(document, dict)
        and isinstance(document.get("context"), dict)
        and all(len(str(value)) <= CONTEXT_LIMIT for value in document["context"].values())
        and isinstance(document.get("benchmarks"), list)
        and all(
            isinstance(row, dict) and isinstance(row.get("name"), str) and is_name(row["name"])
            for row in document["benchmarks"]
        )
    )


def _is_unicode(text: str, document: object) -> bool:
    """Return whether all strings can be encoded; JSON can spell half of a surrogate pair."""
    if "\\ud" not in text.lower():
        return True
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


_LONGEST_FAULT = 60  # characters
_BEYOND_TIME = 1e100  # in any unit; smaller times can be converted to another unit


def fault_of(row: Object) -> Failure | None:
    """Return why the row is not a measurement, or None if it is one."""
    if (failure := failure_of(row)) is not None:
        return failure
    time, unit = row.get("real_time"), row.get("time_unit", "ns")
    is_number = isinstance(time, int | float) and not isinstance(time, bool)
    if not (is_number and 0.0 < cast(float, time) < _BEYOND_TIME):
        return Failure(f"its time is {cut(repr(time), _LONGEST_FAULT)}, which is not a measurement")
    if not (isinstance(unit, str) and unit in TIME_UNITS):
        return Failure(f"its time unit is {cut(repr(unit), _LONGEST_FAULT)}")
    return None


def is_run(row: Object) -> bool:
    """Return whether the row is a run and not an aggregate."""
    return row.get("run_type", "iteration") == "iteration"
