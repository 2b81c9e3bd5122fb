# SPDX-License-Identifier: Apache-2.0
"""A comparison as Markdown for a pull request: the verdict, what changed, the rest folded."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from warpgauge.records.model import Source
from warpgauge.reports import view as views
from warpgauge.reports.advice import next_step, policy_entry
from warpgauge.reports.format import Format
from warpgauge.reports.markdown_text import (
    OUR_OWN,
    code,
    finished,
    name,
    prose,
    summary,
    table_head,
    table_row,
)
from warpgauge.reports.view import ACCEPTED, WITHIN, Row, View
from warpgauge.system.environment import started
from warpgauge.system.text import cut, inert, plain, plural, shown_as
from warpgauge.verdict.comparison import Comparison

# GitHub's limit for a comment is 65,536 characters; the rest is for the caller.
LIMIT = 60_000
_RESERVE = 600  # for the sentence about what was left out
_SHOWN = 3  # rows, of a list or of the changed ones; more are folded

# The last line, by which a program recognises its own comment.
MARK = "<!-- warpgauge comparison -->\n"

_BETWEEN = "\n\n"
_OPEN, _CLOSE = "<details>", "\n</details>\n\n"

_BRIEF = 150  # characters of the causes and reasons in a line
_LONGEST_REASON = 1500  # characters of an investigation

Sources = Mapping[str, str]
_NO_LINKS: Sources = {}


def render(comparison: Comparison, limit: int = LIMIT) -> str:
    """Return at most `limit` characters. Foreign text is inert, and all tables are well-formed."""
    return f"{unmarked(comparison, limit - len(MARK))}{MARK}"


def unmarked(comparison: Comparison, limit: int) -> str:
    """Return the report without the mark."""
    gpu = views.gpu_name(comparison.candidate)
    told = _BETWEEN.join(top(comparison)) + (f" On {code(gpu)}." if gpu else "")
    verdict = f"**{View(comparison).check}** · {told}{_BETWEEN}"
    return finished(f"{verdict}{tables(comparison, limit - len(verdict))}")


def top(comparison: Comparison, sources: Sources = _NO_LINKS) -> list[str]:
    """Return the decisive row and its cause, if there is one, then the verdict in numbers."""
    if comparison.refusal is not None and views.worst(comparison) is None:
        return [shown_as(views.headline(comparison), code)]
    row = View(comparison).decisive
    numbers = (
        f"**{views.headline(comparison, names=False)}**. {views.how_found(comparison)}".rstrip()
    )
    return [*([_in_a_line(row, sources)] if row else []), numbers]


def _in_a_line(row: Row, sources: Sources) -> str:
    """Return ``slower: `name` **+5.0 %**: cause``."""
    is_accepted = row.verdict.is_accepted  # which its reason says, too
    change = f" **{row.size}**" if row.verdict.is_changed or is_accepted else ""
    shown = f"{name(row.name, sources.get(row.name, ''))}{change}"
    return ": ".join(filter(None, ("" if is_accepted else row.word, shown, _brief(row))))


def _brief(row: Row) -> str:
    """Return the first causes and reasons, and count the others."""
    parts, shown, room = (*row.causes, *row.reasons), list[str](), _BRIEF
    for part in parts:
        room -= len(plain(part))
        if shown and room < 0:
            return f"{'; '.join(shown)}; and {len(parts) - len(shown)} more"
        shown.append(shown_as(part, lambda text: code(cut(text, _BRIEF))))
    return "; ".join(shown)


@dataclass(frozen=True)
class Section:
    """Lines between a head and a foot, the most important first."""

    lines: Sequence[str]
    head: str = ""
    foot: str = "\n"

    def folded(self, title: str, below: str = "") -> Section:
        """Return it behind the line `title`, with `below` after its lines."""
        return Section(self.lines, f"{_OPEN}{summary(title)}\n\n{self.head}", below + _CLOSE)

    def folded_if_long(self, title: str) -> Section:
        return self.folded(title) if len(self.lines) > _SHOWN else self

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


def tables(comparison: Comparison, limit: int, sources: Sources = _NO_LINKS) -> str:
    """Return what follows the top, the most important first, in at most `limit` characters.

    Names of changed rows lead to `sources`.
    """
    closing, texts, left_out = _next(comparison), list[str](), 0
    room = limit - _RESERVE - len(closing)
    for section in _sections(View(comparison), sources):
        # After the first line that does not fit, none is added.
        text, shown = ("", 0) if left_out else section.filled(room)
        texts.append(text)
        room -= len(text)
        left_out += len(section.lines) - shown
    if left_out:
        count = f"{left_out:,} line{'s' * (left_out != 1)}"
        command = started("compare BASELINE CANDIDATE --verbose")
        lack = f"**Left out for lack of space: {count}.**"
        texts.append(f"{lack} `{command}` and `--format json=FILE` list everything.\n\n")
    return "".join([*texts, closing])


def _sections(view: View, sources: Sources) -> Iterator[Section]:
    slower, changed = view.of("slower"), view.of("slower", "faster")
    others = [row for row in (*view.unmeasured, *view.of(ACCEPTED)) if row is not view.decisive]
    new, within = view.of("new"), view.of(WITHIN)
    if len(slower) > 1:  # the top says all of one
        yield _by_cause(view, sources)
    yield _lines(slower)
    lines = [f"- {_in_a_line(row, sources)}" for row in others]
    yield Section(lines).folded_if_long(_counted(others))
    rows = _table(changed, _CHANGED, sources)
    is_long = len(slower) > 1 or len(changed) > _SHOWN
    yield rows.folded(f"{_counted(changed)}: each with its interval") if is_long else rows
    yield _why(view)
    yield _measured(view.comparison)
    yield _table(new, _NEW).folded(_counted(new))
    yield _table(within, _WITHIN).folded(_counted(within))


def _counted(rows: Sequence[Row]) -> str:
    counts = Counter(row.word for row in rows)
    return " · ".join(f"{count} {word}" for word, count in counts.items())


def _by_cause(view: View, sources: Sources) -> Section:
    groups: dict[str, list[Row]] = {}
    for row in (row for group in view.groups if group.word == "slower" for row in group.rows):
        groups.setdefault(_brief(row) or views.NO_CAUSE, []).append(row)
    lines = []
    for cause, (first, *more) in groups.items():
        rest = f" and {len(more)} more" if more else ""
        which = name(first.name, sources.get(first.name, "")) + rest
        lines.append(table_row((f"{cause}<br>{which}", f"**{first.size}**")))
    return Section(lines, table_head(("slower because", "worst"), numbers=(1,)))


# A name is one code span, which no column breaks. The longest of ours still fit in the width that
# GitHub gives a comment in a window of 1000 pixels, so a table has two columns of numbers at most.
_Columns = Mapping[str, Callable[[Row], str]]
_CHANGED: _Columns = {
    "change (95 % interval)": lambda row: f"{row.numbers.change} ({row.numbers.interval})",
    "old → new": lambda row: f"{row.numbers.old} → {row.numbers.new}",
}
_WITHIN: _Columns = {
    "at most": lambda row: " of ".join(
        filter(None, (row.numbers.bound, views.own_tolerance(row.verdict)))
    ),
    "old → new": _CHANGED["old → new"],
}
_NEW: _Columns = {"time": lambda row: row.numbers.new}


def _table(rows: Sequence[Row], columns: _Columns, sources: Sources = _NO_LINKS) -> Section:
    """Return a section of a table without columns that are empty."""
    cells = {heading: [*map(cell, rows)] for heading, cell in columns.items()}
    filled = {heading: column for heading, column in cells.items() if any(column)}
    names = [name(row.name, sources.get(row.name, "")) for row in rows]
    lines = [*map(table_row, zip(names, *filled.values(), strict=True))]
    head = table_head(("benchmark", *filled), numbers=range(1, 1 + len(filled)))
    return Section(lines, head)


def _lines(rows: Sequence[Row]) -> Section:
    """Return the lines of each proved cause, and its shares."""
    shares: dict[str, list[str]] = {}
    for row in rows:
        for cause in row.proved:
            shown = "<br>".join([shown_as(cause.head, code), *map(code, cause.lines)])
            note = cause.note and f" ({code(cause.note)})"
            shares.setdefault(shown, []).append(f"{cause.size} of {name(row.name)}{note}")
    lines = [f"- {shown}<br>{'; '.join(of)}" for shown, of in shares.items()]
    return Section(lines).folded("The lines that cost time, and their shares")


def _why(view: View) -> Section:
    rows = [row for row in view.rows if row.verdict.why and row.verdict.why.paragraph]
    paragraphs = [row.verdict.why.paragraph for row in rows if row.verdict.why]
    texts = [cut(" ".join(inert(words).split()), _LONGEST_REASON) for words in paragraphs]
    lines = [f"- {code(text, _LONGEST_REASON)}" for text in texts]
    section, title = Section(lines), f"Why it is slower: {plural(len(lines), 'benchmark')}"
    are_proved = all(row.proved for row in rows)  # then their lines say it first
    return section.folded(title) if are_proved else section.folded_if_long(title)


def _measured(comparison: Comparison) -> Section:
    """Return both sides, what differs between them, the notes, and the decision rule."""
    notes, differences = comparison.every_note, views.differences_beside(comparison)
    sides = {"baseline": comparison.baseline, "candidate": comparison.candidate}
    lines = [f"- {what}: {code(views.side(record))}" for what, record in sides.items()]
    lines += [f"- {note.words(code)}" for note in notes]
    lines += [f"- {code(key)}: {code(old)} → {code(new)}" for key, old, new in differences]
    title = "How it was measured"
    for count, noun in ((len(notes), "note"), (len(differences), "difference")):
        title += f" · {plural(count, noun)}" if count else ""
    decision = views.rule(comparison)
    below = decision and f"\n{prose(decision, longest=OUR_OWN)}\n"
    return Section(lines).folded(title, below)


def _next(comparison: Comparison) -> str:
    """Return the next steps, for a regression of our own run behind a line."""
    steps, slowest = next_step(comparison), views.worst(comparison)
    if not steps or slowest is None or comparison.candidate.source is not Source.RUN:
        advice = prose(" ".join(map(str, steps)), longest=OUR_OWN)
        return f"{advice}\n\n" if advice else ""
    blocks = [f"{prose(step.words)}\n\n```sh\n{step.command}\n```\n" for step in steps]
    text = "\n".join(blocks) + policy_entry(comparison, slowest)
    return f"{_OPEN}{summary('To look into it, or accept it')}\n\n{text}{_CLOSE}"


_OWN = re.compile(re.escape(MARK.encode()))
FORMAT = Format("markdown", render, "Markdown of a comparison", _OWN)
