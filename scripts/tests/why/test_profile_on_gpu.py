# SPDX-License-Identifier: Apache-2.0
"""warpgauge explain of real programs, where there is a GPU and a build."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from test_trace_views import require_flows, require_nested

from warpgauge.system.environment import ROOT
from warpgauge.system.process import nvidia_smi
from warpgauge.why import cupti
from warpgauge.why.cupti import Activity, calls_of, device_of, kernels_in, ranges

PROGRAMS = ROOT / "build" / "release" / "benchmarks"
# One that is replayed, and one that the host's clock times; an operation of each is a kernel.
REPLAYED, CALLED = "elementwise/copy_vec4/f32/n:4096", "launch/stream_empty/argument_bytes:0"


pytestmark = [
    pytest.mark.skipif(not nvidia_smi("-L"), reason="there is no GPU"),
    pytest.mark.skipif(
        not (PROGRAMS / cupti.LIBRARY).exists(), reason="build/release has no trace library"
    ),
]


def traced(name: str, folder: Path) -> Sequence[Activity]:
    """What a process of this one benchmark leaves."""
    program = PROGRAMS / f"bench_{name.partition('/')[0]}"
    file = folder / "trace.json"
    variables = cupti.environment(PROGRAMS / cupti.LIBRARY, file)
    command = [str(program), "--suite=full", f"--benchmark_filter=^{name}$"]
    subprocess.run(command, env={**os.environ, **variables}, check=True, timeout=300)
    return cupti.read_trace(file)


@pytest.mark.parametrize("name", [REPLAYED, CALLED])
def test_an_operation_is_one_launch_of_one_kernel(name: str, tmp_path: Path) -> None:
    trace = traced(name, tmp_path)
    names = [one.name for one in ranges(trace)]
    assert {name, "prepare", "verify", "measure", "operation"} <= {*names}
    assert ("launch" in names, "calls" in names) == (name == REPLAYED, name == CALLED)
    assert len(kernels_in(device_of(trace))) == 1
    launches = {n: one.count for n, one in calls_of(trace).items() if "Launch" in n}
    assert list(launches.values()) == [1.0]


@pytest.mark.parametrize("name", [REPLAYED, CALLED])
def test_table_and_trace_are_of_what_ran(name: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    command = [sys.executable, f"{ROOT}/scripts/warpgauge", "explain", name]
    for argv in ([], ["--trace", str(path)]):
        done = subprocess.run([*command, *argv], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        assert ("cuda" in done.stdout) == (not argv)
    events = json.loads(path.read_text())["traceEvents"]
    require_nested(events)
    require_flows(events)
    assert {"kernel", "runtime", "driver", "range", "flow"} <= {one.get("cat") for one in events}
