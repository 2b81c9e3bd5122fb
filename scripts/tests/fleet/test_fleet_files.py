# SPDX-License-Identifier: Apache-2.0
"""Folders of run files, whole, damaged and mixed, and what is said of the GPUs in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from fleet_files import GPUS_A_NODE, PROCESSES, context_of, write_gpu
from warpgauge.fleet import judging, reading
from warpgauge.fleet.judging import Baseline, Kind, Report
from warpgauge.system.errors import ExitStatus, UserError

NAMES = [f"gemm/cublas/n:{n}" for n in range(12)]
NODES = 5


def write_fleet(
    folder: Path, slower: Mapping[int, float] | None = None, gpus: int = NODES * GPUS_A_NODE,
    **facts: str,
) -> None:  # fmt: skip
    """`slower` GPUs take longer by a fraction in the first six benchmarks."""
    source = np.random.default_rng(5)
    folder.mkdir(exist_ok=True)
    for gpu in range(gpus):
        typical = 1e-4 * np.exp(source.normal(0.0, 0.002, (len(NAMES), 1)))
        medians = typical * np.exp(source.normal(0.0, 0.001, (len(NAMES), PROCESSES)))
        medians[:6] *= 1.0 + (slower or {}).get(gpu, 0.0)
        write_gpu(folder / f"{gpu}.json", context_of(gpu, **facts), NAMES, medians)


def change(path: Path, **facts: object) -> None:
    """Of a run file's context."""
    told = json.loads(path.read_text())
    told["context"] |= facts
    path.write_text(json.dumps(told))


def change_rows(path: Path, **counters: float) -> None:
    """Of all rows of a run file."""
    told = json.loads(path.read_text())
    told["benchmarks"] = [{**row, **counters} for row in told["benchmarks"]]
    path.write_text(json.dumps(told))


def report(folder: Path, table: Path | None = None) -> Report:
    return judging.judged(reading.read(folder), table)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """GPU 11 is slower by 12 %."""
    write_fleet(tmp_path / "runs", {11: 0.12})
    return tmp_path / "runs"


def test_the_slow_gpu_is_named_with_its_node_and_benchmarks(folder: Path) -> None:
    (one,) = report(folder).outliers
    assert (one.kind, one.name, one.node) == (Kind.GPU, f"GPU-{11:032x}", "node0001")
    assert {row.benchmark for row in one.rows} == {*NAMES[:6]}
    assert one.rows[0].slowdown == pytest.approx(0.12, abs=0.01)
    assert one.rows[0].slowdown >= one.rows[-1].slowdown


def test_the_base_of_a_pair_is_no_run_of_its_gpu(folder: Path) -> None:
    """Whatever its name, and although it may be as new as the candidate."""
    write_fleet(folder / "bases", gpus=12, pair_side="base")
    found = reading.read(folder)
    assert len(found.gpus) == NODES * GPUS_A_NODE
    assert found.older == ()
    assert len(report(folder).outliers) == 1
    with pytest.raises(UserError, match="all files are the base of a pair"):
        reading.read(folder / "bases")


