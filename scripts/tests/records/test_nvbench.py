# SPDX-License-Identifier: Apache-2.0
"""What is read of nvbench's files, and which are refused."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import median, stdev

import pytest
from conftest import Loader

import other_tools as tools
from builders import Json, write
from refusal import fault
from warpgauge.records.counters import Clock
from warpgauge.records.load import load
from warpgauge.records.model import Source
from warpgauge.records.row import Row
from warpgauge.system.errors import UserError


def times(row: Row) -> tuple[float, ...]:
    (of_process,) = row.process_medians.values()
    return of_process


def test_a_state_is_a_row_of_device_time_named_by_its_axes(loaded: Loader) -> None:
    states = [tools.state(3e-6, 0.02, 400, T="I8", **{"Elements{io}": 65536}, Rate=0.1 + 0.2)]
    record = loaded(tools.nvbench({"copy": states}))
    ((name, row),) = record.rows.items()
    assert name == "copy/T:I8/Elements{io}:65536/Rate:0.3"
    assert (row.clock, row.cpu_seconds) == (Clock.DEVICE, 6e-6)
    assert row.seconds == pytest.approx(3e-6)
    assert stdev(map(math.log, times(row))) == pytest.approx(0.02, rel=0.01)
    assert record.source is Source.NVBENCH
    assert record.single_process
    (session,) = record.sessions.values()
    assert session.gpu_name == "NVIDIA H200"


def test_the_median_that_new_versions_write_comes_before_the_mean(loaded: Loader) -> None:
    made = tools.state(3e-6)
    made["summaries"].append(tools.value("nv/cold/time/gpu/median", 2e-6))
    assert loaded(tools.nvbench({"a": [made]})).rows["a"].seconds == pytest.approx(2e-6)


@pytest.mark.parametrize("noise", ["inf", "nan", "-nan", None])
def test_without_a_known_noise_nothing_is_known_of_the_scatter(
    loaded: Loader, noise: str | None
) -> None:
    row = loaded(tools.nvbench({"a": [tools.state(1e-6, noise, 3)]})).rows["a"]
    assert row.seconds == pytest.approx(1e-6)
    assert max(times(row)) > 2 * min(times(row))


def test_a_state_of_the_host_alone_is_host_time(loaded: Loader) -> None:
    made = tools.state(1.0)
    made["summaries"] = [
        tools.value("nv/cpu_only/sample_size", 10),
        tools.value("nv/cpu_only/time/cpu/mean", 2e-3),
        tools.value("nv/cpu_only/time/cpu/stdev/relative", 0.01),
    ]
    row = loaded(tools.nvbench({"a": [made]})).rows["a"]
    assert row.clock is Clock.HOST
    assert row.seconds == pytest.approx(2e-3)


def test_a_file_of_2021_is_read_without_a_version_and_with_its_objects_by_name(
    loaded: Loader,
) -> None:
    summaries = {
        "Number of Samples (Cold)": {"value": {"type": "int64", "value": "50"}},
        "Average CPU Time (Cold)": {"value": {"type": "float64", "value": "2e-3"}},
        "Average GPU Time (Cold)": {
            "hint": {"type": "string", "value": "duration"},
            "value": {"type": "float64", "value": "1e-3"},
        },
        "GPU Relative Standard Deviation (Cold)": {"value": {"type": "float64", "value": "0.01"}},
    }
    axes = {"T": {"type": "string", "value": "I8"}, "n": {"type": "int64", "value": 16}}
    state = {"device": 0, "axis_values": axes, "summaries": summaries, "is_skipped": False}
    benchmark = {"index": 0, "name": "copy", "states": {"Device=0 T=I8 n=16": state}}
    record = loaded({"devices": [{"id": 0, "name": "Quadro"}], "benchmarks": [benchmark]})
    ((name, row),) = record.rows.items()
    assert (name, row.clock, row.cpu_seconds) == ("copy/T:I8/n:16", Clock.DEVICE, 2e-3)
    assert row.seconds == pytest.approx(1e-3)
    assert stdev(map(math.log, times(row))) == pytest.approx(0.01, rel=0.01)


def test_a_rate_is_a_counter(loaded: Loader) -> None:
    made = tools.state(1.0)
    made["summaries"].append(tools.value("nv/cold/bw/global/bytes_per_second", 1e12))
    assert loaded(tools.nvbench({"a": [made]})).rows["a"].counters == {"bytes_per_second": 1e12}


def test_a_skipped_state_is_skipped_and_a_failed_one_is_an_error(loaded: Loader) -> None:
    failed = [tools.skipped("Unexpected error: out of memory", n=1),
              tools.skipped("Skipped because a previous state requested a stop.", n=2)]  # fmt: skip
    states = [tools.state(1.0), tools.skipped("not a conversion", n=0), *failed]
    rows = loaded(tools.nvbench({"a": states})).rows
    assert (rows["a/n:0"].skipped, rows["a/n:0"].error) == (True, "not a conversion")
    assert not rows["a/n:1"].skipped
    assert "out of memory" in (rows["a/n:1"].error or "")
    assert not rows["a/n:2"].skipped
    assert rows["a/n:2"].error


def test_a_gpu_is_in_names_only_where_a_file_has_several(loaded: Loader) -> None:
    gpus = ["A", "B", "unused"]
    states = [tools.state(1.0, device=0), tools.state(2.0, device=1)]
    record = loaded(tools.nvbench({"a": states}, gpus))
    assert {name: row.seconds for name, row in record.rows.items()} == pytest.approx(
        {"a/device:0": 1.0, "a/device:1": 2.0}
    )
    (session,) = record.sessions.values()
    assert session.gpu_name == "A, B"
    assert [*loaded(tools.nvbench({"a": states[1:]}, gpus)).rows] == ["a"]


def test_a_state_without_a_usable_time_is_an_error_row_and_others_are_read(loaded: Loader) -> None:
    nothing = {**tools.state(1.0, n=1), "summaries": None}
    states = [tools.state(1.0), nothing, tools.state(0.0, n=2), tools.state(math.nan, n=3)]
    record = loaded(tools.nvbench({"a": states}))
    errors = {name: row.error for name, row in record.rows.items() if row.error}
    assert [*errors] == ["a/n:1", "a/n:2", "a/n:3"]
    assert "neither a GPU time nor a CPU time" in str(errors["a/n:1"])
    assert "a time must be positive" in str(errors["a/n:2"])
    assert len(record.faults) == 3


def test_a_name_that_two_states_have_is_an_error(loaded: Loader) -> None:
    states = [tools.state(1.0), tools.state(1.0, n=1), tools.state(1.0, n=1)]
    record = loaded(tools.nvbench({"a": states}))
    assert record.rows["a"].error is None
    assert "is in the file twice" in str(record.rows["a/n:1"].error)


SAMPLES = [1e-6 * (1 + index % 7 / 100) for index in range(700)]


def test_the_samples_beside_a_file_are_its_repetitions(tmp_path: Path) -> None:
    row = load(tools.with_samples(tmp_path / "x.json", SAMPLES)).rows["a"]
    assert len(times(row)) == 100
    assert row.seconds == pytest.approx(median(SAMPLES))
    assert stdev(times(row)) == pytest.approx(stdev(SAMPLES), rel=0.05)


def test_samples_that_were_not_kept_leave_mean_and_noise(tmp_path: Path) -> None:
    path = tools.with_samples(tmp_path / "x.json", SAMPLES)
    (tmp_path / "x.json-bin/0.bin").unlink()
    assert load(path).rows["a"].seconds == pytest.approx(sum(SAMPLES) / len(SAMPLES))


def test_samples_that_are_not_whole_or_of_another_run_are_refused(tmp_path: Path) -> None:
    assert "0.bin: holds other samples than this run's" in fault_of_row(
        tools.with_samples(tmp_path / "x.json", SAMPLES, 701)
    )
    path = tools.with_samples(tmp_path / "y.json", SAMPLES)
    tools.with_samples(tmp_path / "z.json", [2 * sample for sample in SAMPLES])
    (tmp_path / "z.json-bin/0.bin").replace(tmp_path / "y.json-bin/0.bin")
    assert "0.bin: holds other samples than this run's" in fault_of_row(path)


def fault_of_row(path: Path) -> str:
    """The sentence on the only row of a file."""
    with pytest.raises(UserError) as caught:
        load(path)
    return str(caught.value)


def test_files_of_two_programs_with_the_same_names_are_no_processes(tmp_path: Path) -> None:
    for program in ("reduce", "scan"):
        document = tools.nvbench({"base": [tools.state(1.0)]})
        document["meta"]["argv"] = [f"bin/{program}"]
        write(tmp_path / f"{program}.json", document)
    record = load(tmp_path)
    assert record.rows.keys() == {"reduce/base", "scan/base"}
    assert record.single_process


def test_files_of_a_folder_are_processes_on_the_device_clock(tmp_path: Path) -> None:
    for index in (1, 2, 3):
        write(tmp_path / f"{index}.json", tools.nvbench({"a": [tools.state(index * 1e-6)]}))
    record = load(tmp_path)
    assert times(record.rows["a"]) == pytest.approx((1e-6, 2e-6, 3e-6))
    assert record.rows["a"].clock is Clock.DEVICE
    assert not record.single_process


REFUSED: list[tuple[Json, str]] = [
    (tools.nvbench({}, major=2, string="2.0.0"), "nvbench's JSON of version '2.0.0'; this warpg"),
    (tools.nvbench({}), "holds no benchmark"),
    (tools.nvbench({"a": []}), "holds no benchmark"),
    (tools.nvbench({"a": [tools.state(0.0)]}), "a time must be positive"),
    ({**tools.nvbench({"a": [tools.state(1.0)]}), "devices": 1}, "'devices' is a number, not a l"),
    (tools.nvbench({"a": [{**tools.state(1.0), "axis_values": [1]}]}), "not a list of objects"),
]


@pytest.mark.parametrize(("document", "sentence"), REFUSED)
def test_a_file_that_cannot_be_used_is_one_sentence(
    tmp_path: Path, document: Json, sentence: str
) -> None:
    assert sentence in fault(write(tmp_path / "x.json", document))


def test_a_file_that_was_cut_off_is_one_sentence(tmp_path: Path) -> None:
    path = tools.cut_off(tmp_path / "x.json", tools.nvbench({"a": [tools.state(1.0)]}))
    assert "ends in the middle" in fault(path)
