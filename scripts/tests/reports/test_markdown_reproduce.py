# SPDX-License-Identifier: Apache-2.0
"""The commands in a comment measure the row again, beside what it was measured beside."""

from __future__ import annotations

from dataclasses import replace

from comparisons import comparison, record, verdict
from warpgauge.records.model import Clock, Row, Source
from warpgauge.reports import json_input, json_output
from warpgauge.reports.advice import again
from warpgauge.reports.markdown import report as markdown
from warpgauge.verdict.comparison import Comparison, Evidence, Outcome

BESIDE = "b" * 40


def confirmed(
    known: bool, evidence: Evidence = Evidence.PAIRED, clock: Clock = Clock.DEVICE
) -> Comparison:
    """A baseline's comparison whose only row was confirmed beside another commit."""
    one = verdict("gemm/a", Outcome.REGRESSION, 0.3, evidence=evidence, clock=clock)
    rows = {"gemm/a": Row("gemm/a", {}, clock, {})}
    base = replace(record("baselines/x", Source.BASELINE), rows=rows if known else {})
    found = comparison([one], base=base, cand=replace(record(), rows=rows))
    return replace(found, beside=BESIDE)


def commands(found: Comparison) -> list[str]:
    back = json_input.load(json_output.render(found))
    assert again(back, back.verdicts) == again(found, found.verdicts)
    assert "--confirm-beside" not in again(replace(found, beside=""), found.verdicts)
    return again(found, found.verdicts).split("```")[1].splitlines()[1:]


def test_what_was_confirmed_beside_another_commit_is_so_again() -> None:
    assert commands(confirmed(known=True)) == [
        "scripts/bench --confirm-beside bbbbbbbbbb --filter '^gemm/a$'"
    ]
    assert "--confirm-beside bbbbbbbbbb" in markdown.render(confirmed(known=True))


def test_a_time_of_the_host_is_screened_again_with_its_controls() -> None:
    assert commands(confirmed(known=True, clock=Clock.HOST)) == [
        "scripts/bench --confirm-beside bbbbbbbbbb --filter '^gemm/a$|^host/'"
    ]


def test_what_the_baseline_does_not_know_is_measured_beside_that_commit_alone() -> None:
    for clock in Clock:
        assert commands(confirmed(known=False, clock=clock)) == [
            "scripts/bench --against bbbbbbbbbb --filter '^gemm/a$'"
        ]


def test_a_pair_is_measured_beside_its_own_base() -> None:
    sides = [record(f"{side}.json", pair_id="p", commit=commit * 40)
             for side, commit in (("base", "a"), ("cand", "c"))]  # fmt: skip
    one = verdict("gemm/a", Outcome.REGRESSION, 0.3, evidence=Evidence.PAIRED)
    found = comparison([one], base=sides[0], cand=sides[1])
    for each in (found, replace(found, beside=BESIDE)):
        assert commands(each) == ["scripts/bench --against aaaaaaaaaa --filter '^gemm/a$'"]
