# SPDX-License-Identifier: Apache-2.0
"""Benchmarks that moved together count as few, those that moved on their own as many."""

from __future__ import annotations

import numpy as np
import pytest

from warpgauge.statistics.variance import independent

BENCHMARKS = 40


def effective(deviations: np.ndarray, similar: list[str] | None = None) -> np.ndarray:
    """Of a table of deviations, a benchmark a row and a session a column."""
    rows, columns = deviations.shape
    row, column = np.divmod(np.arange(rows * columns), columns)
    return independent(similar or ["f"] * rows, row, column, deviations.ravel())


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(shape)


@pytest.mark.parametrize("sessions", [2, 4, 10])
def test_all_that_moved_by_the_same_are_one(sessions: int) -> None:
    moves = np.repeat(normal(1, sessions), BENCHMARKS, axis=0)
    assert effective(moves - moves.mean(axis=1, keepdims=True)) == pytest.approx(1.0)


@pytest.mark.parametrize("sessions", [2, 4, 10])
def test_those_that_moved_on_their_own_are_nearly_all(sessions: int) -> None:
    moves = normal(BENCHMARKS, sessions)
    assert np.all(effective(moves - moves.mean(axis=1, keepdims=True)) > BENCHMARKS / 2)


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
