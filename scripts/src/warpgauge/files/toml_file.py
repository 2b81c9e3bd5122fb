# SPDX-License-Identifier: Apache-2.0
"""A TOML file read with suspicion: every fault is one sentence with the file and a remedy."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import cast

from warpgauge.files.json_file import bytes_of
from warpgauge.files.location import Place
from warpgauge.system.text import cut

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# A thousand entries are about 150 KB; more than this was not written by a person.
LIMIT_MIB = 1


def read(path: Path, limit_mib: int = LIMIT_MIB) -> dict[str, object]:
    """The top table of a TOML file. Raises UserError."""
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
    except ValueError as error:  # a TOMLDecodeError, or an integer of too many digits
        if "\n<<<<<<< " in f"\n{text}":
            raise place.error("holds an unresolved merge conflict", "resolve it") from None
        reason = cut(" ".join(str(error).split()), 120)
        raise place.error(f"is not TOML: {reason}", "correct it there") from None