def test_files_read_by_several_processes_are_read_alike(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = reading.read(folder)
    monkeypatch.setattr(reading, "_WORTH_PROCESSES", 0)
    monkeypatch.setattr(reading, "_CHUNK", 7)
    other = reading.read(folder)
    assert one.names == other.names
    assert [gpu.path for gpu in one.gpus] == [gpu.path for gpu in other.gpus]
    assert np.array_equal(one.logs, other.logs)
    assert np.array_equal(one.own, other.own)


def test_a_file_that_cannot_be_read_is_told_and_the_others_count(folder: Path) -> None:
    whole = (folder / "3.json").read_text()
    (folder / "3.json").write_text(whole[:900])
    change(folder / "4.json", warpgauge_format="run/9")
    (folder / "5.json").write_text("")
    change(folder / "6.json", gpu_uuid="")
    found = report(folder)
    assert [one.name for one in found.outliers] == [f"GPU-{11:032x}"]
    assert found.exit_status is ExitStatus.OUTSIDE
    faults = sorted(found.faults)
    for name, fault in zip("3456", faults, strict=True):
        assert f"{name}.json" in fault
    assert "run/9" in faults[1]


def test_a_healthy_fleet_with_an_unreadable_file_is_not_all_judged(tmp_path: Path) -> None:
    write_fleet(tmp_path)
    assert report(tmp_path).exit_status is ExitStatus.OK
    (tmp_path / "3.json").write_text("{")
    assert report(tmp_path).exit_status is ExitStatus.NOT_MEASURED


def test_the_newest_file_of_a_gpu_counts(folder: Path) -> None:
    healthy = json.loads((folder / "12.json").read_text())
    healthy["context"] |= context_of(11, date="2026-11-21T10:00:00+00:00")
    (folder / "later").mkdir()
    (folder / "later" / "11.json").write_text(json.dumps(healthy))
    found = report(folder)
    assert found.outliers == []
    assert found.older == (folder / "11.json",)


def test_each_gpu_model_is_judged_by_itself(folder: Path) -> None:
    for gpu in range(GPUS_A_NODE):
        change(folder / f"{gpu}.json", gpu_name="NVIDIA Other")
    change(folder / "39.json", gpu_name="NVIDIA Alone")
    found = report(folder)
    counts = {one.name: (len(one.measured.gpus), one.found is not None) for one in found.models}
    assert counts == {"NVIDIA H200": (31, True), "NVIDIA Other": (8, True),
                      "NVIDIA Alone": (1, False)}  # fmt: skip
    assert [one.name for one in found.outliers] == [f"GPU-{11:032x}"]


def test_one_node_is_judged_and_one_gpu_is_not(tmp_path: Path) -> None:
    write_fleet(tmp_path / "node", {2: 0.5}, gpus=8)
    write_fleet(tmp_path / "gpu", gpus=1)
    assert [one.name for one in report(tmp_path / "node").outliers] == [f"GPU-{2:032x}"]
    assert report(tmp_path / "gpu").exit_status is ExitStatus.NOT_MEASURED


def test_a_benchmark_that_failed_on_a_gpu_is_left_out_there(folder: Path) -> None:
    told = json.loads((folder / "11.json").read_text())
    told["benchmarks"][0] |= {"error_occurred": True, "error_message": "out of memory"}
    (folder / "11.json").write_text(json.dumps(told))
    (model,) = report(folder).models
    (one,), (excess,) = model.outliers, model.excess
    assert {row.benchmark for row in one.rows} == {*NAMES[1:6]}
    assert np.isnan(excess[model.measured.names.index(NAMES[0])])


def test_a_gpu_whose_benchmarks_failed_is_told_and_is_no_pass(tmp_path: Path) -> None:
    write_fleet(tmp_path)
    told = json.loads((tmp_path / "9.json").read_text())
    for row in told["benchmarks"][:4]:
        row |= {"error_occurred": True, "error_message": "out of memory"}
    (tmp_path / "9.json").write_text(json.dumps(told))
    found = report(tmp_path)
    assert found.exit_status is ExitStatus.NOT_MEASURED
    ((gpu, names),) = found.models[0].incomplete.items()
    assert gpu.uuid == f"GPU-{9:032x}"
    assert names == NAMES[:4]


def test_a_benchmark_that_most_gpus_lack_is_no_fault_of_theirs(tmp_path: Path) -> None:
    write_fleet(tmp_path)
    told = json.loads((tmp_path / "9.json").read_text())
    told["benchmarks"].append({**told["benchmarks"][0], "name": "p2p/copy"})
    (tmp_path / "9.json").write_text(json.dumps(told))
    assert report(tmp_path).exit_status is ExitStatus.OK


def test_a_folder_without_a_run_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no \*\.json"):
        reading.read(tmp_path)
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(UserError, match=r"a\.json"):
        reading.read(tmp_path)
    (tmp_path / "b.json").write_text("{}")
    with pytest.raises(UserError, match=r"a\.json.* \(and 1 more file cannot be read\)$"):
        reading.read(tmp_path)


@pytest.mark.parametrize(
    ("facts", "counters", "words"),
    [
        ({}, {"throttled": 7.0, "sm_clock_hz": 1.6e9, "clock_event_reasons": 4.0}, "power cap"),
        ({}, {"sm_clock_hz": 1.6e9}, "1.600 GHz, elsewhere at 1.980 GHz"),
        ({"ecc": "off"}, {}, "ecc is off, elsewhere on"),
        ({"pcie_width": "8"}, {}, "pcie_width is 8, elsewhere 16"),
        ({}, {"other_processes": 1.0}, "1 other process used the GPU"),
        ({}, {"bytes_per_second": 1e12}, "remapped rows"),
        ({}, {"host_clock": 0.0}, "measure again"),
    ],
)
def test_the_advice_names_what_differs(
    tmp_path: Path, facts: dict[str, str], counters: dict[str, float], words: str
) -> None:
    write_fleet(tmp_path, {11: 0.12}, gpus=16, ecc="on", pcie_width="16")
    for path in tmp_path.iterdir():
        change_rows(path, sm_clock_hz=1.98e9)
    change(tmp_path / "11.json", **facts)
    change_rows(tmp_path / "11.json", **counters)
    (one,) = report(tmp_path).outliers
    assert words in " ".join(one.advice)


def test_a_slow_node_is_told_to_look_at_its_host(tmp_path: Path) -> None:
    slow = dict.fromkeys(range(8, 16), 0.30)
    write_fleet(tmp_path, slow, gpus=8 * GPUS_A_NODE)
    for path in tmp_path.iterdir():
        change_rows(path, host_clock=1.0)
    (one,) = report(tmp_path).outliers
    assert (one.kind, one.name, one.gpus) == (Kind.NODE, "node0001", 8)
    assert one.advice[-1].startswith("host: ")


def test_a_fleet_of_which_most_are_slow_is_reported_against_a_baseline(tmp_path: Path) -> None:
    write_fleet(tmp_path, dict.fromkeys(range(16), 0.06), gpus=16)
    assert report(tmp_path).exit_status is ExitStatus.OK
    limits = dict.fromkeys(NAMES, (1e-4, 0.03))
    known = judging.judged(reading.read(tmp_path), None, Baseline(("NVIDIA H200",), limits))
    (one,) = known.outliers
    assert one.kind is Kind.MODEL
    assert {row.benchmark for row in one.rows} == {*NAMES[:6]}
    assert known.exit_status is ExitStatus.OUTSIDE
    with pytest.raises(UserError, match=r"the baseline has .NVIDIA L4"):
        judging.judged(reading.read(tmp_path), None, Baseline(("NVIDIA L4",), limits))


def test_many_slow_gpus_are_a_group_with_its_members(tmp_path: Path) -> None:
    write_fleet(tmp_path, dict.fromkeys(range(0, 40, 2), 0.06))
    (one,) = report(tmp_path).outliers
    assert (one.kind, one.gpus) == (Kind.GROUP, 20)
    assert {*one.members} == {f"GPU-{gpu:032x}" for gpu in range(0, 40, 2)}
    assert {row.benchmark for row in one.rows} == {*NAMES[:6]}


def test_fewer_than_eight_gpus_are_not_judged(tmp_path: Path) -> None:
    write_fleet(tmp_path, {2: 0.5}, gpus=7)
    found = report(tmp_path)
    assert found.outliers == []
    assert found.exit_status is ExitStatus.NOT_MEASURED


def racks(path: Path, lines: str) -> Path:
    path.write_text(lines)
    return path


def test_a_rack_of_the_table_that_is_slower_is_told(tmp_path: Path) -> None:
    nodes, rack = 24, range(8)
    slow = {gpu: 0.05 for gpu in range(nodes * GPUS_A_NODE) if gpu // GPUS_A_NODE in rack}
    write_fleet(tmp_path / "runs", slow, gpus=nodes * GPUS_A_NODE)
    lines = [f"node{node:04},{'a' if node in rack else 'b'}" for node in range(nodes)]
    table = racks(tmp_path / "nodes.csv", "\n".join(["node,rack", *lines]))
    (one,) = report(tmp_path / "runs", table).outliers
    assert (one.kind, one.name, one.gpus) == (Kind.LEVEL, "rack=a", len(rack) * GPUS_A_NODE)


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ("host,rack\nnode0000,a", "begins with the columns 'host'"),
        ("node\nnode0000", "begins with the columns 'node'"),
        ("node,rack\nnode0000,a,b", "too many columns"),
        ("node,rack\nnode0000,a\nnode0000,b", "has a node twice"),
        ("node,rack,rack\nnode0000,a,b", "begins with the columns"),
        ("node,rack\nother,a", "no run file belongs to 'other'"),
        ("", "is empty"),
    ],
)
def test_a_table_that_is_wrong_is_refused(tmp_path: Path, lines: str, fault: str) -> None:
    write_fleet(tmp_path / "runs", gpus=4)
    with pytest.raises(UserError, match=fault):
        report(tmp_path / "runs", racks(tmp_path / "nodes.csv", lines))
