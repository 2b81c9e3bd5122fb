# SPDX-License-Identifier: Apache-2.0
"""The candidate's times as Google Benchmark's JSON, for other tools that read it.

github-action-benchmark (its `googlecpp`) reads name, real_time, time_unit, iterations, cpu_time and
threads of a row. Bencher (`cpp_google`) reads name, real_time and time_unit, and rejects a context
without a list of caches.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace

from warpgauge.records.counters import rates_of
from warpgauge.records.fields import number_or_zero
from warpgauge.records.row import Row
from warpgauge.records.sessions import newest
from warpgauge.reports.format import Format
from warpgauge.system.text import named
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict

_NS = 1e9
_MARK = "warpgauge_export"  # context key of our files in this format
_NAME = "google_benchmark"


def render(comparison: Comparison) -> str:
    """Return the document, one row a line; "" if no benchmark has a time."""
    comparison = exported(comparison)
    if not comparison.verdicts:
        return ""
    candidate = comparison.candidate
    rows = [_row(one, candidate.rows.get(one.name)) for one in comparison.verdicts]
    context = json.dumps({**_context(newest(candidate).context), _MARK: _NAME}, indent=1)
    lines = ",\n".join(json.dumps(row, allow_nan=False) for row in rows)
    text = f'{{\n"context": {context},\n"benchmarks": [\n{lines}\n]\n}}\n'
    # "##" begins a command in a build server's log (`text.inert`); JSON can escape it.
    return text.replace("##", "#\\u0023")


def _context(known: Mapping[str, str]) -> dict[str, object]:
    """Return Google Benchmark's own keys with its types, and the run's other keys.

    The number of CPUs and their clock are 0 if unknown. The key of our own format is removed,
    because the file is not one of ours.
    """
    made: dict[str, object] = {"date": "", "host_name": "", "executable": "", **known}
    made.pop("warpgauge_format", None)
    for key in ("num_cpus", "mhz_per_cpu"):
        value = known.get(key, "")
        made[key] = int(value) if value.isascii() and value.isdigit() and len(value) < 16 else 0
    if "cpu_scaling_enabled" in known:
        made["cpu_scaling_enabled"] = known["cpu_scaling_enabled"] == "true"
    debug = "debug" in (known.get("library_build_type"), known.get("build_type", "").lower())
    build = "debug" if debug else "release"
    return {**made, "caches": [], "load_avg": [], "library_build_type": build}


def _row(verdict: Verdict, row: Row | None) -> dict[str, object]:
    return {
        "name": verdict.name,
        "run_name": verdict.name,
        "run_type": "iteration",
        "repetitions": 1,
        "repetition_index": 0,
        "threads": 1,
        "iterations": row.iterations if row else 0,
        "real_time": (verdict.candidate_seconds or 0.0) * _NS,
        "cpu_time": number_or_zero(row.cpu_seconds * _NS) if row else 0.0,
        "time_unit": "ns",
        **rates_of(verdict.counters),
    }


def exported(comparison: Comparison) -> Comparison:
    """Return the comparison without benchmarks that are unfit; the others have a time."""
    fit = tuple(verdict for verdict in comparison.verdicts if not _unfit(verdict))
    return replace(comparison, verdicts=fit)


def left_out(comparison: Comparison) -> str:
    """Return which benchmarks are unfit and why, in words, or "" if none."""
    expected = [one for one in comparison.verdicts if one.outcome is not Outcome.SKIPPED]
    unfit: dict[str, list[str]] = {}
    for verdict in expected:
        if reason := _unfit(verdict):
            unfit.setdefault(reason, []).append(verdict.name)
    words = "; ".join(f"{named(names)}: {reason}" for reason, names in unfit.items())
    return words if expected else "there is no benchmark"


def _unfit(verdict: Verdict) -> str:
    """Return why a verdict is left out, or ""."""
    if verdict.candidate_seconds is None:
        return verdict.outcome.name
    return "" if 0 < verdict.candidate_seconds * _NS < math.inf else "no time that can be exported"


_OWN = re.compile(rf'"{_MARK}"\s*:'.encode())
FORMAT = Format(_NAME, render, "export in Google Benchmark's JSON", _OWN, left_out)
