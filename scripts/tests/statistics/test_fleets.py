# SPDX-License-Identifier: Apache-2.0
"""What differs in simulated fleets: GPUs, nodes, groups, and what many nodes share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from devtools.simulations.fleets import (
    ALIKE,
    GPUS_A_NODE,
    NOISES,
    PROCESSES,
    Sick,
    found,
    healthy,
    reported,
)
from devtools.simulations.table import Size
from warpgauge.statistics.fleets import Fleet, judged

SMALL = Size(whole=False, seed=1)
ROWS = 40


def quiet(nodes: int, seed: int = 1) -> Fleet:
    """Rows that scatter by 0.3 %, a quarter of them of the host's clock; no GPU is sick."""
    gpus = nodes * GPUS_A_NODE
    host = np.arange(ROWS) % 4 == 0
    return Fleet(
        np.random.default_rng(seed).normal(0.0, 0.003, (gpus, ROWS)),
        np.full((gpus, ROWS), 0.001**2 / PROCESSES),
        np.repeat(np.arange(nodes), GPUS_A_NODE),
        host,
        np.log1p(np.where(host, 0.03, 0.01)),
        {},
    )


@pytest.mark.parametrize("noise", NOISES)
def test_a_healthy_fleet_shows_nothing_whatever_its_noise(noise: str) -> None:
    assert healthy(NOISES[noise], 8, SMALL, (20, 20)) <= 1 / 20
    assert healthy(NOISES[noise], 128, SMALL, (2, 2)) == 0.0


def test_gpus_that_are_slow_in_five_rows_are_found_and_no_other() -> None:
    each = found(NOISES["normal"], 200, Sick(4), SMALL, (5, 5))
    assert each.named >= 0.9
    assert each.wrong_gpus == 0.0
    assert each.wrong_rows <= 0.1


def test_heavy_tails_do_not_hide_most_of_the_sick() -> None:
    each = found(NOISES["t3"], 200, Sick(4), SMALL, (5, 5))
    assert each.named >= 0.75
    assert each.wrong_gpus == 0.0


@pytest.mark.parametrize(
    ("noise", "share"),
    [("lognormal, all device rows 0.3%", 0.6), ("exponential, all device rows 0.5%", 0.35)],
)
def test_noise_of_the_host_does_not_hide_what_is_slow_on_the_device(
    noise: str, share: float
) -> None:
    assert found(ALIKE[noise], 64, Sick(1), SMALL, (20, 20)).named >= share


@pytest.mark.parametrize("share", [0.03, 0.1, 0.4, 0.5])
def test_many_gpus_that_are_slow_in_the_same_rows_are_reported(share: float) -> None:
    sick = Sick(round(200 * share), same=True)
    assert reported(NOISES["normal"], 200, sick, SMALL, (5, 5)) >= 0.8


def test_half_a_fleet_that_differs_is_a_group() -> None:
    one = quiet(20)
    one.logs[::2, [1, 2, 3, 5]] += 0.05
    (group,) = judged(one).groups
    assert np.array_equal(np.flatnonzero(group.members), np.arange(0, 160, 2))
    assert np.flatnonzero(group.slower).tolist() == [1, 2, 3, 5]
    assert np.exp(group.excess[1]) == pytest.approx(1.05, abs=0.005)


def test_rows_of_two_states_that_choose_other_gpus_each_are_no_group() -> None:
    one = quiet(20)
    one.logs[np.random.default_rng(2).random(one.logs.shape) < 0.3] += 0.05
    assert judged(one).groups == []


def test_a_node_is_blamed_only_if_its_gpus_agree() -> None:
    one = quiet(30)
    half = np.arange(7 * GPUS_A_NODE, 7 * GPUS_A_NODE + 4)
    one.logs[half] += 0.06 * ~one.host
    judgement = judged(one)
    assert judgement.nodes is not None
    assert not judgement.nodes.chosen.any()
    assert np.array_equal(np.flatnonzero(judgement.gpus.chosen), half)


def test_nodes_may_have_different_numbers_of_gpus() -> None:
    one = quiet(40)
    one.logs[one.node == 7] += 0.06
    one.logs[100] += 0.06
    left = np.arange(len(one.logs)) % 8 <= one.node % 6 + 2
    left[100] = True
    some = replace(one, logs=one.logs[left], own=one.own[left],
                   node=one.node[left])  # fmt: skip
    judgement = judged(some)
    assert judgement.nodes is not None
    assert np.flatnonzero(judgement.nodes.chosen).tolist() == [7]
    assert np.flatnonzero(judgement.gpus.chosen).tolist() == [left[:100].sum()]


