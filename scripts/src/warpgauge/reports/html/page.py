# SPDX-License-Identifier: Apache-2.0
"""The page of a comparison: the verdict first, what changed, then every row.

All of it is there without the script, which searches, sorts and opens a row's own page. A policy
in the page lets nothing but its one style and its one script work. Foreign text is inert.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

from warpgauge.records.model import by_family
from warpgauge.reports import headline, ranking
from warpgauge.reports.advice import next_step
from warpgauge.reports.decision_text import rounded_up, sentences
from warpgauge.reports.drawing import intervals, style
from warpgauge.reports.html import data
from warpgauge.reports.markdown.reasons import Reasons, reasons_of
from warpgauge.reports.provenance import differences_beside, gpu_name, side, told_values
from warpgauge.system.text import (
    LONGEST_TEXT,
    cut,
    duration,
    inert,
    of_limit,
    percent,
)
from warpgauge.verdict.comparison import (
    CHANGED,
    UNMEASURED,
    Comparison,
    Outcome,
    Verdict,
    is_accepted,
)

# By it a later run knows that it may replace the file.
MARK = "warpgauge comparison"

# More rows are no summary any more; the table has them all.
_TOLD = 20

_HEADINGS = ("verdict", "benchmark", "baseline", "candidate", "change", "95 % interval",
             "at most", "of limit")  # fmt: skip
_NUMBERS_FROM = 2


def render(comparison: Comparison) -> str:
    """The file's text."""
    return _Page(comparison).text()


