# SPDX-License-Identifier: Apache-2.0
"""Read an untrusted TOML file. Each fault is one sentence with file and remedy."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import msgspec

from warpgauge.system import contract
from warpgauge.system.json_file import bytes_of
from warpgauge.system.location import Place
from warpgauge.system.text import cut, quoted, suggestion

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# A thousand entries are about 150 KB; people do not write larger files.
LIMIT_MIB = 1


def read(path: Path, limit_mib: int = LIMIT_MIB) -> dict[str, object]:
    """Return the top table of a TOML file. Raise UserError."""
    place = Place(path)
    too_large = place.error(f"is larger than {limit_mib} MiB", "put a TOML file there")
    raw = bytes_of(place, limit_mib * 1024 * 1024, too_large, "put a TOML file there or remove it")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise place.error("is not UTF-8 text", "save it as UTF-8") from None
    try:
        return cast("dict[str, object]", tomllib.loads(text))
    except RecursionError:
        raise place.error("is nested too deeply", "write plain tables") from None
    except ValueError as error:  # a TOMLDecodeError, or an integer with too many digits
        if "\n<<<<<<< " in f"\n{text}":
            raise place.error("holds an unresolved merge conflict", "resolve it") from None
        reason = cut(" ".join(str(error).split()), 120)
        raise place.error(f"is not TOML: {reason}", "correct it there") from None


# Words for msgspec's names of TOML types.
_KINDS = {
    **{"object": "a table", "array": "a list", "str": "a string", "bool": "true or false"},
    **{"int": "an integer", "float": "a number", "date": "a date"},
    **{"datetime": "a date with a time", "time": "a time"},
}

T = TypeVar("T")


class Words(NamedTuple):
    """The wording of a file's faults."""

    # For a pattern that a text must match: the fault and the remedy.
    patterns: Mapping[str, tuple[str, str]]
    # For a key whose value does not fit: the remedy.
    remedies: Mapping[str, str]


def converted(
    value: object,
    kind: type[T] | Any,  # noqa: ANN401 - mypy does not accept all kinds as types
    place: Place,
    words: Words,
    hook: Callable[[type, Any], Any] | None = None,
) -> T | Any:  # noqa: ANN401
    """Convert `value` to a `kind`; `hook` makes types unknown to msgspec. Raise UserError."""
    try:
        return msgspec.convert(value, kind, builtin_types=(date, datetime, time), dec_hook=hook)
    except msgspec.ValidationError as error:
        keys, fault = contract.parts(error, _KINDS)
        there = place._replace(what=f"{place.what}{keys}")
        if len(own := getattr(error.__cause__, "args", ())) == 2:  # of a type's own check
            raise there.error(*own) from None
        for pattern, (what, remedy) in words.patterns.items():
            if repr(pattern) in str(error):
                raise there.error(what, remedy) from None
        usual = "add it" if "missing required field" in str(error) else "correct it"
        remedy = words.remedies.get(keys.rpartition(".")[2], usual)
        raise there.error(fault, remedy) from None


def refuse_unknown(table: object, known: Collection[str], place: Place, what: str = "key") -> None:
    """Raise UserError for the first key of a table that is not known."""
    for key in table if isinstance(table, dict) else ():
        if key not in known:
            fault = f"has the unknown {what} {quoted(key)}"
            raise place.error(fault, suggestion(key, known))
