# SPDX-License-Identifier: Apache-2.0
"""Simulated noise: false alarms as rare as promised, real changes found."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from warpgauge.model import Clock, Record, Row, Session, Source
from warpgauge.verdict import Comparison, Outcome, judge

Noise = Callable[[random.Random], float]
BENCHMARKS = 3000
NO_EFFECT = 1e-9

NOISES: dict[str, Noise] = {
    "normal": lambda source: source.gauss(0.0, 0.005),
    "skewed": lambda source: source.expovariate(1 / 0.005),
    "heavy tails": lambda source: source.gauss(0.0, 0.005) / math.sqrt(source.gammavariate(2, 0.5)),
    "two states": lambda source: source.gauss(0.0, 0.001) + source.choice((0.0, 0.01)),
}


def record(seed: int, noise: Noise, factor: float = 1.0, processes: int = 7) -> Record:
    source = random.Random(seed)
    session = Session("s", {"gpu_name": "G", "gpu_uuid": "U", "build_type": "Release"})
    rows = {}
    for index in range(BENCHMARKS):
        times = tuple(factor * math.exp(noise(source)) for _ in range(processes))
        rows[f"f/{index}"] = Row(f"f/{index}", {"s": times}, Clock.DEVICE)
    return Record(Path("simulated"), Source.RUN, {"s": session}, rows)


def changed(comparison: Comparison) -> int:
    return comparison.count(Outcome.REGRESSION, Outcome.IMPROVED)


# Three processes of a benchmark with two states lie in the same one, and three more in the other,
# once in 32: nothing in the data could tell. Seven do once in 8192.
@pytest.mark.parametrize(
    ("noise", "processes"),
    [("normal", 3), ("skewed", 3), ("heavy tails", 3), *((noise, 7) for noise in NOISES)],
)
def test_identical_code_alarms_no_more_often_than_promised(noise: str, processes: int) -> None:
    alpha = 0.01
    sides = (record(seed, NOISES[noise], processes=processes) for seed in (1, 2))
    alarms = changed(judge(*sides, minimum_effect=NO_EFFECT, alpha=alpha))
    promised = alpha * BENCHMARKS
    assert alarms <= promised + 4 * math.sqrt(promised)
    if noise == "normal":  # the promise is kept by the test itself, not by never saying anything
        assert alarms >= promised - 4 * math.sqrt(promised)


def test_the_minimum_effect_silences_what_is_left() -> None:
    steady: Noise = lambda source: source.gauss(0.0, 0.001)  # noqa: E731
    comparison = judge(record(1, steady), record(2, steady))
    assert comparison.count(Outcome.PASS) == BENCHMARKS


@pytest.mark.parametrize(("factor", "outcome"), [(1.05, "REGRESSION"), (0.95, "IMPROVED")])
def test_five_percent_are_found_through_half_a_percent_of_noise(
    factor: float, outcome: str
) -> None:
    comparison = judge(record(1, NOISES["normal"]), record(2, NOISES["normal"], factor))
    assert comparison.count(Outcome(outcome)) >= 0.999 * BENCHMARKS


def test_two_percent_are_found_where_replays_are_quiet() -> None:
    quiet: Noise = lambda source: source.gauss(0.0, 0.0015)  # noqa: E731
    comparison = judge(record(1, quiet), record(2, quiet, 1.02))
    assert comparison.count(Outcome.REGRESSION) >= 0.999 * BENCHMARKS


def test_thousands_of_benchmarks_are_judged_in_a_second_or_two() -> None:
    sides = record(1, NOISES["normal"]), record(2, NOISES["normal"])
    start = time.process_time()
    judge(*sides)
    assert time.process_time() - start < 5.0 * BENCHMARKS / 10_000


def test_noise_beyond_what_may_be_accepted_is_never_called_a_pass() -> None:
    quiet: Noise = lambda source: source.gauss(0.0, 0.001)  # noqa: E731
    wild: Noise = lambda source: source.gauss(0.0, 0.35)  # noqa: E731
    for accepted in (quiet, wild):
        comparison = judge(record(1, accepted), record(2, wild))
        assert comparison.count(Outcome.PASS) <= 0.05 * BENCHMARKS
