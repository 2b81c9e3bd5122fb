# SPDX-License-Identifier: Apache-2.0
"""Simulated pairs that are looked at again: what that does to false alarms and to finds.

`python scripts/tests/helpers/simulated_looks.py` prints both, by clock and by scatter.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from simulation import SECONDS, changed, markdown, record
from warpgauge.measurement.looks import open_rows
from warpgauge.measurement.options import LAST_LOOK, schedule
from warpgauge.records.model import Clock, Session, Source
from warpgauge.statistics.error_rates import ALPHA
from warpgauge.verdict.comparison import Comparison, Outcome
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.judge import judge

BENCHMARKS = 36
CONTEXT = {"gpu_name": "G", "gpu_uuid": "U", "boot_id": "B", "build_type": "Release"}

Open = Callable[[Comparison], Sequence[str]]  # which benchmarks get further rounds


@dataclass(frozen=True)
class Shares:
    """Of benchmarks called slower or inconclusive, of runs with a change called; mean rounds."""

    slower: float
    inconclusive: float
    alarmed: float
    rounds: float


def looked(
    sd: float,
    change: float,
    runs: int,
    *,
    clock: Clock = Clock.HOST,
    rounds_of_looks: Sequence[int] = schedule(),
    open_: Open = open_rows,
    alpha: float = ALPHA,
) -> Shares:
    """`runs` runs of `BENCHMARKS` pairs that scatter by `sd` and changed by `change`."""
    source, settings = np.random.default_rng(1), ComparisonSettings(alpha=alpha)
    total = np.zeros(4)
    for _ in range(runs):
        sides = SECONDS * np.exp(source.normal(0.0, sd, (2, BENCHMARKS, LAST_LOOK)))
        sides[1] *= 1.0 + change
        judged = partial(_judged, sides.tolist(), clock, settings)
        found, rounds = _taken(judged, rounds_of_looks, open_)
        counts = found.count(Outcome.REGRESSION), found.count(Outcome.INCONCLUSIVE)
        total += *counts, (changed(found) > 0) * BENCHMARKS, sum(rounds)
    return Shares(*(total / BENCHMARKS / runs).tolist())


def _taken(
    judged: Callable[[list[int], Sequence[int]], Comparison],
    rounds_of_looks: Sequence[int],
    open_: Open,
) -> tuple[Comparison, list[int]]:
    """As `looks.take` does: the rounds of each benchmark grow while it is open."""
    rounds = [rounds_of_looks[0]] * BENCHMARKS
    found = judged(rounds, rounds_of_looks[:1])
    left = {*open_(found)}
    for number, last in enumerate(rounds_of_looks[1:], 2):
        if not left:
            break
        rounds = [last if f"family/{i}" in left else old for i, old in enumerate(rounds)]
        found = judged(rounds, rounds_of_looks[:number])
        left &= {*open_(found)}
    return found, rounds


def _judged(
    sides: Sequence[Sequence[Sequence[float]]],
    clock: Clock,
    settings: ComparisonSettings,
    rounds: list[int],
    after: Sequence[int],
) -> Comparison:
    session = Session("s", {**CONTEXT, "pair_id": "P", "looks": " ".join(map(str, after))})
    base, candidate = (
        record(
            [session],
            [[row[:count]] for row, count in zip(side, rounds, strict=True)],
            Source.RUN,
            clock,
        )
        for side in sides
    )
    return judge(base, candidate, settings)


def until_it_looks_changed(found: Comparison) -> list[str]:
    """What must not be done, to see that it would be noticed."""
    changes = (Outcome.REGRESSION, Outcome.IMPROVED)
    return [one.name for one in found.verdicts if one.outcome not in changes]


def table() -> str:
    """By clock and scatter: changes found, runs of unchanged code with an alarm."""
    heads = "time", "scatter", "sought", "one look", "all looks", "rounds", "runs alarmed"
    rows = []
    for clock, sought, scatters in (
        (Clock.HOST, 0.05, (0.01, 0.02, 0.04, 0.06, 0.10)),
        (Clock.DEVICE, 0.01, (0.002, 0.005, 0.01)),
    ):
        for sd in scatters:
            one = looked(sd, sought, 100, clock=clock, rounds_of_looks=schedule()[:1])
            more = looked(sd, sought, 100, clock=clock)
            same = looked(sd, 0.0, 400, clock=clock)
            cells = (
                clock.value,
                f"{100 * sd:g} %",
                f"{100 * sought:g} %",
                f"{100 * one.slower:.1f} %",
                f"{100 * more.slower:.1f} %",
                f"{more.rounds:.0f}",
                f"{100 * same.alarmed:.2f} %",
            )
            rows.append(cells)
    return markdown(heads, rows)


if __name__ == "__main__":
    print(table())
