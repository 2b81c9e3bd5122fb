# SPDX-License-Identifier: Apache-2.0
"""The roofline of a run: its rows under the ceilings that were measured in it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from warpgauge.records.counters import rates_of
from warpgauge.reports.drawing.roofline import Ceiling, Point, Roofline
from warpgauge.system.text import of_limit, quantity
from warpgauge.verdict.comparison import Verdict

# Ceilings so near each other are one: measured in each process, they differ a little. Bandwidths
# differ by how much is read and written, too, which no picture shows.
_SAME, _ONE_SLOPE = 0.03, 0.1

_POINTS = 400  # more cannot be told apart


@dataclass(frozen=True)
class _Row:
    """What states flops and bytes, and reaches a `fraction` of its limit: all above zero."""

    verdict: Verdict
    bytes_per_second: float
    flops_per_second: float
    fraction: float

    @property
    def intensity(self) -> float:
        return self.flops_per_second / self.bytes_per_second

    @property
    def bandwidth(self) -> float:
        """The ceiling, if bytes are the limit."""
        return self.bytes_per_second / self.fraction

    @property
    def rate(self) -> float:
        """The ceiling, if flops are the limit."""
        return self.flops_per_second / self.fraction

    @property
    def point(self) -> Point:
        name, speed = self.verdict.name, quantity(self.flops_per_second, "FLOP/s")
        told = f"{name}: {speed}, {of_limit(self.fraction)} of its limit"
        return Point(name, self.verdict.family, self.intensity, self.flops_per_second, told)


def roofline(verdicts: Iterable[Verdict], title: str) -> Roofline | None:
    """Of the candidate's rows that state flops and bytes; None where there is none.

    A row tells how near it is to its limit, not which limit that is. It is the bandwidth where rows
    without flops have the same one, unless rows of another intensity have the same rate.
    """
    rows: list[_Row] = []
    bandwidths: set[float] = set()
    for one in verdicts:
        known = rates_of(one.counters)
        moved, flops, fraction = (known.get(key, 0.0) for key in _RATES)
        if min(moved, flops, fraction) > 0 and len(rows) < _POINTS:
            rows.append(_Row(one, moved, flops, fraction))
        elif min(moved, fraction) > 0 and not flops:
            bandwidths.add(_short(moved / fraction))
    if not rows:
        return None
    slopes = [row for row in rows if _is_limited_by_bytes(row, rows, bandwidths)]
    levels = [row for row in rows if row not in slopes]
    highest = [row.bandwidth for row in slopes] or [*bandwidths]
    return Roofline(
        title,
        [row.point for row in rows],
        [Ceiling("bandwidth", group[-1]) for group in _groups(highest, _ONE_SLOPE)],
        [_level(group, levels) for group in _groups([row.rate for row in levels], _SAME)],
    )


_RATES = ("bytes_per_second", "flops_per_second", "limit_fraction")


def _short(value: float) -> float:
    return float(f"{value:.3g}")


def _is_limited_by_bytes(row: _Row, rows: Sequence[_Row], bandwidths: Collection[float]) -> bool:
    others = (one for one in rows if not _agree(one.intensity, row.intensity))
    if any(_agree(one.rate, row.rate) for one in others):
        return False
    return any(_agree(one, row.bandwidth) for one in bandwidths)


def _agree(one: float, other: float) -> bool:
    return abs(one / other - 1) <= _SAME


def _groups(values: Iterable[float], apart: float) -> list[list[float]]:
    """In ascending order, each within that fraction of its lowest."""
    groups: list[list[float]] = []
    for value in sorted(values):
        if groups and value <= (1 + apart) * groups[-1][0]:
            groups[-1].append(value)
        else:
            groups.append([value])
    return groups


def _level(group: Sequence[float], levels: Sequence[_Row]) -> Ceiling:
    """Named by what the names of its rows have in common and those of no others: ``bf16``."""
    mine, others = [], set()
    for row in levels:
        parts = {part for part in row.verdict.name.split("/")[1:] if ":" not in part}
        if group[0] <= row.rate <= group[-1]:
            mine.append(parts)
        else:
            others |= parts
    words = sorted(set.intersection(*mine) - others)
    return Ceiling(" ".join(words) or "limit", group[-1])
