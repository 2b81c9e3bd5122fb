# SPDX-License-Identifier: Apache-2.0
"""A JSON file read with suspicion: every fault is one sentence with the file, the row, a remedy."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from warpgauge.errors import UserError
from warpgauge.text import inert, quoted

# A run of 10,000 benchmarks is about 6 MB. More than this is no result file, and reading it would
# only take the machine's memory before the parser says so.
SIZE_LIMIT_BYTES = 256 * 1024 * 1024

TIME_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}

MEASURE_AGAIN = "measure it again"

Object = dict[str, object]


@dataclass(frozen=True)
class Place:
    """Where in a file a value stands, for the sentence of an error."""

    path: Path
    what: str = ""

    def error(self, fault: str, remedy: str = MEASURE_AGAIN) -> UserError:
        where = f"{self.path}, {self.what}" if self.what else f"{self.path}"
        return UserError(inert(f"{where}: {fault}; {remedy}"))

    def row(self, index: int, name: object = None) -> Place:
        """The place of the row at `index`, counted from 1 for people."""
        named = f" ({quoted(name)})" if isinstance(name, str) else ""
        return Place(self.path, f"row {index + 1}{named}")


@dataclass(frozen=True)
class Document:
    """The outermost object of a JSON file, and the keys that some object in it holds twice."""

    place: Place
    top: Object
    repeated_keys: tuple[str, ...]


def read(path: Path) -> Document:
    """Parse the JSON object in `path`. Raises UserError."""
    place = Place(path)
    text = _text(place)
    repeated: list[str] = []

    def unique(pairs: list[tuple[str, object]]) -> Object:
        members = dict(pairs)
        if len(members) != len(pairs):
            keys = [key for key, _ in pairs]
            repeated.extend(key for key in members if keys.count(key) > 1)
        return members

    try:
        value = json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise _syntax_error(place, text, error) from None
    except RecursionError:
        raise place.error("is nested too deeply", "give a result file") from None
    except ValueError:  # an integer of more digits than Python converts
        raise place.error("holds a number too long to read") from None
    if not isinstance(value, dict):
        raise place.error(
            f"holds {kind(value)} where an object with 'benchmarks' belongs",
            "give a run file, a baseline or Google Benchmark's JSON",
        )
    return Document(place, value, tuple(repeated))


def _text(place: Place) -> str:
    try:
        if not stat.S_ISREG(place.path.stat().st_mode):  # a pipe would be waited for
            raise place.error("is no regular file", "give a result file")
        with place.path.open("rb") as stream:
            raw = stream.read(SIZE_LIMIT_BYTES + 1)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise place.error(f"cannot be read ({reason})", "check the path") from None
    except ValueError:  # a NUL in the path
        raise place.error("is no path", "check the path") from None
    if len(raw) > SIZE_LIMIT_BYTES:
        raise place.error("is larger than 256 MiB", "give a result file")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise place.error("is not UTF-8 text", "save it as UTF-8") from None
    if not text.strip():
        raise place.error("is empty")
    return text


def _syntax_error(place: Place, text: str, error: json.JSONDecodeError) -> UserError:
    start = text.lstrip()
    if start.startswith("<<<<<<<") or "\n<<<<<<< " in text:
        return place.error("holds an unresolved merge conflict", "resolve it")
    if start.startswith("<"):
        return place.error("is an HTML or XML page, not JSON", "fetch the file itself")
    end = text.rstrip()
    unclosed = start.startswith("{") and not end.endswith("}") and error.msg != "Extra data"
    if unclosed or error.pos >= len(end):
        return place.error("breaks off in the middle, as after a crash or a full disk")
    return place.error(
        f"is not JSON (line {error.lineno}, column {error.colno}: {error.msg})",
        "give a run file, a baseline or Google Benchmark's JSON",
    )


def kind(value: object) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "a list" if isinstance(value, list) else "an object"


def as_object(value: object, key: str, place: Place) -> Object:
    if not isinstance(value, dict):
        raise place.error(f"'{key}' is {kind(value)}, not an object")
    return cast(Object, value)


def rows_of(document: Document) -> list[tuple[Place, Object]]:
    """The objects of 'benchmarks' with their places; at least one."""
    place, rows = document.place, document.top.get("benchmarks")
    if "benchmarks" not in document.top:
        raise place.error(
            "has no 'benchmarks'", "give a run file, a baseline or Google Benchmark's JSON"
        )
    if not isinstance(rows, list):
        raise place.error(f"'benchmarks' is {kind(rows)}, not a list")
    if not rows:
        raise place.error("holds no benchmark")
    found = []
    for index, row in enumerate(rows):
        if not isinstance(row, dict):
            raise place.row(index).error(f"is {kind(row)}, not an object")
        found.append((place.row(index, row.get("name")), cast(Object, row)))
    return found


def error_of(row: Object) -> str | None:
    """What went wrong while this row was measured, or None."""
    if row.get("error_occurred"):
        return _message(row, "error_message")
    if row.get("skipped"):
        return f"skipped: {_message(row, 'skip_message')}"
    return None


def _message(row: Object, key: str) -> str:
    message = row.get(key)
    return message if isinstance(message, str) and message else "it gave no message"
