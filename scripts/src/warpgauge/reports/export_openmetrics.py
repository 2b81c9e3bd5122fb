# SPDX-License-Identifier: Apache-2.0
"""A candidate's times as OpenMetrics 1.0 text: gauges, and a state set of the verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from warpgauge.records.counters import rates_of
from warpgauge.records.sessions import newest_last
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict

_PREFIX = "warpgauge_benchmark_"
# By the end of its name, which ends in the unit: that, and what it tells.
_GAUGES = {
    "seconds": ("seconds", "Time of one operation."),
    "bytes_per_second": ("bytes_per_second", "What an operation has to move, by its time."),
    "flops_per_second": ("flops_per_second", "What an operation has to compute, by its time."),
    "limit_fraction": ("fraction", "Share of what the device can do at most."),
}
# What may be said of a benchmark that has a time. A state that does not hold is told, too.
_STATES = (Outcome.PASS, Outcome.REGRESSION, Outcome.IMPROVED, Outcome.INCONCLUSIVE, Outcome.NEW)
# Of the run, by the label that tells them: what a time is compared over.
_LABELS = {
    "gpu": "gpu_name",
    "gpu_uuid": "gpu_uuid",
    "driver": "driver_version",
    "commit": "commit",
}


def render(comparison: Comparison) -> str:
    """The exposition, whole. Every verdict has the candidate's time."""
    session = newest_last(comparison.candidate.sessions.values())[-1]
    run = {key: session.context.get(name, "") for key, name in _LABELS.items()}
    labels = {verdict.name: _labels(verdict, run) for verdict in comparison.verdicts}
    return "".join(f"{line}\n" for line in (*_lines(comparison, labels), "# EOF"))


def _lines(comparison: Comparison, labels: Mapping[str, str]) -> Iterator[str]:
    values = {one.name: _values(one) for one in comparison.verdicts}
    for gauge, (unit, words) in _GAUGES.items():
        told = {name: known[gauge] for name, known in values.items() if gauge in known}
        if told:
            yield from _head(f"{_PREFIX}{gauge}", "gauge", unit, words)
        for name, value in told.items():
            yield f"{_PREFIX}{gauge}{{{labels[name]}}} {value!r}"
    if comparison.refusal is None:
        verdict = f"{_PREFIX}verdict"
        yield from _head(verdict, "stateset", "", "What a comparison says of the time.")
        for one in comparison.verdicts:
            for state in _STATES:
                own = f'{verdict}="{state.value}"'
                yield f"{verdict}{{{labels[one.name]},{own}}} {int(one.outcome is state)}"


def _head(name: str, kind: str, unit: str, words: str) -> Iterator[str]:
    yield f"# TYPE {name} {kind}"
    if unit:
        yield f"# UNIT {name} {unit}"
    yield f"# HELP {name} {words}"


def _values(verdict: Verdict) -> dict[str, float]:
    return {"seconds": float(verdict.candidate_seconds or 0.0), **rates_of(verdict.counters)}


def _labels(verdict: Verdict, run: Mapping[str, str]) -> str:
    own = {"benchmark": verdict.name, "family": verdict.family, "clock": verdict.clock.value}
    told = {**own, **run}
    return ",".join(f'{key}="{_escaped(value)}"' for key, value in told.items() if value)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
