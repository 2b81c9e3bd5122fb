# SPDX-License-Identifier: Apache-2.0
"""Simulated pairs: the promises of the rule hold by every kind of noise, over all looks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from devtools.simulations import pairs
from warpgauge.records.counters import Clock
from warpgauge.records.model import Record, Session, Source
from warpgauge.records.row import Pair, Row
from warpgauge.statistics.error_rates import BOUND_CONFIDENCE
from warpgauge.statistics.log_ratios import Array
from warpgauge.verdict.comparison import CHANGED, Outcome, Verdict
from warpgauge.verdict.judge import judge

SUITES = 8


@pytest.mark.parametrize("noise", pairs.EVERY_NOISE)
def test_unchanged_suites_raise_no_alarm_and_slower_rows_do_not_pass(noise: str) -> None:
    source, judged = np.random.default_rng(41), pairs.of_noise(noise)
    unchanged = [pairs.simulated(noise, source, 0.0) for _ in range(SUITES)]
    too_slow = [pairs.simulated(noise, source, 1.05) for _ in range(SUITES)]
    # Two alarms of eight suites have a chance of 0.3 %.
    assert sum(suite.changed.any() for suite in unchanged) <= 1
    passed = np.mean([suite.passed[judged].mean() for suite in too_slow])
    chance = 1.0 - BOUND_CONFIDENCE
    assert passed <= chance + 3.0 * np.sqrt(chance / judged.sum() / SUITES)


@pytest.mark.parametrize(
    ("noise", "least", "pairs_a_row"),
    [("normal", 0.99, 15), ("recorded", 0.9, 30), ("10 % disturbed", 0.9, 55)],
)
def test_what_is_slower_by_the_tolerance_is_found(
    noise: str, least: float, pairs_a_row: int
) -> None:
    source = np.random.default_rng(42)
    slower = [pairs.simulated(noise, source, 1.0) for _ in range(SUITES)]
    assert np.mean([suite.changed.mean() for suite in slower]) >= least
    assert np.mean([suite.pairs.mean() for suite in slower]) <= pairs_a_row


def test_the_simulated_limits_are_those_of_the_judge() -> None:
    """The simulation goes without records, for speed: of one look, the judge says the same."""
    source = np.random.default_rng(43)
    changes = source.uniform(-0.02, 0.02, pairs.ROWS)
    table = pairs.NOISES["normal"](source, pairs.LOOKS[-1])
    for row in range(0, pairs.ROWS, 10):
        table[row, -20:] += 0.02  # decided at different looks
    simulated = pairs.suite(table, changes)
    verdicts = _judged(table + changes[:, None], simulated.pairs.tolist())
    outcomes = [verdict.outcome for verdict in verdicts]
    assert np.array_equal([found in CHANGED for found in outcomes], simulated.changed)
    assert np.array_equal([found is Outcome.PASS for found in outcomes], simulated.passed)
    assert {Outcome.PASS, Outcome.REGRESSION, Outcome.IMPROVED} <= {*outcomes}


def _judged(log_ratios: Array, counts: Iterable[int]) -> tuple[Verdict, ...]:
    session = Session("s", {"gpu_name": "G", "build_type": "Release", "pair_id": "P"})
    sides: list[dict[str, Row]] = [{}, {}]
    for index, (of_row, count) in enumerate(zip(log_ratios, counts, strict=True)):
        name, rounds, ratios = f"f/{index:03}", tuple(range(1, count + 1)), of_row[:count]
        clock = Clock.DEVICE if index < pairs.DEVICE else Clock.HOST
        measured = tuple(
            Pair(number % 2 == 1, look=1 + int(np.searchsorted(pairs.LOOKS, number)), log_ratio=log)
            for number, log in zip(rounds, ratios.tolist(), strict=True)
        )
        times = 1e-5 * (1.0 + 1e-6 * np.array(rounds))  # no two are equal
        for side, rows in enumerate(sides):
            medians = {"s": tuple((times * np.exp(side * ratios)).tolist())}
            rows[name] = Row(name, medians, clock, rounds=rounds, pairs=measured)
    base, run = (Record(Path("simulated"), Source.RUN, {"s": session}, rows) for rows in sides)
    return judge(base, run).verdicts
