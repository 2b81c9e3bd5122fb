# SPDX-License-Identifier: Apache-2.0
"""Paired tests: base and candidate ran beside each other, in pairs of processes.

A disturbance of the GPU or host that lasts longer than the turns of a pair affects both sides and
cancels in their ratio. `statistics.pairs` tests what is left. Pairs may be looked at several times,
after rounds that are fixed in advance. Each look spends half of the error rate of the look before,
so that all looks together stay within the stated rate (alpha spending; Lan and DeMets 1983,
"Discrete sequential boundaries for clinical trials").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from warpgauge.records.model import Record
from warpgauge.records.row import LARGEST_LOG, Pair
from warpgauge.records.sessions import FEWEST_ROUNDS
from warpgauge.statistics import pairs
from warpgauge.statistics.error_rates import BOUND_CONFIDENCE
from warpgauge.statistics.log_ratios import Array, Found, Tested, each
from warpgauge.statistics.pairs import Order
from warpgauge.system.text import duration
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict
from warpgauge.verdict.note import Rounds
from warpgauge.verdict.pairing import Pairing

# By which factor two accounts of one time may differ, and by how much more a busy machine delays a
# slice, and what a process does outside of its benchmarks.
_ALIKE = 1.5
_SLICE_NOISE_S, _PROCESS_NOISE_S = 0.005, 0.2


def split(pairings: Sequence[Pairing]) -> tuple[list[Pairing], list[Verdict]]:
    """Return the pairings to test, and verdicts on those with too few rounds in common."""
    fit = [one for one in pairings if len(_common(one)) >= FEWEST_ROUNDS]
    reason = f"fewer than {FEWEST_ROUNDS} rounds in which both sides count: measure again"
    lonely = [
        Verdict(row.name, Outcome.INVALID, row.clock, reason=reason, counters=row.counters)
        for row in (one.candidate for one in pairings if len(_common(one)) < FEWEST_ROUNDS)
    ]
    return fit, lonely


def _common(pairing: Pairing) -> list[int]:
    """Return the rounds in which both sides count."""
    theirs = set(pairing.baseline.rounds)
    return [number for number in pairing.candidate.rounds if number in theirs]


@dataclass(frozen=True)
class _Rounds:
    """What a pairing measured in some rounds, by default in all that both sides have.

    Log seconds of both sides, log ratios (of lock-step slices where measured, else of the
    processes), and for each whether the base started.
    """

    base: Array
    candidate: Array
    ratios: Sequence[float]
    order: Order

    @staticmethod
    def of(pairing: Pairing, rounds: Sequence[int] | None = None) -> _Rounds:
        rounds, row = rounds or _common(pairing), pairing.candidate
        sides = (pairing.baseline, pairing.references[0]), (row, pairing.session)
        base, cand = (
            dict(zip(one.rounds, one.process_medians[session.key], strict=True))
            for one, session in sides
        )
        logs = np.log([[base[number], cand[number]] for number in rounds]).reshape(-1, 2)
        # If the file does not say who started, the sides took turns.
        every = row.pairs or [Pair(base_first=number % 2 == 1) for number in row.rounds]
        known = dict(zip(row.rounds, every, strict=True))
        met = [known[number] for number in rounds]
        of_processes: list[float] = (logs[:, 1] - logs[:, 0]).tolist()
        ratios = [
            log if pair.log_ratio is None else pair.log_ratio
            for log, pair in zip(of_processes, met, strict=True)
        ]
        order = tuple(pair.base_first for pair in met)
        return _Rounds(logs[:, 0], logs[:, 1], ratios, order)


def clock_step(base: Array, candidate: Array) -> float:
    """Return the clock's tick as a log ratio, or 0 if no two of the log times are equal.

    Also 0 if each side shows only one time: their distance need not be a single tick.
    """
    distinct = np.unique([*base, *candidate])
    some_equal = 1 < len(distinct) < len(base) + len(candidate)
    ticks = some_equal and (np.ptp(base) > 0 or np.ptp(candidate) > 0)
    return float(np.min(np.diff(distinct))) if ticks else 0.0


def log_ratios(pairing: Pairing) -> Sequence[float]:
    """Of the candidate's times over the base's, in each round that both have."""
    return _Rounds.of(pairing).ratios


def compare(
    pairings: Sequence[Pairing], bound_confidence: float = BOUND_CONFIDENCE
) -> list[Tested]:
    """Return the tests of `pairings` in their order; each needs `FEWEST_ROUNDS` common rounds."""
    sides = [_Rounds.of(one) for one in pairings]
    looks = [max((one.look for one in pairing.candidate.pairs), default=1) for pairing in pairings]
    share = 0.5 ** np.array(looks)
    found = pairs.found(
        [one.ratios for one in sides],
        [one.order for one in sides],
        np.array([clock_step(one.base, one.candidate) for one in sides]),
        (1.0 - bound_confidence) * share,
    )
    found = replace(found, p=np.minimum(found.p / share, 1.0))
    logs = [(one.base.mean(), one.candidate.mean()) for one in sides]
    count = np.array([len(one.ratios) for one in sides])
    return each(found, *np.array(logs).reshape(-1, 2).T, count, count, np.zeros_like(count, bool))


def mean_of(pairings: Sequence[Pairing]) -> Found | None:
    """Test the mean of the pairings' log ratios, over the rounds that all of them have.

    Return None if there are fewer than `FEWEST_ROUNDS` of these.
    """
    rounds = sorted(set.intersection(*(set(_common(one)) for one in pairings)))
    if len(rounds) < FEWEST_ROUNDS:
        return None
    sides = [_Rounds.of(one, rounds) for one in pairings]
    return pairs.found(
        [np.mean([one.ratios for one in sides], axis=0).tolist()],
        [sides[0].order],
        np.array([np.mean([clock_step(one.base, one.candidate) for one in sides])]),
        np.array([1.0 - BOUND_CONFIDENCE]),
    )


def contradiction(pairing: Pairing, log_ratio: float) -> str:
    """Return why the sides' own times are not believed, or "" if nothing contradicts them.

    What a process reports agrees with its slices. By the driver's clock a side takes as long as the
    other, or longer by what it reports: what is not timed takes the same time on both. A program
    that sleeps outside of what it times takes longer.
    """
    rounds = _common(pairing)
    by_round = [
        dict(zip(row.rounds, row.elapsed, strict=True)) if row.elapsed else {}
        for row in (pairing.baseline, pairing.candidate)
    ]
    base, cand = ([seconds for n in rounds if (seconds := of.get(n))] for of in by_round)
    if not any(pair.log_ratio is not None for pair in pairing.candidate.pairs):
        return _unexplained(pairing, median(base), median(cand)) if base and cand else ""
    measured = _Rounds.of(pairing, rounds)
    processes = median((measured.candidate - measured.base).tolist())
    slices = median(measured.ratios)
    if abs(processes - slices) > math.log(_ALIKE):
        ratios = (f"{math.exp(log):.3g}" for log in (processes, slices))
        words = "the processes differ by a factor of {}, but their slices by {}: measure again"
        return words.format(*ratios)
    if not base and not cand:
        return ""
    if not base or not cand:
        return "the driver's clock is known of one side only: measure again"
    own, other = median(cand), median(base)
    if log_ratio < 0.0:
        own, other = other, own
    longer = _ALIKE * math.exp(min(abs(log_ratio), LARGEST_LOG))
    if own > other * longer + _SLICE_NOISE_S or other > own * _ALIKE + _SLICE_NOISE_S:
        return _disagreement("a slice", median(base), median(cand))
    return ""


def _unexplained(pairing: Pairing, base: float, candidate: float) -> str:
    """Hold what plain processes do not time against each other.

    It may grow with the number of iterations, which Google Benchmark chooses (PauseTiming).
    """
    counts = pairing.baseline.iterations, pairing.candidate.iterations
    more = max(1.0, counts[1] / counts[0]) if all(counts) else 1.0
    if candidate > base * _ALIKE * more + _PROCESS_NOISE_S:
        return _disagreement("what a process does not time", base, candidate)
    return ""


def _disagreement(work: str, base: float, candidate: float) -> str:
    return (
        f"by the driver's clock {work} of the base took {duration(base)}, and of the candidate "
        f"{duration(candidate)}, which the times that they report do not explain"
    )


def looks_of(candidate: Record) -> list[int]:
    """Return the last round of each look at the pairs of a run file."""
    last: dict[int, int] = {}
    for row in candidate.rows.values():
        for number, pair in zip(row.rounds, row.pairs, strict=False):
            last[pair.look] = max(number, last.get(pair.look, 0))
    return sorted(last.values())


def rounds_of(found: Comparison) -> Rounds:
    """Return how many pairs judged run files hold."""
    rows = found.candidate.rows.values()
    last = [max(row.rounds) for row in rows if row.rounds]
    looks = looks_of(found.candidate) or [max(last, default=0)]
    still_open = found.count(Outcome.INCONCLUSIVE)
    if len(looks) == 1:
        return Rounds(looks[0], still_open=still_open)
    reopened = sum(rounds > looks[0] for rounds in last)
    return Rounds(looks[0], looks[-1], reopened, still_open)
