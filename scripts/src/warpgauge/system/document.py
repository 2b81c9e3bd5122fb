# SPDX-License-Identifier: Apache-2.0
"""Read an untrusted JSON file. Each fault is one sentence with file, row and remedy."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import msgspec

from warpgauge.system.errors import UserError
from warpgauge.system.json_file import RESULT_FILE, Object, parsed, text_of
from warpgauge.system.location import Place
from warpgauge.system.text import cut, quoted

TIME_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}

# A failure's message may be a whole log file.
_MESSAGE_LIMIT = 1000

# The only way to spell half of a surrogate pair in JSON in UTF-8.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


@dataclass(frozen=True)
class Document:
    """The outermost object of a JSON file.

    If the elements of 'benchmarks' are parsed while `rows_of` is iterated, which works only once,
    they come from `later`, and their list in `top` is empty.
    """

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
    """Parse as `read` does, but rows one by one (`later`) if 'benchmarks' is the file's last key.

    All rows of a large file at once take several times its size in memory. A fault within a row is
    found only when that row is reached.
    """
    place = Place(path)
    text = text_of(place)
    begin, end = text.find("[", text.find('"benchmarks"')), text.rfind("]") + 1
    parts = text[:begin], text[begin:end], text[end:]
    if begin < 0:
        return _whole(place, text)
    try:
        top = _value(f"{parts[0]}[]{parts[2]}".encode())
        rows = msgspec.json.decode(parts[1], type=list[msgspec.Raw])
    except _UNUSUAL:
        return _whole(place, text)
    if not rows or not isinstance(top, dict) or [*top.items()][-1:] != [("benchmarks", [])]:
        return _whole(place, text)
    return Document(place, top, _later(place, parts, rows))


def _later(place: Place, parts: Sequence[str], rows: Sequence[msgspec.Raw]) -> Iterator[object]:
    """Yield the values of `rows`; if one is unusual, parse the whole text (`parts`) instead."""
    for index, row in enumerate(rows):
        try:
            value = _value(bytes(row))
        except _UNUSUAL:
            yield from cast(list[object], _whole(place, "".join(parts)).top["benchmarks"])[index:]
            return
        yield value


# Errors of msgspec for text that may still be read: NaN, and line breaks in strings.
_UNUSUAL = (msgspec.MsgspecError, ValueError, RecursionError, MemoryError)


def _value(text: bytes) -> object:
    """Return the parsed value. Raise one of `_UNUSUAL`, for example if an object repeats a key."""
    value = _DECODER.decode(text)
    # No key was lost if there is one comma less, or as many colons, as there are keys.
    count = len(value) if isinstance(value, dict) else -1
    if count == text.count(b",") + 1 or count == text.count(b":"):
        return value
    return json.loads(text, object_pairs_hook=_once)


_DECODER = msgspec.json.Decoder()


def _once(pairs: list[tuple[str, object]]) -> Object:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("the key is in there twice")
    return members


def _whole(place: Place, text: str) -> Document:
    value, repeated = parsed(place, text)
    if not isinstance(value, dict):
        fault = f"holds {kind(value)} instead of an object with 'benchmarks'"
        raise place.error(fault, RESULT_FILE)
    document = Document(place, value)
    if repeated is not None:
        raise _repeated(document, *repeated)
    if _SURROGATE.search(text):
        _refuse_surrogates(document)
    return document


def _repeated(document: Document, members: Object, key: str) -> UserError:
    """Return the error for a repeated key, of which JSON does not say which value counts.

    Google Benchmark writes such a row if a counter has the name of one of its own keys.
    """
    there = id(members)  # comparing identities is fast; there may be a million objects
    owners = (
        place
        for place, part in _objects(document)
        if part is members or there in map(id, part.values())
    )
    return next(owners, document.place).error(
        f"holds the key {quoted(key)} twice in one object",
        "keep one of them, or rename one if both are intended",
    )


def _objects(document: Document) -> Iterator[tuple[Place, Object]]:
    """Yield the rows that are objects, then the whole document."""
    rows = document.top.get("benchmarks")
    for index, row in enumerate(rows if isinstance(rows, list) else ()):
        if isinstance(row, dict):
            yield Place(document.place.path, "", index, row.get("name")), row
    yield document.place, document.top


def _refuse_surrogates(document: Document) -> None:
    """Raise UserError for half a surrogate pair, which no file or terminal can encode."""
    for place, part in _objects(document):
        waiting: list[object] = [part]
        while waiting:
            value = waiting.pop()
            if isinstance(value, dict):
                waiting.extend((*value, *value.values()))
            elif isinstance(value, list):
                waiting.extend(value)
            elif isinstance(value, str):
                try:
                    value.encode()
                except UnicodeEncodeError:
                    fault = f"{quoted(value)} holds half of a surrogate pair"
                    raise place.error(fault, "rename it") from None


def kind(value: object) -> str:
    """Return the type of a JSON value, in words."""
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
        raise misfit(value, key, "an object", place)
    return cast(Object, value)


def misfit(value: object, key: str, wanted: str, place: Place) -> UserError:
    """Return the error for a `value` under `key` that is missing or not what was `wanted`."""
    wrong = f"{quoted(key)} is {kind(value)}, not {wanted}"
    return place.error(f"has no {quoted(key)}" if value is None else wrong)


def rows_of(document: Document) -> Iterator[tuple[Place, Object]]:
    """Yield the objects of 'benchmarks' with their places; at least one. Raise UserError."""
    path, rows = document.place.path, document.top.get("benchmarks")
    if "benchmarks" not in document.top:
        raise document.place.error("has no 'benchmarks'", RESULT_FILE)
    if not isinstance(rows, list):
        raise document.place.error(f"'benchmarks' is {kind(rows)}, not a list")
    if not rows and document.later is None:
        raise document.place.error("holds no benchmark")
    for index, row in enumerate(rows if document.later is None else document.later):
        if not isinstance(row, dict):
            raise Place(path, "", index).error(f"is {kind(row)}, not an object")
        yield Place(path, "", index, row.get("name")), row


def failure_of(row: Object) -> Failure | None:
    """Return why this row has no time, or None if it has one.

    Only the field `skipped` distinguishes a skip from an error. Google Benchmark has it, with its
    own message, since 1.8; a program built with an older version adds it to an errored row.
    """
    skipped = bool(row.get("skipped"))
    if row.get("error_occurred"):
        return Failure(_message(row, "error_message"), skipped)
    return Failure(_message(row, "skip_message"), skipped) if skipped else None


def _message(row: Object, key: str) -> str:
    message = row.get(key)
    if not isinstance(message, str) or not message.strip():
        return "it gave no message"
    return cut(message, _MESSAGE_LIMIT)
