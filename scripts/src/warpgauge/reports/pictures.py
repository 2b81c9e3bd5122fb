# SPDX-License-Identifier: Apache-2.0
"""Pictures of the rows of a comparison along their axes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from warpgauge.records.model import by_family
from warpgauge.records.names import numbers_of
from warpgauge.reports.drawing import lines
from warpgauge.reports.drawing.lines import BEFORE, TIMES, Point, Series
from warpgauge.reports.drawing.small import FEWEST_POINTS
from warpgauge.system.text import plural
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict
from warpgauge.verdict.sweep import named

_LINES, _SWEEPS = 8, 30  # the most lines that can be told apart; the most pictures

_SHORTEST, _LONGEST = 1e-15, 1e9  # seconds

_Points = Mapping[float, Verdict]


def sweeps(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Yield title and picture for each family and axis, with variants as lines."""
    verdicts = [
        one
        for one in comparison.verdicts
        if one.outcome is not Outcome.MISSING
        and _are_times(filter(None, (one.baseline_seconds, one.candidate_seconds)))
    ]
    found = [
        (family, axis, variants)
        for family, members in by_family(verdicts).items()
        for axis in dict.fromkeys(axis for one in members for axis in numbers_of(one.name))
        if (variants := _variants(members, axis))
    ]
    for family, axis, variants in found[:_SWEEPS]:
        size = plural(len(variants), "variant")
        size += "" if len(variants) <= _LINES else f", the first {_LINES} of which are drawn"
        title = f"{family} over {axis}"
        yield f"{title}: {size}", _drawn(title, axis, dict([*variants.items()][:_LINES]))


def _variants(family: Sequence[Verdict], axis: str) -> dict[str, _Points]:
    """Return the variants to draw, by name: those with enough values."""
    members = [one for one in family if axis in numbers_of(one.name)]
    points: dict[str, dict[float, Verdict]] = {}
    for one, (name, value) in zip(members, named([one.name for one in members], axis), strict=True):
        if value > 0:
            points.setdefault(name, {})[value] = one
    return {
        name: dict(sorted(one.items()))
        for name, one in points.items()
        if sum(verdict.candidate_seconds is not None for verdict in one.values()) >= FEWEST_POINTS
    }


def _drawn(title: str, axis: str, variants: Mapping[str, _Points]) -> str:
    """Return times over the axis, those of the baseline pale."""
    now, before = [], []
    for at, (name, points) in enumerate(variants.items()):
        sides = [(x, one.baseline_seconds, one.candidate_seconds) for x, one in points.items()]
        older = [Point(x, base) if base else None for x, base, _ in sides]
        newer = [Point(x, time, told=points[x].name) if time else None for x, _, time in sides]
        now.append(Series(name, newer, at))
        before += [Series(name, older, at, BEFORE)] if any(older) else []
    return lines.drawn([*before, *now], title, axis, TIMES)


def _are_times(seconds: Iterable[float]) -> bool:
    """Return whether these are plausible times, whose ratios are finite."""
    return all(_SHORTEST <= one <= _LONGEST for one in seconds)
