# SPDX-License-Identifier: Apache-2.0
"""Files in `version_0_2`, as that version wrote them, mean the same to this one.

Never edit them. What a later version cannot read gets another format number, and a refusal.
"""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from warpgauge.history import lines as history
from warpgauge.measure import drive_lines
from warpgauge.measure.drive_lines import Begin, End, Fault, Program, Ratio
from warpgauge.records import load, program_report
from warpgauge.records.counters import Clock
from warpgauge.records.model import Source
from warpgauge.system.errors import ExitStatus
from warpgauge.system.location import Place
from warpgauge.verdict import policy

FILES = Path(__file__).parent / "version_0_2"
TILED = "gemm/tiled/f32/n:1024"


def test_a_run_file_is_read() -> None:
    record = load.load(FILES / "run.json")
    slower, skipped, host = record.rows.values()
    assert record.source is Source.RUN
    assert (slower.name, slower.clock) == ("gemm/register_2d/f32/n:2048", Clock.DEVICE)
    assert (len(slower.pairs), slower.machine_code) == (14, "8453eea84a4d08c2")
    assert slower.seconds == pytest.approx(582.4e-6, rel=1e-4)
    assert slower.pairs[0].log_ratio == pytest.approx(0.06556, abs=1e-5)
    assert (skipped.skipped, skipped.error) == (True, "needs 2 GPUs: --device 0,1")
    assert (host.name, host.clock, len(host.pairs)) == ("sync/stream_idle", Clock.HOST, 8)


def test_a_baseline_is_read() -> None:
    record = load.load(FILES / "baseline.json")
    row = record.rows[TILED]
    assert record.source is Source.BASELINE
    assert record.sessions.keys() == row.process_medians.keys()
    assert [len(times) for times in row.process_medians.values()] == [7] * 4
    assert {session.gpu_name for session in record.sessions.values()} == {"NVIDIA H200"}
    assert row.process_medians["2026-11-26-0674567a"][0] == pytest.approx(269.064e-6)


def test_a_policy_is_read() -> None:
    found = policy.load(FILES / "policy.toml")
    (expected,), (pin,) = found.expected, found.pins
    assert found.fail_on_resources
    assert [one.pattern.pattern for one in found.required] == ["^gemm/"]
    assert (expected.percent, expected.expires) == (5, date(2027, 1, 31))
    assert expected.resources
    assert [one.percent for one in (*found.tolerances, *found.minimum_effects)] == [10, 25]
    assert [one.percent for one in found.energies] == [3.5]
    assert (pin.architectures, pin.registers, pin.spills) == (("sm_90",), 64, 0)
    assert (pin.shared_bytes, pin.stack_bytes, pin.occupancy) == (8192, 0, 0.5)


def test_a_night_of_the_history_is_read() -> None:
    path = FILES / "night.jsonl"
    night = history.read(path.read_bytes(), Place(path))
    assert (night.run, night.date[:10], night.host) == (42, "2026-11-28", ("sync/stream_idle",))
    assert night.benchmarks[TILED] == history.Point(0.0002692, 0.0012, 7)
    assert night.ratios[TILED] == history.Ratio(0.0005, 0.002, 8)
    assert night.unmeasured == {"nccl/all_reduce/f32/bytes:8": "needs 2 GPUs"}


def test_the_lines_of_a_driver_are_read() -> None:
    lines = drive_lines.Lines(FILES / "lines.jsonl").new()
    begin, ratio, report, _, _, fault, end = lines
    assert begin == Begin(0, TILED)
    assert ratio == Ratio(0, TILED, 0.0005, 7, (0.0044, 0.0045))
    assert isinstance(report, drive_lines.Report)
    found = program_report.parsed(report.report.encode())
    assert found is not None
    assert found.rows[TILED].seconds == pytest.approx(269.312e-6)
    assert found.rows[TILED].counters["limit_fraction"] == 0.15
    assert fault == Fault(1, ["BM_copy"], 0, "run", "ended", -11, "", "Segmentation fault")
    assert end == End(1, 0.25, True, [-11])


def test_a_driver_gets_a_plan_that_it_reads() -> None:
    # It refuses keys that it does not know: a plan with another one is of another version.
    pair = [["a/bench", "--device=0"], ["b/bench", "--device=0"]]
    programs = [
        Program(pair, "driven", [TILED], [1, 0], 3),
        Program([["bench_plain"]], "plain", ["BM_copy"]),
        Program([["bench", "--describe"]], "listing"),
    ]
    plan = drive_lines.encoded(drive_lines.Plan("7", 120.0, programs, isolate=True))
    assert json.loads(plan) == json.loads((FILES / "plan.json").read_text())


def test_an_exit_status_means_the_same() -> None:
    assert {status.name: int(status) for status in ExitStatus} == {
        "OK": 0, "REGRESSION": 1, "BAD_USAGE": 2, "NOT_MEASURED": 3,
    }  # fmt: skip
