# SPDX-License-Identifier: Apache-2.0
"""Run files, baselines and plain Google Benchmark files, as small as a test can have them."""

from __future__ import annotations

import json
import math
import random
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

Json = dict[str, object]

GPU = "NVIDIA Test"
# Seven processes that agree to 0.1 %.
STEADY = (0.999, 0.9995, 1.0, 1.0, 1.0, 1.0005, 1.001)


def context(**keys: str) -> Json:
    """The context of a run on a GPU, as scripts/bench writes it."""
    told: Json = {
        "date": "2026-11-20T10:00:00+00:00",
        "num_cpus": 16,
        "caches": [],
        "gpu_name": GPU,
        "gpu_uuid": "GPU-1",
        "boot_id": "boot-1",
        "build_type": "Release",
        "commit": "c" * 40,
        "dirty": "false",
        "filter": "",
    }
    return {**told, **keys}


def row(name: str, times: Sequence[float] = STEADY, /, **keys: object) -> Json:
    """A run file's row: `times` in microseconds."""
    made: Json = {
        "name": name,
        "run_name": name,
        "run_type": "iteration",
        "iterations": 10,
        "real_time": sorted(times)[len(times) // 2],
        "cpu_time": 1.0,
        "time_unit": "us",
        "process_medians": list(times),
    }
    return {**made, **keys}


def pairs(ratios: Sequence[float | None], looks: Sequence[int] = ()) -> list[Json]:
    """The pairs of a candidate's row: ratios of slices, or None for processes that alternated.

    `looks` are the rounds of the looks; without any, there was one.
    """
    return [
        {
            "base_first": number % 2 == 1,
            "look": 1 + bisect_left(looks, number),
            "log_ratio": None if ratio is None else math.log(ratio),
            "slices": 0 if ratio is None else 5,
        }
        for number, ratio in enumerate(ratios, 1)
    ]


def failed(name: str, message: str = "out of device memory") -> Json:
    return {"name": name, "real_time": 0, "error_occurred": True, "error_message": message}


def scaled(factor: float, times: Sequence[float] = STEADY) -> list[float]:
    return [factor * time for time in times]


def noisy(seed: int, sd: float, factor: float = 1.0, processes: int = 7) -> list[float]:
    """Times of a few processes with log-normal noise between them."""
    source = random.Random(seed)
    return [factor * math.exp(source.gauss(0.0, sd)) for _ in range(processes)]


def run(rows: Sequence[Json], **keys: str) -> Json:
    return {"context": {"warpgauge_format": "run/1", **context(**keys)}, "benchmarks": list(rows)}


def baseline(rows: Sequence[Json], sessions: Mapping[str, Json], gpu_name: str = GPU) -> Json:
    """A baseline of rows whose process_medians are by session."""
    about: Json = {"warpgauge_format": "baseline/1", "gpu_name": gpu_name}
    return {"context": about, "sessions": dict(sessions), "benchmarks": list(rows)}


def google(rows: Sequence[Json], **keys: object) -> Json:
    """A plain file; as Google Benchmark does it numbers the rows of one name."""
    seen: Counter[object] = Counter()
    numbered: list[Json] = []
    for one in rows:
        if one.get("run_type") == "iteration":
            one = {"repetition_index": seen[one["name"]], **one}
            seen[one["name"]] += 1
        numbered.append(one)
    return {"context": {"date": "2026-11-20T10:00:00+00:00", **keys}, "benchmarks": numbered}


def google_row(name: str, time: float, **keys: object) -> Json:
    made: Json = {"name": name, "run_name": name, "run_type": "iteration", "iterations": 10}
    return {**made, "real_time": time, "cpu_time": time, "time_unit": "ns", **keys}


def write(path: Path, document: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path
