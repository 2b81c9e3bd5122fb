# SPDX-License-Identifier: Apache-2.0
"""Suites of lock-step pairs whose truth is known, by the tests and limits that judge pairs.

A suite has 112 rows of device time and 38 of host time. Rows are looked at and measured on as in
`bench --against`. A row's noise is that of its log ratios.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from devtools.simulations.table import Size, Table, percent
from warpgauge.measure.options import schedule
from warpgauge.records.counters import Clock
from warpgauge.records.sessions import FEWEST_OF_A_CHANGE
from warpgauge.statistics.error_rates import ALPHA, BOUND_CONFIDENCE
from warpgauge.statistics.log_ratios import Array, Found
from warpgauge.statistics.pairs import found
from warpgauge.verdict import policy
from warpgauge.verdict.comparability import TOLERANCE
from warpgauge.verdict.paired_tests import clock_step

DEVICE, HOST = 112, 38
ROWS = DEVICE + HOST
_CLOCKS = [*[Clock.DEVICE] * DEVICE, *[Clock.HOST] * HOST]
TOLERANCES = np.array([TOLERANCE[clock] for clock in _CLOCKS])
LOOKS = schedule()

# The scatter of a pair (standard deviation of the log ratio), about three times the recorded one.
_SD = np.where(np.arange(ROWS) < DEVICE, 0.003, 0.012)[:, None]
_TICK = 32e-9  # seconds, of an event's clock
_SCRIPTS = Path(__file__).resolve().parents[2]
_RECORDED = _SCRIPTS / "tests/helpers/pairs_of_one_night.json"
_BASELINES = _SCRIPTS.parent / "baselines"

_STATES = "states of a pair, "
_WITH_STATES = np.arange(ROWS) % 14 == 13

Source = np.random.Generator
Flags = NDArray[np.bool_]
# Returns the log ratios of all rows x all pairs of a suite, without a change.
Noise = Callable[[Source, int], Array]


def _normal(source: Source, pairs: int) -> Array:
    return source.normal(0.0, _SD, (ROWS, pairs))


def _student(freedom: float, source: Source, pairs: int) -> Array:
    return 0.7 * _SD * source.standard_t(freedom, (ROWS, pairs))


def _disturbed(share: float, source: Source, pairs: int) -> Array:
    """So many pairs have a side that something else slows down by tens of percent."""
    hit = source.random((ROWS, pairs)) < share
    return 0.5 * _normal(source, pairs) + hit * source.normal(0.0, 0.4, (ROWS, pairs))


def _process_states(source: Source, pairs: int) -> Array:
    """Three processes of ten are slower, by 1 to 4 times the scatter: each row by its own."""
    slower = _SD * source.uniform(1.0, 4.0, (ROWS, 1))
    sides = source.random((2, ROWS, pairs)) < 0.3
    return np.asarray(0.3 * _normal(source, pairs) + slower * (sides[1].astype(float) - sides[0]))


def _pair_states(times: float, source: Source, pairs: int) -> Array:
    """One row in 14 reads plus or minus so many times its tolerance: one of two per pair."""
    signs = np.where(source.random((ROWS, pairs)) < 0.5, -1.0, 1.0)
    states = times * TOLERANCES[:, None] * signs + 0.1 * _normal(source, pairs)
    return np.where(_WITH_STATES[:, None], states, _normal(source, pairs))


def _drifting(source: Source, pairs: int) -> Array:
    """The machine slows down by 10 % over 84 pairs; which side comes first alternates."""
    first = np.where(np.arange(pairs) % 2 == 0, 1.0, -1.0)
    return np.asarray(_normal(source, pairs) + first * 0.1 / 168)


def _correlated(share: float, source: Source, pairs: int) -> Array:
    made = _normal(source, pairs)
    for pair in range(1, pairs):
        made[:, pair] = share * made[:, pair - 1] + math.sqrt(1.0 - share**2) * made[:, pair]
    return made


def _ordered(source: Source, pairs: int) -> Array:
    """What starts second is slower, by three times the scatter."""
    second = np.where(np.arange(pairs) % 2 == 0, 3.0, -3.0)
    return np.asarray(_normal(source, pairs) + _SD * second)


def _common(source: Source, pairs: int) -> Array:
    """Half of the noise moves all rows of a pair."""
    shared = source.normal(0.0, 1.0, pairs)
    return math.sqrt(0.5) * (_normal(source, pairs) + _SD * shared)


def _skewed(source: Source, pairs: int) -> Array:
    """Exponential, with the mean 0: most pairs lie below it, few far above."""
    return _SD * (source.exponential(1.0, (ROWS, pairs)) - 1.0)


def _mixture(source: Source, pairs: int) -> Array:
    """Each row draws one of the others."""
    others = [noise for name, noise in NOISES.items() if name not in ("mixture", "recorded")]
    made = np.stack([noise(source, pairs) for noise in others])
    return np.asarray(made[source.integers(0, len(others), ROWS), np.arange(ROWS)])


@cache
def _night(clock: Clock) -> list[Array]:
    """Return the log ratios of each row of this clock in a recorded night, about their mean."""
    is_host = {
        row["name"]: bool(row.get("host_clock"))
        for path in (_BASELINES / "nvidia-h200").glob("*.json")
        for row in json.loads(path.read_text())["benchmarks"]
    }
    rules = policy.load(_BASELINES / "policy.toml")
    rows = [
        np.array(row)
        for name, row in json.loads(_RECORDED.read_text()).items()
        if is_host.get(name) is (clock is Clock.HOST) and rules.tolerance(name) is None
    ]
    return [row - np.mean(row) for row in rows]


def _recorded(source: Source, pairs: int) -> Array:
    """Log ratios of one night on an H200: each row draws from a recorded row of its clock.

    What is drawn is smoothed and widened, as a few pairs show neither gaps nor the whole scatter.
    """
    made = np.empty((ROWS, pairs))
    for row, clock in enumerate(_CLOCKS):
        nights = _night(clock)
        night = nights[source.integers(len(nights))]
        smooth = np.std(night) * len(night) ** -0.2 * source.normal(0.0, 1.0, pairs)
        made[row] = source.choice(night, pairs) + smooth
    return made


NOISES: dict[str, Noise] = {
    "normal": _normal,
    "t3": partial(_student, 3.0),
    "t2": partial(_student, 2.0),
    "5 % disturbed": partial(_disturbed, 0.05),
    "10 % disturbed": partial(_disturbed, 0.10),
    "20 % disturbed": partial(_disturbed, 0.20),
    "states of a process": _process_states,
    _STATES + "±1.8 × tolerance": partial(_pair_states, 1.8),
    _STATES + "±1.05 × tolerance": partial(_pair_states, 1.05),
    "drift": _drifting,
    "correlation 0.3": partial(_correlated, 0.3),
    "correlation 0.6": partial(_correlated, 0.6),
    "order": _ordered,
    "common": _common,
    "skewed": _skewed,
    "mixture": _mixture,
    "recorded": _recorded,
}


_TICKS = "ticks of 32 ns"
EVERY_NOISE = (*NOISES, _TICKS)


@dataclass(frozen=True)
class Suite:
    """What became of each row at the look that decided it, or at the last one."""

    changed: Flags
    passed: Flags
    covered: Flags
    pairs: NDArray[np.int64]


def suite(
    log_ratios: Array,
    changes: Array,
    steps: Callable[[int], Array] | None = None,
    looks: Sequence[int] = LOOKS,
) -> Suite:
    """Look at a suite until its rows are decided; `changes` are the true log ratios.

    `steps` returns the clock's ticks that so many pairs show. A row may pass from the first of
    `looks` on.
    """
    table = log_ratios + changes[:, None]
    count = np.zeros(ROWS, dtype=int)
    still_open = np.ones(ROWS, dtype=bool)
    ever_changed, ever_passed = np.zeros(ROWS, dtype=bool), np.zeros(ROWS, dtype=bool)
    look_of = np.zeros(ROWS, dtype=int)
    for look, pairs in enumerate(looks, 1):
        count[still_open], look_of[still_open] = pairs, look
        ticks = np.zeros(ROWS) if steps is None else steps(pairs)
        tests = _tests(table, count, ticks, (1.0 - BOUND_CONFIDENCE) * 0.5**look_of)
        p = np.minimum(tests.p * 2.0**look_of * ROWS, 1.0)
        ratio = np.expm1(tests.log_ratio)
        moved = (p < ALPHA) & (np.abs(ratio) >= TOLERANCES / 2)
        changed = moved & (count >= FEWEST_OF_A_CHANGE)
        passed = ~moved & (np.expm1(tests.bound) <= TOLERANCES) & (count >= looks[0])
        still_open = ~changed & ~passed
        ever_changed |= changed
        ever_passed |= passed
        if not still_open.any():
            break
    covered = (tests.low <= changes) & (changes <= tests.high)
    return Suite(ever_changed, ever_passed, covered, count)


def _tests(table: Array, count: NDArray[np.int64], ticks: Array, chance: Array) -> Found:
    ratios = [row[:pairs].tolist() for row, pairs in zip(table, count, strict=True)]
    orders = [tuple(pair % 2 == 0 for pair in range(pairs)) for pairs in count]
    return found(ratios, orders, ticks, chance)


def _ticks(source: Source, change: float) -> tuple[Array, Callable[[int], Array]]:
    """Return log ratios of 1 to 20 us in whole ticks, and the ticks that so many pairs show.

    Times scatter by a tenth of the usual, so that many rows show a single tick on each side.
    """
    sides = np.log(source.uniform(1e-6, 20e-6, (ROWS, 1))) + np.stack(
        [0.1 * _normal(source, LOOKS[-1]) for _ in range(2)]
    )
    sides[1] += change * np.log1p(TOLERANCES)[:, None]
    sides = np.log(_TICK * np.maximum(np.round(np.exp(sides) / _TICK), 1.0))

    def steps(pairs: int) -> Array:
        return np.array([clock_step(b[:pairs], c[:pairs]) for b, c in zip(*sides, strict=True)])

    return sides[1] - sides[0], steps


def simulated(noise: str, source: Source, change: float) -> Suite:
    """Return a suite in which all rows are slower by `change` times their tolerance."""
    changes = np.log1p(change * TOLERANCES)
    if noise == _TICKS:
        log_ratios, steps = _ticks(source, change)
        return suite(log_ratios - changes[:, None], changes, steps)
    return suite(NOISES[noise](source, LOOKS[-1]), changes)


def of_noise(noise: str) -> Flags:
    """Return which rows have the noise: all but for states of a pair."""
    return _WITH_STATES if noise.startswith(_STATES) else np.ones(ROWS, dtype=bool)


def _cells(noise: str, size: Size) -> Sequence[float]:
    source = size.source()
    suites, few = size.count(1000, 60), size.count(150, 20)
    judged = of_noise(noise)
    same = [simulated(noise, source, 0.0) for _ in range(suites)]
    too_slow = [simulated(noise, source, 1.05) for _ in range(few)]
    slower = [simulated(noise, source, 1.0) for _ in range(few)]
    return (
        percent(_mean(float(one.changed.any()) for one in same)),
        percent(_mean(one.passed[judged].mean() for one in too_slow)),
        percent(_mean(one.covered.mean() for one in same)),
        float(f"{_mean(one.pairs.mean() for one in same):.1f}"),
        percent(_mean(one.changed[:DEVICE].mean() for one in slower)),
        percent(_mean(one.changed[DEVICE:].mean() for one in slower)),
    )


def _price(looks: Sequence[int], size: Size) -> Sequence[float]:
    """Return what passes of rows with states, and the pairs of unchanged rows under real noise."""
    source, suites = size.source(), size.count(150, 20)
    worse, states = np.log1p(1.05 * TOLERANCES), NOISES[_STATES + "±1.8 × tolerance"]
    hidden = [suite(states(source, LOOKS[-1]), worse, None, looks) for _ in range(suites)]
    same = [suite(_recorded(source, LOOKS[-1]), 0.0 * worse, None, looks) for _ in range(suites)]
    return (
        percent(_mean(found.passed[_WITH_STATES].mean() for found in hidden)),
        float(f"{_mean(found.pairs.mean() for found in same):.1f}"),
    )


def _mean(values: Iterable[float]) -> float:
    return float(np.mean([*values]))


_HEADS = (
    *("noise", "alarmed (%)", "passes (%)"),
    *("in interval (%)", "pairs"),
    *("device found (%)", "host found (%)"),
)
_PRICE = {
    "eight pairs": partial(_price, LOOKS),
    "four pairs": partial(_price, (4, *LOOKS)),
}
TABLES = (
    Table("pairs", _HEADS, {name: partial(_cells, name) for name in EVERY_NOISE}),
    Table("pairs-price", ("a PASS from", "passes (%)", "pairs"), _PRICE),
)
