# SPDX-License-Identifier: Apache-2.0
"""What is exported for readers of Google Benchmark's JSON has the fields and types they take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta, Struct

from builders import row, run, write
from comparisons import comparison, of_every_kind, verdict, with_text
from warpgauge.commands import format_options
from warpgauge.records.load import load
from warpgauge.records.model import Record, Row
from warpgauge.reports.exports import EXPORTS
from warpgauge.verdict.comparison import Comparison, Outcome

HOSTILE = 'a"b\\c\nd\r\x1b[2J</script>##[error]@everyone\N{LINE SEPARATOR}e'

Text = Annotated[str, Meta(min_length=1)]
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
    name: Text
    run_name: Text
    run_type: Literal["iteration"]
    repetitions: Literal[1]
    repetition_index: Whole
    threads: Literal[1]
    iterations: Whole
    real_time: Annotated[float, Meta(gt=0)]
    cpu_time: Annotated[float, Meta(ge=0)]
    time_unit: Literal["ns"]


class Action(Struct):
    """What github-action-benchmark declares of the tool `googlecpp` (extract.ts)."""

    context: ActionContext
    benchmarks: Annotated[list[ActionRow], Meta(min_length=1)]


class BencherContext(Struct):
    caches: list[dict[str, Any]]


class BencherRow(Struct):
    name: Annotated[str, Meta(min_length=1, max_length=1024)]
    real_time: float
    time_unit: Literal["ps", "ns", "us", "ms", "s"]


class Bencher(Struct):
    """What Bencher's adapter `cpp_google` reads, and refuses the whole file without."""

    context: BencherContext
    benchmarks: list[BencherRow]


READERS = {"github-action-benchmark": Action, "bencher": Bencher}
each_reader = pytest.mark.parametrize("reader", READERS)


def exported(found: Comparison, reader: str) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    text = EXPORTS[reader].render(found)
    document: dict[str, Any] = json.loads(text, parse_constant=refuse)
    msgspec.convert(document, READERS[reader])
    return document


def alone(record: Record) -> Comparison:
    return format_options.unpaired_comparison(record)


def reread(found: Comparison, reader: str, tmp_path: Path) -> dict[str, Row]:
    path = tmp_path / "export.json"
    path.write_text(EXPORTS[reader].render(found), encoding="utf-8")
    return dict(load(path).rows)


@each_reader
def test_each_benchmark_with_a_time_is_one_row_and_the_others_are_none(reader: str) -> None:
    found = of_every_kind()
    names = [one["name"] for one in exported(found, reader)["benchmarks"]]
    assert names == [one.name for one in found.verdicts if one.candidate_seconds is not None]
    assert len(names) == 8


@each_reader
def test_names_that_mean_something_elsewhere_stay_what_they_are(
    reader: str, tmp_path: Path
) -> None:
    found = with_text(HOSTILE)
    kept = {one.name for one in found.verdicts if one.candidate_seconds is not None}
    assert {one["name"] for one in exported(found, reader)["benchmarks"]} == kept
    assert set(reread(found, reader, tmp_path)) == kept
    text = EXPORTS[reader].render(found)
    assert text.isascii()
    assert "##[" not in text
    assert "\x1b" not in text


@each_reader
def test_what_is_exported_is_read_again_as_it_was(reader: str, tmp_path: Path) -> None:
    told = of_every_kind()
    rows = reread(told, reader, tmp_path)
    for one in told.verdicts:
        if one.candidate_seconds is not None:
            (times,) = rows[one.name].process_medians.values()
            assert times == pytest.approx([one.candidate_seconds], rel=1e-12)
    assert rows["gemm/naive/n:64"].counters == {"limit_fraction": 0.42}


@each_reader
def test_a_run_tells_its_iterations_cpu_time_and_context(reader: str, tmp_path: Path) -> None:
    rows = [row("a/b", iterations=70, cpu_time=3.0), row("c/d"), row("a/e")]
    told = run(rows, num_cpus="32", cpu_scaling_enabled="false", host_name="box", mhz_per_cpu="x")
    document = exported(alone(load(write(tmp_path / "run.json", told))), reader)
    context, first = document["context"], document["benchmarks"][0]
    assert (context["num_cpus"], context["mhz_per_cpu"], context["host_name"]) == (32, 0, "box")
    assert context["cpu_scaling_enabled"] is False
    assert (context["commit"], context["gpu_uuid"]) == ("c" * 40, "GPU-1")
    assert "warpgauge_format" not in context
    assert (first["iterations"], first["real_time"]) == (70, pytest.approx(1000.0))
    assert first["cpu_time"] == pytest.approx(3000.0)
    places = [(one["name"], one["family_index"], one["per_family_instance_index"])
              for one in document["benchmarks"]]  # fmt: skip
    assert places == [("a/b", 0, 0), ("a/e", 0, 1), ("c/d", 1, 0)]


def test_a_debug_build_is_called_one(tmp_path: Path) -> None:
    path = write(tmp_path / "debug.json", run([row("a")], build_type="Debug"))
    context = exported(alone(load(path)), "github-action-benchmark")["context"]
    assert context["library_build_type"] == "debug"


@pytest.mark.parametrize(("cpu", "written"), [(1e308, 0.0), (-1.0, 0.0), (True, 0.0), ("x", 0.0)])
def test_a_cpu_time_that_is_none_is_zero(tmp_path: Path, cpu: object, written: float) -> None:
    rows = [row("a/b", cpu_time=cpu, iterations="many", time_unit="s")]
    found = alone(load(write(tmp_path / "run.json", run(rows))))
    (only,) = exported(found, "github-action-benchmark")["benchmarks"]
    assert (only["cpu_time"], only["iterations"]) == (written, 0)


@pytest.mark.parametrize("seconds", [1e300, 1e-300, float("nan"), float("inf"), 0.0])
def test_a_time_that_cannot_be_read_is_left_out_and_named(seconds: float) -> None:
    found = comparison([verdict("odd", Outcome.NEW, seconds=seconds), verdict("a")])
    assert [one["name"] for one in exported(found, "bencher")["benchmarks"]] == ["a"]
    assert EXPORTS["bencher"].left_out(found).startswith("'odd': no time that")
