# SPDX-License-Identifier: Apache-2.0
"""Counters come out of ncu's table in seconds, bytes and parts, for one operation."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import shell
from counter_sets import ncu_table
from warpgauge.system.errors import UserError
from warpgauge.why import ncu as counters

_TIME, _BYTES = "gpu__time_duration.sum", "dram__bytes_read.sum"
_HIT, _ISSUED = "lts__t_sector_hit_rate.pct", "smsp__inst_executed.sum"
_LATENCY = "smsp__average_warp_latency_per_inst_issued.ratio"
_WRITTEN = "dram__bytes_write.sum"


def row(name: str, **values: str) -> dict[str, str]:
    names = {"time": _TIME, "read": _BYTES, "written": _WRITTEN, "hit": _HIT}
    names |= {"instructions": _ISSUED, "latency": _LATENCY}
    return {"Kernel Name": name, **{names[key]: value for key, value in values.items()}}


def test_base_units_and_grouped_digits_are_read() -> None:
    one = row("f", time="12,500", read="1,024,500", written="5e5", hit="40", instructions="6300000")
    units = {_TIME: "ns", _BYTES: "byte", _WRITTEN: "byte", _HIT: "%", _ISSUED: "inst"}
    found = counters.imported(ncu_table([one], units), 1.0)
    assert found == pytest.approx(
        {"time": 12.5e-6, "dram_bytes": 1.5245e6, "l2_hits": 0.4, "instructions": 6.3e6}
    )


@pytest.mark.parametrize("unit", ["nsecond", "ns"])
def test_older_words_for_units_are_known(unit: str) -> None:
    found = counters.imported(ncu_table([row("f", time="500")], {_TIME: unit}), 1.0)
    assert found["time"] == pytest.approx(5e-7)


def test_several_kernels_become_one_operation() -> None:
    rows = [
        row("f", time="3000", hit="50", instructions="100", latency="10"),
        row("g", time="1000", hit="90", instructions="300", latency="30"),
    ]
    units = {_TIME: "ns", _HIT: "%", _ISSUED: "", _LATENCY: ""}
    for operations in (1, 2):
        found = counters.imported(ncu_table(rows * operations, units), kernels=2.0)
        assert found == pytest.approx(
            {"time": 4e-6, "l2_hits": 0.6, "instructions": 400.0, "latency": 25.0}
        )
        assert counters.imported(ncu_table(rows * operations, units), None) == found


def test_what_a_gpu_does_not_count_is_absent() -> None:
    found = counters.imported(ncu_table([row("f", time="3")], {_TIME: "ns", _HIT: "%"}), 1.0)
    assert set(found) == {"time"}


def test_a_part_of_nothing_is_absent() -> None:
    rows = [row("f", time="1", hit="nan"), row("g", time="1", hit="40")]
    found = counters.imported(ncu_table(rows, {_TIME: "s", _HIT: "%"}), kernels=2.0)
    assert found == pytest.approx({"time": 2.0, "l2_hits": 0.4})


@pytest.mark.parametrize("text", ["", "==ERROR== no kernels were profiled\n", '"Kernel Name"\n'])
def test_no_table_is_nothing(text: str) -> None:
    assert counters.imported(text, 1.0) == {}


def ncu(folder: Path, script: str) -> None:
    """A profiler that does what `script` says."""
    shell.script(folder / "ncu", script)


def test_metrics_that_ncu_does_not_know_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "table").write_text(ncu_table([row("f", time="7")], {_TIME: "ns"}))
    ncu(
        tmp_path,
        f'case "$*" in *idc__requests*) echo "==ERROR== Failed to find metric '
        f'regex:^idc__requests(\\.sum)?$"; exit 1;; *dram__bytes_read*) echo "==ERROR== '
        f'Failed to find metric dram__bytes_read.sum" >&2; exit 1;; esac; cat {tmp_path}/table',
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = counters.counted(["program"], tmp_path, 600.0, 1.0)
    assert found == pytest.approx({"time": 7e-9})


@pytest.mark.parametrize(
    ("script", "told", "deadline_s"),
    [
        (
            'echo "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission"; exit 1',
            "root",
            600.0,
        ),
        ("exit 0", "ncu counted nothing", 600.0),
        ("exec sleep 600", "did not finish", 0.1),
    ],
)
def test_why_there_are_no_counters_is_one_sentence(
    script: str, told: str, deadline_s: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ncu(tmp_path, script)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(UserError, match=told) as fault:
        counters.counted(["program"], tmp_path, deadline_s, 1.0)
    assert "\n" not in str(fault.value)
