# SPDX-License-Identifier: Apache-2.0
"""JSON formats of warpgauge's own: one type is a format's definition, its reader and its schema."""

from __future__ import annotations

import inspect
import json
from typing import Any, TypeVar

import msgspec

from warpgauge.files.location import Place
from warpgauge.system.text import cut, quoted

_KEY = "warpgauge_format"
_LONGEST_FAULT = 200  # characters; it may quote the file


class Document(msgspec.Struct, frozen=True, tag_field=_KEY):
    """The outermost object of a file. `tag` is the format and its version: ``history/1``.

    Within a version keys may be added: a reader passes over those that it does not know.
    """


T = TypeVar("T", bound=Document)


def format_of(kind: type[Document]) -> str:
    """``history/1``."""
    return str(kind.__struct_config__.tag)


def decoded(value: object, kind: type[T], place: Place, remedy: str) -> T:
    """`value`, as a JSON parser made it, as a `kind`. Raises UserError: another version, say."""
    wanted, told = format_of(kind), value.get(_KEY) if isinstance(value, dict) else None
    if told != wanted:
        given = f"has the format {quoted(told)}" if isinstance(told, str) else "names no format"
        raise place.error(f"is no {wanted} (it {given})", remedy)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as fault:
        raise place.error(f"is no {wanted} ({cut(str(fault), _LONGEST_FAULT)})", remedy) from None


def schema(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON schema of a format, whose descriptions are the types' docstrings."""
    made = json.loads(json.dumps(msgspec.json.schema(kind)))  # its defaults are tuples
    for one in made["$defs"].values():
        if "description" in one:  # indented as in the source, but for newer Pythons
            one["description"] = inspect.cleandoc(one["description"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": "SPDX-License-Identifier: Apache-2.0",
        **made,
    }
