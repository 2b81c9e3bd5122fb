# SPDX-License-Identifier: Apache-2.0
"""Simulated runs that look again: what that does to false alarms and to finds.

`python scripts/tests/helpers/simulated_budget.py` prints both: by scatter for the two looks of a
pair of host times, and by what is compared and by scatter for runs with a budget.
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
from warpgauge.commands.bench_options import QUICK_PROCESSES
from warpgauge.measurement import two_stage
from warpgauge.measurement.adaptive_rounds import MOST, next_look, unsettled
from warpgauge.records.model import Clock, Session, Source
from warpgauge.statistics.error_rates import ALPHA
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.judge import judge

BENCHMARKS, BASELINE_PROCESSES, FIRST = 36, 7, 7
CONTEXT = {"gpu_name": "G", "gpu_uuid": "U", "boot_id": "B", "build_type": "Release"}

Judged = Callable[[list[int]], Comparison]  # after so many rounds of each benchmark
Left = Callable[[Comparison], Sequence[Verdict]]  # which benchmarks get further rounds


@dataclass(frozen=True)
class Shares:
    """Of benchmarks called slower or inconclusive, of runs with a change called; mean rounds."""

    slower: float
    inconclusive: float
    alarmed: float
    rounds: float


def spent(
    sd: float,
    change: float,
    runs: int,
    *,
    paired: bool,
    clock: Clock = Clock.HOST,
    left: Left = unsettled,
    most: int = MOST,
    alpha: float = ALPHA,
) -> Shares:
    """`runs` runs of `BENCHMARKS` that scatter by `sd` and changed by `change`.

    Their time is used after `most` rounds. Against a baseline (not `paired`) it is of this boot.
    """

    def run(judged: Judged) -> tuple[Comparison, list[int]]:
        rounds, last = [QUICK_PROCESSES] * BENCHMARKS, QUICK_PROCESSES
        found = judged(rounds)
        names = _names((two_stage.undecided if paired else left)(found))
        while names and last < most:
            last = min(next_look(last), most)
            rounds = _more(rounds, names, last)
            found = judged(rounds)
            names &= _names(left(found))
        return found, rounds

    return _shares(run, runs, sd, change, MOST, paired, clock, alpha)


def looked(sd: float, change: float, runs: int, *, second: bool = True) -> Shares:
    """`runs` pairs of host times that scatter by `sd` and changed by `change`, without a budget."""

    def run(judged: Judged) -> tuple[Comparison, list[int]]:
        rounds = [FIRST] * BENCHMARKS
        found = judged(rounds)
        undecided = two_stage.undecided(found)
        if not second or not undecided:
            return found, rounds
        last = two_stage.rounds_needed(undecided, FIRST)
        rounds = _more(rounds, _names(undecided), last)
        return judged(rounds), rounds

    return _shares(run, runs, sd, change, two_stage.MOST * FIRST, True, Clock.HOST, ALPHA)


def _names(verdicts: Sequence[Verdict]) -> set[str]:
    return {verdict.name for verdict in verdicts}


def _more(rounds: list[int], names: set[str], last: int) -> list[int]:
    return [last if f"family/{index}" in names else old for index, old in enumerate(rounds)]


def _shares(
    run: Callable[[Judged], tuple[Comparison, list[int]]],
    runs: int,
    sd: float,
    change: float,
    most: int,
    paired: bool,
    clock: Clock,
    alpha: float,
) -> Shares:
    source, settings = np.random.default_rng(1), ComparisonSettings(alpha=alpha)
    session = Session("s", CONTEXT | ({"pair_id": "P"} if paired else {}))

    def judged(sides: Sequence[Sequence[Sequence[float]]], rounds: list[int]) -> Comparison:
        base_rounds = rounds if paired else [BASELINE_PROCESSES] * BENCHMARKS
        base, candidate = (
            [[row[:count]] for row, count in zip(side, counts, strict=True)]
            for side, counts in zip(sides, (base_rounds, rounds), strict=True)
        )
        recorded = partial(record, [session], source=Source.RUN, clock=clock, in_rounds=paired)
        return judge(recorded(base), recorded(candidate), settings)

    total = np.zeros(4)
    for _ in range(runs):
        sides = SECONDS * np.exp(source.normal(0.0, sd, (2, BENCHMARKS, most)))
        sides[1] *= 1.0 + change
        found, rounds = run(partial(judged, sides.tolist()))
        counts = found.count(Outcome.REGRESSION), found.count(Outcome.INCONCLUSIVE)
        total += *counts, (changed(found) > 0) * BENCHMARKS, sum(rounds)
    return Shares(*(total / BENCHMARKS / runs).tolist())


def until_it_looks_changed(found: Comparison) -> list[Verdict]:
    """What must not be done, to see that it would be noticed."""
    changes = (Outcome.REGRESSION, Outcome.IMPROVED)
    return [one for one in found.verdicts if one.outcome not in changes]


def table_of_looks() -> str:
    """By scatter: 5 % found in one look and in both, and runs of unchanged code with an alarm."""
    rows = []
    for sd in (0.01, 0.02, 0.04, 0.06, 0.10):
        one, both = (looked(sd, 0.05, 100, second=second).slower for second in (False, True))
        alarmed = looked(sd, 0.0, 400).alarmed
        shares = (f"{sd:.0%}", f"{one:.1%}", f"{both:.1%}", f"{alarmed:.2%}")
        rows.append([share.replace("%", " %") for share in shares])
    return markdown(("scatter", "5 % found, one look", "both looks", "runs alarmed"), rows)


def table() -> str:
    """By what is compared and the scatter: changes found, runs of unchanged code with an alarm."""
    heads = "compared", "time", "scatter", "sought", "found", "rounds", "runs alarmed", "rounds"
    rows = []
    for paired, clock, sought, scatters in (
        (True, Clock.HOST, 0.05, (0.02, 0.04, 0.06)),
        (True, Clock.DEVICE, 0.01, (0.002, 0.005, 0.01)),
        (False, Clock.DEVICE, 0.01, (0.002, 0.005, 0.01)),
    ):
        for sd in scatters:
            more = spent(sd, sought, 100, paired=paired, clock=clock)
            same = spent(sd, 0.0, 2000, paired=paired, clock=clock)
            cells = (
                "in pairs" if paired else "with a baseline of this boot",
                clock.value,
                f"{100 * sd:g} %",
                f"{100 * sought:g} %",
                f"{100 * more.slower:.1f} %",
                f"{more.rounds:.0f}",
                f"{100 * same.alarmed:.2f} %",
                f"{same.rounds:.0f}",
            )
            rows.append(cells)
    return markdown(heads, rows)


if __name__ == "__main__":
    print(table_of_looks(), table(), sep="\n\n")
