# SPDX-License-Identifier: Apache-2.0
"""A comparison as Markdown for a pull request: the verdict, what changed, the rest folded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from warpgauge import folding
from warpgauge import markdown_rows as rows
from warpgauge.advice import accept, command, next_step
from warpgauge.comparison import UNMEASURED, Comparison, Outcome, Verdict
from warpgauge.criterion import sentences
from warpgauge.families import by_family
from warpgauge.folding import Fold
from warpgauge.headline import headline, how_found, is_accepted, size, worst
from warpgauge.markdown_fit import Fitted, Section, fit
from warpgauge.markdown_rows import Column
from warpgauge.markdown_text import code, prose, summary, table_head, table_row, unbroken
from warpgauge.model import Source
from warpgauge.provenance import differences_beside, gpu_name, side
from warpgauge.ranking import rank
from warpgauge.text import plural

# GitHub takes a comment of 65,536 characters; whoever posts this may want to add a line.
LIMIT = 60_000
# Room for the sentence about what was left out.
_RESERVE = 600

# The last line, by which a program finds its own comment again.
MARK = "<!-- warpgauge comparison -->\n"

# More notes than these are folded.
_NOTES_SHOWN = 3

_NO_VERDICT = "Undecided, or not measured"

_OPEN, _CLOSE = "<details>", "\n</details>\n\n"

# How much each section matters: the first is cut last.
_WEIGHTS = {
    "regression": 0,
    "benchmark not measured": 1,
    "note": 2,
    "difference of the environment": 3,
    "improvement": 4,
    "accepted change": 5,
    "new benchmark": 6,
    "unchanged benchmark": 7,
}


def render(comparison: Comparison) -> str:
    """At most LIMIT characters; foreign text in it is inert, and every table has all its cells."""
    opening = f"{_headline(comparison)}\n\n"
    closing = f"{_next(comparison)}{MARK}"
    room = LIMIT - _RESERVE - len(opening) - len(closing)
    refused = all(verdict.reason == comparison.refusal for verdict in comparison.verdicts)
    # Refused as a whole, every row would only repeat the first line.
    verdicts = () if refused else sorted(comparison.verdicts, key=rank)
    sections = [*_of_rows(verdicts), _notes(comparison), *_folds(verdicts), _compared(comparison)]
    fitted = fit(sections, room)
    return "".join([opening, *fitted.texts, _left_out(fitted), closing])


def _headline(comparison: Comparison) -> str:
    line = headline(comparison)
    if line.refusal is not None:
        return f"**{line.verdict}** {prose(line.refusal)}"
    named = [f"Worst: {code(line.worst.name)}{unbroken(size(line.worst))}."] if line.worst else []
    gpu = gpu_name(comparison.candidate)
    on = [f"On {prose(gpu)}."] if gpu else []
    return " ".join(filter(None, (f"**{line.verdict}.**", *named, how_found(comparison), *on)))


def _of_rows(ranked: Sequence[Verdict]) -> list[Section]:
    def of(*outcomes: Outcome) -> list[Verdict]:
        return [verdict for verdict in ranked if verdict.outcome in outcomes]

    accepted = [verdict for verdict in ranked if is_accepted(verdict)]
    return [
        _table("regression", of(Outcome.REGRESSION), rows.CHANGED, "Regressions"),
        _table("benchmark not measured", of(*UNMEASURED), rows.UNMEASURED, _NO_VERDICT),
        _table("improvement", of(Outcome.IMPROVED), rows.CHANGED, "Improvements"),
        _table("accepted change", accepted, rows.ACCEPTED, "Accepted"),
        _table("new benchmark", of(Outcome.NEW), rows.NEW, "New"),
    ]


def _table(
    noun: str, verdicts: Sequence[Verdict], columns: Sequence[Column], title: str = ""
) -> Section:
    columns = rows.worth_showing(columns, verdicts)
    numbers = [index for index, column in enumerate(columns) if column.is_number]
    head = table_head([column.heading for column in columns], numbers)
    lines = (table_row(column.cell(verdict) for column in columns) for verdict in verdicts)
    title = f"**{title}**\n\n" if title else ""
    return Section(noun, _WEIGHTS[noun], title + head, len(verdicts), lines)


def _folds(ranked: Sequence[Verdict]) -> list[Section]:
    """The unchanged benchmarks, a family a fold."""
    return [_folded(fold) for fold in folding.folded(by_family(ranked))]


def _folded(fold: Fold) -> Section:
    counts = "".join(f" · {count} {width}".rstrip() for count, width in fold.counts)
    title = summary(fold.family, counts if fold.family else f"{fold.title}{counts}")
    return _fold(_table("unchanged benchmark", fold.members, rows.UNCHANGED), title)


def _fold(inner: Section, title: str, below: str = "") -> Section:
    head = f"{_OPEN}{title}\n\n{inner.head}"
    return Section(inner.noun, inner.weight, head, inner.count, inner.lines, below + _CLOSE)


def _notes(comparison: Comparison) -> Section:
    notes = comparison.notes
    found = _section("note", "", (f"- {prose(note)}" for note in notes), len(notes))
    if len(notes) <= _NOTES_SHOWN:
        return found
    return _fold(found, summary("", plural(len(notes), "note")))


def _compared(comparison: Comparison) -> Section:
    """Both sides, what else differs between them, and the rule that was in force."""
    differences = differences_beside(comparison)
    sides = (comparison.baseline, comparison.candidate)
    cells = [["compared", *(prose(side(record)) for record in sides)]]
    cells += map(rows.difference, differences)
    head = table_head(("", "baseline", "candidate"))
    inner = _section("difference of the environment", head, map(table_row, cells), len(cells))
    rule = sentences(comparison)
    title = "What was compared" + (", and when a change counts" if rule else "")
    if differences:
        told = plural(len(differences), "difference")
        title = f"{title} · {told} of the environment"
    return _fold(inner, summary("", title), f"\n{prose(rule)}\n" if rule else "")


def _section(noun: str, head: str, lines: Iterable[str], count: int) -> Section:
    return Section(noun, _WEIGHTS[noun], head, count, lines)


def _next(comparison: Comparison) -> str:
    """How to see the worst again, else the one thing to do."""
    slowest = worst(comparison)
    if slowest is not None and comparison.candidate.source is Source.RUN:
        title = summary("", "How to see the worst again, on a machine with this GPU")
        block = f"```sh\n{command(comparison, slowest)}\n```\n\n{prose(accept(comparison))}\n"
        return f"{_OPEN}{title}\n\n{block}{_CLOSE}"
    advice = next_step(comparison)
    return f"{prose(advice)}\n\n" if advice else ""


def _left_out(fitted: Fitted) -> str:
    if not fitted.left_out:
        return ""
    them = ", ".join(_counted(count, noun) for noun, count in fitted.left_out.items())
    return (
        f"**Left out, to stay within {LIMIT:,} characters: {them}.** "
        "`scripts/compare.py BASELINE CANDIDATE --all` lists everything, "
        "and so does `--format json=FILE`.\n\n"
    )


def _counted(count: int, noun: str) -> str:
    """``1 benchmark not measured``, ``2,000 benchmarks not measured``."""
    first, *rest = noun.split(" ") if noun.startswith(("benchmark", "difference")) else [noun]
    return " ".join([f"{count:,}", first if count == 1 else f"{first}s", *rest])
