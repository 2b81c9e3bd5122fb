# SPDX-License-Identifier: Apache-2.0
"""The tables in the Markdown of a comparison: their columns, and the rows that fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from warpgauge.reports.headline import values
from warpgauge.reports.markdown.reasons import Reasons, in_cell
from warpgauge.reports.markdown.text import breakable, name, unbroken
from warpgauge.reports.provenance import told_values
from warpgauge.system.text import of_limit, plural
from warpgauge.verdict.comparison import ContextDifference, Evidence, Verdict

OPEN, CLOSE = "<details>", "\n</details>\n\n"

# Breaks the lines of number cells, which leaves more width to columns of words.
_NEXT_LINE = "<br>"


class Kind(Enum):
    """The singular and plural for a section's rows; the first kind is cut last."""

    BLOCK = ("", "")
    REGRESSION = ("regression", "regressions")
    NOT_MEASURED = ("benchmark not measured", "benchmarks not measured")
    NOTE = ("note", "notes")
    DIFFERENCE = ("difference of the environment", "differences of the environment")
    IMPROVEMENT = ("improvement", "improvements")
    ACCEPTED = ("accepted change", "accepted changes")
    WHY = ("reason of a slowdown", "reasons of slowdowns")
    CAUSE = ("explanation in full", "explanations in full")
    MOVED = ("quantity that moved", "quantities that moved")
    NEW = ("new benchmark", "new benchmarks")
    UNCHANGED = ("unchanged benchmark", "unchanged benchmarks")


@dataclass(frozen=True)
class Section:
    """Rows between a head and a foot, the most important first.

    `lines` makes the `count` rows one by one, as many as fit.
    """

    kind: Kind
    head: str
    count: int
    lines: Iterable[str]
    foot: str = "\n"


def details(inner: Section, title: str, below: str = "") -> Section:
    """Return `inner` folded behind the line `title`, with `below` after its rows."""
    head = f"{OPEN}{title}\n\n{inner.head}"
    return Section(inner.kind, head, inner.count, inner.lines, below + CLOSE)


def fitted(sections: Sequence[Section], room: int) -> tuple[list[str], Mapping[Kind, int]]:
    """Return the sections' texts ("" if nothing fits), and how many rows of each kind are left out.

    Rows are added while `room` characters hold them; after the first that does not fit, none is.
    """
    texts = [""] * len(sections)
    left_out = Counter[Kind]()
    weights = list(Kind)
    for index in sorted(range(len(sections)), key=lambda at: weights.index(sections[at].kind)):
        section = sections[index]
        texts[index], shown = ("", 0) if left_out else _filled(section, room)
        room -= len(texts[index])
        if shown < section.count:
            left_out[section.kind] += section.count - shown
    return texts, left_out


def _filled(section: Section, room: int) -> tuple[str, int]:
    """Return the section's text within `room`, and its number of rows; "" without rows."""
    room -= len(section.head) + len(section.foot)
    lines: list[str] = []
    for line in section.lines:
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    text = "\n".join([*lines, section.foot])
    return (f"{section.head}{text}", len(lines)) if lines else ("", 0)


@dataclass(frozen=True)
class Column:
    """A heading, and its cell for a verdict; numbers align to the right."""

    heading: str
    cell: Callable[[Verdict], str]
    is_number: bool = False


def _change(verdict: Verdict, between: str = " ") -> str:
    """Return the change and its interval."""
    shown = values(verdict)
    if not shown.change:
        return ""
    return f"{unbroken(shown.change)}{between}{unbroken(f'({shown.interval})')}"


def _of_limit(verdict: Verdict) -> str:
    """Return the candidate's share of the limit, after the base's if the two differ as shown.

    The base's is shown only for pairs, because a baseline's share and time are of other sessions.
    """
    after = values(verdict).limit
    before = of_limit(verdict.baseline_counters.get("limit_fraction"))
    is_told = after and verdict.in_pairs and before != after
    return unbroken(_arrow(before, after) if is_told else after)


def _arrow(before: str, after: str) -> str:
    return f"{before} →\N{NO-BREAK SPACE}{after}" if before and after else after or before


def _change_and_certainty(verdict: Verdict) -> str:
    how, *chance = confidence(verdict)
    lines = (_change(verdict, _NEXT_LINE), f"{how}," if chance else how, *chance)
    return _NEXT_LINE.join(unbroken(line) for line in lines if line)


def _times_and_limit(verdict: Verdict) -> str:
    shown = values(verdict)
    times = _arrow(unbroken(shown.baseline), unbroken(shown.candidate))
    return _NEXT_LINE.join(filter(None, (times, _of_limit(verdict))))


_NAME = Column("benchmark", lambda verdict: name(verdict.name))
_TIME = Column("time", lambda verdict: unbroken(values(verdict).candidate), is_number=True)
_CHANGE = Column("change (95 % interval)", _change, is_number=True)
_CERTAIN = Column(f"change{_NEXT_LINE}(95 % interval)", _change_and_certainty)
_LIMIT = Column("of limit", _of_limit, is_number=True)
_TIMES_AND_LIMIT = Column(f"old → new,{_NEXT_LINE}of limit", _times_and_limit, is_number=True)
_BOUND = Column("at most", lambda verdict: unbroken(values(verdict).bound), is_number=True)

# A reader first asks which benchmark, how much, how certain, and why. All columns fit in the width
# that GitHub gives a comment in a window of 1000 pixels.
NEW = (_NAME, _TIME, _LIMIT)
UNCHANGED = (_NAME, _BOUND, _CHANGE, _TIMES_AND_LIMIT)


def changed(reasons: Reasons) -> tuple[Column, ...]:
    """Return the columns for slower or faster benchmarks."""
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
    """Return the columns that are not empty."""
    return [column for column in columns if any(map(column.cell, verdicts))]


def difference(one: ContextDifference) -> list[str]:
    return [*map(breakable, (one.key, *told_values(one)))]


def confidence(verdict: Verdict) -> list[str]:
    """Return ``in lock-step, 7 pairs``, ``p < 0.001``, or ``screened only``, ``p = 0.004``."""
    if verdict.by_time is not None:
        return ["exact"]  # resources have no noise
    if verdict.evidence is Evidence.NONE:
        return [""]
    how, pair = _HOW[verdict.evidence]
    if pair and verdict.processes is not None:
        how += f", {plural(verdict.processes[0], pair)}"
    if verdict.p is None:
        return [how]
    # Smaller values add nothing.
    return [how, "p < 0.001" if verdict.p < 0.001 else f"p = {verdict.p:.2g}"]


# The words, and the noun to count.
_HOW = {
    Evidence.NONE: ("", ""),
    Evidence.SCREENED: ("screened only", ""),
    Evidence.PAIRED: ("in pairs", "round"),
    Evidence.LOCK_STEP: ("in lock-step", "pair"),
}