def hash_of(text: str) -> str:
    """As a policy names a style or a script."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@dataclass(frozen=True)
class _Page:
    comparison: Comparison

    @cached_property
    def verdicts(self) -> list[Verdict]:
        return sorted(self.comparison.verdicts, key=ranking.rank)

    @cached_property
    def keys(self) -> Mapping[str, str]:
        """What links call each row, by its name."""
        names = (verdict.name for verdict in self.verdicts)
        return dict(zip(names, data.keys(self.verdicts), strict=True))

    @cached_property
    def reasons(self) -> Reasons:
        return reasons_of(self.comparison)

    def text(self) -> str:
        rules, script = f"{style.text()}{_file('report.css')}", _file("report.js")
        policy = (
            f"default-src 'none'; script-src {hash_of(script)}; style-src {hash_of(rules)}; "
            "base-uri 'none'; form-action 'none'"
        )
        line = str(headline.headline(self.comparison))
        body = "\n".join([*self._top(line), *self._changed(), *self._folds(), *self._all_rows(),
                          *self._compared(), *self._notes()])  # fmt: skip
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<meta name="generator" content="{MARK}">\n<meta name="referrer" '
            'content="no-referrer">\n<meta name="color-scheme" content="light dark">\n'
            f"<title>{self.word}: {_shown(line)}</title>\n<style>{rules}</style>\n</head>\n"
            f'<body>\n<a class="skip" href="#rows">Skip to all benchmarks</a>\n<main>\n{body}\n'
            "</main>\n"
            f'<script type="application/json" id="data">{data.text(self.comparison, self.verdicts)}'
            f"</script>\n<script>{script}</script>\n</body>\n</html>\n"
        )

    @property
    def word(self) -> str:
        return headline.check_word(self.comparison.exit_status)

    def _top(self, line: str) -> Iterable[str]:
        comparison, status = self.comparison, self.comparison.exit_status
        gpu = gpu_name(comparison.candidate)
        kind = self.word.split()[0].lower()
        yield f'<header>\n<h1><span class="badge {kind}">{self.word}</span> {_shown(line)}</h1>'
        told = [*filter(None, (gpu and f"On {gpu}.", headline.how_found(comparison)))]
        yield f"<p>{_shown(' '.join(told))}</p>" if told else ""
        yield (
            f'<p class="faint">Exit status {status:d}: '
            f"{headline.EXIT_MEANINGS[status]}.</p>\n</header>"
        )

    def _changed(self) -> Iterable[str]:
        """What changed or is open, with its cause, and the picture of the intervals."""
        refused = self.comparison.refusal is not None
        groups = {
            "Regressions": [v for v in self.verdicts if v.outcome is Outcome.REGRESSION],
            "Inconclusive, or not measured": [
                v for v in self.verdicts if v.outcome in UNMEASURED
                and not (refused and v.reason == self.comparison.refusal)
            ],
            "Improvements": [v for v in self.verdicts if v.outcome is Outcome.IMPROVED],
            "Accepted": [v for v in self.verdicts if is_accepted(v)],
        }  # fmt: skip
        for title, verdicts in groups.items():
            if verdicts:
                count = f' <span class="count">{len(verdicts):,}</span>'
                yield f'<section>\n<h2>{title}{count}</h2>\n<ul class="worst">'
                yield from map(self._item, verdicts[:_TOLD])
                more = len(verdicts) - _TOLD
                yield "</ul>"
                yield f'<p><a href="#rows">{more:,} more below</a></p>' if more > 0 else ""
                yield "</section>"
        if any(v.change for group in groups.values() for v in group):
            picture = intervals.drawn(self.comparison)
            yield (
                '<section>\n<h2>Intervals</h2>\n<div class="scroll" tabindex="0" role="region" '
                f'aria-label="Intervals of the changes">{picture}</div>\n</section>'
            )

    def _item(self, verdict: Verdict) -> str:
        size = headline.size(verdict).strip(" ()") if verdict.outcome in CHANGED else ""
        if not size and is_accepted(verdict) and verdict.change:
            size = percent(verdict.change.ratio)
        size = size or verdict.outcome.value
        kind = verdict.outcome.value.lower()
        # Where no resource differs, what else does: the environment.
        around = [] if verdict.resources else self.reasons(verdict)
        told = [f"{one.words} {inert(one.foreign)}".strip() for one in around if one.words]
        why = verdict.outcome in CHANGED and told
        cause = f'<br><span class="faint">Likely cause: {_shown("; ".join(told))}</span>'
        return (
            f'<li class="{kind}"><strong class="size">{size}</strong> {self._link(verdict)}'
            f"<br>{_shown(headline.sentence(verdict))}{cause if why else ''}</li>"
        )

    def _link(self, verdict: Verdict) -> str:
        key = self.keys[verdict.name]
        return f'<a href="#row={quote(key, safe="/:,")}">{_breakable(key)}</a>'

    def _folds(self) -> Iterable[str]:
        """How much slower what did not change may be at most, by family."""
        folds = ranking.folded(by_family(self.verdicts))
        if not folds:
            return
        yield "<section>\n<h2>Unchanged</h2>"
        for fold in folds:
            counts = " · ".join(fold.counts)
            yield (
                f"<details><summary>{_shown(fold.title)} "
                f'<span class="faint">{_shown(counts)}</span></summary>\n<ul class="bounds">'
            )
            for one in fold.members:
                bound = "" if one.bound is None else f" at most {rounded_up(one.bound)}"
                yield f"<li>{self._link(one)}{bound}</li>"
            yield "</ul></details>"
        yield "</section>"

    def _all_rows(self) -> Iterable[str]:
        heads = (
            f'<th scope="col"{_NUMBER if at >= _NUMBERS_FROM else ""}>{heading}</th>'
            for at, heading in enumerate(_HEADINGS)
        )
        yield (
            f'<section id="rows" tabindex="-1">\n<h2>All benchmarks <span class="count">'
            f'{len(self.verdicts):,}</span></h2>\n<div id="tools" hidden></div>\n'
            '<div class="scroll" tabindex="0" role="region" aria-label="Table of all benchmarks">\n'
            f'<table id="all">\n<thead><tr>{"".join(heads)}</tr></thead>\n<tbody>'
        )
        yield from map(self._row, self.verdicts)
        yield "</tbody>\n</table>\n</div>\n</section>"

    def _row(self, one: Verdict) -> str:
        change = one.change
        cells = (
            "" if one.baseline_seconds is None else duration(one.baseline_seconds),
            "" if one.candidate_seconds is None else duration(one.candidate_seconds),
            "" if change is None else percent(change.ratio),
            "" if change is None else headline.interval(change),
            "" if one.bound is None else rounded_up(one.bound),
            of_limit(one.counters.get("limit_fraction")),
        )
        outcome = one.outcome.value
        numbers = "".join(f"<td{_NUMBER}>{cell}</td>" for cell in cells)
        return (
            f'<tr><td class="{outcome.lower()}">{outcome}</td>'
            f'<th scope="row">{self._link(one)}</th>{numbers}</tr>'
        )

    def _compared(self) -> Iterable[str]:
        comparison = self.comparison
        differences = differences_beside(comparison)
        cells = [("compared", side(comparison.baseline), side(comparison.candidate))]
        cells += [(one.key, *told_values(one)) for one in differences]
        count = f' <span class="count">{len(differences)}</span>' if differences else ""
        yield (
            f"<section>\n<h2>Differences of the environment{count}</h2>\n"
            '<div class="scroll" tabindex="0" role="region" '
            'aria-label="Differences of the environment">\n<table>\n<thead><tr><th scope="col">'
            '</th><th scope="col">baseline</th><th scope="col">candidate</th></tr></thead>\n<tbody>'
        )
        for key, before, after in cells:
            values = "".join(f"<td>{_breakable(_cut(text))}</td>" for text in (before, after))
            yield f'<tr><th scope="row">{_shown(key)}</th>{values}</tr>'
        yield "</tbody>\n</table>\n</div>\n</section>"

    def _notes(self) -> Iterable[str]:
        comparison = self.comparison
        told = [*map(str, comparison.every_note), sentences(comparison)]
        told += [" ".join(map(str, next_step(comparison)))]
        items = [f"<li>{_shown(one)}</li>" for one in told if one]
        if items:
            title = "Notes" if len(items) > 1 else "Note"
            yield f"<section>\n<h2>{title}</h2>\n<ul>\n{chr(10).join(items)}\n</ul>\n</section>"


_NUMBER = ' class="n"'


def _file(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _cut(text: str) -> str:
    return cut(inert(cut(text, LONGEST_TEXT)), LONGEST_TEXT)


def _shown(text: str) -> str:
    """Foreign text, or ours, as HTML: inert, of a length that can be read."""
    return html.escape(_cut(text))


def _breakable(text: str) -> str:
    """Inert text that may go on in the next line behind a slash or a comma."""
    return html.escape(text).replace("/", "/<wbr>").replace(",", ",<wbr>")
