# SPDX-License-Identifier: Apache-2.0
"""A candidate's times as Google Benchmark's JSON, one row a benchmark, for tools that read it.

github-action-benchmark (its `googlecpp`) takes name, real_time, time_unit, iterations, cpu_time and
threads of a row; Bencher (`cpp_google`) name, real_time and time_unit, and refuses a context
without a list of caches.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from warpgauge.records.counters import rates_of
from warpgauge.records.fields import number_or_zero
from warpgauge.records.model import Row, by_family
from warpgauge.records.sessions import newest
from warpgauge.verdict.comparison import Comparison, Verdict

NS = 1e9
MARK = "warpgauge_export"  # in the context: what the file was written for

Json = dict[str, object]


def render(comparison: Comparison, reader: str) -> str:
    """The document for `reader`, one benchmark a line. Every verdict has the candidate's time."""
    session = newest(comparison.candidate)
    rows = [
        _row(verdict, comparison.candidate.rows.get(verdict.name), family, index)
        for family, verdicts in enumerate(by_family(comparison.verdicts).values())
        for index, verdict in enumerate(verdicts)
    ]
    context = json.dumps({**_context(session.context), MARK: reader}, indent=1)
    lines = ",\n".join(json.dumps(row, allow_nan=False) for row in rows)
    text = f'{{\n"context": {context},\n"benchmarks": [\n{lines}\n]\n}}\n'
    # What begins a command of a build server's log (`text.inert`); JSON has another way to say it.
    return text.replace("##", "#\\u0023")


def _context(told: Mapping[str, str]) -> Json:
    """Google Benchmark's own keys with its types, and beside them what else the run tells.

    The number of CPUs and their clock are 0 where they are not known. Our own format is not named:
    this is none of our files.
    """
    made: Json = {key: value for key, value in told.items() if key != "warpgauge_format"}
    made |= {key: told.get(key, "") for key in ("date", "host_name", "executable")}
    made |= {key: _whole(told.get(key, "")) for key in ("num_cpus", "mhz_per_cpu")}
    made.pop("cpu_scaling_enabled", None)
    if "cpu_scaling_enabled" in told:
        made["cpu_scaling_enabled"] = told["cpu_scaling_enabled"] == "true"
    debug = "debug" in (told.get("library_build_type"), told.get("build_type", "").lower())
    return {**made, "caches": [], "load_avg": [], "library_build_type": ["release", "debug"][debug]}


def _row(verdict: Verdict, row: Row | None, family: int, index: int) -> Json:
    return {
        "name": verdict.name,
        "family_index": family,
        "per_family_instance_index": index,
        "run_name": verdict.name,
        "run_type": "iteration",
        "repetitions": 1,
        "repetition_index": 0,
        "threads": 1,
        "iterations": row.iterations if row else 0,
        "real_time": (verdict.candidate_seconds or 0.0) * NS,
        "cpu_time": number_or_zero(row.cpu_seconds * NS) if row else 0.0,
        "time_unit": "ns",
        **rates_of(verdict.counters),
    }


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0
