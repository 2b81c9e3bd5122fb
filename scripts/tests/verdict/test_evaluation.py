# SPDX-License-Identifier: Apache-2.0
"""An evaluation's speed-ups: how often their intervals, and that of their mean, hold the truth."""

from __future__ import annotations

from bisect import bisect_left
from pathlib import Path

import numpy as np
import pytest

from warpgauge.measure.options import schedule
from warpgauge.records.counters import Clock
from warpgauge.records.model import Record, Session, Source
from warpgauge.records.row import Pair, Row
from warpgauge.records.sessions import FEWEST_OF_A_CHANGE
from warpgauge.reports.evaluation import FORMATS
from warpgauge.system.errors import ExitStatus
from warpgauge.verdict.comparison import Outcome
from warpgauge.verdict.evaluation import Evaluation, SpeedUp, evaluated
from warpgauge.verdict.judge import judge

POINTS, SHARED_SD, OWN_SD = 10, 0.003, 0.004
LOOKS = schedule(FEWEST_OF_A_CHANGE)[:2]


def evaluation(logs: np.ndarray, rounds: list[range] | None = None) -> Evaluation:
    """Of log seconds by side, point and pair; `rounds` are those in which a point has them."""
    sides = []
    for side in logs:
        context = {"pair_id": "p", "build_type": "Release", "gpu_name": "G"}
        rows = {}
        for point, values in enumerate(np.exp(side)):
            numbers = list(rounds[point] if rounds else range(1, len(values) + 1))
            times = tuple(float(values[number - 1]) for number in numbers)
            name = f"evaluate/n:{point}"
            pairs = tuple(Pair(n % 2 == 1, look=1 + bisect_left(LOOKS, n)) for n in numbers)
            rows[name] = Row(name, {"s": times}, Clock.DEVICE, rounds=tuple(numbers), pairs=pairs)
        sides.append(Record(Path("run"), Source.RUN, {"s": Session("s", context)}, rows))
    base, candidate = sides
    return evaluated(judge(base, candidate), ("base", "candidate"))


def simulated(
    source: np.random.Generator, speed_ups: np.ndarray, pairs: int, shared: float = SHARED_SD
) -> np.ndarray:
    """Pairs move all their points by a `shared` noise, and each point by one of its own."""
    logs = source.normal(0.0, OWN_SD, (2, len(speed_ups), pairs))
    logs += source.normal(0.0, shared, (2, 1, pairs)) - 13.0
    logs[1] -= np.log(speed_ups)[:, None]
    return logs


@pytest.mark.parametrize("shared", [0.0, SHARED_SD])
@pytest.mark.parametrize("pairs", LOOKS)
def test_nineteen_of_twenty_intervals_of_the_mean_hold_the_truth(pairs: int, shared: float) -> None:
    source = np.random.default_rng(pairs)
    held, width, runs = 0, 0.0, 200
    for _ in range(runs):
        speed_ups = source.uniform(0.5, 3.0, POINTS)
        mean = evaluation(simulated(source, speed_ups, pairs, shared)).geometric_mean
        assert mean is not None
        held += mean.low <= np.exp(np.mean(np.log(speed_ups))) <= mean.high
        width += (mean.high / mean.low - 1.0) / runs
    assert held / runs >= 0.92
    of_one_point = 2 * 1.96 * np.sqrt(2 * (OWN_SD**2 + shared**2) / pairs)
    assert width < (1.0 if shared == 0.0 else 2.5) * of_one_point


def test_the_mean_is_that_of_the_points_also_where_some_have_more_pairs() -> None:
    logs = simulated(np.random.default_rng(1), np.array([2.0, 0.5, 1.0]), 12)
    found = evaluation(logs, [range(1, 13), range(1, 7), range(3, 13)])
    ratios = [one.speed_up.ratio for one in found.points if one.speed_up]
    assert found.geometric_mean is not None
    assert found.geometric_mean.ratio == pytest.approx(float(np.prod(ratios)) ** (1 / 3))


def test_points_that_no_two_pairs_have_in_common_have_no_mean() -> None:
    logs = simulated(np.random.default_rng(1), np.array([2.0, 2.0]), 12)
    found = evaluation(logs, [range(1, 7), range(6, 13)])
    assert found.geometric_mean is None
    assert all(one.speed_up is not None for one in found.points)


def test_a_speed_up_is_the_inverse_of_the_time() -> None:
    found = evaluation(simulated(np.random.default_rng(2), np.array([4.0]), 14))
    (point,) = found.points
    assert isinstance(point.speed_up, SpeedUp)
    assert point.speed_up.low <= point.speed_up.ratio <= point.speed_up.high
    assert point.speed_up.ratio == pytest.approx(4.0, rel=0.02)
    change = point.verdict.change
    assert change is not None
    assert point.speed_up.low == pytest.approx(1 / (1 + change.high))


@pytest.mark.parametrize("scatter", [30.0, 60.0, 200.0])
def test_times_that_scatter_without_bounds_have_no_speed_up_and_are_undecided(
    scatter: float,
) -> None:
    logs = np.random.default_rng(1).normal(0.0, scatter, (2, 2, 4))
    found = evaluation(np.clip(logs, -600.0, 600.0))
    assert found.exit_status is ExitStatus.NOT_MEASURED
    assert all(form.render(found) for form in FORMATS.values())
    assert any(point.speed_up is None for point in found.points)


def test_what_may_be_slower_than_is_tolerated_is_undecided_and_no_pass() -> None:
    source, noise = np.random.default_rng(3), 40 * OWN_SD
    found = evaluation(source.normal(0.0, noise, (2, 3, 14)) - 13.0)
    assert found.count(Outcome.INCONCLUSIVE) == 3
    assert found.exit_status is ExitStatus.NOT_MEASURED
    slower = source.normal(0.0, noise, (2, 3, 14)) - 13.0
    slower[1, 0] += 3.0
    assert evaluation(slower).count(Outcome.INCONCLUSIVE) == 2
    assert evaluation(slower).exit_status is ExitStatus.REGRESSION
