# SPDX-License-Identifier: Apache-2.0
"""Evidence of a side comes from one traced run; two programs are compared without running them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import fake_binary
import isolating
from traces import process, text
from warpgauge.commands.explain import parse
from warpgauge.measure.discovery import Binary
from warpgauge.measure.measuring import Measuring
from warpgauge.records.counters import Clock
from warpgauge.records.row import Row
from warpgauge.system.layout import Output
from warpgauge.why import cupti
from warpgauge.why.cupti import Activity
from warpgauge.why.explain import Gathering

NAME = "sync/busy"


def gathering(folder: Path, trace: Sequence[Activity]) -> Gathering:
    """Of a program that leaves this trace."""
    fake_binary.make(folder, "sync", {NAME: 5000.0}, trace=text(trace))
    library, scratch = folder / cupti.LIBRARY, folder / "scratch"
    scratch.mkdir()
    library.touch()
    measuring = Measuring(parse([NAME]), folder, scratch, Output(stderr=True))
    return Gathering(measuring, library)


def test_an_operation_without_kernels_is_not_asked_for_counters(tmp_path: Path) -> None:
    calls = [one for one in process(NAME, batches=2) if one.kind != "kernel"]
    gathers = gathering(tmp_path, calls)
    program = Binary(tmp_path / "bench_sync", (NAME,))
    found = gathers.side(program, Row(NAME, {"s": (5e-6,)}, Clock.HOST), "base")
    assert found.calls
    assert gathers.missing == []


def test_the_trace_of_a_side_is_evidence(tmp_path: Path) -> None:
    program = Binary(tmp_path / "bench_sync", (NAME,))
    gathers = gathering(tmp_path, process(NAME, replays=5))
    found = gathers.side(program, Row(NAME, {"s": (5e-6,)}, Clock.DEVICE), "base")
    assert found.calls
    assert found.device
    assert any(one.startswith("The base is not counted: ") for one in gathers.missing)


def test_an_isolated_program_is_traced_but_not_profiled() -> None:
    with isolating.folder() as folder:
        gathers = gathering(folder, process(NAME, replays=5))
        options = replace(gathers.measuring.options, isolate="always", build_dir=folder)
        gathers = replace(gathers, measuring=replace(gathers.measuring, options=options))
        program = Binary(folder / "bench_sync", (NAME,))
        found = gathers.side(program, Row(NAME, {"s": (5e-6,)}, Clock.DEVICE), "base")
    assert found.device
    assert "The base is not counted: ncu cannot profile isolated programs." in gathers.missing
