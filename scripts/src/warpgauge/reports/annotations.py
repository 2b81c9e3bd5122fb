# SPDX-License-Identifier: Apache-2.0
"""A comparison as GitHub workflow commands, which become annotations of a job."""

from __future__ import annotations

from warpgauge.reports.provenance import place
from warpgauge.reports.view import View, headline
from warpgauge.reports.workflow_commands import command
from warpgauge.system.environment import ROOT
from warpgauge.system.text import inert, plain
from warpgauge.verdict.comparison import Comparison
from warpgauge.verdict.note import Kind

# The most annotations of a kind that GitHub shows for a step.
_SHOWN = 10

# A change that a policy accepts passes, but is still announced.
_KINDS = {
    "error": ("slower", "failed", "missing"),
    "warning": ("not comparable", "undecided"),
    "notice": ("faster", "accepted"),
}
_PLAIN = {"title": "warpgauge"}


def render(comparison: Comparison) -> str:
    """Return one line per annotation, worst first within a kind; the last counts omitted ones."""
    view, lines = View(comparison), list[str]()
    for kind, words in _KINDS.items():
        found = [
            command(
                kind,
                {**place(ROOT, comparison, row.verdict), "title": f"{row.word}: {inert(row.name)}"},
                row.sentence,
            )
            for row in view.of(*words)
        ]
        if kind == "error" and comparison.refusal is not None:
            found.insert(0, command(kind, _PLAIN, plain(headline(comparison))))
        if kind == "notice":
            skips = (note for note in comparison.notes if note.kind is Kind.SKIPPED)
            found += [command(kind, _PLAIN, str(note)) for note in skips]
        if len(found) > _SHOWN:
            more = f"and {len(found) - _SHOWN + 1} more: see the log or another report"
            found = [*found[: _SHOWN - 1], command(kind, _PLAIN, more)]
        lines += found
    return "".join(f"{line}\n" for line in lines)
