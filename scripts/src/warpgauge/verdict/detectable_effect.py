# SPDX-License-Identifier: Apache-2.0
"""How small a change a comparison would have found: what its passes are worth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from warpgauge.records.model import Clock
from warpgauge.system.text import inert, percent
from warpgauge.verdict.comparison import Verdict
from warpgauge.verdict.controls import is_control

# The share of benchmarks that the sentence speaks of, beside half of them and the worst.
_MOST = 0.9

_CLOCKS = {Clock.DEVICE: "Device time", Clock.HOST: "Host time"}

# What hides ten times the time shows nothing: its size is no number that anybody wants to read.
_NOTHING, _NOT_EVEN = 9.0, "not even ten times the time"


def sentence(verdicts: Iterable[Verdict]) -> str:
    """The changes that are found nine times in ten, a sentence a clock; else empty."""
    found: dict[Clock, dict[str, float]] = {}
    for verdict in verdicts:
        if verdict.detectable is not None and not is_control(verdict):
            found.setdefault(verdict.clock, {})[verdict.name] = verdict.detectable
    said = {clock: _of_one_clock(found[clock]) for clock in Clock if clock in found}
    if len(said) < 2:
        return "".join(said.values())
    return " ".join(f"{_CLOCKS[clock]}: {one[0].lower()}{one[1:]}" for clock, one in said.items())


def _of_one_clock(found: Mapping[str, float]) -> str:
    if len(found) == 1:
        return f"{_change(max(found.values()))} would be found nine times in ten."
    sizes = sorted(found.values())
    half, most = (sizes[math.ceil(share * len(sizes)) - 1] for share in (0.5, _MOST))
    widest = max(found, key=found.__getitem__)
    blind = sum(size > _NOTHING for size in sizes)
    if not blind and _size(half) == _size(found[widest]):
        return f"{_change(half)} would be found in all {len(sizes)} benchmarks."
    if not blind:
        return (
            f"{_change(half)} would be found in half of the {len(sizes)} benchmarks, {_size(most)} "
            f"in nine of ten, {_size(found[widest])} in the noisiest ({inert(widest)})."
        )
    nothing = f"{_NOT_EVEN} would be found in {blind} of the {len(sizes)} benchmarks"
    if half > _NOTHING:
        return f"{nothing.capitalize()}, {inert(widest)} among them."
    return f"{_change(half)} would be found in half of them, but {nothing} ({inert(widest)})."


def least(fraction: float) -> str:
    """What would have been seen of one benchmark: ``only a change of 12 %``."""
    return _NOT_EVEN if fraction > _NOTHING else f"only a change of {_size(fraction)}"


def _change(fraction: float) -> str:
    return _NOT_EVEN.capitalize() if fraction > _NOTHING else f"A change of {_size(fraction)}"


def _size(fraction: float) -> str:
    return percent(fraction, sign=False)
