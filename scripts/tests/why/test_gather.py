# SPDX-License-Identifier: Apache-2.0
"""A side is run under CUPTI once: its calls are evidence, and the trace is kept where asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import fake_binary
from traces import process, text
from warpgauge.execution.discovery import Binary
from warpgauge.records.model import Clock, Row
from warpgauge.why import trace_file
from warpgauge.why.gather import Gathering

NAME = "sync/busy"


@pytest.mark.parametrize("kept", [False, True])
def test_the_trace_of_a_side_is_evidence_and_a_file(tmp_path: Path, kept: bool) -> None:
    fake_binary.make(tmp_path, "sync", {NAME: 5000.0}, trace=text(process(NAME, replays=5)))
    arguments = (f"--benchmark_out={tmp_path / 'row.json'}",)
    program = Binary(tmp_path / "bench_sync", (NAME,), arguments=arguments)
    library, scratch = tmp_path / trace_file.LIBRARY, tmp_path / "scratch"
    kept_in = tmp_path / "run-why" / "1-sync_busy"
    scratch.mkdir()
    library.touch()
    gathering = Gathering(scratch, None, library, 20.0, kept_in if kept else None)
    row = Row(NAME, {"s": (5e-6,)}, Clock.DEVICE)
    found = gathering.side(program, NAME, row, "base")
    assert found.calls
    assert found.device
    assert any(one.startswith("The base is not counted: ") for one in gathering.missing)
    path = kept_in / "trace-base.json"
    assert path.exists() is kept
    if kept:
        assert json.loads(path.read_text())["otherData"]["side"] == "base"
