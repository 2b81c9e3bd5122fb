# SPDX-License-Identifier: Apache-2.0
"""What somebody may have meant who asked for benchmarks that are not there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from warpgauge.system.text import inert, typed

# As difflib's ratio has it: "gemn" is 0.75 like "gemm", and "sink" 0.5 like "sync".
_SIMILAR = 0.7

# A name of four thousand slashes has four thousand beginnings; nobody types one of them.
_LONGEST_TYPED = 300

_NEAREST = 3
_FAMILIES = 8


def hint(asked: str, names: Iterable[str]) -> str:
    """The end of a refusal of `asked`, a filter or a name: what is there, of `names`, instead.

    The names or parts of names nearest to it, or else the families; "" where there are none.
    """
    there = list(names)
    near = _nearest(asked, there)
    if near:
        return f": did you mean {_listed([typed(one) for one in near], 'or')}?"
    families = sorted({inert(name.split("/", 1)[0]) for name in there})
    if not families:
        return ""
    if len(families) > _FAMILIES:
        families = [*families[: _FAMILIES - 1], f"{len(families) - _FAMILIES + 1} more"]
    are = "the only family is" if len(families) == 1 else "the families are"
    return f": {are} {_listed(families, 'and')}"


def _nearest(asked: str, names: Sequence[str]) -> list[str]:
    """Of a filter for the rest (a leading ``-``) nothing is near: it asks for no name."""
    if asked.startswith("-"):
        return []
    plain = asked.strip("^$/").lower()
    return difflib.get_close_matches(plain, _parts(names), _NEAREST, _SIMILAR)


def _parts(names: Iterable[str]) -> list[str]:
    """What a person may type for a name: all of it, its beginnings, and each of its parts."""
    parts: dict[str, None] = {}
    for name in names:
        if len(name) > _LONGEST_TYPED:
            continue
        pieces = name.split("/")
        beginnings = ["/".join(pieces[:end]) for end in range(1, len(pieces) + 1)]
        parts |= dict.fromkeys([*beginnings, *pieces])
    return list(parts)


def _listed(words: Sequence[str], last: str) -> str:
    """``a``, ``a or b``, ``a, b or c``."""
    *before, end = words
    return f"{', '.join(before)} {last} {end}" if before else end