def test_one_node_of_eight_gpus_shows_one_that_is_slower_in_most_rows() -> None:
    one = quiet(1)
    one.logs[3, ~one.host] += 0.08
    gpus = judged(one).gpus
    assert np.flatnonzero(gpus.chosen).tolist() == [3]
    assert judged(one).nodes is None


def test_what_nobody_minds_is_no_outlier_however_sure_it_is() -> None:
    one = quiet(60)
    one.logs[:, 0] /= 100.0
    one.logs[5, 0] += 0.005
    gpus = judged(one).gpus
    assert not gpus.chosen.any()


def test_a_faster_gpu_is_no_outlier() -> None:
    one = quiet(60)
    one.logs[5] -= 0.05
    gpus = judged(one).gpus
    assert not gpus.chosen.any()


def test_a_gpu_whose_own_processes_scatter_is_not_held_to_the_others_scatter() -> None:
    one = quiet(60)
    one.logs[5, 0] += 0.05
    one.own[5, 0] = 0.05**2
    gpus = judged(one).gpus
    assert not gpus.chosen.any()


def test_a_slow_node_is_told_once_and_not_gpu_by_gpu() -> None:
    one = quiet(30)
    one.logs[one.node == 7] += 0.06
    judgement = judged(one)
    assert judgement.nodes is not None
    assert np.flatnonzero(judgement.nodes.chosen).tolist() == [7]
    assert not judgement.gpus.chosen.any()


def test_a_sick_gpu_of_a_slow_node_is_told_beside_it() -> None:
    one = quiet(30)
    one.logs[one.node == 7] += 0.06
    one.logs[7 * GPUS_A_NODE + 2] += 0.05
    judgement = judged(one)
    assert np.flatnonzero(judgement.gpus.chosen).tolist() == [7 * GPUS_A_NODE + 2]


def of_nodes(one: Fleet, **factors: np.ndarray) -> Fleet:
    levels = {name: [str(value) for value in held] for name, held in factors.items()}
    return replace(one, factors=levels)


def test_a_slow_rack_is_told_as_one_and_its_nodes_are_not() -> None:
    one = quiet(60)
    rack = one.node // 10
    one.logs[rack == 2, :5] += 0.05
    judgement = judged(of_nodes(one, rack=rack, row=rack % 2))
    assert [level.names for level in judgement.levels] == [(("rack", "2"),)]
    assert np.flatnonzero(judgement.levels[0].slower).tolist() == [0, 1, 2, 3, 4]
    assert np.exp(judgement.levels[0].excess[0]) == pytest.approx(1.05, abs=0.005)
    assert judgement.nodes is not None
    assert not judgement.nodes.chosen.any()
    assert not judgement.gpus.chosen.any()


def test_levels_of_the_same_nodes_are_told_together() -> None:
    one = quiet(60)
    rack = one.node // 10
    one.logs[rack == 2] += 0.05
    judgement = judged(of_nodes(one, rack=rack, firmware=rack == 2))
    assert judgement.levels[0].names == (("rack", "2"), ("firmware", "True"))


def test_equal_times_show_no_level() -> None:
    one = quiet(60)
    one.logs[:] = np.log(np.random.default_rng(4).choice([1.0, 1.02], one.logs.shape))
    judgement = judged(of_nodes(one, rack=one.node // 10))
    assert judgement.levels == []


def test_a_level_of_gpus_is_held_against_other_gpus() -> None:
    one = quiet(30)
    narrow = np.arange(len(one.logs)) % 9 == 0
    one.logs[narrow, np.flatnonzero(~one.host)[0]] += 0.05
    judgement = judged(of_nodes(one, link=narrow))
    assert [level.names for level in judgement.gpu_levels] == [(("link", "True"),)]
    assert judgement.levels == []


def test_rows_that_nobody_measured_are_left_out() -> None:
    one = quiet(60)
    one.logs[:, 1] = np.nan
    one.logs[np.random.default_rng(3).random(one.logs.shape) < 0.2] = np.nan
    one.logs[11, ~np.isnan(one.logs[11]) & ~one.host] += 0.05
    one.logs[12] = np.nan
    gpus = judged(one).gpus
    assert np.flatnonzero(gpus.chosen).tolist() == [11]
