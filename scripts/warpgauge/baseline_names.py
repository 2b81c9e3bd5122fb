# SPDX-License-Identifier: Apache-2.0
"""Several benchmarks in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from warpgauge.text import inert, plural, quoted

_NAMED = 3
_LONGEST_NAME = 120


def named(names: Sequence[str]) -> str:
    """``'a'``; ``2 benchmarks ('a', 'b')``; beyond three the rest is counted."""
    first = ", ".join(quoted(name, _LONGEST_NAME) for name in names[:_NAMED])
    if len(names) == 1:
        return inert(first)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return inert(f"{plural(len(names), 'benchmark')} ({first}{more})")
