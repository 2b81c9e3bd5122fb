# SPDX-License-Identifier: Apache-2.0
"""Every test of a comparison at once: the distributions are fast by the array only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpgauge.model import Record, Row, Source
from warpgauge.pairing import Pairing
from warpgauge.stats import Center, center_of_one_process, center_of_processes, welch


@dataclass(frozen=True)
class Tests:
    """The tests of one benchmark, one a reference session, with the centers they compare."""

    references: tuple[Center, ...]
    candidate: Center
    log_ratio: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    p: Sequence[float]
    detectable: Sequence[float]


def all_tests(
    baseline: Record, candidate: Record, pairings: Sequence[Pairing], alpha: float
) -> list[Tests]:
    """The tests of each pairing, in their order."""
    ours = [_center(candidate, one.candidate, one.session.key) for one in pairings]
    theirs = [
        tuple(_center(baseline, one.baseline, session.key) for session in one.references)
        for one in pairings
    ]
    flat = welch(
        [center for centers in theirs for center in centers],
        [our for our, centers in zip(ours, theirs, strict=True) for _ in centers],
        alpha,
    )
    columns = (flat.log_ratio, flat.low, flat.high, flat.p, flat.detectable)
    numbers = [column.tolist() for column in columns]
    tests, first = [], 0
    for our, centers in zip(ours, theirs, strict=True):
        last = first + len(centers)
        tests.append(Tests(centers, our, *(column[first:last] for column in numbers)))
        first = last
    return tests


def _center(record: Record, row: Row, session: str) -> Center:
    times = row.process_medians[session]
    if record.source is Source.GOOGLE_BENCHMARK:
        return center_of_one_process(times)
    return center_of_processes(times)
