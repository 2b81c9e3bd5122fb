# SPDX-License-Identifier: Apache-2.0
"""Read an untrusted file of benchmarks. Each fault is one sentence with file, row and remedy."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, cast

import msgspec

from warpgauge.system.errors import UserError
from warpgauge.system.location import RESULT_FILE, Object, Place, content_of, decoded, parsed
from warpgauge.system.text import cut, quoted

TIME_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}

# A failure's message may be a whole log file.
MESSAGE_LIMIT = 1000

# The only way to spell half of a surrogate pair in JSON in UTF-8.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")

_RAW_ROWS = msgspec.json.Decoder(list[msgspec.Raw])
OBJECT = msgspec.json.Decoder(Object)
# The end of a key, as all but exotic programs write it, and as these do.
_KEY, _EXOTIC_KEY = b'":', re.compile(rb'"\s+:')


@dataclass(frozen=True)
class Document:
    """The outermost object of a JSON file.

    `raw_rows` are the values of 'benchmarks', which are parsed when they are reached: all rows of a
    large file at once take several times its size in memory. None if they are parsed already.
    `keys` are how many keys the raw rows have, -1 if a colon is not right behind one.
    """

    place: Place
    top: Object
    raw_rows: Sequence[msgspec.Raw] | None = None
    keys: int = 0


class Failure(NamedTuple):
    """Why a row has no time. If `skipped`, the machine cannot run it, which is no fault."""

    message: str
    skipped: bool = False

    def __str__(self) -> str:
        return f"skipped: {self.message}" if self.skipped else self.message


def read(path: Path) -> Document:
    """Parse the JSON object in a file. Raise UserError."""
    place = Place(path)
    return document_of(place, content_of(place))


def document_of(place: Place, content: bytes) -> Document:
    """Parse a JSON object. Raise UserError."""
    return _with_raw_rows(place, content) or _whole(place, content)


def _with_raw_rows(place: Place, content: bytes) -> Document | None:
    """Parse all but the rows. None if these are not the last key, or for a fault."""
    begin = content.find(b"[", content.find(b'"benchmarks"'))
    end = content.rfind(b"]")
    if not 0 <= begin < end:
        return None
    try:
        rest = _whole(place, content[: begin + 1] + content[end:])
        rows = _RAW_ROWS.decode(memoryview(content)[begin : end + 1])
    except (UserError, ValueError, RecursionError):
        return None  # the whole text tells better where the fault is
    if not rows or [*rest.top.items()][-1:] != [("benchmarks", [])]:
        return None
    is_exotic = _EXOTIC_KEY.search(content, begin, end)
    return Document(place, rest.top, rows, -1 if is_exotic else content.count(_KEY, begin, end))


def _whole(place: Place, content: bytes) -> Document:
    value = _encodable(place, content)
    if not isinstance(value, dict):
        fault = f"holds {kind(value)} instead of an object with 'benchmarks'"
        raise place.error(fault, RESULT_FILE)
    return Document(place, value)


def _encodable(place: Place, content: bytes) -> object:
    """Return the value. Raise UserError, also for half a surrogate pair, which nothing encodes."""
    text = decoded(place, content)
    value = parsed(place, text)
    if _SURROGATE.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = quoted(error.object[max(0, error.start - 20) : error.end])
            raise place.error(f"holds half of a surrogate pair in {half}", "rename it") from None
    return value


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


def raw_rows_of(document: Document) -> Sequence[object]:
    """Return the values of 'benchmarks', raw or parsed; at least one. Raise UserError."""
    if document.raw_rows is not None:
        return document.raw_rows
    place, rows = document.place, document.top.get("benchmarks")
    if "benchmarks" not in document.top:
        raise place.error("has no 'benchmarks'", RESULT_FILE)
    if not isinstance(rows, list):
        raise place.error(f"'benchmarks' is {kind(rows)}, not a list")
    if not rows:
        raise place.error("holds no benchmark")
    return rows


def rows_of(document: Document) -> Iterator[tuple[Place, Object]]:
    """Yield the objects of 'benchmarks' with their places; at least one. Raise UserError."""
    for index, row in enumerate(raw_rows_of(document)):
        yield row_of(document.place, index, row)


def row_of(whole: Place, index: int, row: object) -> tuple[Place, Object]:
    """Return the place of a raw or parsed row, and its object. Raise UserError."""
    place = Place(whole.path, "", index)
    if isinstance(row, msgspec.Raw):
        row = _flat(bytes(row)) or _encodable(place, bytes(row))
    if not isinstance(row, dict):
        raise place.error(f"is {kind(row)}, not an object")
    return place._replace(name=row.get("name")), row


def _flat(content: bytes) -> Object | None:
    """Return the members of a flat object; None for what needs a closer look.

    That is what msgspec refuses, and what has not as many keys as colons right behind them: nested
    objects, and objects with a repeated key, of which msgspec would keep the last.
    """
    try:
        members: Object = OBJECT.decode(content)
    except ValueError:
        return None
    is_plain = content.count(_KEY) == len(members) and not _EXOTIC_KEY.search(content)
    return members if is_plain else None


def failure_of(row: Object) -> Failure | None:
    """Return why this row has no time, or None if it has one.

    Only the field `skipped` distinguishes a skip from an error. Google Benchmark has it, with its
    own message, since 1.8; a program built with an older version adds it to an errored row.
    """
    for key in ("skipped", "error_occurred"):
        if row.get(key) not in (None, True, False):  # 1.0 and 0.0 equal these
            return Failure(f"its {quoted(key)} is {kind(row[key])}, neither true nor false")
    skipped = bool(row.get("skipped"))
    if not skipped and not row.get("error_occurred"):
        return None
    message = row.get("error_message" if row.get("error_occurred") else "skip_message")
    if not isinstance(message, str) or not message.strip():
        message = "it gave no message"
    return Failure(cut(message, MESSAGE_LIMIT), skipped)
