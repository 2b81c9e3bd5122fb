# SPDX-License-Identifier: Apache-2.0
"""Axes of a picture: positions of values, and ticks whose labels do not overlap. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from warpgauge.reports.drawing.picture import GAP, rect, shape, shortened, text, width_of
from warpgauge.reports.drawing.style import LETTER, LINE
from warpgauge.system.text import duration

# An axis spans at least this share of its values, so that the labels of its ticks differ.
LEAST = 1e-4

Words = Callable[[float], str]


def linear(value: float) -> float:
    return value


def logarithm(value: float) -> float:
    """Return the decimal logarithm; minus infinity for zero and below."""
    return math.log10(value) if value > 0 else -math.inf


@dataclass(frozen=True)
class Axis:
    """An axis from the value `low` at pixel `start` to a different value `high` at pixel `end`.

    `scale` is an increasing function, such as `linear` or `logarithm`.
    """

    low: float
    high: float
    start: float
    end: float
    scale: Callable[[float], float] = linear

    def at(self, value: float) -> float:
        """Return the pixel of a value, clamped to the ends."""
        low, high = self.scale(self.low), self.scale(self.high)
        # Halved, so that the difference of two huge values is finite.
        share = (self.scale(value) / 2 - low / 2) / (high / 2 - low / 2)
        return self.start + (self.end - self.start) * min(max(share, 0.0), 1.0)

    def spread(self, values: Iterable[float], words: Words) -> list[float]:
        """Return those of `values` whose labels have room, sorted; earlier values go first."""
        shown: list[float] = []
        for value in values:
            # Labels are centred, with at least two letters between them.
            width = width_of(words(value)) + 4 * LETTER
            rooms = {one: (width + width_of(words(one))) / 2 for one in shown}
            at = self.at(value)
            if all(abs(at - self.at(one)) >= room for one, room in rooms.items()):
                shown.append(value)
        return sorted(shown)


def linear_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers from `low` to `high`, at most `most` equal steps."""
    length = high - low
    power = 10 ** math.floor(math.log10(length / most))
    step = next(power * one for one in (1, 2, 2.5, 5, 10) if length / (power * one) <= most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [step * count for count in range(first, last + 1)]


def log_ticks(low: float, high: float, most: int = 10) -> list[float]:
    """Return 1, 2, 5, 10, ... or powers of ten, or every nth of these; at least one tick."""
    ends = math.log10(low), math.log10(high)
    for factors in ((1, 2, 5), (1,)):
        powers = range(math.floor(ends[0]), math.ceil(ends[1]) + 1)
        ticks = [factor * 10.0**power for power in powers for factor in factors]
        shown = [tick for tick in ticks if ends[0] <= math.log10(tick) <= ends[1]]
        if len(shown) <= most:
            break
    return shown[:: math.ceil(len(shown) / most) or 1] or [math.sqrt(low) * math.sqrt(high)]


def margin(ticks: Sequence[float], words: Words) -> float:
    """Return the pixels from the edge to a vertical axis: its title and its widest label."""
    return GAP + LINE + max(width_of(words(tick)) for tick in ticks) + 8


def short(words: str) -> str:
    """Return ``2 µs`` for ``2.000 µs``."""
    number, _, unit = words.partition(" ")
    return f"{float(number):g} {unit}"


def unit_of(words: str, value: float) -> tuple[float, str]:
    """Return the size and the name of the unit in which `words` state a `value` above zero."""
    number, unit = words.split(" ", 1)
    return 10.0 ** round(math.log10(value / float(number))), unit


def seconds_words(highest: float) -> Words:
    """Return the labels' format for times up to `highest`, all in the same unit."""
    size, unit = unit_of(duration(highest), highest)
    return lambda value: f"{value / size:.9g} {unit}"


def change_words(value: float) -> str:
    """Return the label of a tick for a change, a fraction."""
    sign = "" if abs(value) < 1e-9 else "−" if value < 0 else "+"
    return f"{sign}{round(100 * abs(value), 4):g} %"


def below(x: Axis, ticks: Sequence[float], words: Words, y: Axis) -> Iterator[str]:
    """Yield grid and labels of a horizontal axis; `y` is the vertical one, from the bottom."""
    for tick in ticks:
        at = x.at(tick)
        yield shape("path", "grid", f'd="M{at:.2f} {y.end:.2f}V{y.start:.2f}"')
        yield text(at, y.start + 18, words(tick), "middle")


def beside(y: Axis, ticks: Sequence[float], words: Words, x: Axis) -> Iterator[str]:
    """Yield grid and labels of a vertical axis; `x` is the horizontal one."""
    for tick in ticks:
        at = y.at(tick)
        yield shape("path", "grid", f'd="M{x.start:.2f} {at:.2f}H{x.end:.2f}"')
        yield text(x.start - 8, at + 4, words(tick), "end")


def frame(x: Axis, y: Axis) -> str:
    return rect("frame", x.start, y.end, x.end - x.start, y.start - y.end)


def titles(x: Axis, y: Axis, below: str, beside: str) -> Iterator[str]:
    """Yield the axes' titles; the vertical axis's is rotated, at the picture's edge."""
    if below:
        words = _fitting(below, x.end - x.start)
        yield text((x.start + x.end) / 2, y.start + 42, words, "middle")
    across, up = GAP + 6, (y.start + y.end) / 2
    words = _fitting(beside, y.start - y.end)
    yield text(across, up, words, "middle", f' transform="rotate(-90 {across:g} {up:g})"')


def _fitting(words: str, room: float) -> str:
    return shortened(words, int(room / LETTER) - 1)
