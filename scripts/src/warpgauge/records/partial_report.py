# SPDX-License-Identifier: Apache-2.0
"""Read the JSON of a process, which may be incomplete, and check its rows."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from warpgauge.files.document import TIME_UNITS, Failure, failure_of
from warpgauge.files.json_file import Object
from warpgauge.records.fields import CONTEXT_LIMIT, is_name
from warpgauge.system.text import cut, quoted

Report = Mapping[str, Any]  # Google Benchmark's JSON as read

_LARGEST = 64 * 2**20  # bytes; a larger file is not a report
_TAIL = 1 << 14  # bytes; a row has about two thousand

# How Google Benchmark writes a row's name and closing brace, and begins the list of rows.
_NAME = re.compile(r'^      "name": (".*"),?$', re.MULTILINE)
_ROW_END, _ROWS_BEGIN = "\n    }", '"benchmarks": ['


def read(path: Path) -> tuple[Report, bool]:
    """Return a process's JSON and whether it is complete; an empty one if unreadable.

    A crash leaves the file without its end. The context and the rows before the crash were flushed
    one by one and still count.
    """
    text = _text(path)
    for candidate in (text, _mended(text, _ROW_END), _mended(text, _ROWS_BEGIN)):
        document = parsed(candidate)
        if document is not None:  # a text that parses as it is needs no mending
            return document, candidate is text and bool(document)
    return {}, False


def parsed(text: str) -> Report | None:
    """Return the report in `text`: empty if it cannot become a run file, None if not JSON."""
    try:
        # Not strict, because messages may contain raw control characters.
        document = json.loads(text, strict=False, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        return None
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


def last_name(path: Path) -> str:
    """Return the name of the last row written, if the end of the file shows one, else ""."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL))
            names = _NAME.findall(file.read(_TAIL).decode(errors="replace"))
        return str(json.loads(names[-1], strict=False)) if names else ""
    except (OSError, ValueError):
        return ""


def _text(path: Path) -> str:
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _mended(text: str, last: str) -> str:
    """Return `text` up to the last `last`, closed as JSON."""
    before, found, _ = text.rpartition(last)
    return f"{before}{found}]}}"


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
