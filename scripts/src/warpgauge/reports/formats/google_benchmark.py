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

from warpgauge.records.counters import rates_of
from warpgauge.records.fields import number_or_zero
from warpgauge.records.row import Row
from warpgauge.records.sessions import newest
from warpgauge.reports.format import Format
from warpgauge.verdict.comparison import Comparison, Verdict

_NS = 1e9
_MARK = "warpgauge_export"  # context key of our files in this format


def render(comparison: Comparison) -> str:
    """Return the document, one row a line."""
    candidate = comparison.candidate
    rows = [_row(one, candidate.rows.get(one.name)) for one in timed(comparison)]
    context = json.dumps({**_context(newest(candidate).context), _MARK: "1"}, indent=1)
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


def timed(comparison: Comparison) -> list[Verdict]:
    """Return the verdicts of benchmarks that have a time.

    The exit status tells of the others, except of skipped ones, of which no time is expected.
    """
    return [one for one in comparison.verdicts if 0 < (one.candidate_seconds or 0) * _NS < math.inf]


_OWN = re.compile(rf'"{_MARK}"\s*:'.encode())
FORMAT = Format("google_benchmark", render, "export in Google Benchmark's JSON", _OWN)
