# SPDX-License-Identifier: Apache-2.0
"""The table of `warpgauge baseline limits`."""

from __future__ import annotations

from baselines import Baselines
from builders import row, run, scaled, write
from warpgauge.baselines.store import record
from warpgauge.system.errors import ExitStatus


def test_each_benchmark_has_its_time_its_rate_and_the_share_of_its_limit(
    baselines: Baselines,
) -> None:
    rows = [
        row("memcpy/a", scaled(1.0), bytes_per_second=2e12, limit_fraction=0.974),
        row("gemm/b", scaled(2.0), flops_per_second=5e13, limit_fraction=0.9),
        row("sync/c", scaled(3.0)),
    ]
    path = write(baselines.root / "run.json", run(rows, boot_id="one"))
    record(path, baselines.root / "baselines")
    assert baselines.command("limits", "nvidia-test") is ExitStatus.OK
    head, rule, *lines = baselines.output().splitlines()
    assert head == "| benchmark | time | rate | of its limit |"
    assert rule == "| :-- | --: | --: | --: |"
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    told = {name: rest for name, _, *rest in cells}
    assert told["`memcpy/a`"] == ["2000 GB/s", "97 %"]
    assert told["`gemm/b`"] == ["50.00 TFLOP/s", "90 %"]
    assert told["`sync/c`"] == ["", ""]
