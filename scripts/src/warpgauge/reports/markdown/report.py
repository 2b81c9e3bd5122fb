# SPDX-License-Identifier: Apache-2.0
"""A comparison as Markdown for a pull request: the verdict, what changed, the rest folded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from warpgauge.records.model import Source, by_family
from warpgauge.reports import ranking
from warpgauge.reports.advice import again, next_step
from warpgauge.reports.decision_text import sentences
from warpgauge.reports.headline import headline, how_found, size, worst
from warpgauge.reports.interval_bar import plot
from warpgauge.reports.markdown import rows as markdown_rows
from warpgauge.reports.markdown.rows import Column
from warpgauge.reports.markdown.text import (
    OUR_OWN,
    code,
    in_sentence,
    prose,
    summary,
    table_head,
    table_row,
    unbroken,
)
from warpgauge.reports.provenance import differences_beside, gpu_name, side
from warpgauge.reports.ranking import Fold, rank
from warpgauge.system.text import plural
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

_OPEN, _CLOSE = "<details>", "\n</details>\n\n"
_BETWEEN = "\n\n"  # the verdict and the rest


class Kind(Enum):
    """What a section's rows are, one and several of them; the first kind is cut last."""

    BLOCK = ("", "")
    REGRESSION = ("regression", "regressions")
    NOT_MEASURED = ("benchmark not measured", "benchmarks not measured")
    NOTE = ("note", "notes")
    DIFFERENCE = ("difference of the environment", "differences of the environment")
    IMPROVEMENT = ("improvement", "improvements")
    ACCEPTED = ("accepted change", "accepted changes")
    NEW = ("new benchmark", "new benchmarks")
    UNCHANGED = ("unchanged benchmark", "unchanged benchmarks")


@dataclass(frozen=True)
class Section:
    """Rows between a head and a foot, in the order in which they matter.

    `lines` makes the `count` rows one by one, so that none is made in vain.
    """

    kind: Kind
    head: str
    count: int
    lines: Iterable[str]
    foot: str = "\n"


def render(comparison: Comparison, limit: int = LIMIT) -> str:
    """At most `limit` characters; foreign text in it is inert, every table has all its cells."""
    verdict, rest = parts(comparison, limit)
    return f"{verdict}{_BETWEEN}{rest}{MARK}"


def parts(comparison: Comparison, limit: int) -> tuple[str, str]:
    """The verdict in one line and all that follows, without the mark."""
    verdict = _headline(comparison)
    refused = all(verdict.reason == comparison.refusal for verdict in comparison.verdicts)
    # Refused as a whole, every row would only repeat the first line.
    verdicts = () if refused else sorted(comparison.verdicts, key=rank)
    closing = _next(comparison, verdicts)
    room = limit - _RESERVE - sum(map(len, (verdict, _BETWEEN, closing, MARK)))
    folds = map(_folded, ranking.folded(by_family(verdicts)))
    sections = [*_of_rows(comparison, verdicts), _notes(comparison), *folds, _compared(comparison)]
    texts, left_out = _fitted(sections, room)
    return verdict, "".join([*texts, _left_out(left_out, limit), closing])


def _headline(comparison: Comparison) -> str:
    line = headline(comparison)
    if line.refusal is not None:
        return f"**{line.verdict}** {prose(line.refusal)}"
    named = [f"Worst: {code(line.worst.name)}{unbroken(size(line.worst))}."] if line.worst else []
    gpu = gpu_name(comparison.candidate)
    on = [f"On {prose(gpu)}."] if gpu else []
    return " ".join(filter(None, (f"**{line.verdict}.**", *named, how_found(comparison), *on)))


def _of_rows(comparison: Comparison, ranked: Sequence[Verdict]) -> list[Section]:
    def of(*outcomes: Outcome) -> list[Verdict]:
        return [verdict for verdict in ranked if verdict.outcome in outcomes]

    slower, faster = of(Outcome.REGRESSION), of(Outcome.IMPROVED)
    accepted = [verdict for verdict in ranked if is_accepted(verdict)]
    columns = markdown_rows.changed(comparison)
    method = comparison.method
    how = f"**How it was measured:** {method.words(in_sentence)}" if method else ""
    # What is small, and never cut.
    blocks = [block for block in (plot([*slower, *faster]), how) if block]
    beneath = [Section(Kind.BLOCK, "", 1, [block]) for block in blocks]
    title = "Inconclusive, or not measured"
    return [
        _table(Kind.REGRESSION, slower, columns, "Regressions"),
        *(beneath if slower else ()),
        _table(Kind.NOT_MEASURED, of(*UNMEASURED), markdown_rows.UNMEASURED, title),
        _table(Kind.IMPROVEMENT, faster, columns, "Improvements"),
        *(() if slower else beneath),
        _table(Kind.ACCEPTED, accepted, markdown_rows.ACCEPTED, "Accepted"),
        _table(Kind.NEW, of(Outcome.NEW), markdown_rows.NEW, "New"),
    ]


