# SPDX-License-Identifier: Apache-2.0
"""A candidate's times in files for other tools: Google Benchmark's JSON, and OpenMetrics 1.0 text.

github-action-benchmark (its `googlecpp`) reads name, real_time, time_unit, iterations, cpu_time and
threads of a row. Bencher (`cpp_google`) reads name, real_time and time_unit, and rejects a context
without a list of caches.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING

from warpgauge.records.counters import rates_of
from warpgauge.records.fields import number_or_zero
from warpgauge.records.row import Row
from warpgauge.records.sessions import newest
from warpgauge.system.text import named
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict

if TYPE_CHECKING:
    from prometheus_client import Metric

# Bencher reads a time as a decimal of 28 digits; this range leaves seven of them.
_SHORTEST_NS, _LONGEST_NS = 1e-20, 1e28
_NS = 1e9
_MARK = "warpgauge_export"  # context key for the tool that the file was written for

_PREFIX = "warpgauge_benchmark_"
# For each metric's suffix: its unit, with which the name ends, and its description.
_GAUGES = {
    "seconds": ("seconds", "Time of one operation."),
    "bytes_per_second": (
        "bytes_per_second",
        "Bytes that an operation has to move, divided by its time.",
    ),
    "flops_per_second": (
        "flops_per_second",
        "Flops that an operation has to compute, divided by its time.",
    ),
    "limit_fraction": ("fraction", "Fraction of the device's limit."),
    "bound_fraction": ("fraction", "Upper bound of the slowdown, with 99 % confidence."),
}
# Outcomes of benchmarks with a time. The metric also lists the states that do not hold.
_STATES = (Outcome.PASS, Outcome.REGRESSION, Outcome.IMPROVED, Outcome.INCONCLUSIVE, Outcome.NEW)
# Labels of a run, and their context keys.
_RUN = {"gpu": "gpu_name", "gpu_uuid": "gpu_uuid", "driver": "driver_version", "commit": "commit"}


@dataclass(frozen=True)
class Export:
    """A format: `text` writes a comparison in which every verdict has a candidate time.

    `longest_name` is what its reader takes, in bytes. The others are those of a `Format`.
    """

    name: str
    text: Callable[[Comparison], str]
    kind: str
    own: re.Pattern[bytes]
    longest_name: float = math.inf

    def render(self, comparison: Comparison) -> str:
        """Return the text without unfit benchmarks, or "" if none is left."""
        kept = tuple(verdict for verdict in comparison.verdicts if not self._unfit(verdict))
        return self.text(replace(comparison, verdicts=kept)) if kept else ""

    def left_out(self, comparison: Comparison) -> str:
        """Return which benchmarks `render` leaves out and why, in words, or "" if none."""
        expected = [one for one in comparison.verdicts if one.outcome is not Outcome.SKIPPED]
        found: dict[str, list[str]] = {}
        for verdict in expected:
            found.setdefault(self._unfit(verdict), []).append(verdict.name)
        found.pop("", None)
        words = "; ".join(f"{named(names)}: {reason}" for reason, names in found.items())
        return words if expected else "there is no benchmark"

    def _unfit(self, verdict: Verdict) -> str:
        """Return why a verdict is left out, or ""."""
        if verdict.candidate_seconds is None:
            return verdict.outcome.name
        if len(verdict.name.encode()) > self.longest_name:
            return f"its name is longer than the {self.longest_name} bytes that {self.name} reads"
        ns = verdict.candidate_seconds * _NS
        return "" if _SHORTEST_NS < ns < _LONGEST_NS else "no time that can be exported"


def _google_benchmark(comparison: Comparison, reader: str) -> str:
    """Return the document for `reader`, one row a line."""
    candidate = comparison.candidate
    rows = [_row(one, candidate.rows.get(one.name)) for one in comparison.verdicts]
    context = json.dumps({**_context(newest(candidate).context), _MARK: reader}, indent=1)
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


def _openmetrics(comparison: Comparison) -> str:
    """Return the complete exposition. Every verdict has a candidate time."""
    from prometheus_client.openmetrics import exposition

    write: Callable[[object], bytes] = exposition.generate_latest
    metrics = list(_metrics(comparison))
    return write(SimpleNamespace(collect=lambda: metrics)).decode()


def _metrics(comparison: Comparison) -> Iterator[Metric]:
    """Yield the metrics that have a value."""
    from prometheus_client import Metric

    session = newest(comparison.candidate)
    run = {key: session.context.get(name, "") for key, name in _RUN.items()}
    labelled = [(_labels(verdict, run), verdict) for verdict in comparison.verdicts]
    for gauge, (unit, words) in _GAUGES.items():
        metric = Metric(f"{_PREFIX}{gauge}", words, "gauge", unit)
        for labels, verdict in labelled:
            values = {"seconds": verdict.candidate_seconds or 0.0, **rates_of(verdict.counters)}
            if verdict.bound is not None:
                values["bound_fraction"] = verdict.bound
            if gauge in values:
                metric.add_sample(metric.name, labels, values[gauge])
        if metric.samples:
            yield metric
    if comparison.refusal is None:
        metric = Metric(f"{_PREFIX}verdict", "Outcome of the comparison of the time.", "stateset")
        for labels, verdict in labelled:
            for state in _STATES:
                own = {**labels, metric.name: state.value}
                metric.add_sample(metric.name, own, float(verdict.outcome is state))
        yield metric


def _labels(verdict: Verdict, run: Mapping[str, str]) -> dict[str, str]:
    own = {"benchmark": verdict.name, "family": verdict.family, "clock": verdict.clock.value}
    told = {key: value for key, value in {**own, **run}.items() if value}
    return {key: value.encode(errors="backslashreplace").decode() for key, value in told.items()}


def _google(name: str, longest_name: float = math.inf) -> Export:
    """Return the export for a tool that reads Google Benchmark's JSON."""
    own = re.compile(rf'"{_MARK}"\s*:\s*"{name}"'.encode())
    text = partial(_google_benchmark, reader=name)
    return Export(name, text, f"export for {name}", own, longest_name=longest_name)


_METRICS = Export(
    "openmetrics",
    _openmetrics,
    "OpenMetrics text of warpgauge",
    re.compile(rb"\A# (?:HELP|TYPE) warpgauge_"),
)
EXPORTS: Mapping[str, Export] = {
    one.name: one
    for one in (_google("github-action-benchmark"), _google("bencher", 1024), _METRICS)
}
