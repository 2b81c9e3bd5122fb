# SPDX-License-Identifier: Apache-2.0
"""Filter benchmarks by regular expressions, within a time limit, and suggest corrections."""

from __future__ import annotations

import difflib
import re
import signal
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import TYPE_CHECKING

from warpgauge.records.counters import FULL_SUITE
from warpgauge.records.sessions import are_paired
from warpgauge.system.errors import UserError
from warpgauge.system.text import cut, inert, typed

if TYPE_CHECKING:  # what only filters names needs nothing but Python
    from warpgauge.records.model import Record

# Syntax that Python reads differently from the benchmarks, which use POSIX extended expressions:
# [:alpha:], [.a.], [=a=]; \d and \b; a backslash in brackets; (?:...); x*? and x++.
_AMBIGUOUS = re.compile(r"\[([:.=])[^]]*\1\]|\\[A-Za-z0-9]|\[[^]]*\\|\(\?|[*+?}][?+*]")

# Key of a run's context: the families whose programs were not built, separated by slashes.
NOT_BUILT = "not_built"
# Another one: benchmarks whose code is equal on both sides, one a line. Most were not measured.
SAME_CODE = "same_code"

# A confirmation run is filtered by the names of all benchmarks that it measured: a long text.
_LONGEST_SHOWN = 300


class Request:
    """The selection of benchmarks by the comparison's `filter` and by the candidate's own run.

    A run of the default suite is not expected to have the full suite's benchmarks in `baseline`,
    and no run those of programs that were not built, or whose code is that of its base.

    Filters are regular expressions found anywhere in a name. A leading ``-`` negates, and ``all``
    selects all, as with Google Benchmark's --benchmark_filter.
    """

    def __init__(
        self, filter: str | None, candidate: Record, baseline: Record | None = None
    ) -> None:
        self._filter = normal(filter or "")
        self._own = _own_filters(candidate)
        self._names = {*candidate.rows}
        if baseline is not None and _own_filters(baseline) == self._own:  # a base, in pairs
            self._names |= baseline.rows.keys()
        # The benchmarks of the baseline that the candidate's suite or its build lacks.
        self.of_full_suite = self.not_built = frozenset[str]()
        if baseline is not None:
            self.not_built = _not_built(baseline, candidate)
            self.of_full_suite = _not_run(baseline, candidate) - self.not_built
        spared = same_code(candidate) - candidate.rows.keys()
        if baseline is not None and are_paired(baseline, candidate):
            spared -= baseline.rows.keys()  # what the base measured is missing
        self.left_out = self.of_full_suite | self.not_built | spared
        self._whose = f"{candidate.path}: the filter of its run,"
        matches(self._filter, "")
        for own in self._own:
            matches(own, "", self._whose)

    def covered(self, names: Iterable[str]) -> list[str]:
        """Return those of `names` that are in the comparison, measured or not. Raise UserError."""
        refusal = f"{self._whose} or --filter, takes too long ({self.filters}); simplify it"
        with cpu_limit(SEARCH_LIMIT_S, refusal):
            return [name for name in names if self._covers(name)]

    def _covers(self, name: str) -> bool:
        if name in self.left_out:
            return False
        if name in self._names:
            # What a run has under this very filter was asked for, also the row of a program that
            # could not be listed, and what an old run's program found, which read it differently.
            return matches(self._filter, name) or self._filter in self._own
        return matches(self._filter, name) and any(matches(own, name) for own in self._own)

    @property
    def filters(self) -> str:
        """The filters in effect, for a note; empty if all benchmarks were asked for."""
        given = {self._filter, *self._own} - {""}
        return inert(cut(", ".join(sorted(given)), _LONGEST_SHOWN))


def same_code(run: Record) -> frozenset[str]:
    """Return the benchmarks whose code is equal on both sides of a run, measured or not."""
    texts = [session.context.get(SAME_CODE, "") for session in run.sessions.values()]
    return frozenset("\n".join(texts).split("\n")) - {""}


def require_match(filter: str | None, baseline: Record, candidate: Record) -> None:
    """Raise UserError for a filter that matches no benchmark of either side, probably a typo.

    The filter of the candidate's own run did match, even if it is an old run's, which Python reads
    differently.
    """
    asked = normal(filter or "")
    names = dict.fromkeys([*baseline.rows, *candidate.rows])
    with cpu_limit(SEARCH_LIMIT_S, f"--filter {typed(asked)} takes too long; simplify it"):
        meant = asked in _own_filters(candidate) or any(matches(asked, name) for name in names)
    if not meant:
        raise UserError(
            f"no benchmark of either side matches --filter {typed(asked)}{hint(asked, names)}"
        )


