# SPDX-License-Identifier: Apache-2.0
"""File formats in JSON and TOML: one type is a format's definition, reader and schema."""

from __future__ import annotations

import codecs
import inspect
import json
import sys
from collections.abc import Callable, Collection
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from warpgauge.system.location import Place, bytes_of, has_conflict
from warpgauge.system.location import decoded as decoded_text
from warpgauge.system.text import cut, quoted, suggestion

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_KEY = "warpgauge_format"
_LONGEST_FAULT = 200  # characters; it may quote the file
# A thousand entries are about 150 KB; people do not write larger TOML files.
TOML_LIMIT_MIB = 1


class Document(msgspec.Struct, frozen=True, tag_field=_KEY):
    """The outermost object of a JSON file. `tag` is the format and its version: ``history/1``.

    Within a version keys may be added: a reader ignores unknown keys.
    """


D = TypeVar("D", bound=Document)
T = TypeVar("T")


def in_words(error: msgspec.ValidationError) -> str:
    """Return msgspec's sentence, for example ``Expected `int`, got `str` - at `$.seconds` ``."""
    return cut(str(error), _LONGEST_FAULT)


def decoded(value: object, kind: type[D], place: Place, remedy: str) -> D:
    """Convert parsed JSON to a `kind`. Raise UserError if it does not fit, e.g. another version."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as fault:
        tag = kind.__struct_config__.tag
        raise place.error(f"is no {tag} ({in_words(fault)})", remedy) from None


def schema(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON schema of a format, with the types' docstrings as descriptions."""
    made = json.loads(json.dumps(msgspec.json.schema(kind)))  # turns tuples of defaults into lists
    for one in made["$defs"].values():
        if "description" in one:  # indented as in the source before Python 3.13
            one["description"] = inspect.cleandoc(one["description"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": "SPDX-License-Identifier: Apache-2.0",
        **made,
    }


def read_toml(path: Path, limit_mib: int = TOML_LIMIT_MIB) -> dict[str, object]:
    """Return the top table of an untrusted TOML file. Raise UserError."""
    place, remedy = Place(path), "put a TOML file there"
    too_large = place.error(f"is larger than {limit_mib} MiB", remedy)
    raw = bytes_of(place, limit_mib * 1024 * 1024, too_large, f"{remedy} or remove it")
    text = decoded_text(place, raw.removeprefix(codecs.BOM_UTF8))
    try:
        return cast("dict[str, object]", tomllib.loads(text))
    except RecursionError:
        raise place.error("is nested too deeply", "write plain tables") from None
    except ValueError as error:  # a TOMLDecodeError, or an integer with too many digits
        if has_conflict(text):
            raise place.error("holds an unresolved merge conflict", "resolve it") from None
        reason = cut(" ".join(str(error).split()), 120)
        raise place.error(f"is not TOML: {reason}", "correct it there") from None


def converted(
    value: object,
    kind: type[T] | Any,  # noqa: ANN401 - mypy does not accept all kinds as types
    place: Place,
    hook: Callable[[type, Any], Any] | None = None,
) -> T | Any:  # noqa: ANN401
    """Convert a value of TOML to a `kind`; `hook` makes types unknown to msgspec.

    Raise UserError, also for a ValueError(fault, remedy) of a type's own check.
    """
    try:
        return msgspec.convert(value, kind, builtin_types=(date, datetime, time), dec_hook=hook)
    except msgspec.ValidationError as error:
        fault, found, keys = str(error).rpartition(" - at `")
        if found:  # after the value's place: kernels.scale, and then .arguments[2]
            place = place._replace(what=place.what + keys.rpartition("$")[2].removesuffix("`"))
        own = getattr(error.__cause__, "args", ())
        words = cut(fault or keys, _LONGEST_FAULT)
        both = own if len(own) == 2 else (words[0].lower() + words[1:], "correct it")
        raise place.error(*both) from None


def refuse_unknown(table: object, known: Collection[str], place: Place, what: str = "key") -> None:
    """Raise UserError for the first key of a table that is not known."""
    for key in table if isinstance(table, dict) else ():
        if key not in known:
            fault = f"has the unknown {what} {quoted(key)}"
            raise place.error(fault, suggestion(key, known))
