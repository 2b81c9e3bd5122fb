# SPDX-License-Identifier: Apache-2.0
"""A comparison as GitHub workflow commands, which become annotations of a job."""

from __future__ import annotations

from warpgauge.reports.headline import headline, sentence
from warpgauge.reports.provenance import place
from warpgauge.reports.ranking import rank
from warpgauge.reports.workflow_commands import command
from warpgauge.system.environment import ROOT
from warpgauge.system.text import inert
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict
from warpgauge.verdict.note import Kind

# The most annotations of a kind that GitHub shows for a step.
_SHOWN = 10

_KINDS = {
    "error": (Outcome.REGRESSION, Outcome.ERROR, Outcome.MISSING),
    "warning": (Outcome.INVALID, Outcome.INCONCLUSIVE),
    "notice": (Outcome.IMPROVED,),
}
# A change that a policy accepts passes, but is still announced.
_ACCEPTED = "notice"
_PLAIN = {"title": "warpgauge"}


def render(comparison: Comparison) -> str:
    """Return one line per annotation, worst first within a kind; the last counts omitted ones."""
    found: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    if comparison.refusal is not None:
        found["error"].append(command("error", _PLAIN, str(headline(comparison))))
    for verdict in sorted(comparison.verdicts, key=rank):
        # If everything was refused, each row would repeat the same sentence.
        if comparison.refusal is not None and verdict.reason == comparison.refusal:
            continue
        for kind, outcomes in _KINDS.items():
            if verdict.outcome in outcomes or (kind == _ACCEPTED and verdict.is_accepted):
                found[kind].append(_annotation(comparison, kind, verdict))
    skips = (note for note in comparison.notes if note.kind is Kind.SKIPPED)
    found["notice"] += [command("notice", _PLAIN, str(note)) for note in skips]
    return "".join(f"{line}\n" for kind, lines in found.items() for line in _cut(kind, lines))


def _cut(kind: str, lines: list[str]) -> list[str]:
    if len(lines) <= _SHOWN:
        return lines
    more = len(lines) - _SHOWN + 1
    words = f"and {more} more: see the log or another report"
    return [*lines[: _SHOWN - 1], command(kind, _PLAIN, words)]


def _annotation(comparison: Comparison, kind: str, verdict: Verdict) -> str:
    word = "accepted" if verdict.is_accepted else verdict.outcome.value
    title = {"title": f"{word}: {inert(verdict.name)}"}
    return command(kind, {**place(ROOT, comparison, verdict), **title}, sentence(verdict))
