# SPDX-License-Identifier: Apache-2.0
"""--device all: what is told of it where little is to be told, and in the log of all."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_every_gpu import GPUS, programs

from bench_process import BenchProcess


@pytest.fixture
def machine(tmp_path: Path) -> BenchProcess:
    """With two GPUs, on both of which a benchmark crashes."""
    made = BenchProcess(tmp_path)
    programs(made, ill={"sync/busy": "crash"})
    return made


def test_the_log_of_all_has_what_found_the_gpus(machine: BenchProcess) -> None:
    machine.run("--device=all", "--quick", "--out=run.json")
    log = (machine.root / "run.log").read_text()
    for index in range(len(GPUS)):
        assert f"bench_sync '--benchmark_filter=^sync/idle$' --device={index}  #" in log
