# SPDX-License-Identifier: Apache-2.0
"""Views that draw many rows: sweeps along axes, the roofline, histories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from warpgauge.records.counters import rates_of
from warpgauge.records.model import Record, by_family
from warpgauge.records.names import numbers_of
from warpgauge.reports import sweep as reports
from warpgauge.reports.drawing import course
from warpgauge.reports.drawing import roofline as drawing
from warpgauge.reports.drawing.course import Course
from warpgauge.reports.pages import heading, scrolled, shown
from warpgauge.reports.view import gpu_name
from warpgauge.system.text import plural
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict
from warpgauge.verdict.sweep import Gap, Measured, Sweep, Variant, interval, named

# An axis is drawn if it has _VALUES values, in variants with at least _OF_A_VARIANT each.
_VALUES, _OF_A_VARIANT = 3, 2
_LINES, _SWEEPS = 8, 30  # the most lines that can be told apart; the most pictures

_SHORTEST, _LONGEST = 1e-15, 1e9  # seconds

_Points = Mapping[float, Verdict]


def sweeps(comparison: Comparison) -> Iterator[str]:
    """Yield a picture for each family and axis, with variants as lines."""
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
    if found:
        yield f"<section>\n{heading('Sweeps', len(found))}"
    for family, axis, variants in found:
        count = plural(len(variants), "variant")
        more = "" if len(variants) <= _LINES else f", the first {_LINES} of which are drawn"
        picture = _sweep(comparison.candidate, axis, dict([*variants.items()][:_LINES]))
        yield (
            f"<details><summary>{shown(f'{family} over {axis}')} "
            f'<span class="faint">{count}{more}</span></summary>\n'
            f"{scrolled(f'{family} over {axis}', picture)}</details>"
        )
    if found:
        yield "</section>"


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


def roofline(comparison: Comparison) -> Iterator[str]:
    """Yield the candidate's rows by arithmetic intensity."""
    title = " · ".join(filter(None, ("Roofline", gpu_name(comparison.candidate))))
    if found := drawing.of_run(comparison.verdicts, title):
        picture = scrolled("Roofline", drawing.drawn(found))
        yield f"<section>\n{heading('Roofline')}\n{picture}\n</section>"


def histories(verdicts: Sequence[Verdict], known: Mapping[str, Course]) -> Iterator[str]:
    """Yield the histories by family; the script also shows each in its row's own page."""
    numbers = {one.name: at for at, one in enumerate(verdicts) if one.name in known}
    families = by_family(one for one in verdicts if one.name in known)
    if families:
        yield f"<section>\n{heading('History', len(numbers))}"
    for family, members in families.items():
        count = plural(len(members), "benchmark")
        yield f'<details><summary>{shown(family)} <span class="faint">{count}</span></summary>'
        for one in members:
            picture = scrolled(f"History of {one.name}", course.drawn(known[one.name]))
            yield f'<div data-history="{numbers[one.name]}">{picture}</div>'
        yield "</details>"
    if families:
        yield "</section>"
