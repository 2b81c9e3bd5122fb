# SPDX-License-Identifier: Apache-2.0
"""Base and candidate in pairs of processes: what of a record becomes a pair, and what counts."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from conftest import Loader
from msgspec import structs
from scipy import stats as scipy_stats

import builders
from builders import failed, row, run, scaled
from builders import pairs as pairs_of
from warpgauge.records.model import Record
from warpgauge.records.row import Pair
from warpgauge.records.sessions import FEWEST_OF_A_CHANGE, FEWEST_OF_A_PASS, are_paired
from warpgauge.verdict.comparison import Evidence, Outcome, Verdict
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.judge import judge
from warpgauge.verdict.policy import Policy, Tolerance

# A machine that slows down by a fifth while the pair is measured.
PAIRS = FEWEST_OF_A_CHANGE
ROUNDS = [*range(1, PAIRS + 1)]
DRIFT = tuple(1.0 + 0.02 * number for number in range(PAIRS))
noisy = partial(builders.noisy, processes=PAIRS)


def side(loaded: Loader, times: Sequence[float], rounds: Sequence[int] = (), **keys: str) -> Record:
    numbers = list(rounds) or list(range(1, len(times) + 1))
    about = {"pair_id": "p", **keys}
    return loaded(run([row("a/b", times, process_rounds=numbers)], **about))


def only(base: Record, cand: Record) -> Verdict:
    (verdict,) = judge(base, cand).verdicts
    return verdict


def test_it_is_the_paired_t_test(loaded: Loader) -> None:
    base, cand = (noisy(seed, 0.01, factor, processes=8) for seed, factor in ((3, 1.0), (4, 1.01)))
    verdict = only(side(loaded, base), side(loaded, cand))
    assert verdict.p is not None
    wanted = scipy_stats.ttest_rel(np.log(cand), np.log(base)).pvalue
    # Ranks tell nothing of so few pairs. A later look would have half of the chance to err.
    assert verdict.p == pytest.approx(2.0 * wanted, rel=0.1)


def test_what_moves_both_sides_drops_out(loaded: Loader) -> None:
    base = [slow * noise for slow, noise in zip(DRIFT, noisy(1, 0.0005), strict=True)]
    cand = [slow * noise * 1.01 for slow, noise in zip(DRIFT, noisy(2, 0.0005), strict=True)]
    verdict = only(side(loaded, base), side(loaded, cand))
    assert verdict.outcome is Outcome.REGRESSION
    assert verdict.evidence is Evidence.PAIRED
    assert verdict.change is not None
    assert verdict.change.ratio == pytest.approx(0.01, abs=0.001)
    unpaired = only(side(loaded, base), side(loaded, cand, pair_id="another"))
    assert unpaired.outcome is not Outcome.REGRESSION


def test_times_meet_by_their_round(loaded: Loader) -> None:
    base = side(loaded, DRIFT)
    cand = side(loaded, DRIFT[2:], rounds=range(3, PAIRS + 1))
    verdict = only(base, cand)
    assert verdict.change is not None
    assert verdict.change.ratio == 0.0
    assert verdict.processes == (PAIRS - 2, PAIRS - 2)
    # One round in common says nothing.
    verdict = only(side(loaded, [1.0, 1.1], [1, 2]), side(loaded, [1.0, 1.1], [2, 3]))
    assert verdict.outcome is Outcome.INVALID
    assert "rounds" in verdict.reason


def test_a_change_of_half_a_percent_counts_in_pairs(loaded: Loader) -> None:
    for factor, expected in ((1.006, Outcome.REGRESSION), (1.004, Outcome.PASS)):
        found = only(side(loaded, noisy(1, 1e-4)), side(loaded, noisy(2, 1e-4, factor)))
        assert found.outcome is expected


def test_few_pairs_bound_nothing_and_call_nothing_changed(loaded: Loader) -> None:
    """However the measurement ended: a benchmark of two states may meet one of them so often."""
    for factor, pairs, expected in (
        (1.0, FEWEST_OF_A_PASS - 1, Outcome.INCONCLUSIVE),
        (1.0, FEWEST_OF_A_CHANGE - 3, Outcome.PASS),
        (1.2, FEWEST_OF_A_CHANGE - 3, Outcome.INCONCLUSIVE),
        (0.8, FEWEST_OF_A_CHANGE - 3, Outcome.INCONCLUSIVE),
        (1.2, FEWEST_OF_A_CHANGE - 2, Outcome.REGRESSION),  # two rounds were lost
    ):
        base, cand = noisy(1, 1e-4, processes=pairs), noisy(2, 1e-4, factor, processes=pairs)
        assert only(side(loaded, base), side(loaded, cand)).outcome is expected


def test_a_smaller_tolerance_has_a_smaller_minimum_effect(loaded: Loader) -> None:
    """What lies between the two would stay inconclusive for ever."""
    entry = Tolerance(1, re.compile("a/b"), "many wait for it", 0.2)
    settings = ComparisonSettings(policy=Policy(Path("policy.toml"), tolerances=(entry,)))
    base = side(loaded, noisy(1, 1e-5))
    for factor, expected in ((1.003, Outcome.REGRESSION), (1.0005, Outcome.PASS)):
        cand = side(loaded, noisy(2, 1e-5, factor))
        (verdict,) = judge(base, cand, settings).verdicts
        assert (verdict.outcome, verdict.minimum_effect) == (expected, 0.001)


def test_what_pairs_cannot_bound_within_the_tolerance_is_inconclusive(loaded: Loader) -> None:
    for sd, expected in ((0.002, Outcome.PASS), (0.02, Outcome.INCONCLUSIVE)):
        found = only(side(loaded, noisy(1, sd)), side(loaded, noisy(2, sd)))
        assert found.outcome is expected
        assert found.bound is not None
        assert (found.bound <= 0.01) is (expected is Outcome.PASS)


def test_each_look_has_half_of_the_chance_of_the_one_before(loaded: Loader) -> None:
    def looked(*looks: int) -> Verdict:
        pairs = tuple(Pair(n % 2 == 1, look=1 + bisect_left(looks, n)) for n in ROUNDS)
        base, cand = side(loaded, noisy(1, 0.01)), side(loaded, noisy(2, 0.01, 1.02))
        return only(base, with_pairs(cand, pairs))

    first, second, third = (looked(*looks) for looks in ((14, 24), (8, 14, 24), (4, 8, 14)))
    for earlier, later in ((first, second), (second, third)):
        assert earlier.p is not None
        assert later.p == pytest.approx(2.0 * earlier.p)
        assert earlier.bound is not None
        assert later.bound is not None
        assert later.bound > earlier.bound
    assert looked() == first


@pytest.mark.parametrize(
    ("ratio", "base_s", "candidate_s", "is_valid"),
    [
        (1.0, 0.010, 0.012, True),
        (1.0, 0.010, 0.100, False),  # it sleeps outside of what it times
        (1.0, 0.100, 0.010, False),  # so does the base
        (4.0, 0.010, 0.200, True),  # it is slower in any case
        (0.25, 0.040, 0.010, True),
        (0.25, 0.010, 0.012, True),  # what is not timed takes the longest
        (0.25, 0.010, 0.040, False),
        (1.0, 0.0001, 0.004, True),  # a busy machine delays messages
        (1e-300, 0.01, 0.01, True),
        (1.0, 0.010, None, False),
    ],
)
def test_times_that_the_drivers_clock_contradicts_are_invalid(
    loaded: Loader, ratio: float, base_s: float, candidate_s: float | None, is_valid: bool
) -> None:
    times, rounds = noisy(1, 1e-4), ROUNDS
    near = [
        {"base_first": True, "log_ratio": math.log(ratio) + 1e-4 * n, "slices": 5}
        for n in range(PAIRS)
    ]
    late = None if candidate_s is None else [candidate_s + 10.0 * (n == 3) for n in range(PAIRS)]
    known = {} if late is None else {"elapsed": late}
    base = row("a/b", times, process_rounds=rounds, elapsed=[base_s] * PAIRS)
    cand = row("a/b", scaled(ratio, times), process_rounds=rounds, pairs=near, **known)
    verdict = only(*(loaded(run([one], pair_id="p")) for one in (base, cand)))
    assert (verdict.outcome is not Outcome.INVALID) is is_valid


def test_one_quick_round_hides_no_sleep(loaded: Loader) -> None:
    times, rounds = noisy(1, 1e-4), ROUNDS
    base = row("a/b", times, process_rounds=rounds, elapsed=[0.01] * PAIRS)
    near = pairs_of([1.0] * PAIRS)
    elapsed = [0.01, *[1.0] * (PAIRS - 1)]
    cand = row("a/b", times, process_rounds=rounds, pairs=near, elapsed=elapsed)
    verdict = only(*(loaded(run([one], pair_id="p")) for one in (base, cand)))
    assert verdict.outcome is Outcome.INVALID


def test_processes_that_their_slices_contradict_are_invalid(loaded: Loader) -> None:
    times, rounds = noisy(1, 1e-4), ROUNDS
    for factor, expected in ((1.0, Outcome.PASS), (5.0, Outcome.INVALID)):
        base = row("a/b", times, process_rounds=rounds)
        near = pairs_of([1.0 + 1e-5 * n for n in range(PAIRS)])
        cand = row("a/b", scaled(factor, times), process_rounds=rounds, pairs=near)
        assert only(*(loaded(run([one], pair_id="p")) for one in (base, cand))).outcome is expected


@pytest.mark.parametrize(
    ("base_s", "candidate_s", "iterations", "is_valid"),
    [
        (0.5, 1.5, 10, False),
        (1.5, 0.5, 10, True),  # Google Benchmark looked longer for a number of iterations
        (0.5, 1.5, 100, True),  # what is paused grows with the iterations
    ],
)
def test_a_plain_program_must_explain_its_time(
    loaded: Loader, base_s: float, candidate_s: float, iterations: int, is_valid: bool
) -> None:
    rounds = ROUNDS
    base = row("a/b", noisy(1, 1e-4), process_rounds=rounds, elapsed=[base_s] * PAIRS)
    about = {"elapsed": [candidate_s] * PAIRS, "iterations": iterations}
    cand = row("a/b", noisy(2, 1e-4), process_rounds=rounds, **about)
    verdict = only(*(loaded(run([one], pair_id="p")) for one in (base, cand)))
    assert (verdict.outcome is not Outcome.INVALID) is is_valid


def with_pairs(candidate: Record, pairs: tuple[Pair, ...]) -> Record:
    rows = {name: structs.replace(row, pairs=pairs) for name, row in candidate.rows.items()}
    return replace(candidate, rows=rows)


def test_of_slices_in_lock_step_their_ratios_count(loaded: Loader) -> None:
    base, cand = side(loaded, noisy(1, 0.05)), side(loaded, noisy(2, 0.05))

    def judged(*ratios: float | None) -> Verdict:
        logs = (None if ratio is None else math.log(ratio) for ratio in ratios)
        pairs = tuple(Pair(n % 2 == 0, log_ratio=log, slices=5) for n, log in enumerate(logs))
        return only(base, with_pairs(cand, pairs))

    in_lock_step = judged(*[1.011, 1.01, 1.009, 1.01, 1.0105, 1.01, 1.01] * 2)
    in_part = judged(*[1.011, 1.01, 1.009, 1.01, None, None, None] * 2)
    assert in_lock_step.change is not None
    assert in_lock_step.change.ratio == pytest.approx(0.01, abs=2e-4)
    assert in_lock_step.outcome is Outcome.REGRESSION
    assert in_lock_step.evidence is Evidence.LOCK_STEP
    # Rounds without slices count by their processes, which scatter more.
    assert in_part.evidence is Evidence.PAIRED
    assert in_part.outcome is Outcome.INCONCLUSIVE


def test_times_within_a_tick_of_the_clock_are_no_change(loaded: Loader) -> None:
    def ticks(*counts: int) -> list[float]:
        return [0.032 * count for count in counts]

    base = side(loaded, ticks(*[100, 100, 101, 100, 100, 100, 100] * 2))
    for one, expected in ((101, Outcome.INCONCLUSIVE), (110, Outcome.REGRESSION)):
        verdict = only(base, side(loaded, ticks(*[one] * PAIRS)))
        assert verdict.outcome is expected


def suite(loaded: Loader, times: Mapping[str, Sequence[float]], **keys: float) -> Record:
    rounds = ROUNDS
    rows = [row(name, of, process_rounds=rounds, **keys) for name, of in times.items()]
    return loaded(run(rows, pair_id="p"))


def test_a_quiet_benchmark_beside_noisy_ones_is_not_blinded_by_them(loaded: Loader) -> None:
    noise = (5e-4, 0.002, 0.007, 0.015, 0.02, 0.06)

    def both(seed: int, slower: float) -> Record:
        times = {f"memcpy/{index}": noisy(seed + index, sd) for index, sd in enumerate(noise)}
        return suite(loaded, times | {"memcpy/0": noisy(seed, noise[0], slower)})

    found = judge(both(1, 1.0), both(50, 1.03)).verdicts
    assert found[0].outcome is Outcome.REGRESSION
    assert all(one.outcome is not Outcome.REGRESSION for one in found[1:])


def test_in_pairs_the_hosts_controls_are_not_asked(loaded: Loader) -> None:
    before = {"host/clock_read": noisy(1, 0.002), "sync/idle": noisy(2, 0.002)}
    after = {"host/clock_read": noisy(3, 0.002, 1.3), "sync/idle": noisy(4, 0.002, 1.1)}
    base, cand = (suite(loaded, times, host_clock=1.0) for times in (before, after))
    outcomes = {verdict.name: verdict.outcome for verdict in judge(base, cand).verdicts}
    assert outcomes == {"host/clock_read": Outcome.PASS, "sync/idle": Outcome.REGRESSION}


def test_two_runs_that_are_no_pair_are_not_taken_for_one(loaded: Loader) -> None:
    alone = loaded(run([row("a/b")]))
    assert not are_paired(alone, alone)
    assert not are_paired(alone, side(loaded, DRIFT))
    assert not are_paired(side(loaded, DRIFT), side(loaded, DRIFT, pair_id="another"))
    assert are_paired(side(loaded, DRIFT), side(loaded, DRIFT))


def test_what_one_side_lacks_is_missing_from_a_base_and_no_baseline(loaded: Loader) -> None:
    rows = {"whole": [row("a/b"), row("a/c")], "part": [row("a/b")]}
    for keys, whose in (({"pair_id": "p"}, "base"), ({}, "baseline")):
        whole, part = (loaded(run(rows[one], **keys)) for one in ("whole", "part"))
        lost = next(one for one in judge(whole, part).verdicts if one.name == "a/c")
        assert lost.outcome is Outcome.MISSING
        assert lost.reason == f"in the {whose}, but missing from the candidate"
        broken = loaded(run([row("a/b"), failed("a/c")], **keys))
        fault = next(one for one in judge(broken, whole).verdicts if one.name == "a/c")
        assert fault.reason.startswith(f"failed in the {whose}: ")
