# SPDX-License-Identifier: Apache-2.0
"""Simulated runs that look again: what that does to false alarms and to finds.

`python scripts/tests/helpers/simulated_budget.py` prints both: by scatter for the two looks of a
pair of host times, and by what is compared and by scatter for runs with a budget.
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

BENCHMARKS, BASELINE_PROCESSES, FIRST = 36, 7, 7

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


@dataclass(frozen=True)
class Looked:
    """Shares of benchmarks called slower, of runs with a change called, of inconclusive ones."""

    slower: float
    alarmed: float
    inconclusive: float


def looked(sd: float, change: float, runs: int, *, second: bool = True, seed: int = 1) -> Looked:
    """`runs` pairs of host times that scatter by `sd` and changed by `change`, without a budget."""
    source = np.random.default_rng(seed)
    found = [_both_looks(source, sd, change, second) for _ in range(runs)]
    return Looked(
        sum(one.count(Outcome.REGRESSION) for one in found) / BENCHMARKS / runs,
        sum(changed(one) > 0 for one in found) / runs,
        sum(one.count(Outcome.INCONCLUSIVE) for one in found) / BENCHMARKS / runs,
    )


def _both_looks(source: np.random.Generator, sd: float, change: float, second: bool) -> Comparison:
    shape = (BENCHMARKS, two_stage.MOST * FIRST)
    base, candidate = (SECONDS * np.exp(source.normal(0.0, sd, shape)) for _ in range(2))
    candidate *= 1.0 + change

    def judged(rounds: list[int]) -> Comparison:
        sides = [_record(side, rounds, True, Clock.HOST) for side in (base, candidate)]
        return judge(sides[0], sides[1])

    found = judged([FIRST] * BENCHMARKS)
    open_ = {one.name for one in two_stage.undecided(found)}
    if not second or not open_:
        return found
    last = two_stage.rounds_needed(two_stage.undecided(found), FIRST)
    return judged([last if f"f/{index}" in open_ else FIRST for index in range(BENCHMARKS)])


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


def table_of_looks() -> str:
    """By scatter: 5 % found in one look and in both, and runs of unchanged code with an alarm."""
    lines = ["| scatter | 5 % found, one look | both looks | runs alarmed |", "|---|---|---|---|"]
    for sd in (0.01, 0.02, 0.04, 0.06, 0.10):
        one, both = (looked(sd, 0.05, 100, second=second).slower for second in (False, True))
        alarmed = looked(sd, 0.0, 400).alarmed
        lines.append(f"| {sd:.0%} | {one:.1%} | {both:.1%} | {alarmed:.2%} |".replace("%", " %"))
    return "\n".join(lines)


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
    print(table_of_looks(), table(), sep="\n\n")
