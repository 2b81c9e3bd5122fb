# SPDX-License-Identifier: Apache-2.0
"""A side is run under CUPTI once: its calls are evidence, and the trace is kept where asked for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import fake_binary
from traces import process, text
from warpgauge.measure.discovery import Binary
from warpgauge.records.model import Clock, Row
from warpgauge.why import cupti
from warpgauge.why.cupti import Activity
from warpgauge.why.explain import Gathering

NAME = "sync/busy"


def gathering(folder: Path, trace: Sequence[Activity], kept: Path | None = None) -> Gathering:
    """Of a program that leaves this trace."""
    fake_binary.make(folder, "sync", {NAME: 5000.0}, trace=text(trace))
    library, scratch = folder / cupti.LIBRARY, folder / "scratch"
    scratch.mkdir()
    library.touch()
    return Gathering(scratch, None, library, 20.0, kept)


def test_an_operation_without_kernels_is_not_asked_for_counters(tmp_path: Path) -> None:
    calls = [one for one in process(NAME, batches=2) if one.kind != "kernel"]
    gathers = gathering(tmp_path, calls)
    program = Binary(tmp_path / "bench_sync", (NAME,))
    found = gathers.side(program, NAME, Row(NAME, {"s": (5e-6,)}, Clock.HOST), "base")
    assert found.calls
    assert gathers.missing == []


@pytest.mark.parametrize("kept", [False, True])
def test_the_trace_of_a_side_is_evidence_and_a_file(tmp_path: Path, kept: bool) -> None:
    program = Binary(tmp_path / "bench_sync", (NAME,))
    kept_in = tmp_path / "run-why" / "1-sync_busy"
    gathers = gathering(tmp_path, process(NAME, replays=5), kept_in if kept else None)
    row = Row(NAME, {"s": (5e-6,)}, Clock.DEVICE)
    found = gathers.side(program, NAME, row, "base")
    assert found.calls
    assert found.device
    assert any(one.startswith("The base is not counted: ") for one in gathers.missing)
    path = kept_in / "trace-base.json"
    assert path.exists() is kept
    if kept:
        assert json.loads(path.read_text())["otherData"]["side"] == "base"
