# SPDX-License-Identifier: Apache-2.0
"""What differs in simulated fleets: GPUs, nodes, and what many nodes share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simulated_fleets import GPUS_A_NODE, PROCESSES, Simulated, counted, simulated
from warpgauge.statistics.fleets import judged

THREE_PERCENT = (0.03, 0.03)


def quiet(nodes: int, seed: int = 1) -> Simulated:
    """Rows that scatter by 0.3 %; no GPU is sick."""
    one = simulated(np.random.default_rng(seed), nodes, 0, (0.0, 0.0), rows=40)
    noise = np.random.default_rng(seed).normal(0.0, 0.003, one.fleet.logs.shape)
    made = replace(one.fleet, logs=noise, own=np.full_like(noise, 0.001**2 / PROCESSES))
    return replace(one, fleet=made)


def test_gpus_that_are_slow_in_five_rows_are_found_and_no_other() -> None:
    count = counted(1, 200, sick=10, effects=THREE_PERCENT, device_rows_only=True)
    assert count.found >= 9
    assert (count.false, count.false_nodes) == (0, 0)
    assert count.true_rows >= 0.9 * count.rows > 0


HEALTHY = {
    "normal": {},
    "heavy tails": {"tails": 5.0},
    "two states": {"states": True},
    "correlated rows": {"correlation": 0.3},
}


@pytest.mark.parametrize("terms", HEALTHY.values(), ids=HEALTHY.keys())
def test_a_healthy_fleet_shows_nothing(terms: dict[str, Any]) -> None:
    count = counted(1, 100, sick=0, effects=(0.0, 0.0), **terms)
    assert (count.false, count.false_nodes) == (0, 0)


def test_heavy_tails_do_not_hide_most_of_the_sick() -> None:
    count = counted(1, 200, sick=10, effects=THREE_PERCENT, device_rows_only=True, tails=5.0)
    assert count.found >= 5
    assert (count.false, count.false_nodes) == (0, 0)


def test_nodes_may_have_different_numbers_of_gpus() -> None:
    one = quiet(40)
    one.fleet.logs[one.fleet.node == 7] += 0.06
    one.fleet.logs[100] += 0.06
    left = np.arange(len(one.fleet.logs)) % 8 <= one.fleet.node % 6 + 2
    left[100] = True
    some = replace(one.fleet, logs=one.fleet.logs[left], own=one.fleet.own[left],
                   node=one.fleet.node[left])  # fmt: skip
    found = judged(some)
    assert found.nodes is not None
    assert found.gpus is not None
    assert np.flatnonzero(found.nodes.chosen).tolist() == [7]
    assert np.flatnonzero(found.gpus.chosen).tolist() == [left[:100].sum()]


def test_one_node_of_eight_gpus_shows_one_that_is_slower_in_most_rows() -> None:
    one = quiet(1)
    one.fleet.logs[3, ~one.fleet.host] += 0.08
    gpus = judged(one.fleet).gpus
    assert gpus is not None
    assert np.flatnonzero(gpus.chosen).tolist() == [3]
    assert judged(one.fleet).nodes is None


def test_what_nobody_minds_is_no_outlier_however_sure_it_is() -> None:
    one = quiet(60)
    one.fleet.logs[:, 0] /= 100.0
    one.fleet.logs[5, 0] += 0.005
    gpus = judged(one.fleet).gpus
    assert gpus is not None
    assert not gpus.chosen.any()


def test_a_faster_gpu_is_no_outlier() -> None:
    one = quiet(60)
    one.fleet.logs[5] -= 0.05
    gpus = judged(one.fleet).gpus
    assert gpus is not None
    assert not gpus.chosen.any()


def test_a_gpu_whose_own_processes_scatter_is_not_held_to_the_others_scatter() -> None:
    one = quiet(60)
    one.fleet.logs[5, 0] += 0.05
    one.fleet.own[5, 0] = 0.05**2
    gpus = judged(one.fleet).gpus
    assert gpus is not None
    assert not gpus.chosen.any()


def test_a_slow_node_is_told_once_and_not_gpu_by_gpu() -> None:
    one = quiet(30)
    one.fleet.logs[one.fleet.node == 7] += 0.06
    found = judged(one.fleet)
    assert found.nodes is not None
    assert np.flatnonzero(found.nodes.chosen).tolist() == [7]
    assert found.gpus is not None
    assert not found.gpus.chosen.any()


def test_a_sick_gpu_of_a_slow_node_is_told_beside_it() -> None:
    one = quiet(30)
    one.fleet.logs[one.fleet.node == 7] += 0.06
    one.fleet.logs[7 * GPUS_A_NODE + 2] += 0.05
    found = judged(one.fleet)
    assert found.gpus is not None
    assert np.flatnonzero(found.gpus.chosen).tolist() == [7 * GPUS_A_NODE + 2]


def of_nodes(one: Simulated, **factors: np.ndarray) -> Simulated:
    levels = {name: [str(value) for value in held] for name, held in factors.items()}
    return replace(one, fleet=replace(one.fleet, factors=levels))


def test_a_slow_rack_is_told_as_one_and_its_nodes_are_not() -> None:
    one = quiet(60)
    rack = one.fleet.node // 10
    one.fleet.logs[rack == 2, :5] += 0.05
    found = judged(of_nodes(one, rack=rack, row=rack % 2).fleet)
    assert [level.names for level in found.levels] == [(("rack", "2"),)]
    assert np.flatnonzero(found.levels[0].slower).tolist() == [0, 1, 2, 3, 4]
    assert np.exp(found.levels[0].excess[0]) == pytest.approx(1.05, abs=0.005)
    assert found.nodes is not None
    assert found.gpus is not None
    assert not found.nodes.chosen.any()
    assert not found.gpus.chosen.any()


def test_levels_of_the_same_nodes_are_told_together() -> None:
    one = quiet(60)
    rack = one.fleet.node // 10
    one.fleet.logs[rack == 2] += 0.05
    found = judged(of_nodes(one, rack=rack, firmware=rack == 2).fleet)
    assert found.levels[0].names == (("rack", "2"), ("firmware", "True"))


def test_equal_times_show_no_level() -> None:
    one = quiet(60)
    one.fleet.logs[:] = np.log(np.random.default_rng(4).choice([1.0, 1.02], one.fleet.logs.shape))
    found = judged(of_nodes(one, rack=one.fleet.node // 10).fleet)
    assert found.levels == []


def test_a_level_of_gpus_is_held_against_other_gpus() -> None:
    one = quiet(30)
    narrow = np.arange(len(one.fleet.logs)) % 9 == 0
    one.fleet.logs[narrow, np.flatnonzero(~one.fleet.host)[0]] += 0.05
    found = judged(of_nodes(one, link=narrow).fleet)
    assert [level.names for level in found.gpu_levels] == [(("link", "True"),)]
    assert found.levels == []


def test_rows_that_nobody_measured_are_left_out() -> None:
    one = quiet(60)
    one.fleet.logs[:, 1] = np.nan
    one.fleet.logs[np.random.default_rng(3).random(one.fleet.logs.shape) < 0.2] = np.nan
    one.fleet.logs[11, ~np.isnan(one.fleet.logs[11]) & ~one.fleet.host] += 0.05
    one.fleet.logs[12] = np.nan
    gpus = judged(one.fleet).gpus
    assert gpus is not None
    assert np.flatnonzero(gpus.chosen).tolist() == [11]


def test_three_gpus_are_too_few_to_judge() -> None:
    one = quiet(1)
    three = replace(one.fleet, logs=one.fleet.logs[:3], own=one.fleet.own[:3],
                    node=one.fleet.node[:3])  # fmt: skip
    assert judged(three).gpus is None
