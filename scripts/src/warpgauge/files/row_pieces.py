# SPDX-License-Identifier: Apache-2.0
"""The rows of a large result file, a piece at a time.

A piece ends where a row seems to end. Where that was inside of a string or of a row, the piece is
no list of JSON values, and the whole text has to tell what it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from warpgauge.files.json_file import Object, uncollected

_ROWS = re.compile(r'"benchmarks"\s*:\s*\[')
_BETWEEN_ROWS = re.compile(r"\}\s*,\s*(?=\{)")
_END = "]}"

# Characters: so few that their rows are small beside the text.
_PIECE = 1 << 18


@dataclass(frozen=True)
class Head:
    """What stands before the rows, which begin at `end`; 'benchmarks' is empty."""

    top: Object
    end: int


class _Repeated(Exception):
    """An object holds a key twice."""


def head_of(text: str) -> Head | None:
    """None where 'benchmarks' is no list with rows, or where its context does not come first."""
    found = _ROWS.search(text)
    if found is None or len(text) < _PIECE:
        return None
    top = _parsed(text[: found.end()] + _END)
    rows_follow = isinstance(top, dict) and [*top][-1:] == ["benchmarks"] and "context" in top
    return Head(top, found.end()) if rows_follow and isinstance(top, dict) else None


def pieces(text: str, start: int) -> Iterator[list[object] | None]:
    """Lists of rows; None, and then no more, where it takes the whole text to tell."""
    while (end := _BETWEEN_ROWS.search(text, start + _PIECE)) is not None:
        rows = _parsed(f"[{text[start : end.start() + 1]}]")
        if not isinstance(rows, list):
            yield None
            return
        yield rows
        start = end.end()
    last = _parsed(f'{{"benchmarks": [{text[start:]}')
    alone = isinstance(last, dict) and [*last] == ["benchmarks"]
    yield last["benchmarks"] if alone and isinstance(last, dict) else None


def _parsed(text: str) -> object:
    """The value; None for what is none, or holds a key twice."""
    try:
        with uncollected():
            return json.loads(text, object_pairs_hook=_unique, strict=False)
    except (ValueError, RecursionError, MemoryError, _Repeated):
        return None


def _unique(pairs: list[tuple[str, object]]) -> Object:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Repeated
    return members
