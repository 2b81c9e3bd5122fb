# SPDX-License-Identifier: Apache-2.0
"""The columns of each table in the Markdown of a comparison, and the cells of its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from warpgauge.reports.decision_text import IN_PAIRS, rounded_up
from warpgauge.reports.headline import interval
from warpgauge.reports.markdown.reasons import Reasons, in_cell
from warpgauge.reports.markdown.text import breakable, name, unbroken
from warpgauge.reports.provenance import told_values
from warpgauge.system.text import duration, of_limit, percent, plural
from warpgauge.verdict.comparison import ContextDifference, Evidence, Verdict

# Where a line of a cell ends, so that the columns of words have the width.
_NEXT_LINE = "<br>"


@dataclass(frozen=True)
class Column:
    """A heading and its cell of a verdict; numbers align to the right."""

    heading: str
    cell: Callable[[Verdict], str]
    is_number: bool = False


def _change(verdict: Verdict, between: str = " ") -> str:
    """The change and its interval, which may stand below each other."""
    if (change := verdict.change) is None:
        return ""
    return f"{unbroken(percent(change.ratio))}{between}{unbroken(f'({interval(change)})')}"


def _times(verdict: Verdict) -> str:
    """Both times, which may stand below each other; one where there is one."""
    return _arrow(_time(verdict.baseline_seconds), _time(verdict.candidate_seconds))


def _time(seconds: float | None) -> str:
    return unbroken(duration(seconds)) if seconds is not None else ""


def _of_limit(verdict: Verdict) -> str:
    """The share, and before it the old one where both are known and differ to a reader.

    The old one of a pair only: that of a baseline is of other sessions than the time beside it.
    """
    if "limit_fraction" not in verdict.counters:
        return ""
    sides = (verdict.baseline_counters, verdict.counters)
    before, after = (of_limit(counters.get("limit_fraction")) for counters in sides)
    paired = verdict.evidence in IN_PAIRS
    return unbroken(after if before == after or not paired else _arrow(before, after))


def _arrow(before: str, after: str) -> str:
    return f"{before} →\N{NO-BREAK SPACE}{after}" if before and after else after or before


def _bound(verdict: Verdict) -> str:
    return unbroken(rounded_up(verdict.bound)) if verdict.bound is not None else ""


def _change_and_certainty(verdict: Verdict) -> str:
    how, *chance = confidence(verdict)
    lines = (_change(verdict, _NEXT_LINE), f"{how}," if chance else how, *chance)
    return _NEXT_LINE.join(unbroken(line) for line in lines if line)


def _times_and_limit(verdict: Verdict) -> str:
    return _NEXT_LINE.join(filter(None, (_times(verdict), _of_limit(verdict))))


_NAME = Column("benchmark", lambda verdict: name(verdict.name))
_TIME = Column("time", lambda verdict: _time(verdict.candidate_seconds), is_number=True)
_CHANGE = Column("change (95 % interval)", _change, is_number=True)
_CERTAIN = Column(f"change{_NEXT_LINE}(95 % interval)", _change_and_certainty)
_LIMIT = Column("of limit", _of_limit, is_number=True)
_TIMES_AND_LIMIT = Column(f"old → new,{_NEXT_LINE}of limit", _times_and_limit, is_number=True)
_BOUND = Column("at most", _bound, is_number=True)

# What a reader of ten seconds asks: of what, how much and how sure, why. All fits in the width that
# GitHub gives a comment in a window of 1000 pixels.
NEW = (_NAME, _TIME, _LIMIT)
UNCHANGED = (_NAME, _BOUND, _CHANGE, _TIMES_AND_LIMIT)


def changed(reasons: Reasons) -> tuple[Column, ...]:
    """The columns of what got slower or faster."""
    return (_NAME, _CERTAIN, _why("likely cause", reasons), _TIMES_AND_LIMIT)


def accepted(reasons: Reasons) -> tuple[Column, ...]:
    return (_NAME, _CHANGE, _why("why", reasons), _TIMES_AND_LIMIT)


def unmeasured(reasons: Reasons) -> tuple[Column, ...]:
    def cell(verdict: Verdict) -> str:
        return ": ".join(filter(None, (verdict.outcome.value, in_cell(verdict, reasons))))

    return (_NAME, Column("verdict", cell), _CHANGE)


def _why(heading: str, reasons: Reasons) -> Column:
    return Column(heading, lambda verdict: in_cell(verdict, reasons))


def worth_showing(columns: Sequence[Column], verdicts: Sequence[Verdict]) -> list[Column]:
    """Without those that would stand empty."""
    return [column for column in columns if any(map(column.cell, verdicts))]


def difference(one: ContextDifference) -> list[str]:
    return [*map(breakable, (one.key, *told_values(one)))]


def confidence(verdict: Verdict) -> list[str]:
    """``in lock-step, 7 pairs``, ``p < 0.001``; ``screened only``, ``p = 0.004``."""
    if verdict.by_time is not None:
        return ["exact"]  # resources carry no noise
    if verdict.evidence is Evidence.NONE:
        return [""]
    how, pair = _HOW[verdict.evidence]
    if pair and verdict.processes is not None:
        how += f", {plural(verdict.processes[0], pair)}"
    if verdict.p is None:
        return [how]
    # Smaller ones say no more to anybody.
    return [how, "p < 0.001" if verdict.p < 0.001 else f"p = {verdict.p:.2g}"]


# And what there are several of, if anything.
_HOW = {
    Evidence.NONE: ("", ""),
    Evidence.SCREENED: ("screened only", ""),
    Evidence.PAIRED: ("in pairs", "round"),
    Evidence.LOCK_STEP: ("in lock-step", "pair"),
}