def normal(filter: str) -> str:
    """Return `filter`, with Google Benchmark's "all" replaced by ""."""
    return "" if filter == "all" else filter


def matches(filter: str, name: str, what: str = "the filter") -> bool:
    """Return whether a filter selects `name`; an empty one selects all. Raise UserError."""
    negated = filter.startswith("-")
    return found(what, filter[1:] if negated else filter, name) != negated


def matching(filter: str, names: Iterable[str], option: str = "--filter") -> tuple[str, ...]:
    """Return the names that `filter` selects. Raise UserError for a wrong or slow filter."""
    with cpu_limit(SEARCH_LIMIT_S, f"{option} {typed(filter)} takes too long; simplify it"):
        return tuple(name for name in names if matches(filter, name, option))


def replaced(expression: str, by: str, names: Iterable[str]) -> dict[str, str]:
    """Return the names in which an expression is found, and each with `by` in its place.

    Raise UserError for a wrong or slow expression.
    """
    with cpu_limit(SEARCH_LIMIT_S, f"{typed(expression)} takes too long; simplify it"):
        search = _compiled("the filter", expression)
        return {name: search.sub(lambda _: by, name) for name in names if search.search(name)}


def found(what: str, expression: str, name: str) -> bool:
    """Return whether an expression is found in `name`. Raise UserError that names `what`."""
    return _compiled(what, expression).search(name) is not None


def require_portable(option: str, expression: str) -> None:
    """Raise UserError for an expression that the benchmarks would read differently."""
    differs = _AMBIGUOUS.search(expression)
    if differs is not None:
        raise UserError(
            f"{option} {typed(expression)}: {typed(differs[0])} means different things to Python "
            "and to the benchmarks; write it out, e.g. [a-z], [0-9] or [.]"
        )
    found(option, expression, "")


def _not_run(baseline: Record, candidate: Record) -> frozenset[str]:
    """Return the benchmarks of the full suite in `baseline` if the candidate ran the default."""
    if any(one.context.get("suite") == "full" for one in candidate.sessions.values()):
        return frozenset()
    return frozenset(
        name
        for name, row in baseline.rows.items()
        if row.counters.get(FULL_SUITE) and name not in candidate.rows
    )


def _not_built(baseline: Record, candidate: Record) -> frozenset[str]:
    """Return benchmarks in `baseline` whose programs were not built in any run of `candidate`."""
    texts = [session.context.get(NOT_BUILT, "") for session in candidate.sessions.values()]
    families = frozenset.intersection(*(frozenset(text.split("/")) for text in texts)) - {""}
    missing = baseline.rows.keys() - candidate.rows.keys()
    return frozenset(name for name in missing if name.split("/", 1)[0] in families)


def _own_filters(candidate: Record) -> set[str]:
    """Return the filters of its runs; "" for a run of all benchmarks."""
    return {normal(s.context.get("filter", "")) for s in candidate.sessions.values()}


@cache
def _compiled(what: str, expression: str) -> re.Pattern[str]:
    try:
        with warnings.catch_warnings():  # future changes of Python's syntax do not matter here
            warnings.simplefilter("ignore")
            return re.compile(expression)
    except (re.error, RecursionError, OverflowError) as error:
        raise UserError(
            f"{what} {typed(expression)} is not a valid regular expression ({error}); correct it"
        ) from None


def hint(asked: str, names: Iterable[str]) -> str:
    """Return the end of a refusal of `asked`: a suggestion of the nearest name, or ""."""
    known = dict.fromkeys(part for name in names for part in (name.split("/", 1)[0], name))
    known.pop(asked.strip("^$/").split("/", 1)[0], None)  # the family is already right
    near = difflib.get_close_matches(asked.strip("^$/"), known, n=1)
    return f": did you mean {typed(near[0])}?" if near else ""


# For one expression in all names; searching 10,000 names takes 0.01 s.
SEARCH_LIMIT_S = 0.5


@contextmanager
def cpu_limit(seconds: float, refusal: str) -> Iterator[None]:
    """Raise UserError with `refusal` once the block has used `seconds` of this process's CPU time.

    A signal interrupts Python's matcher. Only the main thread receives it, so other threads have
    no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise UserError(refusal)

    before = signal.signal(signal.SIGVTALRM, stop)
    outer = signal.setitimer(signal.ITIMER_VIRTUAL, seconds)[0]
    try:
        yield
    finally:
        used = seconds - signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)[0]
        signal.signal(signal.SIGVTALRM, before)
        if outer:  # resume the enclosing limit
            signal.setitimer(signal.ITIMER_VIRTUAL, max(outer - used, 1e-3))
