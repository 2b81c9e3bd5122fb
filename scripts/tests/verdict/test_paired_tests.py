# SPDX-License-Identifier: Apache-2.0
"""Base and candidate in alternating processes: the test is Student's, round by round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from conftest import Loader
from scipy import stats as scipy_stats

from builders import failed, noisy, row, run
from warpgauge.records.model import Record
from warpgauge.records.sessions import are_paired
from warpgauge.verdict.comparison import Evidence, Outcome, Verdict
from warpgauge.verdict.judge import judge
from warpgauge.verdict.paired_tests import compare
from warpgauge.verdict.pairing import pair

# A machine that slows down by a fifth while the pair is measured.
DRIFT = (1.0, 1.03, 1.07, 1.1, 1.14, 1.17, 1.2)


def side(loaded: Loader, times: Sequence[float], rounds: Sequence[int] = (), **keys: str) -> Record:
    numbers = list(rounds) or list(range(1, len(times) + 1))
    about = {"pair_id": "p", **keys}
    return loaded(run([row("a/b", times, process_rounds=numbers)], **about))


def only(base: Record, cand: Record) -> Verdict:
    (verdict,) = judge(base, cand).verdicts
    return verdict


def test_it_is_the_paired_t_test(loaded: Loader) -> None:
    base, cand = noisy(1, 0.01), noisy(2, 0.01, 1.01)
    records = side(loaded, base), side(loaded, cand)
    pairings, _, _ = pair(*records, ["a/b"])
    wanted = scipy_stats.ttest_rel(np.log(cand), np.log(base))
    assert compare(pairings).estimates.p[0] == pytest.approx(wanted.pvalue)


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
    cand = side(loaded, DRIFT[2:], rounds=range(3, 8))
    verdict = only(base, cand)
    assert verdict.change is not None
    assert verdict.change.ratio == 0.0
    assert verdict.processes == (5, 5)
    # One round in common says nothing.
    verdict = only(side(loaded, [1.0, 1.1], [1, 2]), side(loaded, [1.0, 1.1], [2, 3]))
    assert verdict.outcome is Outcome.INVALID
    assert "rounds" in verdict.reason


def test_a_change_of_half_a_percent_counts_in_pairs(loaded: Loader) -> None:
    for factor, expected in ((1.006, Outcome.REGRESSION), (1.004, Outcome.PASS)):
        found = only(side(loaded, noisy(1, 1e-4)), side(loaded, noisy(2, 1e-4, factor)))
        assert found.outcome is expected


def suite(loaded: Loader, times: Mapping[str, Sequence[float]], **keys: float) -> Record:
    rounds = list(range(1, 8))
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
        assert lost.reason == f"in the {whose}, but the candidate does not have it"
        broken = loaded(run([row("a/b"), failed("a/c")], **keys))
        fault = next(one for one in judge(broken, whole).verdicts if one.name == "a/c")
        assert fault.reason.startswith(f"failed in the {whose}: ")
