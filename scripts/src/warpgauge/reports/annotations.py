# SPDX-License-Identifier: Apache-2.0
"""A comparison as GitHub workflow commands, which a job's log turns into annotations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from warpgauge.reports.headline import headline, sentence
from warpgauge.reports.provenance import place
from warpgauge.reports.ranking import rank
from warpgauge.reports.workflow_commands import command
from warpgauge.system.environment import ROOT
from warpgauge.system.text import inert
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict, is_accepted

# GitHub shows no more than this of a kind a step.
_SHOWN = 10

_KINDS = {
    "error": (Outcome.REGRESSION, Outcome.ERROR, Outcome.MISSING),
    "warning": (Outcome.INVALID, Outcome.INCONCLUSIVE),
    "notice": (Outcome.IMPROVED,),
}
_PLAIN = {"title": "warpgauge"}
# What a policy accepts passes, and not in silence.
_ACCEPTED = "notice"


def render(comparison: Comparison) -> str:
    """One line an annotation, the worst of each kind first; a cut is said by its last."""
    return "".join(f"{line}\n" for line in _lines(comparison))


def _lines(comparison: Comparison) -> Iterator[str]:
    refused = comparison.refusal is not None
    if refused:
        yield command("error", _PLAIN, str(headline(comparison)))
    ranked = sorted(comparison.verdicts, key=rank)
    for kind, outcomes in _KINDS.items():
        # Refused as a whole, every row would only repeat the sentence.
        found = [
            verdict
            for verdict in ranked
            if (verdict.outcome in outcomes or (kind == _ACCEPTED and is_accepted(verdict)))
            and not (refused and verdict.reason == comparison.refusal)
        ]
        yield from _of_kind(comparison, kind, found, _SHOWN - (refused and kind == "error"))


def _of_kind(
    comparison: Comparison, kind: str, verdicts: Sequence[Verdict], room: int
) -> Iterator[str]:
    shown = len(verdicts) if len(verdicts) <= room else room - 1
    for verdict in verdicts[:shown]:
        yield _annotation(comparison, kind, verdict)
    if shown < len(verdicts):
        words = f"and {len(verdicts) - shown} more: the log or another report lists them"
        yield command(kind, _PLAIN, words)


def _annotation(comparison: Comparison, kind: str, verdict: Verdict) -> str:
    properties: dict[str, object] = {}
    where = place(ROOT, comparison, verdict)
    if where is not None:
        properties["file"] = where.file
        if where.line is not None:
            properties["line"] = where.line
    word = "accepted" if is_accepted(verdict) else verdict.outcome.value
    properties["title"] = f"{word}: {inert(verdict.name)}"
    return command(kind, properties, sentence(verdict))
