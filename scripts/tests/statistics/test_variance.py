# SPDX-License-Identifier: Apache-2.0
"""Few data are steadied by similar benchmarks, as far as these agree, and never made too sure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from warpgauge.statistics.variance import SESSIONS_ALIKE, SMALLEST_SD, Variances, independent

FREEDOM = 6.0


def drawn(truth: np.ndarray, seed: int = 1) -> Variances:
    """Sample variances of normal samples whose true variances are `truth`."""
    chi = np.random.default_rng(seed).chisquare(FREEDOM, truth.size) / FREEDOM
    return Variances.of(truth * chi, np.full(truth.size, FREEDOM))


def test_benchmarks_that_are_alike_lend_each_other_freedom() -> None:
    made = drawn(np.full(200, 4e-6)).moderated(["f"] * 200)
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


def test_no_estimate_falls_below_a_benchmarks_own() -> None:
    own = drawn(np.full(50, 1e-6))
    assert np.all(own.moderated(["f"] * 50).value >= own.value)


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


def test_where_nothing_is_known_the_assumption_holds() -> None:
    nothing = Variances.of(np.ones(1), np.zeros(1)).or_assumed(np.array([0.03]))
    assert nothing.value[0] == pytest.approx(0.03**2)
    assert nothing.freedom[0] == np.inf


def test_two_that_agree_by_chance_are_not_taken_for_certainty() -> None:
    chance = Variances.of(np.array([SMALLEST_SD**2]), np.ones(1)).or_assumed(np.array([0.01]))
    assert np.sqrt(chance.value[0]) == pytest.approx(0.009, rel=0.01)
    assert chance.freedom[0] == pytest.approx(4.0, rel=0.01)


def test_what_is_well_known_needs_no_assumption() -> None:
    known = drawn(np.full(3, 1e-6))
    assert np.array_equal(known.or_assumed(np.full(3, 0.5)).value, known.value)


def test_times_that_agree_to_the_last_digit_are_not_believed_entirely() -> None:
    assert Variances.of_squares(np.zeros(1), np.array([6.0])).value[0] == SMALLEST_SD**2


def test_a_noisier_candidate_is_not_quietened_by_its_baseline() -> None:
    noisy, quiet = (Variances.of(np.array([one]), np.array([6.0])) for one in (1e-2, 1e-6))
    assert noisy.steadied_by(quiet).value[0] == 1e-2
    assert quiet.steadied_by(noisy).value[0] > 1e-3


def test_who_contradicts_a_benchmark_says_nothing_of_it() -> None:
    own, others = Variances.of(np.array([1e-2]), np.array([6.0])), np.array([1e-6])
    assert own.steadied_by(Variances.of(others, np.array([24.0]))).freedom[0] < 6.01
    alike = own.steadied_by(Variances.of(np.array([1e-2]), np.array([24.0])))
    assert alike.freedom[0] == pytest.approx(6.0 + SESSIONS_ALIKE)


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


def test_what_is_assumed_counts_less_where_similar_benchmarks_differ() -> None:
    def freedom(truth: np.ndarray) -> float:
        made = drawn(truth).moderated(["f"] * 200).with_assumed(np.full(200, 0.002), 10.0)
        return float(np.max(made.pooled_freedom))

    unlike = np.exp(np.random.default_rng(2).normal(-12.0, 3.0, 200))
    assert freedom(unlike) < freedom(np.full(200, 4e-6)) - 5.0


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
    together, alone = (
        effective(moves - moves.mean(axis=1, keepdims=True))
        for moves in (
            np.repeat(normal(1, sessions), BENCHMARKS, axis=0),
            normal(BENCHMARKS, sessions),
        )
    )
    assert together == pytest.approx(1.0)
    assert np.all(alone > BENCHMARKS / 2)


def test_how_far_they_moved_does_not_matter() -> None:
    moves = (
        np.repeat(normal(1, 5), BENCHMARKS, axis=0) * np.linspace(1.0, 100.0, BENCHMARKS)[:, None]
    )
    assert effective(moves) == pytest.approx(1.0)


def test_groups_are_counted_by_themselves() -> None:
    together, alone = np.repeat(normal(1, 4), 20, axis=0), normal(20, 4)
    found = effective(np.vstack([together, alone]), ["a"] * 20 + ["b"] * 20)
    assert found[:20] == pytest.approx(1.0)
    assert np.all(found[20:] > 10.0)


def test_benchmarks_that_never_moved_count_as_one() -> None:
    assert effective(np.zeros((5, 3))) == pytest.approx(1.0)
    moves = np.vstack([np.repeat(normal(1, 3), 4, axis=0), np.zeros((4, 3))])
    assert effective(moves) == pytest.approx(1.0)


def test_nothing_is_nothing() -> None:
    assert effective(np.zeros((0, 3)), []).size == 0
