# SPDX-License-Identifier: Apache-2.0
"""A candidate's times as OpenMetrics 1.0 text: gauges, and a state set of the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING

from warpgauge.records.counters import rates_of
from warpgauge.records.sessions import newest
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict

if TYPE_CHECKING:
    from prometheus_client import Metric

_PREFIX = "warpgauge_benchmark_"
# By the end of its name, which ends in the unit: that, and what it tells.
_GAUGES = {
    "seconds": ("seconds", "Time of one operation."),
    "bytes_per_second": ("bytes_per_second", "What an operation has to move, by its time."),
    "flops_per_second": ("flops_per_second", "What an operation has to compute, by its time."),
    "limit_fraction": ("fraction", "Share of what the device can do at most."),
    "bound_fraction": ("fraction", "Slower by at most this, with 99 % confidence."),
}
# What may be said of a benchmark that has a time. A state that does not hold is told, too.
_STATES = (Outcome.PASS, Outcome.REGRESSION, Outcome.IMPROVED, Outcome.INCONCLUSIVE, Outcome.NEW)
# Of the run, by the label that tells them: what a time is compared over.
_RUN = {"gpu": "gpu_name", "gpu_uuid": "gpu_uuid", "driver": "driver_version", "commit": "commit"}


def render(comparison: Comparison) -> str:
    """The exposition, whole. Every verdict has the candidate's time."""
    from prometheus_client.openmetrics import exposition

    write: Callable[[object], bytes] = exposition.generate_latest
    metrics = list(_metrics(comparison))
    return write(SimpleNamespace(collect=lambda: metrics)).decode()


def _metrics(comparison: Comparison) -> Iterator[Metric]:
    """Those that have a value."""
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
        metric = Metric(f"{_PREFIX}verdict", "What a comparison says of the time.", "stateset")
        for labels, verdict in labelled:
            for state in _STATES:
                own = {**labels, metric.name: state.value}
                metric.add_sample(metric.name, own, float(verdict.outcome is state))
        yield metric


def _labels(verdict: Verdict, run: Mapping[str, str]) -> dict[str, str]:
    own = {"benchmark": verdict.name, "family": verdict.family, "clock": verdict.clock.value}
    told = {key: value for key, value in {**own, **run}.items() if value}
    return {key: value.encode(errors="backslashreplace").decode() for key, value in told.items()}
