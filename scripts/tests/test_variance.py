# SPDX-License-Identifier: Apache-2.0
"""Few data are steadied by similar benchmarks, as far as these agree, and never made too sure."""

from __future__ import annotations

import numpy as np
import pytest

from warpgauge.variance import SMALLEST_SD, Variances

FREEDOM = 6.0


def drawn(truth: np.ndarray, seed: int = 1) -> Variances:
    """Sample variances of normal samples whose true variances are `truth`."""
    chi = np.random.default_rng(seed).chisquare(FREEDOM, truth.size) / FREEDOM
    return Variances(truth * chi, np.full(truth.size, FREEDOM))


def test_benchmarks_that_are_alike_lend_each_other_freedom() -> None:
    made = drawn(np.full(200, 4e-6)).moderated(["f"] * 200)
    assert np.all(made.freedom == FREEDOM * 3)  # at most twice its own, on top of its own
    assert np.median(made.value) == pytest.approx(4e-6, rel=0.2)


def test_benchmarks_that_are_unlike_lend_little() -> None:
    truth = np.exp(np.random.default_rng(2).normal(-12.0, 3.0, 200))
    made = drawn(truth).moderated(["f"] * 200)
    assert np.all(made.freedom < FREEDOM + 1.0)


def test_the_prior_is_recovered() -> None:
    source = np.random.default_rng(3)
    truth = 1e-6 * 8.0 / source.chisquare(8.0, 4000)  # an inverse chi square of 8 degrees
    lent = drawn(truth, 4).moderated(["f"] * 4000).freedom - FREEDOM
    assert lent[0] == pytest.approx(8.0, rel=0.15)


def test_no_estimate_falls_below_a_benchmarks_own() -> None:
    own = drawn(np.full(50, 1e-6))
    assert np.all(own.moderated(["f"] * 50).value >= own.value)


def test_other_families_lend_nothing() -> None:
    own = drawn(np.full(6, 1e-6))
    made = own.moderated(["a", "a", "a", "b", "b", "b"])
    assert np.array_equal(made.value, own.value)
    assert np.array_equal(made.freedom, own.freedom)


def test_one_without_data_takes_over_what_similar_ones_show() -> None:
    own = drawn(np.full(20, 4e-6))
    own.freedom[0], own.value[0] = 0.0, 1.0
    made = own.moderated(["f"] * 20)
    assert made.freedom[0] > 0.0
    assert made.value[0] == pytest.approx(4e-6, rel=0.5)


def test_where_nothing_is_known_the_assumption_holds() -> None:
    nothing = Variances(np.ones(1), np.zeros(1)).or_assumed(np.array([0.03]))
    assert nothing.value[0] == pytest.approx(0.03**2)
    assert nothing.freedom[0] == np.inf


def test_two_that_agree_by_chance_are_not_taken_for_certainty() -> None:
    chance = Variances(np.array([SMALLEST_SD**2]), np.ones(1)).or_assumed(np.array([0.01]))
    assert np.sqrt(chance.value[0]) == pytest.approx(0.009, rel=0.01)
    assert chance.freedom[0] == 5.0


def test_what_is_well_known_needs_no_assumption() -> None:
    known = drawn(np.full(3, 1e-6))
    assert np.array_equal(known.or_assumed(np.full(3, 0.5)).value, known.value)


def test_times_that_agree_to_the_last_digit_are_not_believed_entirely() -> None:
    assert Variances.of_squares(np.zeros(1), np.array([6.0])).value[0] == SMALLEST_SD**2


def test_a_noisier_candidate_is_not_quietened_by_its_baseline() -> None:
    noisy, quiet = (Variances(np.array([one]), np.array([6.0])) for one in (1e-2, 1e-6))
    assert noisy.steadied_by(quiet).value[0] == 1e-2
    assert quiet.steadied_by(noisy).value[0] > 1e-3
