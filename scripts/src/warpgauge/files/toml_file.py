# SPDX-License-Identifier: Apache-2.0
"""A TOML file read with suspicion: every fault is one sentence with the file and a remedy."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import cast

from warpgauge.files.document import Place
from warpgauge.system.text import cut

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# A thousand entries are about 150 KB; more than this was not written by a person.
SIZE_LIMIT_BYTES = 1024 * 1024


def read(path: Path) -> dict[str, object]:
    """The top table of a TOML file. Raises UserError."""
    place = Place(path)
    text = _text(place)
    try:
        return cast("dict[str, object]", tomllib.loads(text))
    except RecursionError:
        raise place.error("is nested too deeply", "write plain tables") from None
    except ValueError as error:  # a TOMLDecodeError, or an integer of too many digits
        if "\n<<<<<<< " in f"\n{text}":
            raise place.error("holds an unresolved merge conflict", "resolve it") from None
        raise place.error(f"is not TOML: {_one_line(error)}", "correct it there") from None


def _text(place: Place) -> str:
    try:
        if not stat.S_ISREG(place.path.stat().st_mode):  # a pipe would be waited for
            raise place.error("is no regular file", "put a TOML file there or remove it")
        with place.path.open("rb") as stream:
            raw = stream.read(SIZE_LIMIT_BYTES + 1)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise place.error(f"cannot be read ({reason})", "check the path") from None
    except ValueError:  # a NUL in the path
        raise place.error("is no path", "check the path") from None
    if len(raw) > SIZE_LIMIT_BYTES:
        raise place.error("is larger than 1 MiB", "put a TOML file there")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise place.error("is not UTF-8 text", "save it as UTF-8") from None


def _one_line(error: ValueError) -> str:
    """The parser's own words, at most as long as a person reads on."""
    return cut(" ".join(str(error).split()), 120)
