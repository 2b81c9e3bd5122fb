# SPDX-License-Identifier: Apache-2.0
"""Which benchmarks a comparison was asked about, so that a vanished one cannot hide."""

from __future__ import annotations

import re

from warpgauge.errors import UserError
from warpgauge.model import Record
from warpgauge.text import inert, quoted


class Request:
    """What was asked for: of the comparison (`filter`), and of the candidate's own run.

    Filters are regular expressions found anywhere in a name; a leading ``-`` asks for the rest, as
    with Google Benchmark's --benchmark_filter.
    """

    def __init__(self, filter: str | None, candidate: Record) -> None:
        self._filter = filter or ""
        self._own = {s.context.get("filter", "") for s in candidate.sessions.values()}
        self._names = candidate.rows.keys()
        for expression in (self._filter, *self._own):
            matches(expression, "")

    def covers(self, name: str) -> bool:
        """Whether `name` is part of the comparison, measured or not."""
        if name in self._names:
            # What the run itself measured under this very filter was asked for, even where Python
            # and Google Benchmark read the expression differently.
            return matches(self._filter, name) or self._filter in self._own
        return matches(self._filter, name) and any(matches(own, name) for own in self._own)

    @property
    def filters(self) -> str:
        """The filters in effect, for a note; empty where all was asked for."""
        given = {self._filter, *self._own} - {""}
        return inert(", ".join(sorted(given)))


def matches(expression: str, name: str) -> bool:
    """Whether a filter lets `name` through; an empty one lets all through."""
    negated = expression.startswith("-")
    try:
        found = re.search(expression[1:] if negated else expression, name) is not None
    except (re.error, RecursionError, OverflowError) as error:
        raise UserError(
            f"the filter {quoted(expression)} is no regular expression ({error}); correct it"
        ) from None
    return found != negated
