# SPDX-License-Identifier: Apache-2.0
"""Views of the rows: changed or open ones, unchanged ones by family, and the table."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote

from warpgauge.records.model import by_family
from warpgauge.reports import headline, ranking
from warpgauge.reports.decision_text import at_most
from warpgauge.reports.drawing import intervals
from warpgauge.reports.html import data
from warpgauge.reports.html.markup import NUMBER, breakable, heading, scrolled, shown
from warpgauge.reports.markdown.reasons import Reasons, reasons_of
from warpgauge.system.text import duration, inert, of_limit, percent, span
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict

# The most changed and undecided rows shown above the table, which has all rows.
_TOLD, _OPEN = 20, 6

# The table has all rows up to _MOST_ROWS. Of more, it has those that are not a PASS, at least
# _FIRST_ROWS; the script makes the others from the data. _IN_FOLD limits a family's fold.
_MOST_ROWS, _FIRST_ROWS, _IN_FOLD = 2000, 500, 200

_UNIT = re.compile(r"(?<=\d) (?=(?:[nµm]?s|%)(?!\w))")

_HEADINGS = ("verdict", "benchmark", "baseline", "candidate", "change", "95 % interval",
             "at most", "of limit")  # fmt: skip
_NUMBERS_FROM = 2


@dataclass(frozen=True)
class Rows:
    """The rows in the order of the page: the worst first."""

    comparison: Comparison

    @cached_property
    def verdicts(self) -> list[Verdict]:
        return sorted(self.comparison.verdicts, key=ranking.rank)

    @cached_property
    def keys(self) -> Mapping[str, str]:
        """The key of each row in links, by its name."""
        names = (verdict.name for verdict in self.verdicts)
        return dict(zip(names, data.keys(self.verdicts), strict=True))

    @cached_property
    def _reasons(self) -> Reasons:
        return reasons_of(self.comparison)

    @cached_property
    def _in_table(self) -> int:
        """The number of rows in the page's own table."""
        if len(self.verdicts) <= _MOST_ROWS:
            return len(self.verdicts)
        telling = sum(one.outcome is not Outcome.PASS for one in self.verdicts)
        return min(max(telling, _FIRST_ROWS), _MOST_ROWS)

    def data(self) -> str:
        """Return the data for the script."""
        rest = [
            [self.keys[one.name], *headline.values(one)] for one in self.verdicts[self._in_table :]
        ]
        causes = [self._cause(one) for one in self.verdicts]
        return data.text(self.comparison, self.verdicts, causes, rest)

    def changed(self) -> Iterator[str]:
        """Yield what changed or is open, with its cause, and the picture of the intervals."""
        refused = self.comparison.refusal is not None
        groups = {
            "Regressions": [v for v in self.verdicts if v.outcome is Outcome.REGRESSION],
            "Improvements": [v for v in self.verdicts if v.outcome is Outcome.IMPROVED],
            "Inconclusive or not measured": [
                v for v in self.verdicts if v.is_unmeasured
                and not (refused and v.reason == self.comparison.refusal)
            ],
            "Accepted": [v for v in self.verdicts if v.is_accepted],
        }  # fmt: skip
        for title, verdicts in groups.items():
            if verdicts:
                yield f'<section>\n{heading(title, len(verdicts))}\n<ul class="worst">'
                most = _OPEN if verdicts[0].is_unmeasured else _TOLD
                yield from map(self._item, verdicts[:most])
                more = len(verdicts) - most
                yield "</ul>"
                yield f'<p><a href="#rows">{more:,} more below</a></p>' if more > 0 else ""
                yield "</section>"
        if any(v.change for group in groups.values() for v in group):
            picture = scrolled("Intervals of the changes", intervals.drawn(self.comparison))
            yield f"<section>\n{heading('Intervals')}\n{picture}\n</section>"

    def _item(self, verdict: Verdict) -> str:
        size = ""
        if verdict.change and (verdict.is_changed or verdict.is_accepted):
            size = percent(verdict.change.ratio)
        elif verdict.bound is not None:
            size = at_most(verdict.bound, words="≤")
        size = size or verdict.outcome.value.lower()
        found, cause = " · ".join(_facts(verdict)), self._cause(verdict)
        told = cause and f'<p class="faint">{_unbroken(shown(cause))}</p>'
        return (
            f'<li class="{verdict.outcome.value.lower()}"><strong class="size">{size}</strong>'
            f"<div>{self.link(verdict)}<p>{_unbroken(shown(found))}</p>{told}</div></li>"
        )

    def _cause(self, verdict: Verdict) -> str:
        """Return a sentence on the resources that differ, else on the environment of a change."""
        if verdict.causes:
            return f"Likely cause: {inert('; '.join(verdict.causes))}"
        reasons = self._reasons(verdict) if verdict.is_changed else ()
        told = [f"{one.words} {inert(one.foreign)}".strip() for one in reasons if one.words]
        words = "; ".join(told)
        return words[:1].upper() + words[1:]

    def link(self, verdict: Verdict) -> str:
        key = self.keys[verdict.name]
        return f'<a href="#row={quote(key, safe="/:,")}">{breakable(key)}</a>'

    def folds(self) -> Iterator[str]:
        """Yield the unchanged benchmarks and their bounds, by family."""
        folds = ranking.folded(by_family(self.verdicts))
        if not folds:
            return
        yield f"<section>\n{heading('Unchanged')}"
        for fold in folds:
            counts = " · ".join(fold.counts)
            yield (
                f"<details><summary>{shown(fold.title)} "
                f'<span class="faint">{shown(counts)}</span></summary>\n<ul class="bounds">'
            )
            for one in fold.members[:_IN_FOLD]:
                bound = (
                    "" if one.bound is None else f" <span>{at_most(one.bound, words='≤')}</span>"
                )
                yield f"<li>{self.link(one)}{bound}</li>"
            more = len(fold.members) - _IN_FOLD
            yield f'<li><a href="#rows">{more:,} more below</a></li>' if more > 0 else ""
            yield "</ul></details>"
        yield "</section>"

    def table(self) -> Iterator[str]:
        heads = (
            f'<th scope="col"{NUMBER if at >= _NUMBERS_FROM else ""}>{title}</th>'
            for at, title in enumerate(_HEADINGS)
        )
        yield (
            f'<section id="rows" tabindex="-1">\n{heading("All benchmarks", len(self.verdicts))}\n'
            '<div id="tools" hidden></div>'
        )
        body = "\n".join(map(self._row, self.verdicts[: self._in_table]))
        yield scrolled(
            "Table of all benchmarks",
            f'<table id="all">\n<thead><tr>{"".join(heads)}</tr></thead>\n<tbody>\n{body}</tbody>\n'
            "</table>",
        )
        if (more := len(self.verdicts) - self._in_table) > 0:
            yield (
                f"<noscript><p>{more:,} more rows, the least significant ones, are in this file; "
                "only its script shows them.</p></noscript>"
            )
        yield "</section>"

    def _row(self, one: Verdict) -> str:
        outcome, key = one.outcome.value, html.escape(self.keys[one.name])
        numbers = "".join(f"<td{NUMBER}>{cell}</td>" for cell in headline.values(one))
        # The target of a link to this row if the script does not run.
        return (
            f'<tr id="row={key}"><td class="{outcome.lower()}">{outcome}</td>'
            f'<th scope="row">{self.link(one)}</th>{numbers}</tr>'
        )


def _facts(verdict: Verdict) -> Iterator[str]:
    """Yield what was found, without the size that begins an item."""
    change, tolerance = verdict.change, verdict.tolerance
    before, after = verdict.baseline_seconds, verdict.candidate_seconds
    if verdict.reason:
        yield inert(verdict.reason)
    if verdict.is_unmeasured and verdict.bound is not None and tolerance is not None:
        yield f"tolerance {percent(tolerance, sign=False)}"
    if change is not None and before is not None and after is not None:
        yield f"{duration(before)} → {duration(after)}"
        size = "" if verdict.is_changed else f"{percent(change.ratio)}, "
        yield f"{size}95 % interval {span(change.low, change.high)}"
    if limit := of_limit(verdict.limit_fraction):
        yield f"{limit} of the limit"
    if verdict.accepted:
        yield f"accepted: {inert(verdict.accepted)}"


def _unbroken(text: str) -> str:
    """Return text in which numbers do not break from their units."""
    return _UNIT.sub("\N{NO-BREAK SPACE}", text)
