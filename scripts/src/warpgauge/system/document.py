# SPDX-License-Identifier: Apache-2.0
"""Read an untrusted file of benchmarks. Each fault is one sentence with file, row and remedy."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from warpgauge.system.errors import UserError
from warpgauge.system.json_file import RESULT_FILE, Object, parsed, rows_parsed, text_of
from warpgauge.system.location import Place
from warpgauge.system.text import cut, quoted

TIME_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}

# A failure's message may be a whole log file.
_MESSAGE_LIMIT = 1000

# The only way to spell half of a surrogate pair in JSON in UTF-8.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


@dataclass(frozen=True)
class Document:
    """The outermost object of a JSON file; `later` has its rows if these are not parsed yet."""

    place: Place
    top: Object
    later: Iterator[object] | None = None


@dataclass(frozen=True)
class Failure:
    """Why a row has no time. If `skipped`, the machine cannot run it, which is no fault."""

    message: str
    skipped: bool = False

    def __str__(self) -> str:
        return f"skipped: {self.message}" if self.skipped else self.message


def read(path: Path) -> Document:
    """Parse the JSON object in `path`. Raise UserError."""
    place = Place(path)
    return _whole(place, text_of(place))


def read_row_by_row(path: Path) -> Document:
    """Parse as `read` does, but rows when they are reached, if that is possible."""
    place = Place(path)
    text = text_of(place)
    rows = None if _SURROGATE.search(text) else rows_parsed(place, text)
    return _whole(place, text) if rows is None else Document(place, *rows)


def _whole(place: Place, text: str) -> Document:
    value = parsed(place, text)
    if not isinstance(value, dict):
        fault = f"holds {kind(value)} instead of an object with 'benchmarks'"
        raise place.error(fault, RESULT_FILE)
    if _SURROGATE.search(text):
        _require_encodable(value, place)
    return Document(place, value)


def _require_encodable(value: object, place: Place) -> None:
    """Raise UserError for half a surrogate pair, which no file or terminal can encode."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = quoted(error.object[max(0, error.start - 20) : error.end])
        raise place.error(f"holds half of a surrogate pair in {half}", "rename it") from None


_KINDS = {bool: "a boolean", str: "a string", list: "a list", dict: "an object"}


def kind(value: object) -> str:
    """Return the type of a JSON value, in words."""
    return "null" if value is None else _KINDS.get(type(value), "a number")


def as_object(value: object, key: str, place: Place) -> Object:
    if not isinstance(value, dict):
        raise misfit(value, key, "an object", place)
    return cast(Object, value)


def misfit(value: object, key: str, wanted: str, place: Place) -> UserError:
    """Return the error for a `value` under `key` that is missing or not what was `wanted`."""
    wrong = f"{quoted(key)} is {kind(value)}, not {wanted}"
    return place.error(f"has no {quoted(key)}" if value is None else wrong)


def rows_of(document: Document) -> Iterator[tuple[Place, Object]]:
    """Yield the objects of 'benchmarks' with their places; at least one. Raise UserError."""
    place, rows = document.place, document.top.get("benchmarks")
    if "benchmarks" not in document.top:
        raise place.error("has no 'benchmarks'", RESULT_FILE)
    if not isinstance(rows, list):
        raise place.error(f"'benchmarks' is {kind(rows)}, not a list")
    if not rows and document.later is None:
        raise place.error("holds no benchmark")
    for index, row in enumerate(rows if document.later is None else document.later):
        if not isinstance(row, dict):
            raise Place(place.path, "", index).error(f"is {kind(row)}, not an object")
        yield Place(place.path, "", index, row.get("name")), row


def failure_of(row: Object) -> Failure | None:
    """Return why this row has no time, or None if it has one.

    Only the field `skipped` distinguishes a skip from an error. Google Benchmark has it, with its
    own message, since 1.8; a program built with an older version adds it to an errored row.
    """
    skipped = bool(row.get("skipped"))
    if not skipped and not row.get("error_occurred"):
        return None
    message = row.get("error_message" if row.get("error_occurred") else "skip_message")
    if not isinstance(message, str) or not message.strip():
        message = "it gave no message"
    return Failure(cut(message, _MESSAGE_LIMIT), skipped)
