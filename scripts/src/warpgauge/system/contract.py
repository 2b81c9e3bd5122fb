# SPDX-License-Identifier: Apache-2.0
"""JSON formats of warpgauge's own: one type is a format's definition, reader and schema."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from warpgauge.system.location import Place
from warpgauge.system.text import cut, quoted

_KEY = "warpgauge_format"
_LONGEST_FAULT = 200  # characters; it may quote the file


class Document(msgspec.Struct, frozen=True, tag_field=_KEY):
    """The outermost object of a file. `tag` is the format and its version: ``history/1``.

    Within a version keys may be added: a reader ignores unknown keys.
    """


T = TypeVar("T", bound=Document)


def format_of(kind: type[Document]) -> str:
    """Return a format and its version: ``history/1``."""
    return str(kind.__struct_config__.tag)


def decoded(value: object, kind: type[T], place: Place, remedy: str) -> T:
    """Convert parsed JSON to a `kind`. Raise UserError if it does not fit, e.g. another version."""
    wanted, told = format_of(kind), value.get(_KEY) if isinstance(value, dict) else None
    if told != wanted:
        given = f"has the format {quoted(told)}" if isinstance(told, str) else "names no format"
        raise place.error(f"is no {wanted} (it {given})", remedy)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as fault:
        raise place.error(f"is no {wanted} ({in_words(fault)})", remedy) from None


# Words for msgspec's names of JSON types and for its limits.
_KINDS = {
    **{"object": "an object", "array": "a list", "str": "a string", "bool": "true or false"},
    **{"int": "an integer", "float": "a number", "null": "null"},
}
_LIMITS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}


def in_words(error: msgspec.ValidationError) -> str:
    """Return a fault such as ``benchmarks.KEY[0]: expected a number of at least 1e-12``."""
    keys, fault = parts(error)
    return cut(f"{keys.removeprefix('.')}: {fault}" if keys else fault, _LONGEST_FAULT)


def parts(error: msgspec.ValidationError, kinds: Mapping[str, str] = _KINDS) -> tuple[str, str]:
    """Return the keys of the value that does not fit, as in ``.axes[0]``, and the fault in words.

    `kinds` are the file format's words for msgspec's kinds.
    """
    fault, found, at = str(error).rpartition(" - at `")
    if not found:
        fault, at = at, ""
    keys = at.rpartition("$")[2].removesuffix("`").replace("[...]", ".KEY")

    def named(kind: re.Match[str]) -> str:
        return " or ".join(kinds[one] for one in kind[1].split(" | ") if one in kinds)

    if other := re.fullmatch(r"Invalid enum value (.*)", fault, re.DOTALL):
        return keys, f"{cut(other[1], 100)} is not known"
    if missing := re.fullmatch(r"Object missing required field `(\w+)`", fault):
        return keys, f"has no {missing[1]!r}"
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", fault, re.DOTALL):
        return keys, f"has the unknown key {quoted(unknown[1])}"
    fault = re.sub(r"`([^`]+)`", named, f"{fault[0].lower()}{fault[1:]}")
    fault = re.sub(r" of length (?=\d)", " with a length of ", fault)
    fault = re.sub(
        r"(?: of (length))? ([<>]=?) (?=[-\d])",
        lambda found: f" {'with a length of' if found[1] else 'of'} {_LIMITS[found[2]]} ",
        fault,
    )
    return keys, cut(fault + " as a key" * at.startswith("key`"), _LONGEST_FAULT)


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
