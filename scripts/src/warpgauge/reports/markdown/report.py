# SPDX-License-Identifier: Apache-2.0
"""A comparison as Markdown for a pull request: the verdict, what changed, the rest folded."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from warpgauge.records.model import Source, by_family
from warpgauge.reports import ranking
from warpgauge.reports.advice import again, next_step
from warpgauge.reports.decision_text import sentences
from warpgauge.reports.headline import decisive, headline, how_found, size, worst
from warpgauge.reports.interval_bar import plot
from warpgauge.reports.markdown import tables as of_rows
from warpgauge.reports.markdown.reasons import Reasons, brief, in_cell, in_full, reasons_of
from warpgauge.reports.markdown.tables import CLOSE, OPEN, Column, Kind, Section, details, fitted
from warpgauge.reports.markdown.text import (
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
from warpgauge.reports.provenance import differences_beside, gpu_name, side
from warpgauge.reports.ranking import Fold, rank
from warpgauge.reports.workflow_commands import check_word
from warpgauge.system.text import LONGEST_TEXT, cut, inert, plural
from warpgauge.verdict.comparison import UNMEASURED, Comparison, Outcome, Verdict, exit_status

# GitHub's limit for a comment is 65,536 characters; the rest is for the caller.
LIMIT = 60_000
_RESERVE = 600  # for the sentence about what was left out
_NOTES_SHOWN = 3  # more are folded

# The last line, by which a program recognises its own comment.
MARK = "<!-- warpgauge comparison -->\n"

_BETWEEN = "\n\n"
_AT_THE_TOP = 90  # characters of the cause in the first line

_WHY = "Why it is slower"
_REASONS_SHOWN = 3  # paragraphs; more are folded
_LONGEST_REASON, _WIDEST_CELL = 1500, 200  # characters
_SPAN = 250  # characters of a code span, which is cut if longer

_NO_LINKS: Mapping[str, str] = {}


def render(comparison: Comparison, limit: int = LIMIT) -> str:
    """Return at most `limit` characters. Foreign text is inert, and all tables are well-formed."""
    return f"{unmarked(comparison, limit - len(MARK))}{MARK}"


def unmarked(comparison: Comparison, limit: int) -> str:
    """Return the report without the mark."""
    gpu = gpu_name(comparison.candidate)
    told = _BETWEEN.join(top(comparison)) + (f" On {code(gpu)}." if gpu else "")
    verdict = f"**{check_word(exit_status(comparison))}** · {told}{_BETWEEN}"
    return f"{verdict}{tables(comparison, limit - len(verdict), moved=True)}"


def top(comparison: Comparison, sources: Mapping[str, str] = _NO_LINKS) -> list[str]:
    """Return the decisive row and its cause, if there is one, then the verdict in numbers."""
    line, row = headline(comparison), decisive(comparison)
    if line.refusal is not None:
        refusal = breakable(cut(inert(line.refusal), LONGEST_TEXT), IN_PARAGRAPH)
        return [f"**{line.verdict}** {refusal}"]
    numbers = " ".join(filter(None, (f"**{line.verdict}.**", how_found(comparison))))
    if row is None:
        return [numbers]
    why = brief(reasons_of(comparison)(row), _AT_THE_TOP)
    what = name(row.name, sources.get(row.name, ""), IN_PARAGRAPH)
    if row.is_changed:
        kind = "worst" if row.outcome is Outcome.REGRESSION else "best"
        cause = f", likely cause: {why}" if why else ""
        return [f"{kind}: {what}{unbroken(size(row))}{cause}", numbers]
    why = f": {why}" if why else ""
    return [f"undecided: {what}, {row.outcome.value}{why}", numbers]


def tables(
    comparison: Comparison,
    limit: int,
    sources: Mapping[str, str] = _NO_LINKS,
    *,
    moved: bool = False,
) -> str:
    """Return what follows the top, in at most `limit` characters.

    Names of changed rows lead to `sources`. With `moved`, reasons include their tables.
    """
    verdicts = ranked(comparison)
    closing = _next(comparison, verdicts)
    folds = map(_folded, ranking.folded(by_family(verdicts)))
    sections = [*_of_rows(comparison, verdicts, sources), *_why(verdicts, moved=moved)]
    sections += [_notes(comparison), *folds]
    texts, left_out = fitted([*sections, _compared(comparison)], limit - _RESERVE - len(closing))
    return "".join([*texts, _left_out(left_out), closing])


def ranked(comparison: Comparison) -> list[Verdict]:
    """Return the verdicts in order; none if all were refused, which the top already says."""
    refused = all(verdict.reason == comparison.refusal for verdict in comparison.verdicts)
    return [] if refused else sorted(comparison.verdicts, key=rank)


def _of_rows(
    comparison: Comparison, verdicts: Sequence[Verdict], sources: Mapping[str, str]
) -> list[Section]:
    def of(*outcomes: Outcome) -> list[Verdict]:
        return [verdict for verdict in verdicts if verdict.outcome in outcomes]

    def table(
        kind: Kind, verdicts: Sequence[Verdict], columns: Sequence[Column], title: str
    ) -> Section:
        return _table(kind, verdicts, columns, f"**{title}**{_BETWEEN}", sources)

    reasons = reasons_of(comparison)
    slower, faster = of(Outcome.REGRESSION), of(Outcome.IMPROVED)
    accepted = [verdict for verdict in verdicts if verdict.is_accepted]
    columns = of_rows.changed(reasons)
    method = comparison.method
    how = f"**How it was measured:** {method.words(in_sentence)}" if method else ""
    # These are small, and never cut.
    blocks = [block for block in (plot([*slower, *faster]), how) if block]
    beneath = [Section(Kind.BLOCK, "", 1, [block]) for block in blocks]
    unmeasured, title = of(*UNMEASURED), "Inconclusive or not measured"
    return [
        table(Kind.REGRESSION, slower, columns, "Regressions"),
        *(beneath if slower else ()),
        table(Kind.NOT_MEASURED, unmeasured, of_rows.unmeasured(reasons), title),
        table(Kind.IMPROVEMENT, faster, columns, "Improvements"),
        *(() if slower else beneath),
        table(Kind.ACCEPTED, accepted, of_rows.accepted(reasons), "Accepted"),
        _in_full([*slower, *unmeasured, *faster, *accepted], reasons),
        table(Kind.NEW, of(Outcome.NEW), of_rows.NEW, "New"),
    ]


def _table(
    kind: Kind,
    verdicts: Sequence[Verdict],
    columns: Sequence[Column],
    title: str = "",
    sources: Mapping[str, str] = _NO_LINKS,
) -> Section:
    columns = of_rows.worth_showing(columns, verdicts)
    numbers = [index for index, column in enumerate(columns) if column.is_number]
    head = table_head([column.heading for column in columns], numbers)

    def line(verdict: Verdict) -> str:
        cells = (column.cell(verdict) for column in columns[1:])
        return table_row([name(verdict.name, sources.get(verdict.name, "")), *cells])

    return Section(kind, title + head, len(verdicts), map(line, verdicts))


def _in_full(verdicts: Sequence[Verdict], reasons: Reasons) -> Section:
    """Return the explanations that were cut in the cells of these rows."""
    told = [(one, in_full(one, reasons)) for one in verdicts]
    cut_off = [(one.name, why) for one, why in told if why != in_cell(one, reasons)]
    lines = (f"- {name(what)}: {why}" for what, why in cut_off)
    inner = Section(Kind.CAUSE, "", len(cut_off), lines)
    return details(inner, summary("", f"{plural(len(cut_off), 'explanation')} in full"))


def _why(verdicts: Sequence[Verdict], *, moved: bool) -> Iterator[Section]:
    """Yield the paragraphs on slowdowns, and with `moved` the tables of what moved."""
    told = [(one.name, one.why) for one in verdicts if one.why is not None]
    texts = (cut(" ".join(inert(why.paragraph).split()), _LONGEST_REASON) for _, why in told)
    spans = (textwrap.wrap(text, _SPAN, break_on_hyphens=False) for text in texts)
    lines = (f"- {' '.join(map(in_sentence, parts))}" for parts in spans)
    if len(told) > _REASONS_SHOWN:
        folded = Section(Kind.WHY, "", len(told), lines)
        yield details(folded, summary("", f"{_WHY}: {plural(len(told), 'regression')}"))
    elif told:
        yield Section(Kind.WHY, f"**{_WHY}**\n\n", len(told), lines)
    for row, why in told if moved else ():
        if why.moved:
            head = table_head(("cause", "what moved", "baseline", "candidate"), numbers=(2, 3))
            cells = ((one.cause, one.what, one.before, one.after) for one in why.moved)
            rows = (
                table_row(breakable(cut(inert(cell), _WIDEST_CELL)) for cell in line)
                for line in cells
            )
            table = Section(Kind.MOVED, head, len(why.moved), rows)
            yield details(table, summary(row, ": what moved"))


def _folded(fold: Fold) -> Section:
    counts = "".join(f" · {count}" for count in fold.counts)
    title = summary(fold.family, counts if fold.family else f"{fold.title}{counts}")
    return details(_table(Kind.UNCHANGED, fold.members, of_rows.UNCHANGED), title)


def _notes(comparison: Comparison) -> Section:
    notes = comparison.notes
    lines = (f"- {note.words(in_sentence)}" for note in notes)
    found = Section(Kind.NOTE, "", len(notes), lines)
    folds = len(notes) > _NOTES_SHOWN
    return details(found, summary("", plural(len(notes), "note"))) if folds else found


def _compared(comparison: Comparison) -> Section:
    """Return both sides, the differences between them, and the decision rule."""
    differences = differences_beside(comparison)
    sides = (comparison.baseline, comparison.candidate)
    cells = [["compared", *(breakable(side(record)) for record in sides)]]
    cells += map(of_rows.difference, differences)
    head = table_head(("", "baseline", "candidate"))
    inner = Section(Kind.DIFFERENCE, head, len(cells), map(table_row, cells))
    rule = sentences(comparison)
    title = "What was compared" + (", and what is reported" if rule else "")
    if differences:
        title += f" · {plural(len(differences), 'difference')} of the environment"
    return details(inner, summary("", title), f"\n{prose(rule, longest=OUR_OWN)}\n" if rule else "")


def _next(comparison: Comparison, verdicts: Sequence[Verdict]) -> str:
    """Return the next step, and how to reproduce the changes."""
    changed = [one for one in verdicts if one.is_changed]
    slower = worst(comparison) is not None
    ours = comparison.candidate.source is Source.RUN
    # For regressions the folded part has the next steps.
    advice = "" if ours and slower else " ".join(map(str, next_step(comparison)))
    told = f"{prose(advice, longest=OUR_OWN)}\n\n" if advice else ""
    if not ours or not changed:
        return told
    title = "How to reproduce it on a machine with this GPU" + (", or accept it" if slower else "")
    return f"{told}{OPEN}{summary('', title)}\n\n{again(comparison, changed)}{CLOSE}"


def _left_out(counts: Mapping[Kind, int]) -> str:
    if not counts:
        return ""
    them = ", ".join(f"{count:,} {kind.value[count != 1]}" for kind, count in counts.items())
    return (
        f"**Left out for lack of space: {them}.** `scripts/compare.py BASELINE CANDIDATE --all` "
        "and `--format json=FILE` list everything.\n\n"
    )
