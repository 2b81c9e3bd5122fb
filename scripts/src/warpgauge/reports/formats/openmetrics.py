# SPDX-License-Identifier: Apache-2.0
"""The candidate's times and verdicts as OpenMetrics 1.0 text, for Prometheus and what reads it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING

from warpgauge.records.counters import rates_of
from warpgauge.records.sessions import newest
from warpgauge.reports.format import Format
from warpgauge.reports.formats.google_benchmark import timed
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict

if TYPE_CHECKING:
    from prometheus_client import Metric

_PREFIX = "warpgauge_benchmark_"
# The metrics, whose names end with their units, and their descriptions.
_GAUGES = {
    "seconds": "Time of one operation.",
    "bytes_per_second": "Bytes that an operation has to move, divided by its time.",
    "flops_per_second": "Flops that an operation has to compute, divided by its time.",
    "limit_fraction": "Fraction of the device's limit.",
    "bound_fraction": "Upper bound of the slowdown, with 99 % confidence.",
}
# Outcomes of benchmarks with a time. The metric also lists the states that do not hold.
_STATES = (Outcome.PASS, Outcome.REGRESSION, Outcome.IMPROVED, Outcome.INCONCLUSIVE, Outcome.NEW)
# Labels of a run, and their context keys.
_RUN = {"gpu": "gpu_name", "gpu_uuid": "gpu_uuid", "driver": "driver_version", "commit": "commit"}


def render(comparison: Comparison) -> str:
    """Return the complete exposition."""
    from prometheus_client.openmetrics import exposition

    write: Callable[[object], bytes] = exposition.generate_latest
    metrics = list(_metrics(comparison))
    return write(SimpleNamespace(collect=lambda: metrics)).decode()


def _metrics(comparison: Comparison) -> Iterator[Metric]:
    """Yield the metrics that have a value."""
    from prometheus_client import Metric

    session = newest(comparison.candidate)
    run = {key: session.context.get(name, "") for key, name in _RUN.items()}
    labelled = [(_labels(verdict, run), verdict) for verdict in timed(comparison)]
    for gauge, words in _GAUGES.items():
        unit = "fraction" if gauge.endswith("_fraction") else gauge
        metric = Metric(f"{_PREFIX}{gauge}", words, "gauge", unit)
        for labels, verdict in labelled:
            times = {"seconds": verdict.candidate_seconds, "bound_fraction": verdict.bound}
            value = {**times, **rates_of(verdict.counters)}.get(gauge)
            if value is not None:
                metric.add_sample(metric.name, labels, value)
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


_OWN = re.compile(rb"\A# (?:(?:HELP|TYPE) warpgauge_|EOF\n)")
FORMAT = Format("openmetrics", render, "OpenMetrics text of warpgauge", _OWN)
