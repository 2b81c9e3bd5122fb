# SPDX-License-Identifier: Apache-2.0
"""Few data are steadied by similar benchmarks, as far as these agree, and never made too sure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from warpgauge.statistics.samples import Groups
from warpgauge.statistics.variance import SESSIONS_ALIKE, SMALLEST_SD, Variances, independent

FREEDOM = 6.0


def drawn(truth: np.ndarray, seed: int = 1) -> Variances:
    """Sample variances of normal samples whose true variances are `truth`."""
    chi = np.random.default_rng(seed).chisquare(FREEDOM, truth.size) / FREEDOM
    return Variances.of(truth * chi, np.full(truth.size, FREEDOM))


def test_benchmarks_that_are_alike_lend_each_other_freedom() -> None:
    own = drawn(np.full(200, 4e-6))
    made = own.moderated(["f"] * 200)
    assert np.all(made.value >= own.value)
    assert np.all(made.pooled_freedom == FREEDOM * 3)  # at most twice its own, on top of its own
    assert np.median(made.freedom) > FREEDOM * 2.5
    assert np.median(made.value) == pytest.approx(4e-6, rel=0.2)


def test_benchmarks_that_are_unlike_lend_little() -> None:
    truth = np.exp(np.random.default_rng(2).normal(-12.0, 3.0, 200))
    made = drawn(truth).moderated(["f"] * 200)
    assert np.all(made.freedom < FREEDOM + 1.0)


def test_the_prior_is_recovered() -> None:
    source = np.random.default_rng(3)
    truth = 1e-6 * 8.0 / source.chisquare(8.0, 4000)  # an inverse chi square of 8 degrees
    lent = drawn(truth, 4).moderated(["f"] * 4000).pooled_freedom - FREEDOM
    assert lent[0] == pytest.approx(8.0, rel=0.15)


def test_other_families_lend_nothing() -> None:
    own = drawn(np.full(6, 1e-6))
    made = own.moderated(["a", "a", "a", "b", "b", "b"])
    assert made.value == pytest.approx(own.value)
    assert made.freedom == pytest.approx(own.freedom)


def test_one_without_data_takes_over_what_similar_ones_show() -> None:
    own = drawn(np.full(20, 4e-6))
    own.freedom[0], own.value[0] = 0.0, 1.0
    made = own.moderated(["f"] * 20)
    assert made.freedom[0] > 0.0
    assert made.value[0] == pytest.approx(4e-6, rel=0.5)


@pytest.mark.parametrize(
    ("value", "freedom", "assumed", "sd", "worth"),
    [
        (1.0, 0.0, 0.03, 0.03, np.inf),  # nothing is known
        (SMALLEST_SD**2, 1.0, 0.01, 0.009, 4.0),  # two that agree by chance
        (1e-6, FREEDOM, 0.5, 1e-3, FREEDOM),  # what is well known
    ],
)
def test_the_less_is_known_the_more_the_assumption_counts(
    value: float, freedom: float, assumed: float, sd: float, worth: float
) -> None:
    found = Variances.of(np.array([value]), np.array([freedom])).or_assumed(np.array([assumed]))
    assert np.sqrt(found.value[0]) == pytest.approx(sd, rel=0.01)
    assert found.freedom[0] == pytest.approx(worth, rel=0.01)


def test_times_that_agree_to_the_last_digit_are_not_believed_entirely() -> None:
    assert Variances.of_squares(np.zeros(1), np.array([6.0])).value[0] == SMALLEST_SD**2


def test_who_contradicts_a_benchmark_neither_quietens_it_nor_vouches_for_it() -> None:
    noisy, quiet = (Variances.of(np.array([one]), np.array([24.0])) for one in (1e-2, 1e-6))
    own = Variances.of(noisy.value, np.array([6.0]))
    assert own.steadied_by(quiet).value[0] == 1e-2
    assert quiet.steadied_by(noisy).value[0] > 1e-3
    assert own.steadied_by(quiet).freedom[0] < 6.01
    assert own.steadied_by(noisy).freedom[0] == pytest.approx(6.0 + SESSIONS_ALIKE)


def test_noisy_neighbours_leave_a_quiet_benchmark_what_it_knows_of_itself() -> None:
    value = np.array([1e-7, 1e-3, 2e-5, 4e-4, 1e-6, 3e-3])
    own = Variances.of(value, np.full(value.size, FREEDOM))
    made = own.moderated(["f"] * value.size)
    assert np.all(made.freedom >= FREEDOM)
    assert np.all(made.value >= value)  # so that Student's test only loses by them


def test_benchmarks_that_moved_together_lend_no_more_than_one_of_them_shows() -> None:
    own = drawn(np.full(30, 4e-6))
    together, apart = (
        own.moderated(["f"] * 30, np.full(30, alike)).freedom for alike in (1.0, 30.0)
    )
    assert together == pytest.approx(own.freedom)
    assert np.median(apart) > 2.5 * FREEDOM


def test_another_session_only_adds_to_what_is_assumed() -> None:
    assumed = np.array([0.001])
    freedoms = []
    for sessions in range(1, 7):
        freedom = np.array([sessions - 1.0])
        alike = Variances.of_squares(freedom * assumed**2, freedom)
        freedoms.append(alike.with_assumed(assumed, 10.0).freedom[0])
    assert np.all(np.diff(freedoms) > 0.99)


def test_one_process_is_assumed_to_scatter_no_less_than_its_own_past() -> None:
    nothing = Variances.of(np.zeros(1), np.zeros(1))
    past = nothing.steadied_by(Variances.of(np.array([0.2**2]), np.array([24.0])))
    known = replace(past, pooled_freedom=np.zeros(1)).or_assumed(np.array([0.03]))
    assert known.value[0] == pytest.approx(0.2**2)


BENCHMARKS = 40


def effective(deviations: np.ndarray, similar: list[str] | None = None) -> np.ndarray:
    """Of a table of deviations, a benchmark a row and a session a column."""
    rows, columns = deviations.shape
    row, column = np.divmod(np.arange(rows * columns), columns)
    return independent(similar or ["f"] * rows, row, column, deviations.ravel())


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(shape)


@pytest.mark.parametrize("sessions", [2, 4, 10])
def test_all_that_moved_by_the_same_are_one_and_others_nearly_all(sessions: int) -> None:
    how_far = np.linspace(1.0, 100.0, BENCHMARKS)[:, None]  # which does not matter
    together, alone = (
        effective(moves - moves.mean(axis=1, keepdims=True))
        for moves in (how_far * normal(1, sessions), normal(BENCHMARKS, sessions))
    )
    assert together == pytest.approx(1.0)
    assert np.all(alone > BENCHMARKS / 2)


def test_groups_are_counted_by_themselves() -> None:
    together, alone = np.repeat(normal(1, 4), 20, axis=0), normal(20, 4)
    found = effective(np.vstack([together, alone]), ["a"] * 20 + ["b"] * 20)
    assert found[:20] == pytest.approx(1.0)
    assert np.all(found[20:] > 10.0)


def test_benchmarks_that_never_moved_count_as_one() -> None:
    assert effective(np.zeros((5, 3))) == pytest.approx(1.0)
    moves = np.vstack([np.repeat(normal(1, 3), 4, axis=0), np.zeros((4, 3))])
    assert effective(moves) == pytest.approx(1.0)
    assert effective(np.zeros((0, 3)), []).size == 0


def test_groups_are_summed_up_each_by_itself() -> None:
    source = np.random.default_rng(1)
    times = [source.uniform(1.0, 9.0, size).tolist() for size in (1, 2, 7, 8, 1, 30)]
    groups = Groups.of_logs(times)
    logs = [np.log(one) for one in times]
    assert groups.means == pytest.approx([np.mean(one) for one in logs])
    assert groups.medians == pytest.approx([np.median(one) for one in logs])
    assert groups.squares == pytest.approx([np.var(one) * one.size for one in logs])
    alone = [Groups.of_logs([one]).median_variances[0] for one in times]
    assert groups.median_variances == pytest.approx(alone)


@pytest.mark.parametrize("size", [2, 3, 8, 11, 20])
@pytest.mark.parametrize("states", [0.0, 10.0])
def test_a_median_is_known_no_better_than_it_scatters(size: int, states: float) -> None:
    source = np.random.default_rng(size)
    shape = (4000, size)
    logs = 0.01 * (source.normal(size=shape) + states * source.integers(0, 2, shape))
    groups = Groups.of_logs(np.exp(logs).tolist())
    told = np.mean(groups.median_variances)
    assert 0.6 <= told / np.var(groups.medians) <= 1.5


def test_gaps_are_within_groups_and_steps_between_values_that_differ() -> None:
    groups = Groups.of_logs([[1.0, 2.0, 1.0], [3.0], [5.0, 5.0], [4.0, 2.0, 1.0]])
    assert groups.gaps == pytest.approx([0.0, np.inf, 0.0, np.log(2.0)])
    assert groups.steps == pytest.approx([np.log(2.0), np.inf, np.inf, np.log(2.0)])


def test_no_groups_are_no_values() -> None:
    groups = Groups.of_logs([])
    assert groups.gaps.size == groups.steps.size == 0
    assert [groups.means.size, groups.medians.size, groups.squares.size] == [0, 0, 0]
    assert groups.median_variances.size == 0
