# SPDX-License-Identifier: Apache-2.0
"""What is made again of an honest comparison's rows is what it said of them."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from conftest import Loader

import simulated_pairs
from builders import Json, failed, row, run
from warpgauge.records.model import Clock
from warpgauge.reports import comparison_json
from warpgauge.system.errors import ExitStatus
from warpgauge.verdict import policy
from warpgauge.verdict.comparison import Comparison, Outcome, exit_status
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.judge import judge
from warpgauge.verdict.note import Kind
from warpgauge.verdict.recomputed import recomputed

PAIRS = (4, 8, 28)


@pytest.mark.parametrize("noise", sorted(simulated_pairs.NOISES))
def test_every_honest_outcome_is_made_again(noise: str, tmp_path: Path) -> None:
    """Slower, faster and unchanged rows, few and many pairs, with and without a policy."""
    path = tmp_path / "policy.toml"
    path.write_text(
        '[[minimum_effect]]\npattern = "[13579]$"\npercent = 8\nreason = "odd"\n'
        '[[tolerance]]\npattern = "2$"\npercent = 4\nreason = "even"\n'
        '[[expected]]\npattern = "0$"\nslower_by_at_most_percent = 7\nreason = "slow"\n'
        "expires = 2030-01-01\n"
    )
    source = np.random.default_rng(3)
    seen = set()
    for rules in (None, policy.load(path)):
        settings = ComparisonSettings(policy=rules, today=date(2026, 11, 20))
        for pairs in PAIRS:
            seconds = simulated_pairs.times(source, noise, pairs, simulated_pairs.CHANGED)
            rounds = [range(1, pairs + 1)] * simulated_pairs.BENCHMARKS
            told = simulated_pairs.judged(seconds, rounds, settings)
            read = comparison_json.load(comparison_json.render(told))
            again = recomputed(read, settings, {})
            for one, other in zip(told.verdicts, again.verdicts, strict=True):
                assert (one.outcome, one.accepted) == (other.outcome, other.accepted), one
                assert (one.tolerance, one.minimum_effect) == (
                    other.tolerance,
                    other.minimum_effect,
                )
                seen.add((one.outcome, bool(one.accepted)))
            assert exit_status(again) is exit_status(told)
    assert len(seen) >= 2


SKIP = {**failed("a/skip", "needs another GPU"), "skipped": 1.0}
SIDES = [None, row("a/skip"), failed("a/skip"), SKIP]


def in_pairs(loaded: Loader, base: list[Json], candidate: list[Json]) -> Comparison:
    return judge(
        loaded(run(base, pair_side="base", pair_id="1")),
        loaded(run(candidate, pair_side="candidate", pair_id="1")),
    )


@pytest.mark.parametrize("base", SIDES)
@pytest.mark.parametrize("cand", SIDES)
def test_what_was_skipped_or_failed_is_so_again(
    loaded: Loader, base: Json | None, cand: Json | None
) -> None:
    rows = ([row("a/b"), *([side] if side else [])] for side in (base, cand))
    told = in_pairs(loaded, *rows)
    read = comparison_json.load(comparison_json.render(told))
    again = recomputed(read, ComparisonSettings(), {})
    assert [one.outcome for one in again.verdicts] == [one.outcome for one in told.verdicts]
    assert exit_status(again) is exit_status(told)
    assert [note for note in again.notes if note.kind is Kind.SKIPPED] == [
        note for note in told.notes if note.kind is Kind.SKIPPED
    ]


def test_what_is_on_neither_side_is_missing(loaded: Loader) -> None:
    rows = [row("a/b"), SKIP]
    document = json.loads(comparison_json.render(in_pairs(loaded, rows, rows)))
    (skipped,) = (one for one in document["verdicts"] if one["name"] == "a/skip")
    skipped["rows"] = {"baseline": "absent", "candidate": "absent"}
    again = recomputed(comparison_json.load(json.dumps(document)), ComparisonSettings(), {})
    assert [one.outcome for one in again.verdicts if one.name == "a/skip"] == [Outcome.MISSING]
    assert exit_status(again) is ExitStatus.NOT_MEASURED


def test_who_claims_to_have_skipped_what_a_baseline_has_did_not_measure_it(loaded: Loader) -> None:
    rows = [row("a/b"), SKIP]
    told = in_pairs(loaded, rows, rows)
    clocks = {"a/skip": Clock.DEVICE}
    again = recomputed(told, ComparisonSettings(), clocks, expected=["a/skip"])
    assert [one.outcome for one in again.verdicts if one.name == "a/skip"] == [Outcome.MISSING]
    assert not any(note.kind is Kind.SKIPPED for note in again.notes)
