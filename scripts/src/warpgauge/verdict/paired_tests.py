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

import numpy as np

from warpgauge.records.model import Record, Session
from warpgauge.records.row import LARGEST_LOG, Pair, Row
from warpgauge.records.sessions import FEWEST_ROUNDS
from warpgauge.statistics import pairs
from warpgauge.statistics.error_rates import BOUND_CONFIDENCE
from warpgauge.statistics.log_ratios import Array, Found, Tests
from warpgauge.statistics.pairs import Order
from warpgauge.system.text import duration
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict
from warpgauge.verdict.note import Rounds
from warpgauge.verdict.pairing import Pairing

# By which factor sides may differ by the driver's clock, beyond what they report.
_ELAPSED_ALIKE = 1.5


def split(pairings: Sequence[Pairing]) -> tuple[list[Pairing], list[Verdict]]:
    """Return the pairings to test, and verdicts on those with too few rounds in common."""
    fit, lonely = [], []
    reason = f"fewer than {FEWEST_ROUNDS} rounds in which both sides count: measure again"
    for pairing in pairings:
        row = pairing.candidate
        if len(_common(pairing)) >= FEWEST_ROUNDS:
            fit.append(pairing)
        else:
            found = Outcome.INVALID
            lonely.append(Verdict(row.name, found, row.clock, reason=reason, counters=row.counters))
    return fit, lonely


def _common(pairing: Pairing) -> list[int]:
    """Return the rounds in which both sides count."""
    theirs = set(pairing.baseline.rounds)
    return [number for number in pairing.candidate.rounds if number in theirs]


@dataclass(frozen=True)
class _Rounds:
    """What a pairing measured in some rounds.

    Log seconds of both sides, log ratios (of lock-step slices where measured, else of the
    processes), and for each whether the base started.
    """

    base: Array
    candidate: Array
    ratios: Sequence[float]
    order: Order

    @staticmethod
    def of(pairing: Pairing, rounds: Sequence[int]) -> _Rounds:
        base = _by_round(pairing.baseline, pairing.references[0])
        cand = _by_round(pairing.candidate, pairing.session)
        logs = np.log([[base[number], cand[number]] for number in rounds]).reshape(-1, 2)
        known = _pairs(pairing.candidate)
        slices = [known[number].log_ratio if known else None for number in rounds]
        of_processes: list[float] = (logs[:, 1] - logs[:, 0]).tolist()
        both = zip(of_processes, slices, strict=True)
        ratios = [log if ratio is None else ratio for log, ratio in both]
        order = (known[number].base_first if known else number % 2 == 1 for number in rounds)
        return _Rounds(logs[:, 0], logs[:, 1], ratios, tuple(order))

    @property
    def step(self) -> float:
        """The clock's tick as a log ratio, or 0 if no two times are equal.

        Also 0 if each side shows only one time: their distance need not be a single tick.
        """
        base, cand = self.base, self.candidate
        distinct = np.unique([*base, *cand])
        ticks = 1 < len(distinct) < len(base) + len(cand) and (np.ptp(base) > 0 or np.ptp(cand) > 0)
        return float(np.min(np.diff(distinct))) if ticks else 0.0


def log_ratios(pairing: Pairing) -> Sequence[float]:
    """Of the candidate's times over the base's, in each round that both have."""
    return _Rounds.of(pairing, _common(pairing)).ratios


def compare(pairings: Sequence[Pairing], bound_confidence: float = BOUND_CONFIDENCE) -> Tests:
    """Return the tests of `pairings` in their order; each needs `FEWEST_ROUNDS` common rounds."""
    sides = [_Rounds.of(one, _common(one)) for one in pairings]
    looks = [max((one.look for one in pairing.candidate.pairs), default=1) for pairing in pairings]
    share = 0.5 ** np.array(looks)
    found = pairs.found(
        [one.ratios for one in sides],
        [one.order for one in sides],
        np.array([one.step for one in sides]),
        (1.0 - bound_confidence) * share,
    )
    found = replace(found, p=np.minimum(found.p / share, 1.0))
    base = np.array([float(np.mean(one.base)) for one in sides])
    cand = np.array([float(np.mean(one.candidate)) for one in sides])
    count = np.array([float(len(one.ratios)) for one in sides])
    return Tests(found, base, cand, count, count, np.zeros_like(count))


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
        np.array([np.mean([one.step for one in sides])]),
        np.array([1.0 - BOUND_CONFIDENCE]),
    )


def contradiction(pairing: Pairing, log_ratio: float) -> str:
    """Return why the sides' own times are not believed, or "" if the driver's clock agrees.

    By that clock a side takes as long as the other, or longer by what it reports: what is not timed
    takes the same time on both. A program that sleeps outside of what it times takes longer.
    """
    elapsed = [
        dict(zip(row.rounds, row.elapsed, strict=True)) if row.elapsed else {}
        for row in (pairing.baseline, pairing.candidate)
    ]
    both = [tuple(side.get(number) for side in elapsed) for number in _common(pairing)]
    known = [(base, cand) for base, cand in both if base and cand]
    if not known:
        return ""
    base, cand = map(min, zip(*known, strict=True))  # a busy machine adds time now and then
    work, noise = ("a slice", 0.005)
    in_lock_step = any(pair.log_ratio is not None for pair in pairing.candidate.pairs)
    if not in_lock_step:
        work, noise = "what a process does not time", 0.2
    # Beyond what it reports, a process takes as long whatever it measures.
    explained = log_ratio if in_lock_step else 0.0
    most = _ELAPSED_ALIKE * math.exp(min(abs(explained), LARGEST_LOG))
    slower = explained > 0.0
    for mine, others, may_be_longer in ((cand, base, slower), (base, cand, not slower)):
        if mine > others * (most if may_be_longer else _ELAPSED_ALIKE) + noise:
            return (
                f"by the driver's clock {work} of the base took {duration(base)}, and of the "
                f"candidate {duration(cand)}, which the times that they report do not explain"
            )
    return ""


def _by_round(row: Row, session: Session) -> dict[int, float]:
    return dict(zip(row.rounds, row.process_medians[session.key], strict=True))


def _pairs(row: Row) -> dict[int, Pair]:
    """Return what is known of the pairs by round; empty if nothing is."""
    return dict(zip(row.rounds, row.pairs, strict=True)) if row.pairs else {}


def looks_of(candidate: Record) -> list[int]:
    """Return the last round of each look at the pairs of a run file."""
    last: dict[int, int] = {}
    for row in candidate.rows.values():
        for number, pair in _pairs(row).items():
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
