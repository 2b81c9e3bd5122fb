# SPDX-License-Identifier: Apache-2.0
"""Simulated runs with a budget: what looking again and again does to false alarms and to finds.

`python scripts/tests/helpers/simulated_budget.py` prints both, by what is compared and by scatter.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from simulation import SECONDS, Array, changed
from warpgauge.commands.bench_options import QUICK_PROCESSES
from warpgauge.measurement import two_stage
from warpgauge.measurement.adaptive_rounds import MOST, next_look, unsettled
from warpgauge.records.model import Clock, Record, Row, Session, Source
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.judge import judge

BENCHMARKS, BASELINE_PROCESSES = 36, 7

# Which benchmarks get further rounds after a look.
Left = Callable[[Comparison], Sequence[Verdict]]


@dataclass(frozen=True)
class Spent:
    """Shares: benchmarks called slower, runs with a change called; rounds of a benchmark."""

    slower: float
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
    alpha: float = 0.01,
    seed: int = 1,
) -> Spent:
    """`runs` runs of `BENCHMARKS` that scatter by `sd` and changed by `change`.

    Their time is used after `most` rounds. Against a baseline (not `paired`) it is of this boot.
    """
    source, terms = np.random.default_rng(seed), ComparisonSettings(alpha=alpha)
    slower = alarmed = rounds = 0.0
    for _ in range(runs):
        found, count = _run(source, sd, change, paired, clock, left, most, terms)
        slower += found.count(Outcome.REGRESSION) / BENCHMARKS
        alarmed += changed(found) > 0
        rounds += count / BENCHMARKS
    return Spent(slower / runs, alarmed / runs, rounds / runs)


def _run(
    source: np.random.Generator,
    sd: float,
    change: float,
    paired: bool,
    clock: Clock,
    left: Left,
    most: int,
    terms: ComparisonSettings,
) -> tuple[Comparison, int]:
    base, candidate = (
        SECONDS * np.exp(source.normal(0.0, sd, (BENCHMARKS, MOST))) for _ in range(2)
    )
    candidate *= 1.0 + change
    rounds = [QUICK_PROCESSES] * BENCHMARKS

    def judged() -> Comparison:
        theirs = rounds if paired else [BASELINE_PROCESSES] * BENCHMARKS
        sides = _record(base, theirs, paired, clock), _record(candidate, rounds, paired, clock)
        return judge(*sides, terms)

    found, last = judged(), QUICK_PROCESSES
    names = {one.name for one in (two_stage.undecided if paired else left)(found)}
    while names and last < most:
        last = min(next_look(last), most)
        rounds = [last if f"f/{index}" in names else old for index, old in enumerate(rounds)]
        found = judged()
        names &= {one.name for one in left(found)}
    return found, sum(rounds)


def _record(times: Array, rounds: list[int], paired: bool, clock: Clock) -> Record:
    context = {"gpu_name": "G", "gpu_uuid": "U", "boot_id": "B", "build_type": "Release"}
    session = Session("s", context | ({"pair_id": "P"} if paired else {}))
    rows = {}
    for index, (row, count) in enumerate(zip(times.tolist(), rounds, strict=True)):
        medians = {"s": tuple(row[:count])}
        numbers = tuple(range(1, count + 1)) if paired else ()
        rows[f"f/{index}"] = Row(f"f/{index}", medians, clock, rounds=numbers)
    return Record(Path("simulated"), Source.RUN, {"s": session}, rows)


def until_it_looks_changed(found: Comparison) -> list[Verdict]:
    """What must not be done, to see that it would be noticed."""
    changes = (Outcome.REGRESSION, Outcome.IMPROVED)
    return [one for one in found.verdicts if one.outcome not in changes]


def table() -> str:
    """By what is compared and the scatter: changes found, runs of unchanged code with an alarm."""
    lines = [
        "| compared | time | scatter | sought | found | rounds | runs alarmed | rounds |",
        "|---|---|---|---|---|---|---|---|",
    ]
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
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
