# SPDX-License-Identifier: Apache-2.0
"""A comparison as Markdown for a pull request: the verdict, what changed, the rest folded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from warpgauge import markdown_rows as rows
from warpgauge.advice import accept, command, next_step
from warpgauge.comparison import UNMEASURED, Comparison, Outcome, Verdict
from warpgauge.headline import headline, how_found, is_accepted, size, worst
from warpgauge.markdown_fit import Fitted, Section, fit
from warpgauge.markdown_rows import NUMBERS
from warpgauge.markdown_text import code, prose, summary, table_head, table_row
from warpgauge.model import Source
from warpgauge.provenance import side
from warpgauge.ranking import CHANGED, rank
from warpgauge.text import plural, span

# GitHub takes a comment of 65,536 characters; whoever posts this may want to add a line.
LIMIT = 60_000
# Room for the sentence about what was left out.
_RESERVE = 600

# The last line, by which a program finds its own comment again.
MARK = "<!-- warpgauge comparison -->\n"

# Columns of numbers, which align to the right.
_RIGHT = frozenset((*NUMBERS, "time"))

_OPEN, _CLOSE = "<details>", "\n</details>\n\n"

# How much each section matters: the first is cut last.
_WEIGHTS = {
    "changed benchmark": 0,
    "benchmark not measured": 1,
    "accepted change": 2,
    "new benchmark": 3,
    "difference of the environment": 4,
    "note": 5,
    "unchanged benchmark": 6,
}


def render(comparison: Comparison) -> str:
    """At most LIMIT characters; foreign text in it is inert, and every table has all its cells."""
    opening = f"{_headline(comparison)}\n\n"
    closing = f"{_next(comparison)}{MARK}"
    room = LIMIT - _RESERVE - len(opening) - len(closing)
    refused = all(verdict.reason == comparison.refusal for verdict in comparison.verdicts)
    # Refused as a whole, every row would only repeat the first line.
    verdicts = () if refused else comparison.verdicts
    fitted = fit([*_of_rows(verdicts), *_of_context(comparison)], room)
    return "".join([opening, *fitted.texts, _left_out(fitted), closing])


def _headline(comparison: Comparison) -> str:
    line = headline(comparison)
    if line.refusal is not None:
        return f"**{line.verdict}** {prose(line.refusal)}"
    named = f" Worst: {code(line.worst.name)}{size(line.worst)}." if line.worst else ""
    return f"**{line.verdict}.**{named} {how_found(comparison)}".rstrip()


def _of_rows(verdicts: Sequence[Verdict]) -> list[Section]:
    ranked = sorted(verdicts, key=rank)
    changed = [verdict for verdict in ranked if verdict.outcome in CHANGED]
    unmeasured = [verdict for verdict in ranked if verdict.outcome in UNMEASURED]
    accepted = [verdict for verdict in ranked if is_accepted(verdict)]
    new = [verdict for verdict in ranked if verdict.outcome is Outcome.NEW]
    families: dict[str, list[Verdict]] = {}
    for verdict in ranked:
        if verdict.outcome is Outcome.PASS and not is_accepted(verdict):
            families.setdefault(verdict.family, []).append(verdict)
    sections = [
        _table("changed benchmark", changed, rows.changed, ("verdict", *NUMBERS, "likely cause")),
        _table(
            "benchmark not measured",
            unmeasured,
            rows.unmeasured,
            ("verdict", "why"),
            "Not measured",
        ),
        _table("accepted change", accepted, rows.accepted, (*NUMBERS, "why"), "Accepted"),
        _table("new benchmark", new, rows.new, ("time", "of limit"), "New"),
    ]
    return sections + [_folded(name, members) for name, members in families.items()]


def _table(
    noun: str,
    verdicts: Sequence[Verdict],
    row: Callable[[Verdict], Sequence[str]],
    headings: Sequence[str],
    title: str = "",
) -> Section:
    title = f"**{title}**\n\n" if title else ""
    head = table_head(
        ("benchmark", *headings), [i + 1 for i, h in enumerate(headings) if h in _RIGHT]
    )
    lines = (table_row(row(verdict)) for verdict in verdicts)
    return Section(noun, _WEIGHTS[noun], title + head, len(verdicts), lines)


def _folded(family: str, verdicts: Sequence[Verdict]) -> Section:
    """The unchanged benchmarks of a family."""
    ratios = [verdict.change.ratio for verdict in verdicts if verdict.change is not None]
    width = f" ({span(min(ratios), max(ratios))})" if ratios else ""
    inner = _table("unchanged benchmark", verdicts, rows.measured, NUMBERS)
    title = summary(family, f" · {len(verdicts)} unchanged{width}")
    return _fold(inner, title)


def _fold(inner: Section, title: str) -> Section:
    head = f"{_OPEN}{title}\n\n{inner.head}"
    return Section(inner.noun, inner.weight, head, inner.count, inner.lines, _CLOSE)


def _of_context(comparison: Comparison) -> list[Section]:
    differences, notes = comparison.differences, comparison.notes
    told = f"{plural(len(differences), 'difference')} of the environment (told, not judged)"
    sides = (comparison.baseline, comparison.candidate)
    head = table_head(("", "baseline", "candidate"))
    cells = [["compared", *(prose(side(record)) for record in sides)]]
    cells += map(rows.difference, differences)
    return [
        _fold(_context("difference of the environment", head, map(table_row, cells), len(cells)),
              summary("", told)),
        _fold(_context("note", "", (f"- {prose(note)}" for note in notes), len(notes)),
              summary("", plural(len(notes), "note"))),
    ]  # fmt: skip


def _context(noun: str, head: str, lines: Iterable[str], count: int) -> Section:
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
