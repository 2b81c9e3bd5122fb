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
from warpgauge.why.explain import evidence
from warpgauge.why.profiling import Profiling
from warpgauge.why.reason import Evidence

NAME = "sync/busy"


def gathered(
    folder: Path, trace: Sequence[Activity], clock: Clock, isolate: str = "never"
) -> tuple[Evidence, list[str]]:
    """The evidence of a program that leaves this trace, and what is missing."""
    fake_binary.make(folder, "sync", {NAME: 5000.0}, trace=text(trace))
    library, scratch = folder / cupti.LIBRARY, folder / "scratch"
    scratch.mkdir()
    library.touch()
    options = replace(parse([NAME]), isolate=isolate, build_dir=folder)
    measuring = Measuring(options, folder, scratch, Output(stderr=True))
    side = Profiling(measuring, Binary(folder / "bench_sync", (NAME,)), lambda: 60.0)
    missing = list[str]()
    return evidence(side, Row(NAME, {"s": (5e-6,)}, clock), "base", library, missing), missing


def test_an_operation_without_kernels_is_not_asked_for_counters(tmp_path: Path) -> None:
    calls = [one for one in process(NAME, batches=2) if one.kind != "kernel"]
    found, missing = gathered(tmp_path, calls, Clock.HOST)
    assert found.calls
    assert missing == []


def test_the_trace_of_a_side_is_evidence(tmp_path: Path) -> None:
    found, missing = gathered(tmp_path, process(NAME, replays=5), Clock.DEVICE)
    assert found.calls
    assert found.device
    assert any(text.startswith("The base is not counted: ") for text in missing)


def test_an_isolated_program_is_traced_but_not_profiled() -> None:
    with isolating.folder() as folder:
        found, missing = gathered(folder, process(NAME, replays=5), Clock.DEVICE, "always")
    assert found.device
    assert "The base is not counted: ncu cannot profile isolated programs." in missing
