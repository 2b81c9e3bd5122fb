# SPDX-License-Identifier: Apache-2.0
"""Simulated suites of pairs, whose truth is known, by the very rule that judges pairs.

`WARPGAUGE_SIMULATIONS=whole python scripts/tests/helpers/simulated_pairs.py` prints three tables:
how often the rule errs by noise, what it finds by noise and pairs, and whole sequential runs.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from simulation import Array, markdown, size
from warpgauge.measure.ab_run import open_rows
from warpgauge.measure.options import schedule
from warpgauge.records.counters import Clock
from warpgauge.records.model import Record, Session, Source
from warpgauge.records.row import Pair, Row
from warpgauge.verdict.comparability import TOLERANCE
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.judge import judge

SUITES, RUNS, FAMILIES, FAMILY = size(100), size(32), 6, 14
BENCHMARKS = FAMILIES * FAMILY
PAIRS = (8, 12, 28, 84)
SCHEDULE = schedule()

SD = 0.01  # of a process, in the log
TICK = 32e-9  # seconds, of the clock of a GPU's multiprocessors
SLOWER = 0.05
# One benchmark of a family has changed. Whatever the test alone calls changed counts.
CHANGED = np.where(np.arange(BENCHMARKS) % FAMILY == 0, math.log1p(SLOWER), 0.0)
BY_THE_TEST_ALONE = ComparisonSettings(minimum_effect=1e-9)
# What passes by mistake is slower by this: half as much again as is tolerated.
TOO_SLOW = 1.5 * TOLERANCE[Clock.HOST]

CALLED = (Outcome.REGRESSION, Outcome.IMPROVED)

Shape = tuple[int, int, int]  # benchmarks, both sides, pairs
Noise = Callable[[np.random.Generator, Shape], Array]


def normal(source: np.random.Generator, shape: Shape) -> Array:
    return source.normal(0.0, SD, shape)


def disturbed(share: float) -> Noise:
    """So many processes meet something else that slows them down by tens of percent."""
    return lambda source, shape: (
        normal(source, shape)
        + (source.random(shape) < share) * np.abs(source.normal(0.0, 0.4, shape))
    )


def two_states(source: np.random.Generator, shape: Shape) -> Array:
    """Three processes of ten are slower, by 3 to 10 %: each benchmark by its own amount."""
    slower = source.uniform(0.03, 0.10, (shape[0], 1, 1))
    return 0.1 * normal(source, shape) + slower * (source.random(shape) < 0.3)


def correlated(share: float) -> Noise:
    """Each process resembles the one before it of its side."""

    def noise(source: np.random.Generator, shape: Shape) -> Array:
        made = normal(source, shape)
        for pair in range(1, shape[-1]):
            new = math.sqrt(1.0 - share**2) * made[..., pair]
            made[..., pair] = share * made[..., pair - 1] + new
        return made

    return noise


def ordered(source: np.random.Generator, shape: Shape) -> Array:
    """Whichever starts second in a pair is slower by 1 %; the base starts the first pair."""
    made = 0.2 * normal(source, shape)
    made[:, 1, 0::2] += 0.01
    made[:, 0, 1::2] += 0.01
    return made


def drifting(source: np.random.Generator, shape: Shape) -> Array:
    """The machine slows down by 10 %, from process to process: A B, B A, A B …"""
    pair = np.arange(shape[-1])
    base = 2 * pair + pair % 2
    when = np.array([base, 4 * pair + 1 - base])
    return np.asarray(normal(source, shape) + 0.1 * when / when.max())


NOISES: dict[str, Noise] = {
    "normal": normal,
    "heavy tails": lambda source, shape: SD * source.standard_t(2.0, shape),
    "5 % disturbed": disturbed(0.05),
    "10 % disturbed": disturbed(0.10),
    "20 % disturbed": disturbed(0.20),
    "two states": two_states,
    "ticks of 32 ns": lambda source, shape: 0.1 * normal(source, shape),
    "drift": drifting,
    "order effect": ordered,
    "correlation 0.3": correlated(0.3),
    "correlation 0.6": correlated(0.6),
}


def times(source: np.random.Generator, noise: str, pairs: int, changes: Array) -> Array:
    """Seconds by benchmark, side and pair; `changes` are the true log ratios."""
    logs = NOISES[noise](source, (BENCHMARKS, 2, pairs))
    logs[:, 1] += changes[:, None]
    seconds = source.uniform(1e-6, 20e-6, (BENCHMARKS, 1, 1)) * np.exp(logs)
    if "ticks" in noise:
        seconds = TICK * np.maximum(np.round(seconds / TICK), 1.0)
    return np.asarray(seconds)


def judged(
    seconds: Array,
    rounds: Sequence[Sequence[int]],
    settings: ComparisonSettings,
    looks: Sequence[int] = (),
) -> Comparison:
    """By what each benchmark shows in these rounds, from 1 on."""
    session = Session("s", {"gpu_name": "G", "build_type": "Release", "pair_id": "P"})
    sides = []
    for side in (0, 1):
        rows = {}
        for index, (numbers, of) in enumerate(zip(rounds, seconds[:, side].tolist(), strict=True)):
            name, medians = f"family{index // FAMILY}/{index}", tuple(of[n - 1] for n in numbers)
            pairs = tuple(Pair(n % 2 == 1, look=1 + bisect_left(looks, n)) for n in numbers)
            rows[name] = Row(name, {"s": medians}, Clock.HOST, rounds=tuple(numbers), pairs=pairs)
        sides.append(Record(Path("simulated"), Source.RUN, {"s": session}, rows))
    return judge(sides[0], sides[1], settings)


@dataclass(frozen=True)
class Shares:
    """Of suites with a false alarm; of benchmarks whose true change exceeds the bound, or lies in
    the interval; of slower ones that are found, and of unchanged ones that pass."""

    alarmed: float
    exceeded: float
    held: float
    found: float
    passed: float


def cell(noise: str, pairs: int, suites: int = SUITES) -> Shares:
    """So many suites of so many pairs, in one look."""
    source, total = np.random.default_rng(1), np.zeros(5)
    true, slower = np.expm1(CHANGED), CHANGED > 0.0
    for _ in range(suites):
        seconds = times(source, noise, pairs, CHANGED)
        found = judged(seconds, [range(1, pairs + 1)] * BENCHMARKS, BY_THE_TEST_ALONE).verdicts
        low, high, bound = np.array([_ends(one) for one in found]).T
        regressed, improved, passed = (
            np.array([one.outcome is outcome for one in found])
            for outcome in (Outcome.REGRESSION, Outcome.IMPROVED, Outcome.PASS)
        )
        total += (
            np.any((regressed | improved)[~slower]),
            np.mean(true > bound),
            np.mean((low <= true) & (true <= high)),
            np.mean(regressed[slower]),
            np.mean(passed[~slower]),
        )
    return Shares(*(total / suites).tolist())


def _ends(verdict: Verdict) -> tuple[float, float, float]:
    assert verdict.change is not None
    assert verdict.bound is not None
    return verdict.change.low, verdict.change.high, verdict.bound


@dataclass(frozen=True)
class Run:
    """Shares: of suites called changed and of benchmarks that pass, at any look; of benchmarks that
    are called slower in the end. And the mean number of pairs."""

    alarmed: float
    passed: float
    slower: float
    pairs: float


def sequential(noise: str, change: float, settings: ComparisonSettings, suites: int) -> Run:
    """Runs that look by `SCHEDULE`, and measure further whatever is undecided.

    `change` is the true one of all benchmarks, as a fraction.
    """
    source, total = np.random.default_rng(1), np.zeros(4)
    changes = np.full(BENCHMARKS, math.log1p(change))
    for _ in range(suites):
        seconds = times(source, noise, SCHEDULE[-1], changes)
        rounds: list[list[int]] = [[] for _ in range(BENCHMARKS)]
        ever: set[tuple[int, Outcome]] = set()
        left, last = set(range(BENCHMARKS)), 0
        for look in SCHEDULE:
            for row in left:
                rounds[row] += range(last + 1, look + 1)
            comparison = judged(seconds, rounds, settings, SCHEDULE)
            verdicts, still = comparison.verdicts, {*open_rows(comparison)}
            # With what was decided, until others said more of its noise.
            left, last = {row for row, one in enumerate(verdicts) if one.name in still}, look
            ever |= {(row, one.outcome) for row, one in enumerate(verdicts) if row not in left}
            if not left:
                break
        found = [one.outcome for one in verdicts]
        total += (
            any(outcome in CALLED for _, outcome in ever),
            sum(outcome is Outcome.PASS for _, outcome in ever) / BENCHMARKS,
            found.count(Outcome.REGRESSION) / BENCHMARKS,
            sum(map(len, rounds)) / BENCHMARKS,
        )
    return Run(*(total / suites).tolist())


def table_of_errors() -> str:
    """By noise, the worst over `PAIRS`; then what is found and bounded, by pairs."""
    heads = ("noise", "suites alarmed", "bound exceeded", "interval holds")
    rows, powers = [], []
    for noise in NOISES:
        cells = [cell(noise, pairs) for pairs in PAIRS]
        alarmed, exceeded = (
            max(getattr(one, name) for one in cells) for name in ("alarmed", "exceeded")
        )
        held = min(one.held for one in cells)
        rows.append((noise, *map(_percent, (alarmed, exceeded, held))))
        powers.append(
            (noise, *(f"{one.found:.0%}, {one.passed:.0%}".replace("%", " %") for one in cells))
        )
    found = ("found, passed", *(f"{pairs} pairs" for pairs in PAIRS))
    return markdown(heads, rows) + "\n\n" + markdown(found, powers)


def table_of_runs() -> str:
    """Sequential runs by noise."""
    heads = (
        "noise",
        "runs alarmed",
        "passed",
        "pairs",
        f"passed at {TOO_SLOW:.1%}",
        "5 % found",
        "pairs",
    )
    rows = []
    for noise in NOISES:
        same = sequential(noise, 0.0, BY_THE_TEST_ALONE, RUNS)
        wrong = sequential(noise, TOO_SLOW, ComparisonSettings(), RUNS)
        slower = sequential(noise, SLOWER, ComparisonSettings(), RUNS)
        cells = [_percent(same.alarmed), _percent(same.passed), f"{same.pairs:.0f}"]
        cells += [_percent(wrong.passed), _percent(slower.slower), f"{slower.pairs:.0f}"]
        rows.append((noise, *cells))
    return markdown(heads, rows)


def _percent(share: float) -> str:
    return f"{100.0 * share:.2f} %"


if __name__ == "__main__":
    print(table_of_errors(), table_of_runs(), sep="\n\n")
