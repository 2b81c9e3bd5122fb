# SPDX-License-Identifier: Apache-2.0
"""Benchmarks by arithmetic intensity under the ceilings of their machine, on log-log axes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Point:
    """FLOP a byte and FLOP/s, both above zero. A `family` has one colour."""

    name: str
    family: str
    intensity: float
    rate: float
    tooltip: str = ""


@dataclass(frozen=True)
class Ceiling:
    """A bandwidth in B/s (a slope) or an arithmetic rate in FLOP/s (level), above zero."""

    name: str
    rate: float


@dataclass(frozen=True)
class Roofline:
    """There is a point or a ceiling of each kind."""

    title: str
    points: Sequence[Point]
    bandwidths: Sequence[Ceiling] = ()
    arithmetic: Sequence[Ceiling] = ()


def drawn(roofline: Roofline) -> str:
    """The element."""
    raise NotImplementedError
