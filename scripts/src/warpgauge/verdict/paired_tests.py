# SPDX-License-Identifier: Apache-2.0
"""Paired tests: base and candidate ran beside each other, round by round.

Whatever moves a GPU or its host for longer than the two processes of a round moves both, and drops
out of their ratio; with the order changing from round to round (A B B A) so does a steady drift.
What is left is tested by Student's paired t test on the log ratios (Student 1908, "The probable
error of a mean"), with variances steadied by those of similar benchmarks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warpgauge.records.model import Row, Session
from warpgauge.records.sessions import FEWEST_ROUNDS
from warpgauge.statistics.log_ratios import Estimates, Tests
from warpgauge.statistics.samples import Groups
from warpgauge.statistics.variance import Variances
from warpgauge.verdict.comparison import Outcome, Verdict
from warpgauge.verdict.pairing import Pairing


def split(pairings: Sequence[Pairing]) -> tuple[list[Pairing], list[Verdict]]:
    """What can be tested, and verdicts on what has too few rounds in common."""
    fit = [pairing for pairing in pairings if len(_common_rounds(pairing)) >= FEWEST_ROUNDS]
    fitting = {pairing.candidate.name for pairing in fit}
    rows = (one.candidate for one in pairings if one.candidate.name not in fitting)
    reason = f"fewer than {FEWEST_ROUNDS} rounds in which both sides count: measure again"
    return fit, [
        Verdict(row.name, Outcome.INVALID, row.clock, reason=reason, counters=row.counters)
        for row in rows
    ]


def _common_rounds(pairing: Pairing) -> list[tuple[float, float]]:
    """Times (seconds) of base and candidate, of each round that both have."""
    base = _by_round(pairing.baseline, pairing.references[0])
    cand = _by_round(pairing.candidate, pairing.session)
    return [(base[number], cand[number]) for number in base if number in cand]


def _by_round(row: Row, session: Session) -> dict[int, float]:
    return dict(zip(row.rounds, row.process_medians[session.key], strict=bool(row.rounds)))


def compare(pairings: Sequence[Pairing]) -> Tests:
    """The tests of all pairings, in their order; each has `FEWEST_ROUNDS` or more in common."""
    rounds = [_common_rounds(pairing) for pairing in pairings]
    base, cand = (
        Groups.of_logs([[times[side] for times in pairs] for pairs in rounds]) for side in (0, 1)
    )
    ratios = Groups(cand.values - base.values, base.counts)
    similar = [(pairing.candidate.family, pairing.candidate.clock) for pairing in pairings]
    count = ratios.counts.astype(float)
    variances = Variances.of_squares(ratios.squares, count - 1.0).moderated(similar)
    error = np.sqrt(variances.value / count)
    estimates = Estimates(ratios.means, error, variances.freedom)
    return Tests(estimates, estimates, base.means, cand.means, count, count, np.zeros_like(count))
