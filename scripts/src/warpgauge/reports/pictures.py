# SPDX-License-Identifier: Apache-2.0
"""Views that draw many rows: sweeps along axes, the roofline, histories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from warpgauge.records.counters import rates_of
from warpgauge.records.model import Record, by_family
from warpgauge.records.names import numbers_of
from warpgauge.reports import sweep as reports
from warpgauge.reports.drawing import course
from warpgauge.reports.drawing import roofline as drawing
from warpgauge.reports.drawing.course import Course
from warpgauge.reports.pages import scrolled, section, shown
from warpgauge.reports.view import gpu_name
from warpgauge.system.text import plural
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict
from warpgauge.verdict.sweep import Gap, Measured, Sweep, Variant, interval, named

# An axis is drawn if it has _VALUES values, in variants with at least _OF_A_VARIANT each.
_VALUES, _OF_A_VARIANT = 3, 2
_LINES, _SWEEPS = 8, 30  # the most lines that can be told apart; the most pictures

_SHORTEST, _LONGEST = 1e-15, 1e9  # seconds

_Points = Mapping[float, Verdict]


def sweeps(comparison: Comparison) -> str:
    """Return a picture for each family and axis, with variants as lines."""
    verdicts = [
        one
        for one in comparison.verdicts
        if one.outcome is not Outcome.MISSING
        and _are_times(filter(None, (one.baseline_seconds, one.candidate_seconds)))
    ]
    found: list[tuple[str, str, dict[str, _Points]]] = []
    for family, members in by_family(verdicts).items():
        for axis in dict.fromkeys(axis for one in members for axis in numbers_of(one.name)):
            if len(found) < _SWEEPS and (variants := _variants(members, axis)):
                found.append((family, axis, variants))
    inner = []
    for family, axis, variants in found:
        title, size = f"{family} over {axis}", plural(len(variants), "variant")
        size += "" if len(variants) <= _LINES else f", the first {_LINES} of which are drawn"
        drawn = _sweep(comparison.candidate, axis, dict([*variants.items()][:_LINES]))
        inner.append(_folded(title, size, scrolled(title, drawn)))
    return section("Sweeps", "\n".join(inner), len(found)) if found else ""


def _folded(title: str, size: str, inner: str) -> str:
    head = f'<summary>{shown(title)} <span class="faint">{size}</span></summary>'
    return f"<details>{head}\n{inner}</details>"


def _variants(family: Sequence[Verdict], axis: str) -> dict[str, _Points]:
    """Return the variants to draw, by name; none if the axis has too few values."""
    members = [one for one in family if axis in numbers_of(one.name)]
    points: dict[str, dict[float, Verdict]] = {}
    for one, (name, value) in zip(members, named([one.name for one in members], axis), strict=True):
        if value > 0:
            points.setdefault(name, {})[value] = one
    several: dict[str, _Points] = {
        name: dict(sorted(one.items()))
        for name, one in points.items()
        if sum(verdict.candidate_seconds is not None for verdict in one.values()) >= _OF_A_VARIANT
    }
    values = {value for one in several.values() for value in one}
    return several if len(values) >= _VALUES else {}


def _sweep(candidate: Record, axis: str, variants: Mapping[str, _Points]) -> str:
    made = tuple(
        Variant(name, {value: _point(one, candidate) for value, one in points.items()})
        for name, points in variants.items()
    )
    before = {
        name: {
            value: one.baseline_seconds
            for value, one in points.items()
            if one.baseline_seconds is not None
        }
        for name, points in variants.items()
    }
    return reports.drawn(Sweep(candidate, axis, made), before)


def _point(one: Verdict, candidate: Record) -> Measured | Gap:
    if one.candidate_seconds is None:
        return Gap(one.name, one.outcome.value, one.reason)
    row = candidate.rows.get(one.name)
    times = [*row.process_medians.values()] if row and not candidate.single_process else []
    known = None
    if times and _are_times(times[-1]):
        known = interval(one.candidate_seconds, times[-1])
    return Measured(one.candidate_seconds, known, rates_of(one.counters))


def _are_times(seconds: Iterable[float]) -> bool:
    """Return whether these are plausible times, whose ratios are finite."""
    return all(_SHORTEST <= one <= _LONGEST for one in seconds)


def roofline(comparison: Comparison) -> str:
    """Return the candidate's rows by arithmetic intensity."""
    title = " · ".join(filter(None, ("Roofline", gpu_name(comparison.candidate))))
    found = drawing.of_run(comparison.verdicts, title)
    return section("Roofline", scrolled("Roofline", drawing.drawn(found))) if found else ""


def histories(verdicts: Sequence[Verdict], known: Mapping[str, Course]) -> str:
    """Return the histories by family; the script also shows each in its row's own page."""
    numbers = {one.name: at for at, one in enumerate(verdicts) if one.name in known}
    inner = []
    for family, members in by_family(one for one in verdicts if one.name in known).items():
        drawn = [
            f'<div data-history="{numbers[one.name]}">'
            f"{scrolled(f'History of {one.name}', course.drawn(known[one.name]))}</div>"
            for one in members
        ]
        inner.append(_folded(family, plural(len(members), "benchmark"), "\n".join(drawn)))
    return section("History", "\n".join(inner), len(numbers)) if numbers else ""
