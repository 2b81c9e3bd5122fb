# SPDX-License-Identifier: Apache-2.0
"""A comparison as Markdown for a pull request: the verdict, what changed, the rest folded."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from warpgauge.records import benchmark_filter
from warpgauge.records.benchmark_filter import hint
from warpgauge.records.counters import speed
from warpgauge.records.model import Record, Source
from warpgauge.records.sessions import newest
from warpgauge.reports.advice import again, next_step
from warpgauge.reports.format import Format
from warpgauge.reports.markdown_text import (
    IN_CELL,
    IN_PARAGRAPH,
    OUR_OWN,
    breakable,
    code,
    in_sentence,
    name,
    prose,
    summary,
    table_head,
    table_row,
    unbroken,
)
from warpgauge.reports.view import (
    WITHIN,
    Row,
    View,
    differences_beside,
    gpu_name,
    headline,
    how_found,
    is_recorded,
    rule,
    side,
    size,
    worst,
)
from warpgauge.system.errors import UserError
from warpgauge.system.text import cut, duration, inert, of_limit, plain, plural, shown_as, typed
from warpgauge.verdict.comparison import Comparison, Verdict

# GitHub's limit for a comment is 65,536 characters; the rest is for the caller.
LIMIT = 60_000
_RESERVE = 600  # for the sentence about what was left out
_NOTES_SHOWN, _REASONS_SHOWN = 3, 3  # more are folded

# The last line, by which a program recognises its own comment.
MARK = "<!-- warpgauge comparison -->\n"

_BETWEEN = "\n\n"
_NEXT_LINE = "<br>"  # in number cells, which leaves more width to columns of words
_OPEN, _CLOSE = "<details>", "\n</details>\n\n"

# Characters of a cause in its column and in the first line, and of why a row was not measured.
_CAUSE, _CAUSE_AT_THE_TOP, _REASON = 46, 90, 150
_WIDER = 1.4  # the width of a code span's letters relative to plain text
_LONGEST_REASON, _WIDEST_CELL = 1500, 200  # characters of an investigation
_SPAN = 250  # characters of a code span, which is cut if longer

Sources = Mapping[str, str]
_NO_LINKS: Sources = {}


def render(comparison: Comparison, limit: int = LIMIT) -> str:
    """Return at most `limit` characters. Foreign text is inert, and all tables are well-formed."""
    return f"{unmarked(comparison, limit - len(MARK))}{MARK}"


def unmarked(comparison: Comparison, limit: int) -> str:
    """Return the report without the mark."""
    gpu = gpu_name(comparison.candidate)
    told = _BETWEEN.join(top(comparison)) + (f" On {code(gpu)}." if gpu else "")
    verdict = f"**{View(comparison).check}** · {told}{_BETWEEN}"
    return f"{verdict}{tables(comparison, limit - len(verdict), moved=True)}"


def top(comparison: Comparison, sources: Sources = _NO_LINKS) -> list[str]:
    """Return the decisive row and its cause, if there is one, then the verdict in numbers."""
    numbers = f"**{headline(comparison)}**. {how_found(comparison)}".rstrip()
    if comparison.refusal is not None and worst(comparison) is None:
        return [shown_as(headline(comparison), in_sentence)]
    row = View(comparison).decisive
    if row is None:
        return [numbers]
    why = _brief((*row.causes, *row.reasons), _CAUSE_AT_THE_TOP, in_sentence)
    what = name(row.name, sources.get(row.name, ""), IN_PARAGRAPH)
    change = unbroken(size(row.verdict)) if row.verdict.is_changed else ""
    return [f"{row.word}: {what}{change}{f': {why}' if why else ''}", numbers]


def _brief(parts: Sequence[str], room: int, quote: Callable[[str], str] = breakable) -> str:
    """Return the `parts` that fit in `room` characters, the first one cut, and count the others."""
    first = parts[0] if parts else ""
    ours = len(shown_as(first, lambda text: ""))
    left = max(int((room - ours) / _WIDER), IN_CELL)
    shown = [shown_as(first, lambda text: quote(cut(text, left)))]
    room -= len(plain(first))
    for part in parts[1:]:
        room -= len(plain(part)) + 2
        if room < 0:
            return f"{'; '.join(shown)}; {unbroken(f'and {len(parts) - len(shown)} more')}"
        shown.append(shown_as(part, quote))
    return "; ".join(shown)


@dataclass(frozen=True)
class Section:
    """Lines between a head and a foot, the most important first. `noun` is of one, ``note{s}``."""

    noun: str
    head: str
    lines: Sequence[str]
    foot: str = "\n"

    def folded(self, title: str, below: str = "") -> Section:
        """Return it behind the line `title`, with `below` after its lines."""
        return Section(self.noun, f"{_OPEN}{title}\n\n{self.head}", self.lines, below + _CLOSE)

    def filled(self, room: int) -> tuple[str, int]:
        """Return its text within `room`, and its number of lines; "" without lines."""
        room -= len(self.head) + len(self.foot)
        shown: list[str] = []
        for line in self.lines:
            room -= len(line) + 1
            if room < 0:
                break
            shown.append(line)
        text = "\n".join([*shown, self.foot])
        return (f"{self.head}{text}", len(shown)) if shown else ("", 0)


def tables(
    comparison: Comparison, limit: int, sources: Sources = _NO_LINKS, *, moved: bool = False
) -> str:
    """Return what follows the top, the most important first, in at most `limit` characters.

    Names of changed rows lead to `sources`. With `moved`, reasons include their tables.
    """
    view = View(comparison)
    closing = _next(view)
    texts: list[str] = []
    left_out = Counter[str]()
    room = limit - _RESERVE - len(closing)
    for section in _sections(view, sources, moved=moved):
        # After the first line that does not fit, none is added.
        text, shown = ("", 0) if left_out else section.filled(room)
        texts.append(text)
        room -= len(text)
        if shown < len(section.lines):
            left_out[section.noun] += len(section.lines) - shown
    return "".join([*texts, _left_out(left_out), closing])


def _sections(view: View, sources: Sources, *, moved: bool) -> Iterator[Section]:
    def table(noun: str, title: str, columns: _Columns, rows: Sequence[Row]) -> Section:
        return _table(noun, rows, columns, f"**{title}**{_BETWEEN}", sources)

    title = "Undecided or not measured"
    yield table("slower benchmark{s}", "Slower", _CHANGED, view.of("slower"))
    yield table("benchmark{s} not measured", title, _UNMEASURED, view.unmeasured)
    if method := view.comparison.method:
        yield Section("", "", [f"**How it was measured:** {method.words(in_sentence)}"])
    yield table("faster benchmark{s}", "Faster", _CHANGED, view.of("faster"))
    yield table("accepted change{s}", "Accepted", _ACCEPTED, view.of("accepted"))
    yield from _why(view, moved=moved)
    yield _notes(view.comparison)
    yield table("new benchmark{s}", "New", _NEW, view.of("new"))
    yield _compared(view.comparison)
    within = view.of(WITHIN)
    folded = summary("", f"{len(within)} {WITHIN}")
    yield _table("benchmark{s} " + WITHIN, within, _WITHIN).folded(folded)


def ranked(comparison: Comparison) -> list[Verdict]:
    """Return the verdicts in order; none if all were refused, which the top already says."""
    return [row.verdict for row in View(comparison).rows]


def _change(row: Row) -> str:
    shown = row.numbers
    return unbroken(f"{shown.change} ({shown.interval})") if shown.change else ""


def _change_and_confidence(row: Row) -> str:
    shown = row.numbers
    change = (shown.change, f"({shown.interval})") if shown.change else ()
    lines = (*change, ",\n".join(row.confidence))
    return unbroken("\n".join(filter(None, lines))).replace("\n", _NEXT_LINE)


def _times_and_limit(row: Row) -> str:
    """Return both times, and the shares of the limit.

    The base's share is shown only for pairs, because a baseline's is of other sessions.
    """
    shown = row.numbers
    before = of_limit(row.verdict.baseline_counters.get("limit_fraction"))
    limits = (before if row.verdict.in_pairs and before != shown.limit else "", shown.limit)
    both = ([*map(unbroken, filter(None, one))] for one in ((shown.old, shown.new), limits))
    return _NEXT_LINE.join(filter(None, map(" →\N{NO-BREAK SPACE}".join, both)))


def _why_in_cell(row: Row) -> str:
    is_wide = row.verdict.is_unmeasured or row.reasons
    return _brief((*row.reasons, *row.causes), _REASON if is_wide else _CAUSE)


def _verdict_in_cell(row: Row) -> str:
    return ": ".join(filter(None, (row.word, _why_in_cell(row))))


# A reader first asks which benchmark, how much, how certain, and why. All columns fit in the width
# that GitHub gives a comment in a window of 1000 pixels.
_Columns = Mapping[str, Callable[[Row], str]]
_TIMES, _INTERVAL = f"old → new,{_NEXT_LINE}of limit", "change (95 % interval)"
_BOUND = "at most"
_CHANGED: _Columns = {
    f"change{_NEXT_LINE}(95 % interval)": _change_and_confidence,
    "likely cause": _why_in_cell,
    _TIMES: _times_and_limit,
}
_UNMEASURED: _Columns = {"verdict": _verdict_in_cell, _INTERVAL: _change}
_ACCEPTED: _Columns = {_INTERVAL: _change, "why": _why_in_cell, _TIMES: _times_and_limit}
_NEW: _Columns = {_TIMES: _times_and_limit}
_WITHIN: _Columns = {
    _BOUND: lambda row: unbroken(row.numbers.bound),
    _INTERVAL: _change,
    _TIMES: _times_and_limit,
}
_OF_NUMBERS = (_TIMES, _INTERVAL, _BOUND)


def _table(
    noun: str, rows: Sequence[Row], columns: _Columns, above: str = "", sources: Sources = _NO_LINKS
) -> Section:
    """Return a section of a table without columns that are empty."""
    cells = {heading: [*map(cell, rows)] for heading, cell in columns.items()}
    kept = {heading: column for heading, column in cells.items() if any(column)}
    headings = ("benchmark", *kept)
    numbers = [at for at, heading in enumerate(headings) if heading in _OF_NUMBERS]
    names = [name(row.name, sources.get(row.name, "")) for row in rows]
    lines = [*map(table_row, zip(names, *kept.values(), strict=True))]
    return Section(noun, above + table_head(headings, numbers), lines)


def _why(view: View, *, moved: bool) -> Iterator[Section]:
    """Yield the paragraphs on slowdowns, and with `moved` the tables of what moved."""
    found = [(row.name, row.verdict.why) for row in view.rows if row.verdict.why is not None]
    texts = (cut(" ".join(inert(why.paragraph).split()), _LONGEST_REASON) for _, why in found)
    spans = (textwrap.wrap(text, _SPAN, break_on_hyphens=False) for text in texts)
    lines = [f"- {' '.join(map(in_sentence, parts))}" for parts in spans]
    title, noun = "Why it is slower", "reason{s} of slowdowns"
    if len(found) > _REASONS_SHOWN:
        yield Section(noun, "", lines).folded(summary("", f"{title}: {len(found)} benchmarks"))
    else:
        yield Section(noun, f"**{title}**\n\n", lines)
    head = table_head(("cause", "what moved", "baseline", "candidate"), numbers=(2, 3))
    for row, why in found if moved else ():
        cells = ((one.cause, one.what, one.before, one.after) for one in why.moved)
        lines = [
            table_row(breakable(cut(inert(cell), _WIDEST_CELL)) for cell in line) for line in cells
        ]
        table = Section("line{s} on what moved", head, lines)
        yield table.folded(summary(row, ": what moved"))


def _notes(comparison: Comparison) -> Section:
    notes = comparison.notes
    found = Section("note{s}", "", [f"- {note.words(in_sentence)}" for note in notes])
    folds = len(notes) > _NOTES_SHOWN
    return found.folded(summary("", plural(len(notes), "note"))) if folds else found


def _compared(comparison: Comparison) -> Section:
    """Return both sides, the differences between them, and the decision rule."""
    differences = differences_beside(comparison)
    sides = (comparison.baseline, comparison.candidate)
    cells = [["compared", *(breakable(side(record)) for record in sides)]]
    cells += [[*map(breakable, one)] for one in differences]
    head = table_head(("", "baseline", "candidate"))
    inner = Section("difference{s} of the environment", head, [*map(table_row, cells)])
    decision = rule(comparison)
    title = "What was compared" + (", and by which rule" if decision else "")
    if differences:
        title += f" · {plural(len(differences), 'difference')} of the environment"
    return inner.folded(summary("", title), decision and f"\n{prose(decision, longest=OUR_OWN)}\n")


def _next(view: View) -> str:
    """Return the next step, and how to reproduce the changes."""
    comparison, changed = view.comparison, view.of("slower", "faster")
    if is_recorded(comparison):
        return ""
    slower = worst(comparison) is not None
    ours = comparison.candidate.source is Source.RUN
    # For regressions the folded part has the next steps.
    advice = "" if ours and slower else " ".join(map(str, next_step(comparison)))
    text = f"{prose(advice, longest=OUR_OWN)}\n\n" if advice else ""
    if not ours or not changed:
        return text
    title = "To reproduce on a machine with this GPU" + (", or to accept" if slower else "")
    commands = again(comparison, [row.verdict for row in changed])
    return f"{text}{_OPEN}{summary('', title)}\n\n{commands}{_CLOSE}"


def _left_out(counts: Mapping[str, int]) -> str:
    if not counts:
        return ""
    them = (f"{count:,} {noun.format(s='s' * (count != 1))}" for noun, count in counts.items())
    return (
        f"**Left out for lack of space: {', '.join(them)}.** `scripts/compare.py BASELINE "
        "CANDIDATE --all` and `--format json=FILE` list everything.\n\n"
    )


def limits(record: Record, filter: str) -> list[str]:
    """Return the lines of the table: the benchmarks that `filter` selects, in file order.

    All are from the newest session, whose counters a baseline keeps. Raise UserError if none match.
    """
    session = newest(record)
    lines = [
        table_row(
            (
                code(row.name),
                duration(median(times)),
                speed(row.counters),
                of_limit(row.counters.get("limit_fraction")),
            )
        )
        for row in record.rows.values()
        if benchmark_filter.matches(filter, row.name, "--filter")
        and (times := row.process_medians.get(session.key))
    ]
    if not lines:
        near = hint(filter, list(record.rows))
        raise UserError(f"no benchmark matches --filter {typed(filter)}{near}")
    head = table_head(("benchmark", "time", "rate", "of its limit"), numbers=(1, 2, 3))
    return [*head.splitlines(), *lines]


_OWN = re.compile(re.escape(MARK.encode()))
FORMAT = Format("markdown", render, "Markdown of a comparison", _OWN)