def _table(
    kind: Kind, verdicts: Sequence[Verdict], columns: Sequence[Column], title: str = ""
) -> Section:
    columns = markdown_rows.worth_showing(columns, verdicts)
    numbers = [index for index, column in enumerate(columns) if column.is_number]
    head = table_head([column.heading for column in columns], numbers)
    lines = (table_row(column.cell(verdict) for column in columns) for verdict in verdicts)
    title = f"**{title}**\n\n" if title else ""
    return Section(kind, title + head, len(verdicts), lines)


def _folded(fold: Fold) -> Section:
    counts = "".join(f" · {count}" for count in fold.counts)
    title = summary(fold.family, counts if fold.family else f"{fold.title}{counts}")
    return _fold(_table(Kind.UNCHANGED, fold.members, markdown_rows.UNCHANGED), title)


def _fold(inner: Section, title: str, below: str = "") -> Section:
    head = f"{_OPEN}{title}\n\n{inner.head}"
    return Section(inner.kind, head, inner.count, inner.lines, below + _CLOSE)


def _notes(comparison: Comparison) -> Section:
    notes = comparison.notes
    lines = (f"- {note.words(in_sentence)}" for note in notes)
    found = Section(Kind.NOTE, "", len(notes), lines)
    folds = len(notes) > _NOTES_SHOWN
    return _fold(found, summary("", plural(len(notes), "note"))) if folds else found


def _compared(comparison: Comparison) -> Section:
    """Both sides, what else differs between them, and the rule that was in force."""
    differences = differences_beside(comparison)
    sides = (comparison.baseline, comparison.candidate)
    cells = [["compared", *(prose(side(record)) for record in sides)]]
    cells += map(markdown_rows.difference, differences)
    head = table_head(("", "baseline", "candidate"))
    inner = Section(Kind.DIFFERENCE, head, len(cells), map(table_row, cells))
    rule = sentences(comparison)
    title = "What was compared" + (", and what is reported" if rule else "")
    if differences:
        title += f" · {plural(len(differences), 'difference')} of the environment"
    return _fold(inner, summary("", title), f"\n{prose(rule, longest=OUR_OWN)}\n" if rule else "")


def _next(comparison: Comparison, ranked: Sequence[Verdict]) -> str:
    """The one thing to do, and how to see again what changed."""
    rows = [one for one in ranked if one.outcome in CHANGED]
    slower = worst(comparison) is not None
    ours = comparison.candidate.source is Source.RUN
    # Of what is slower the fold says what to do.
    advice = "" if ours and slower else " ".join(map(str, next_step(comparison)))
    told = f"{prose(advice, longest=OUR_OWN)}\n\n" if advice else ""
    if not ours or not rows:
        return told
    title = "How to see it again on a machine with this GPU" + (", or accept it" if slower else "")
    return f"{told}{_OPEN}{summary('', title)}\n\n{again(comparison, rows)}{_CLOSE}"


def _left_out(counts: Mapping[Kind, int], limit: int) -> str:
    if not counts:
        return ""
    them = ", ".join(f"{count:,} {kind.value[count != 1]}" for kind, count in counts.items())
    return (
        f"**Left out, to stay within {limit:,} characters: {them}.** "
        "`scripts/compare.py BASELINE CANDIDATE --all` lists everything, "
        "and so does `--format json=FILE`.\n\n"
    )


def _fitted(sections: Sequence[Section], room: int) -> tuple[list[str], Mapping[Kind, int]]:
    """The sections' texts, empty where nothing fits, and how many rows of what are left out.

    As many rows as `room` characters hold; after the first that does not fit, none.
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
    """The section's text within `room`, and how many rows it holds; without rows no text."""
    room -= len(section.head) + len(section.foot)
    rows: list[str] = []
    for line in section.lines:
        room -= len(line) + 1
        if room < 0:
            break
        rows.append(line)
    text = "\n".join([*rows, section.foot])
    return (f"{section.head}{text}", len(rows)) if rows else ("", 0)
