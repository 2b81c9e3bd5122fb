# SPDX-License-Identifier: Apache-2.0
"""The cells of each table's rows in the Markdown of a comparison."""

from __future__ import annotations

from warpgauge.commits import DIGITS
from warpgauge.comparison import ContextDifference, Verdict
from warpgauge.markdown_text import code, prose
from warpgauge.sentence import sentence
from warpgauge.text import duration, of_limit, percent, percent_number

# Headings of what `measured` gives behind the name.
NUMBERS = ("baseline", "candidate", "change (95 % interval)", "of limit")


def measured(verdict: Verdict) -> list[str]:
    before, after, change = verdict.baseline_seconds, verdict.candidate_seconds, verdict.change
    moved = ""
    if change is not None:
        interval = f"{percent_number(change.low)} … {percent_number(change.high)}"
        moved = f"{percent(change.ratio)} ({interval})"
    return [
        code(verdict.name),
        duration(before) if before is not None else "",
        duration(after) if after is not None else "",
        moved,
        of_limit(verdict.counters.get("limit_fraction")),
    ]


def changed(verdict: Verdict) -> list[str]:
    name, *numbers = measured(verdict)
    return [name, verdict.outcome.value, *numbers, prose("; ".join(verdict.causes))]


def unmeasured(verdict: Verdict) -> list[str]:
    return [code(verdict.name), verdict.outcome.value, prose(sentence(verdict))]


def accepted(verdict: Verdict) -> list[str]:
    return [*measured(verdict), prose(verdict.accepted)]


def new(verdict: Verdict) -> list[str]:
    name, _, seconds, _, limit = measured(verdict)
    return [name, seconds, limit]


def difference(one: ContextDifference) -> list[str]:
    length = DIGITS if one.key == "commit" else None
    return [code(one.key), code(one.baseline[:length]), code(one.candidate[:length])]
