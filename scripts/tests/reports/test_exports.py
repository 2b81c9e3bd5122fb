# SPDX-License-Identifier: Apache-2.0
"""What is exported is what its readers take: Google Benchmark's JSON, and OpenMetrics text."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from conftest import Loader
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from builders import row, run
from comparisons import comparison, of_every_kind, record, verdict, with_text
from warpgauge.commands.output import unpaired_comparison
from warpgauge.records.load import load
from warpgauge.records.row import Row
from warpgauge.reports.format import FORMATS
from warpgauge.verdict.comparison import Comparison, Outcome

HOSTILE = 'a"b\\c\nd\r\x1b[2J</script>##[error]@everyone\N{LINE SEPARATOR}e'

Whole = Annotated[int, Meta(ge=0)]


class ActionContext(Struct):
    date: str
    host_name: str
    executable: str
    num_cpus: Whole
    mhz_per_cpu: Whole
    caches: list[Any]
    load_avg: list[float]
    library_build_type: Literal["release", "debug"]
    cpu_scaling_enabled: bool = False


class ActionRow(Struct):
    name: Annotated[str, Meta(min_length=1)]
    run_name: Annotated[str, Meta(min_length=1)]
    run_type: Literal["iteration"]
    repetitions: Literal[1]
    repetition_index: Whole
    threads: Literal[1]
    iterations: Whole
    real_time: Annotated[float, Meta(gt=0)]
    cpu_time: Annotated[float, Meta(ge=0)]
    time_unit: Literal["ns"]


class BencherContext(Struct):
    caches: list[dict[str, Any]]


class BencherRow(Struct):
    name: Annotated[str, Meta(min_length=1, max_length=1024)]
    real_time: float
    time_unit: Literal["ps", "ns", "us", "ms", "s"]


# What github-action-benchmark declares of the tool `googlecpp` (extract.ts), and what Bencher's
# adapter `cpp_google` reads, and refuses the whole file without.
READERS = {
    "github-action-benchmark": (ActionContext, ActionRow),
    "bencher": (BencherContext, BencherRow),
}
each_reader = pytest.mark.parametrize("reader", READERS)
TIMES = FORMATS["google_benchmark"]


def exported(found: Comparison, reader: str) -> Any:  # noqa: ANN401
    document = json.loads(TIMES.render(found), parse_constant=pytest.fail)
    context, one = READERS[reader]
    msgspec.convert(document["context"], context)
    msgspec.convert(document["benchmarks"], Annotated[list[one], Meta(min_length=1)])  # type: ignore[valid-type]
    return document


def timed(found: Comparison) -> dict[str, float]:
    return {
        one.name: one.candidate_seconds
        for one in found.verdicts
        if one.candidate_seconds is not None
    }


def reread(found: Comparison, tmp_path: Path) -> dict[str, Row]:
    path = tmp_path / "export.json"
    path.write_text(TIMES.render(found), encoding="utf-8")
    return dict(load(path).rows)


@each_reader
def test_each_benchmark_with_a_time_is_one_row_that_is_read_again_as_it_was(
    reader: str, tmp_path: Path
) -> None:
    found = of_every_kind()
    names = [one["name"] for one in exported(found, reader)["benchmarks"]]
    assert names == [*timed(found)]
    assert len(names) == 8
    rows = reread(found, tmp_path)
    for name, seconds in timed(found).items():
        (times,) = rows[name].process_medians.values()
        assert times == pytest.approx([seconds], rel=1e-12)
    assert rows["gemm/naive/n:64"].counters == {"limit_fraction": 0.42}


@each_reader
def test_names_that_mean_something_elsewhere_stay_what_they_are(
    reader: str, tmp_path: Path
) -> None:
    found = with_text(HOSTILE)
    assert {one["name"] for one in exported(found, reader)["benchmarks"]} == {*timed(found)}
    assert {*reread(found, tmp_path)} == {*timed(found)}
    text = TIMES.render(found)
    assert text.isascii()
    assert "##[" not in text
    assert "\x1b" not in text


@each_reader
def test_a_run_tells_its_iterations_cpu_time_and_context(reader: str, loaded: Loader) -> None:
    rows = [row("a/b", iterations=70, cpu_time=3.0), row("c/d"), row("a/e")]
    told = run(rows, num_cpus="32", cpu_scaling_enabled="false", host_name="box", mhz_per_cpu="x")
    document = exported(unpaired_comparison(loaded(told)), reader)
    context, first = document["context"], document["benchmarks"][0]
    assert (context["num_cpus"], context["mhz_per_cpu"], context["host_name"]) == (32, 0, "box")
    assert context["cpu_scaling_enabled"] is False
    assert (context["commit"], context["gpu_uuid"]) == ("c" * 40, "GPU-1")
    assert "warpgauge_format" not in context
    assert (first["iterations"], first["real_time"]) == (70, pytest.approx(1000.0))
    assert first["cpu_time"] == pytest.approx(3000.0)


@pytest.mark.parametrize("cpu", [1e308, -1.0, True, "x"])
def test_a_debug_build_is_called_one_and_a_cpu_time_that_is_none_is_zero(
    loaded: Loader, cpu: object
) -> None:
    rows = [row("a/b", cpu_time=cpu, iterations="many", time_unit="s")]
    found = unpaired_comparison(loaded(run(rows, build_type="Debug")))
    document = exported(found, "github-action-benchmark")
    assert document["context"]["library_build_type"] == "debug"
    (only,) = document["benchmarks"]
    assert (only["cpu_time"], only["iterations"]) == (0.0, 0)


@pytest.mark.parametrize("seconds", [1e300, math.nan, math.inf, 0.0])
def test_a_time_that_cannot_be_read_is_left_out(seconds: float) -> None:
    found = comparison([verdict("odd", Outcome.NEW, seconds=seconds), verdict("a")])
    assert [one["name"] for one in exported(found, "bencher")["benchmarks"]] == ["a"]


parse: Callable[[str], Iterable[Metric]] = text_string_to_metric_families
SECONDS, VERDICT = "warpgauge_benchmark_seconds", "warpgauge_benchmark_verdict"
BOUND = "warpgauge_benchmark_bound_fraction"


def metrics(found: Comparison) -> dict[str, Metric]:
    text = FORMATS["openmetrics"].render(found)
    assert text.endswith("\n# EOF\n")
    return {one.name: one for one in parse(text)}


def values(metric: Metric) -> dict[str, float]:
    return {sample.labels["benchmark"]: sample.value for sample in metric.samples}


def test_times_are_gauges_in_seconds_with_what_they_are_compared_over() -> None:
    side = record(gpu_uuid="GPU-1", driver_version="590.1")
    metric = metrics(comparison([verdict("gemm/a"), verdict("sync/b")], cand=side))[SECONDS]
    assert (metric.type, metric.unit) == ("gauge", "seconds")
    assert metric.documentation
    assert values(metric) == {"gemm/a": 1e-5, "sync/b": 1e-5}
    assert metric.samples[0].labels == {
        "benchmark": "gemm/a", "family": "gemm", "clock": "device", "gpu": "NVIDIA Test",
        "gpu_uuid": "GPU-1", "driver": "590.1", "commit": "c" * 40,
    }  # fmt: skip


def test_rates_are_gauges_of_their_own_where_a_benchmark_has_them_as_numbers() -> None:
    rates: Any = {"bytes_per_second": 2e12, "flops_per_second": 3e13, "limit_fraction": 0.5}
    fast, odd = verdict("a", waves=2.0, **rates), verdict("b", bytes_per_second=math.nan)
    found = metrics(comparison([fast, odd]))
    for name, value in rates.items():
        metric = found[f"warpgauge_benchmark_{name}"]
        assert metric.name.endswith(f"_{metric.unit}")
        assert values(metric) == {"a": value}
    assert values(found[BOUND]) == {"a": 0.002, "b": 0.002}
    assert len(found) == len(rates) + 3
    assert set(metrics(comparison([odd]))) == {SECONDS, BOUND, VERDICT}


def test_the_verdict_is_a_state_set_with_one_state_a_benchmark() -> None:
    found = of_every_kind()
    metric = metrics(found)[VERDICT]
    assert metric.type == "stateset"
    holding = {
        sample.labels["benchmark"]: sample.labels[VERDICT]
        for sample in metric.samples
        if sample.value == 1
    }
    assert holding == {one.name: one.outcome.value for one in found.verdicts if one.name in holding}
    assert {*holding} == {*timed(found)}
    assert len(metric.samples) == 5 * len(holding)


def test_a_run_without_a_baseline_has_no_verdict(loaded: Loader) -> None:
    found = metrics(unpaired_comparison(loaded(run([row("a/b"), row("a/c")]))))
    assert set(found) == {SECONDS}
    assert values(found[SECONDS]) == pytest.approx({"a/b": 1e-6, "a/c": 1e-6})


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30))
def test_any_name_is_read_as_it_is(text: str) -> None:
    found = with_text(text)
    samples = metrics(found)[SECONDS].samples
    assert [sample.labels["benchmark"] for sample in samples] == [*timed(found)]


@pytest.mark.parametrize("text", ['"', "\\", "\\n", "\n# EOF\n", '"} 1\nx{a="', "\r\x1b[2J", " "])
def test_no_name_ends_its_label_its_line_or_the_file(text: str) -> None:
    found = metrics(comparison([verdict(f"a{text}b"), verdict("c")]))
    assert values(found[SECONDS]).keys() == {f"a{text}b", "c"}
