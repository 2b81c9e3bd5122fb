# SPDX-License-Identifier: Apache-2.0
"""Judge two records: a verdict for each benchmark (docs/pages/rule.md). Pure.

The benchmarks that both sides measured (`pairing`) are tested for a change (`screening` or
`paired_tests`), and judged by the `rule`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from warpgauge.records.benchmark_filter import Request
from warpgauge.records.model import Record
from warpgauge.records.sessions import are_paired, newest_last
from warpgauge.verdict import (
    comparability,
    comparison_notes,
    paired_tests,
    policy,
    screening,
    staleness,
)
from warpgauge.verdict.comparison import Comparison, ContextDifference, Outcome, Verdict, skip_notes
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.incompatibility import of_records, reason
from warpgauge.verdict.pairing import Pairing, pair
from warpgauge.verdict.rule import Rule, movements

_DEFAULT = ComparisonSettings()


def judge(
    baseline: Record, candidate: Record, settings: ComparisonSettings = _DEFAULT
) -> Comparison:
    """Compare two records. Raise UserError for a filter that is not a regular expression."""
    request = Request(settings.filter, candidate, baseline)
    rows = {**baseline.rows, **candidate.rows}
    names = request.covered(list(rows))
    if settings.policy is not None:
        settings.policy.require_quick([*names, *request.left_out])
    every = of_records(baseline, candidate)
    if forbidden := [one for one in every if one.override not in settings.allow]:
        sentence = reason(forbidden)
        refusal = f"{sentence[0].upper()}{sentence[1:]}."
        refused = tuple(
            Verdict(name, Outcome.INVALID, rows[name].clock, reason=refusal) for name in names
        )
        return Comparison(baseline, candidate, refused, refusal=refusal, alpha=settings.alpha)

    pairings, unpaired, waived = pair(baseline, candidate, names, settings.allow)
    if are_paired(baseline, candidate):
        pairings, lonely = paired_tests.split(pairings)
        unpaired += lonely
        tests = paired_tests.compare(pairings, settings.bound_confidence)
        rule = Rule(settings)
    else:
        tests = screening.screen(baseline, candidate, pairings, settings.process_scatter)
        rule = Rule(settings, movements(pairings))
    outcomes = rule.verdicts(pairings, tests)
    verdicts = {verdict.name: verdict for verdict in (*unpaired, *outcomes)}
    met, unasked = list(zip(pairings, outcomes, strict=True)), len(rows) - len(names)
    comparison = Comparison(
        baseline,
        candidate,
        tuple(verdicts[name] for name in names),
        notes=(
            *comparison_notes.of(
                baseline, candidate, met, waived, request, unasked, rule.moved, settings
            ),
            *skip_notes(verdicts.values()),
            *comparison_notes.of_systems(pairings),
            *staleness.notes(baseline, candidate, settings.today),
        ),
        differences=_differences(baseline, candidate, pairings),
        refusal=_refusal(baseline, candidate, names, request, pairings),
        alpha=settings.alpha,
    )
    judged = _under_policy(comparison, settings, request)
    return replace(judged, notes=(*comparison_notes.of_same_code(judged), *judged.notes))


def _under_policy(
    comparison: Comparison, settings: ComparisonSettings, request: Request
) -> Comparison:
    """Apply what the policy accepts and requires; a filtered run may lack required benchmarks."""
    if settings.policy is None or comparison.refusal is not None:
        return comparison
    names = [verdict.name for verdict in comparison.verdicts]
    # On several GPUs only the programs that need them run.
    several_gpus = any(one.gpus > 1 for one in comparison.candidate.sessions.values())

    def asked(pattern: str) -> bool:
        """Return whether the run covers a pattern; it may match more than what was left out."""
        if request.filters:
            return False
        search = re.compile(pattern).search
        in_part = several_gpus or any(map(search, request.left_out))
        return not in_part or any(map(search, names))

    verdicts, notes = policy.apply(settings.policy, comparison.verdicts, asked, settings.today)
    return replace(comparison, verdicts=verdicts, notes=(*notes, *comparison.notes))


def _refusal(
    baseline: Record,
    candidate: Record,
    names: Sequence[str],
    request: Request,
    pairings: Sequence[Pairing],
) -> str | None:
    """Return why nothing was compared, if so. Controls always pass; alone, they must not."""
    ours = (candidate.rows[name] for name in names if name in candidate.rows)
    if not any(row.name in baseline.rows and not row.skipped for row in ours):
        asked = f" that matches the filter {request.filters}" if request.filters else ""
        return f"The two sides have no benchmark in common{asked}, so nothing was compared."
    if not pairings or not all(one.is_control for one in pairings):
        return None
    return (
        "Only the host's controls were measured on both sides, and they say nothing about the "
        "code. Benchmarks need a GPU, and a --filter that selects them."
    )


def _differences(
    baseline: Record, candidate: Record, pairings: Sequence[Pairing]
) -> tuple[ContextDifference, ...]:
    """Return the differences from the newest session that the candidate was compared with."""
    if not pairings:
        return ()
    used = {session.key: session for one in pairings for session in one.references}
    are_plain = baseline.source.is_plain and candidate.source.is_plain
    return comparability.differences(
        newest_last(used.values())[-1],
        pairings[-1].session,
        comparability.TOLD_OF_PLAIN_FILES if are_plain else comparability.TOLD_KEYS,
    )
