# SPDX-License-Identifier: Apache-2.0
"""kernels.toml: kernels from elsewhere, how they are launched, and what verifies them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec

from warpgauge.external.checks import check
from warpgauge.external.element_types import ElementType
from warpgauge.external.kernel import (
    PATTERNS,
    Argument,
    Check,
    Document,
    Kernel,
    Manifest,
    Name,
    Values,
    place_of,
)
from warpgauge.files import toml_file
from warpgauge.files.location import Place
from warpgauge.system.text import cut, quoted, suggestion

__all__ = ["Manifest", "load"]

# Ten thousand kernels are about 3 MB.
_LARGEST_MIB = 16
_VERSION = 1
# msgspec's names of what TOML has.
_KINDS = {
    **{"object": "a table", "array": "a list", "str": "a string", "bool": "true or false"},
    **{"int": "an integer", "float": "a number"},
}

Keys = Sequence[str | int]
T = TypeVar("T")


def load(path: Path) -> Manifest:
    """The manifest in a file, with all that can be checked without axes. Raises UserError."""
    top = toml_file.read(path, _LARGEST_MIB)
    _refuse_unknown(top, Document, path, ())
    if top.get("version") != _VERSION:
        raise Place(path).error("is no manifest of version 1", "begin it with version = 1")
    tables = _converted(top.get("kernels", {}), dict[str, dict[str, Any]], path, ["kernels"])
    if not tables:
        raise Place(path).error("holds no kernel", "add a table [kernels.NAME]")
    kernels = {name: _kernel(name, table, path) for name, table in tables.items()}
    manifest = Manifest(path, kernels)
    check(manifest)
    return manifest


def _kernel(name: str, table: Mapping[str, Any], path: Path) -> Kernel:
    """Its parts first: msgspec does not tell which entry of a table is wrong."""
    keys = ("kernels", name)
    _converted(name, Name, path, keys)
    _refuse_unknown(table, Kernel, path, keys)
    for part, kind in (("axes", Values), ("verify", Check)):
        entries = table.get(part)
        for entry, value in entries.items() if isinstance(entries, dict) else ():
            _converted(entry, Name, path, (*keys, part, entry))
            _refuse_unknown(value, kind, path, (*keys, part, entry))
            if part == "verify" and not isinstance(value, dict):
                fault = f"{quoted(entry)} is no table"
                remedy = "write verify.OUTPUT = { reference = ... }"
                raise place_of(path, *keys, part).error(fault, remedy)
            _converted(value, kind, path, (*keys, part, entry))
    arguments = table.get("arguments")
    for number, value in enumerate(arguments if isinstance(arguments, list) else ()):
        _refuse_unknown(value, Argument, path, (*keys, "arguments", number))
    return _converted(table, Kernel, path, keys)


def _converted(value: object, kind: type[T] | Any, path: Path, keys: Keys) -> T | Any:  # noqa: ANN401 - kinds that mypy does not take for types
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        fault, _, at = str(error).partition(" - at `$")
        place = place_of(path, *keys)
        place = place._replace(what=f"{place.what}{at.removesuffix('`')}")
        for pattern, (what, remedy) in PATTERNS.items():
            if repr(pattern) in fault:
                raise place.error(what, remedy) from None
        raise place.error(*_in_toml(fault)) from None


def _in_toml(fault: str) -> tuple[str, str]:
    """What msgspec finds wrong, and what to do, in TOML's words."""
    if missing := re.fullmatch(r"Object missing required field `(\w+)`", fault):
        return f"has no {missing[1]!r}", "add it"
    if other := re.fullmatch(r"Invalid enum value (.*)", fault, re.DOTALL):
        return f"{cut(other[1], 100)} is no type", f"known are {', '.join(get_args(ElementType))}"

    def words(kinds: re.Match[str]) -> str:
        return " or ".join(_KINDS[one] for one in kinds[1].split(" | ") if one in _KINDS)

    told = re.sub(r"`([^`]+)`", words, f"{fault[0].lower()}{fault[1:]}")
    return cut(told, 200), "correct it"


def _refuse_unknown(table: object, kind: Any, path: Path, keys: Keys) -> None:  # noqa: ANN401
    known: Sequence[str] = getattr(kind, "__struct_fields__", ())
    for key in table if known and isinstance(table, dict) else ():
        if key not in known:
            raise place_of(path, *keys).error(
                f"has the unknown key {quoted(key)}", suggestion(key, known)
            )
