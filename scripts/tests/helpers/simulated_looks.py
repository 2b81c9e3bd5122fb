# SPDX-License-Identifier: Apache-2.0
"""Both looks at simulated pairs of host times: what 5 % more work looks like through wild scatter.

`python scripts/tests/helpers/simulated_looks.py` prints the shares found, by the scatter of
processes.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from simulation import SECONDS, Array, changed
from warpgauge.measurement import two_stage
from warpgauge.records.model import Clock, Record, Row, Session, Source
from warpgauge.verdict.comparison import Comparison, Outcome
from warpgauge.verdict.judge import judge

BENCHMARKS, FIRST = 36, 7
_SESSION = Session(
    "s",
    {"gpu_name": "G", "gpu_uuid": "U", "boot_id": "B", "build_type": "Release", "pair_id": "P"},
)


@dataclass(frozen=True)
class Looked:
    """Shares of benchmarks called slower, of runs with a change called, of inconclusive ones."""

    slower: float
    alarmed: float
    inconclusive: float


def looked(sd: float, change: float, runs: int, *, second: bool = True, seed: int = 1) -> Looked:
    """`runs` pairs of `BENCHMARKS` host times that scatter by `sd` and changed by `change`."""
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
    rounds = [FIRST] * BENCHMARKS
    found = judge(_record(base, rounds), _record(candidate, rounds))
    open_ = {one.name for one in two_stage.undecided(found)}
    if not second or not open_:
        return found
    last = two_stage.rounds_needed(two_stage.undecided(found), FIRST)
    rounds = [last if f"f/{index}" in open_ else FIRST for index in range(BENCHMARKS)]
    return judge(_record(base, rounds), _record(candidate, rounds))


def _record(times: Array, rounds: list[int]) -> Record:
    rows = {}
    for index, (row, count) in enumerate(zip(times.tolist(), rounds, strict=True)):
        numbers = tuple(range(1, count + 1))
        medians = {"s": tuple(row[:count])}
        rows[f"f/{index}"] = Row(f"f/{index}", medians, Clock.HOST, rounds=numbers)
    return Record(Path("simulated"), Source.RUN, {"s": _SESSION}, rows)


def table() -> str:
    """By scatter: 5 % found in one look and in both, and runs of unchanged code with an alarm."""
    lines = ["| scatter | 5 % found, one look | both looks | runs alarmed |", "|---|---|---|---|"]
    for sd in (0.01, 0.02, 0.04, 0.06, 0.10):
        one, both = (looked(sd, 0.05, 100, second=second).slower for second in (False, True))
        alarmed = looked(sd, 0.0, 400).alarmed
        lines.append(f"| {sd:.0%} | {one:.1%} | {both:.1%} | {alarmed:.2%} |".replace("%", " %"))
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
