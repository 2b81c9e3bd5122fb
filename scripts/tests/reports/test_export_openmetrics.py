# SPDX-License-Identifier: Apache-2.0
"""The OpenMetrics text is what the format's own parser reads, label by label."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from builders import row, run, write
from comparisons import comparison, of_every_kind, record, verdict, with_text
from warpgauge.commands import format_options
from warpgauge.records.load import load
from warpgauge.reports.exports import EXPORTS
from warpgauge.verdict.comparison import Comparison

parse: Callable[[str], Iterable[Metric]] = text_string_to_metric_families
SECONDS, VERDICT = "warpgauge_benchmark_seconds", "warpgauge_benchmark_verdict"


def parsed(found: Comparison) -> dict[str, Metric]:
    text = EXPORTS["openmetrics"].render(found)
    assert text.endswith("\n# EOF\n")
    return {one.name: one for one in parse(text)}


def values(metric: Metric) -> dict[str, float]:
    return {sample.labels["benchmark"]: sample.value for sample in metric.samples}


def test_times_are_gauges_in_seconds_with_what_they_are_compared_over() -> None:
    side = record(gpu_uuid="GPU-1", driver_version="590.1")
    metric = parsed(comparison([verdict("gemm/a"), verdict("sync/b")], cand=side))[SECONDS]
    assert (metric.type, metric.unit) == ("gauge", "seconds")
    assert metric.documentation
    assert values(metric) == {"gemm/a": 1e-5, "sync/b": 1e-5}
    assert metric.samples[0].labels == {
        "benchmark": "gemm/a",
        "family": "gemm",
        "clock": "device",
        "gpu": "NVIDIA Test",
        "gpu_uuid": "GPU-1",
        "driver": "590.1",
        "commit": "c" * 40,
    }


def test_rates_are_gauges_of_their_own_where_a_benchmark_has_them() -> None:
    fast = verdict("a", bytes_per_second=2e12, flops_per_second=3e13, limit_fraction=0.5, waves=2.0)
    found = parsed(comparison([fast, verdict("b")]))
    rates = {key: value for key, value in fast.counters.items() if key != "waves"}
    for name, value in rates.items():
        metric = found[f"warpgauge_benchmark_{name}"]
        assert metric.name.endswith(f"_{metric.unit}")
        assert values(metric) == {"a": value}
    assert len(found) == len(rates) + 2


def test_a_rate_that_is_no_number_is_no_sample() -> None:
    found = parsed(comparison([verdict("a", bytes_per_second=math.nan)]))
    assert set(found) == {SECONDS, VERDICT}


def test_the_verdict_is_a_state_set_with_one_state_a_benchmark() -> None:
    found = of_every_kind()
    metric = parsed(found)[VERDICT]
    assert metric.type == "stateset"
    holding = {
        sample.labels["benchmark"]: sample.labels[VERDICT]
        for sample in metric.samples
        if sample.value == 1
    }
    timed = [one for one in found.verdicts if one.candidate_seconds is not None]
    assert holding == {one.name: one.outcome.value for one in timed}
    assert len(metric.samples) == 5 * len(timed)


def test_a_run_without_a_baseline_has_no_verdict(tmp_path: Path) -> None:
    path = write(tmp_path / "run.json", run([row("a/b"), row("a/c")]))
    found = parsed(format_options.unpaired_comparison(load(path)))
    assert set(found) == {SECONDS}
    assert values(found[SECONDS]) == pytest.approx({"a/b": 1e-6, "a/c": 1e-6})


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30))
def test_any_name_is_read_as_it_is(text: str) -> None:
    found = with_text(text)
    timed = [one.name for one in found.verdicts if one.candidate_seconds is not None]
    assert [one.labels["benchmark"] for one in parsed(found)[SECONDS].samples] == timed


@pytest.mark.parametrize("text", ['"', "\\", "\\n", "\n# EOF\n", '"} 1\nx{a="', "\r\x1b[2J", " "])
def test_no_name_ends_its_label_its_line_or_the_file(text: str) -> None:
    found = parsed(comparison([verdict(f"a{text}b"), verdict("c")]))
    assert values(found[SECONDS]).keys() == {f"a{text}b", "c"}
