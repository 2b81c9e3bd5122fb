# SPDX-License-Identifier: Apache-2.0
"""A comparison as Markdown for a pull request: the verdict, what changed, the rest folded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from warpgauge.records.model import Source, by_family
from warpgauge.reports import ranking
from warpgauge.reports.advice import again, next_step
from warpgauge.reports.decision_text import sentences
from warpgauge.reports.headline import (
    check_word,
    decisive,
    headline,
    how_found,
    size,
    worst,
)
from warpgauge.reports.interval_bar import plot
from warpgauge.reports.markdown import rows, why
from warpgauge.reports.markdown.reasons import Reasons, brief, in_cell, in_full, reasons_of
from warpgauge.reports.markdown.rows import Column
from warpgauge.reports.markdown.sections import CLOSE, OPEN, Kind, Section, details, fitted
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
from warpgauge.system.text import LONGEST_TEXT, cut, inert, plural
from warpgauge.verdict.comparison import (
    CHANGED,
    UNMEASURED,
    Comparison,
    Outcome,
    Verdict,
    is_accepted,
)

# GitHub takes a comment of 65,536 characters; whoever posts this may want to add a line.
LIMIT = 60_000
_RESERVE = 600  # for the sentence about what was left out
_NOTES_SHOWN = 3  # more are folded

# The last line, by which a program finds its own comment again.
MARK = "<!-- warpgauge comparison -->\n"

_BETWEEN = "\n\n"
_AT_THE_TOP = 90  # characters of a cause

_NO_LINKS: Mapping[str, str] = {}


def render(comparison: Comparison, limit: int = LIMIT) -> str:
    """At most `limit` characters; foreign text in it is inert, every table has all its cells."""
    return f"{unmarked(comparison, limit - len(MARK))}{MARK}"


def unmarked(comparison: Comparison, limit: int) -> str:
    """Without the mark."""
    gpu = gpu_name(comparison.candidate)
    told = _BETWEEN.join(top(comparison)) + (f" On {code(gpu)}." if gpu else "")
    verdict = f"**{check_word(comparison.exit_status)}** · {told}{_BETWEEN}"
    return f"{verdict}{tables(comparison, limit - len(verdict), moved=True)}"


def top(comparison: Comparison, sources: Mapping[str, str] = _NO_LINKS) -> list[str]:
    """The row that decides, if there is one, and its cause; then the verdict in numbers."""
    line, row = headline(comparison), decisive(comparison)
    if line.refusal is not None:
        refusal = breakable(cut(inert(line.refusal), LONGEST_TEXT), IN_PARAGRAPH)
        return [f"**{line.verdict}** {refusal}"]
    numbers = " ".join(filter(None, (f"**{line.verdict}.**", how_found(comparison))))
    if row is None:
        return [numbers]
    why = brief(reasons_of(comparison)(row), _AT_THE_TOP)
    what = name(row.name, sources.get(row.name, ""), IN_PARAGRAPH)
    if row.outcome in CHANGED:
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
    """All that follows, in at most `limit` characters; names of changed rows lead to `sources`.

    Of a reason its paragraph, and what `moved` where that is asked for.
    """
    verdicts = ranked(comparison)
    closing = _next(comparison, verdicts)
    folds = map(_folded, ranking.folded(by_family(verdicts)))
    sections = [*_of_rows(comparison, verdicts, sources), *why.sections(verdicts, moved=moved)]
    sections += [_notes(comparison), *folds]
    texts, left_out = fitted([*sections, _compared(comparison)], limit - _RESERVE - len(closing))
    return "".join([*texts, _left_out(left_out), closing])


def ranked(comparison: Comparison) -> list[Verdict]:
    """What is to be said of single rows: where all was refused, nothing that the top does not."""
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
    accepted = [verdict for verdict in verdicts if is_accepted(verdict)]
    columns = rows.changed(reasons)
    method = comparison.method
    how = f"**How it was measured:** {method.words(in_sentence)}" if method else ""
    # What is small, and never cut.
    blocks = [block for block in (plot([*slower, *faster]), how) if block]
    beneath = [Section(Kind.BLOCK, "", 1, [block]) for block in blocks]
    unmeasured, title = of(*UNMEASURED), "Inconclusive, or not measured"
    return [
        table(Kind.REGRESSION, slower, columns, "Regressions"),
        *(beneath if slower else ()),
        table(Kind.NOT_MEASURED, unmeasured, rows.unmeasured(reasons), title),
        table(Kind.IMPROVEMENT, faster, columns, "Improvements"),
        *(() if slower else beneath),
        table(Kind.ACCEPTED, accepted, rows.accepted(reasons), "Accepted"),
        _in_full([*slower, *unmeasured, *faster, *accepted], reasons),
        table(Kind.NEW, of(Outcome.NEW), rows.NEW, "New"),
    ]


def _table(
    kind: Kind,
    verdicts: Sequence[Verdict],
    columns: Sequence[Column],
    title: str = "",
    sources: Mapping[str, str] = _NO_LINKS,
) -> Section:
    columns = rows.worth_showing(columns, verdicts)
    numbers = [index for index, column in enumerate(columns) if column.is_number]
    head = table_head([column.heading for column in columns], numbers)

    def line(verdict: Verdict) -> str:
        cells = (column.cell(verdict) for column in columns[1:])
        return table_row([name(verdict.name, sources.get(verdict.name, "")), *cells])

    return Section(kind, title + head, len(verdicts), map(line, verdicts))


def _in_full(verdicts: Sequence[Verdict], reasons: Reasons) -> Section:
    """What the cells of these rows had no room for."""
    told = [(one, in_full(one, reasons)) for one in verdicts]
    cut_off = [(one.name, why) for one, why in told if why != in_cell(one, reasons)]
    lines = (f"- {name(what)}: {why}" for what, why in cut_off)
    inner = Section(Kind.CAUSE, "", len(cut_off), lines)
    return details(inner, summary("", f"{plural(len(cut_off), 'explanation')} in full"))


def _folded(fold: Fold) -> Section:
    counts = "".join(f" · {count}" for count in fold.counts)
    title = summary(fold.family, counts if fold.family else f"{fold.title}{counts}")
    return details(_table(Kind.UNCHANGED, fold.members, rows.UNCHANGED), title)


def _notes(comparison: Comparison) -> Section:
    notes = comparison.notes
    lines = (f"- {note.words(in_sentence)}" for note in notes)
    found = Section(Kind.NOTE, "", len(notes), lines)
    folds = len(notes) > _NOTES_SHOWN
    return details(found, summary("", plural(len(notes), "note"))) if folds else found


def _compared(comparison: Comparison) -> Section:
    """Both sides, what else differs between them, and the rule that was in force."""
    differences = differences_beside(comparison)
    sides = (comparison.baseline, comparison.candidate)
    cells = [["compared", *(breakable(side(record)) for record in sides)]]
    cells += map(rows.difference, differences)
    head = table_head(("", "baseline", "candidate"))
    inner = Section(Kind.DIFFERENCE, head, len(cells), map(table_row, cells))
    rule = sentences(comparison)
    title = "What was compared" + (", and what is reported" if rule else "")
    if differences:
        title += f" · {plural(len(differences), 'difference')} of the environment"
    return details(inner, summary("", title), f"\n{prose(rule, longest=OUR_OWN)}\n" if rule else "")


def _next(comparison: Comparison, verdicts: Sequence[Verdict]) -> str:
    """The one thing to do, and how to see again what changed."""
    changed = [one for one in verdicts if one.outcome in CHANGED]
    slower = worst(comparison) is not None
    ours = comparison.candidate.source is Source.RUN
    # Of what is slower the fold says what to do.
    advice = "" if ours and slower else " ".join(map(str, next_step(comparison)))
    told = f"{prose(advice, longest=OUR_OWN)}\n\n" if advice else ""
    if not ours or not changed:
        return told
    title = "How to see it again on a machine with this GPU" + (", or accept it" if slower else "")
    return f"{told}{OPEN}{summary('', title)}\n\n{again(comparison, changed)}{CLOSE}"


def _left_out(counts: Mapping[Kind, int]) -> str:
    if not counts:
        return ""
    them = ", ".join(f"{count:,} {kind.value[count != 1]}" for kind, count in counts.items())
    return (
        f"**Left out, for there is no room for it here: {them}.** "
        "`scripts/compare.py BASELINE CANDIDATE --all` lists everything, "
        "and so does `--format json=FILE`.\n\n"
    )
