# SPDX-License-Identifier: Apache-2.0
"""Run files of a fleet."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from builders import Json
from warpgauge.statistics.log_ratios import Array

GPUS_A_NODE, PROCESSES = 8, 7


def context_of(gpu: int, **facts: str) -> Json:
    """The context of a run file, without what all have in common."""
    node = f"node{gpu // GPUS_A_NODE:04}"
    return {"gpu_uuid": f"GPU-{gpu:032x}", "host_name": node, "boot_id": f"boot-{node}",
            "gpu_name": "NVIDIA H200", "warpgauge_format": "run/1", "build_type": "Release",
            "date": "2026-11-20T10:00:00+00:00", **facts}  # fmt: skip


def write_gpu(path: Path, context: Mapping[str, object], names: list[str], medians: Array) -> None:
    """`medians` (seconds) are rows x processes."""
    rows = []
    for name, times in zip(names, medians * 1e9, strict=True):
        short = [float(f"{time:.7g}") for time in times]
        told = {"name": name, "run_name": name, "time_unit": "ns", "process_medians": short,
                "real_time": sorted(short)[len(short) // 2]}  # fmt: skip
        rows.append(json.dumps(told))
    body = ",\n".join(rows)
    path.write_text(f'{{"context": {json.dumps(context)},\n"benchmarks": [\n{body}\n]}}\n')
