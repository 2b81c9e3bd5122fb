# SPDX-License-Identifier: Apache-2.0
"""What Google Benchmark's own compare.py also shows: changes of CPU time, and the geometric mean.

Of comparisons of two of its files only; in words.
"""

from __future__ import annotations

import math
from statistics import fmean

from warpgauge.records.model import Source
from warpgauge.records.row import LARGEST_LOG
from warpgauge.system.text import percent
from warpgauge.verdict.comparison import Comparison


def cpu_changes(comparison: Comparison) -> dict[str, str]:
    """Return the change of CPU time by benchmark, where both sides state it."""
    return {name: _change(log) for name, log in _cpu_log_ratios(comparison).items()}


def geometric_mean(comparison: Comparison) -> str:
    """Return the mean changes; "" for a single benchmark. CPU times must all be known."""
    logs, cpu = _log_ratios(comparison), _cpu_log_ratios(comparison)
    if len(logs) < 2:
        return ""
    of_cpu = f", CPU {_change(fmean(cpu.values()))}" if len(cpu) == len(logs) else ""
    return f"geometric mean of {len(logs)} changes: {_change(fmean(logs.values()))}{of_cpu}"


def _log_ratios(comparison: Comparison) -> dict[str, float]:
    if any(
        side.source is not Source.GOOGLE_BENCHMARK
        for side in (comparison.baseline, comparison.candidate)
    ):
        return {}
    return {
        verdict.name: math.log(verdict.candidate_seconds) - math.log(verdict.baseline_seconds)
        for verdict in comparison.verdicts
        if verdict.candidate_seconds and verdict.baseline_seconds
    }


def _cpu_log_ratios(comparison: Comparison) -> dict[str, float]:
    base, ours = comparison.baseline.rows, comparison.candidate.rows
    names = _log_ratios(comparison)
    times = {name: (base[name].cpu_seconds, ours[name].cpu_seconds) for name in names}
    return {name: math.log(b) - math.log(a) for name, (a, b) in times.items() if a and b}


def _change(log_ratio: float) -> str:
    return percent(math.expm1(min(log_ratio, LARGEST_LOG)))
