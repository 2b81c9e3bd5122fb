# SPDX-License-Identifier: Apache-2.0
"""Which benchmarks have a time that other tools read; the formats of times write those alone."""

from __future__ import annotations

import math
from dataclasses import replace

from warpgauge.system.text import named
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict

NS = 1e9
# Bencher reads a time as a decimal of 28 digits, of which this range leaves seven.
_SHORTEST_NS, _LONGEST_NS = 1e-20, 1e28


def exported(comparison: Comparison, longest_name: float = math.inf) -> Comparison:
    """Return the comparison without benchmarks that are unfit; the others have a time.

    `longest_name` is what a reader takes, in bytes.
    """
    kept = tuple(verdict for verdict in comparison.verdicts if not _unfit(verdict, longest_name))
    return replace(comparison, verdicts=kept)


def left_out(comparison: Comparison, longest_name: float = math.inf) -> str:
    """Return which benchmarks are unfit and why, in words, or "" if none."""
    expected = [one for one in comparison.verdicts if one.outcome is not Outcome.SKIPPED]
    found: dict[str, list[str]] = {}
    for verdict in expected:
        found.setdefault(_unfit(verdict, longest_name), []).append(verdict.name)
    found.pop("", None)
    words = "; ".join(f"{named(names)}: {reason}" for reason, names in found.items())
    return words if expected else "there is no benchmark"


def _unfit(verdict: Verdict, longest_name: float) -> str:
    """Return why a verdict is left out, or ""."""
    if verdict.candidate_seconds is None:
        return verdict.outcome.name
    if len(verdict.name.encode()) > longest_name:
        return f"its name is longer than the {longest_name} bytes that Bencher reads"
    ns = verdict.candidate_seconds * NS
    return "" if _SHORTEST_NS < ns < _LONGEST_NS else "no time that can be exported"
