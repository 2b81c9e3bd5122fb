# SPDX-License-Identifier: Apache-2.0
"""An entry of a policy whose keys and values are held to what they may be, one sentence a fault."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path
from typing import cast

from warpgauge.files.document import kind as json_kind
from warpgauge.files.location import Place
from warpgauge.system.errors import UserError
from warpgauge.system.text import quoted, suggestion

LARGEST_PERCENT = 1000

# The keys of each kind of entry: those that it must have, those that it may have.
_KEYS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "minimum_effect": (("pattern", "percent", "reason"), ()),
    "tolerance": (("pattern", "percent", "reason"), ()),
    "required": (("pattern",), ("reason",)),
    "expected": (("pattern", "slower_by_at_most_percent", "reason", "expires"), ("resources",)),
}


@dataclass(frozen=True)
class Entry:
    """One table of a list of tables; its methods raise UserError for what a value must not be."""

    place: Place
    number: int
    table: Mapping[str, object]

    def text(self, key: str) -> str:
        """A text that says something."""
        value = self.table[key]
        if not isinstance(value, str):
            raise self._wrong(key, "a text in quotes")
        if not value.strip():
            raise self.place.error(f"'{key}' is empty", "write what belongs there")
        return value

    def sentence(self, key: str) -> str:
        """A text for people, in one line; empty where the key is not there."""
        return " ".join(self.text(key).split()) if key in self.table else ""

    def pattern(self) -> re.Pattern[str]:
        """A regular expression, searched in names."""
        expression = self.text("pattern")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return re.compile(expression)
        except (re.error, RecursionError, OverflowError) as error:
            fault = f"'pattern' is no regular expression ({error})"
            raise self.place.error(fault, "correct it") from None

    def fraction(self, key: str) -> float:
        """A percentage, as a fraction."""
        value = self.table[key]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._wrong(key, "a number")
        if not 0 < value < LARGEST_PERCENT:
            remedy = f"give a percentage above 0 and below {LARGEST_PERCENT}"
            raise self.place.error(f"'{key}' is out of range", remedy)
        return value / 100.0

    def day(self, key: str) -> date:
        value = self.table[key]
        if isinstance(value, datetime) or not isinstance(value, date):
            raise self._wrong(key, "a date without quotes and time, as in 2027-01-31")
        return value

    def flag(self, key: str) -> bool:
        """False where the key is not there."""
        value = self.table.get(key, False)
        if not isinstance(value, bool):
            raise self._wrong(key, "true or false")
        return value

    def _wrong(self, key: str, wanted: str) -> UserError:
        return self.place.error(f"'{key}' is {_kind(self.table[key])}", f"write {wanted}")


def entries(top: Mapping[str, object], path: Path) -> dict[str, list[Entry]]:
    """The entries of a file by their kind, each with all the keys that it must have."""
    for key in top:
        if key not in _KEYS:
            raise _unknown(Place(path), "table", key, _KEYS)
    return {kind: _of_kind(kind, top.get(kind, []), path) for kind in _KEYS}


def _of_kind(kind: str, listed: object, path: Path) -> list[Entry]:
    if not isinstance(listed, list):
        fault = f"'{kind}' is {_kind(listed)} where a list of tables belongs"
        raise Place(path).error(fault, f"write [[{kind}]]")
    found = [_entry(kind, number, table, path) for number, table in enumerate(listed, start=1)]
    by_pattern: dict[str, Entry] = {}
    for entry in found:
        first = by_pattern.setdefault(entry.text("pattern"), entry)
        if first is not entry:
            fault = f"has the pattern of entry {first.number}"
            raise entry.place.error(fault, "remove one of the two")
    return found


def _entry(kind: str, number: int, table: object, path: Path) -> Entry:
    place = Place(path, f"{kind} entry {number}")
    if not isinstance(table, dict):
        raise place.error(f"is {_kind(table)}, not a table", f"write [[{kind}]]")
    needed, possible = _KEYS[kind]
    for key in table:
        if key not in (*needed, *possible):
            raise _unknown(place, "key", key, (*needed, *possible))
    for key in needed:
        if key not in table:
            raise place.error(f"has no '{key}'", "add it")
    return Entry(place, number, cast("dict[str, object]", table))


def _unknown(place: Place, what: str, key: str, known: Iterable[str]) -> UserError:
    return place.error(f"has the unknown {what} {quoted(key)}", suggestion(key, known))


def _kind(value: object) -> str:
    """What a TOML value is, in words."""
    if isinstance(value, datetime):
        return "a date with a time"
    if isinstance(value, (date, time)):
        return "a date" if isinstance(value, date) else "a time"
    return "a table" if isinstance(value, dict) else json_kind(value)
