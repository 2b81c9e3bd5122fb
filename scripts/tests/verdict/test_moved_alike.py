# SPDX-License-Identifier: Apache-2.0
"""A suite of which most rows moved alike: the note names the machine or the build."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from conftest import Loader

from builders import google, google_row, pairs, row, run, scaled
from warpgauge.verdict.judge import judge

LEAST = 12  # rows of a suite of which it is said


def moved_alike(loaded: Loader, ratios: Sequence[float]) -> str:
    """The note between two Google Benchmark files whose rows moved by these ratios, or ""."""
    base, cand = (
        loaded(google([google_row(f"a/{at}", 100.0 * of) for at, of in enumerate(factors)]))
        for factors in ([1.0] * len(ratios), ratios)
    )
    return "".join(str(note) for note in judge(base, cand).notes if note.kind == "moved_alike")


@pytest.mark.parametrize(
    ("ratios", "begin"),
    [
        ([1.12] * 21 + [0.8, 0.9, 0.95], "21 of 24 benchmarks moved by about +12.0 %"),
        ([1.10, 1.14] * 6, "12 of 12 benchmarks moved by about +12.0 %"),
        ([0.5] * 9 + [1.0] * 3, "9 of 12 benchmarks moved by about −50.0 %"),
    ],
)
def test_most_rows_moved_alike(loaded: Loader, ratios: Sequence[float], begin: str) -> None:
    words = moved_alike(loaded, ratios)
    assert words.startswith(begin)
    assert "warpgauge ab" in words


@pytest.mark.parametrize(
    "ratios",
    [
        [1.12] * (LEAST - 1),
        [1.12] * 3 + [1.0] * 21,
        [1.12] * 17 + [1.0] * 7,
        [1.02] * 24,
        [1.0] * 24,
        [0.8, 1.25] * 12,
        [1.0 + 0.02 * at for at in range(24)],
    ],
    ids=["few rows", "few moved", "less than three quarters", "within tolerance", "none moved",
         "in both directions", "by different amounts"],
)  # fmt: skip
def test_rows_that_did_not_move_alike_are_no_common_cause(
    loaded: Loader, ratios: Sequence[float]
) -> None:
    assert moved_alike(loaded, ratios) == ""


def test_noise_alone_is_no_common_cause(loaded: Loader) -> None:
    source = random.Random(3)
    suites = [[source.lognormvariate(0.0, 0.15) for _ in range(LEAST)] for _ in range(20)]
    assert not any(moved_alike(loaded, ratios) for ratios in suites)


def test_of_our_runs_it_names_the_clock_and_of_pairs_it_says_nothing(loaded: Loader) -> None:
    names = [f"a/{at}" for at in range(LEAST)]
    host = [row(f"sync/{at}", host_clock=1.0) for at in range(LEAST)]
    base = loaded(run([*map(row, names), *host]))
    cand = loaded(run([*(row(name, scaled(1.05)) for name in names), *host]))
    (note,) = (note for note in judge(base, cand).notes if note.kind == "moved_alike")
    assert str(note).startswith("12 of 12 benchmarks of device time moved by about +5.0 %")
    assert "--against" in str(note)

    rounds = [*range(1, 9)]
    base, cand = (
        loaded(
            run(
                [row(name, [factor] * 8, process_rounds=rounds, **more) for name in names],
                pair_id="p",
            )
        )
        for factor, more in ((1.0, {}), (1.05, {"pairs": pairs([1.05] * 8)}))
    )
    assert all(note.kind != "moved_alike" for note in judge(base, cand).notes)
