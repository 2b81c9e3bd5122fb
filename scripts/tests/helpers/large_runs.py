# SPDX-License-Identifier: Apache-2.0
"""Two run files of any number of benchmarks, their rows shaped like those that a GPU delivered."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from pathlib import Path

from builders import Json

BASELINE = Path(__file__).parents[3] / "baselines" / "nvidia-h200"

# What a run file's row of device time has and a baseline does not keep.
_OF_THE_MOMENT: Json = {"clock_event_reasons": 0.0, "power_watts": 402.3, "other_processes": 0.0}
_HOST_FAMILY = "host"  # its rows decide whether times of the host count, so it must not grow

PROCESSES = 7
_NOISE = 0.002  # standard deviation of the log, from process to process
_CHANGED_EVERY, _CHANGE, _LARGE_CHANGE = 50, 1.05, 1.8


def write_pair(folder: Path, benchmarks: int) -> tuple[Path, Path]:
    """A baseline and a candidate in `folder`; each 50th benchmark of the candidate is 5 % slower.

    The rows are those of the H200's baseline over and over, each with its own name and times.
    """
    context, templates = _recorded()
    source = random.Random(1)
    paths = folder / "baseline.json", folder / "candidate.json"
    for path, change in zip(paths, (1.0, _CHANGE), strict=True):
        rows = [
            _row(templates, index, factor, source) for index, factor in _factors(benchmarks, change)
        ]
        path.write_text(json.dumps({"context": context, "benchmarks": rows}), encoding="utf-8")
    return paths


def write_plain_pair(folder: Path, benchmarks: int) -> tuple[Path, Path]:
    """The same as Google Benchmark writes it: a row a repetition. Each 50th is 80 % slower."""
    context: Json = {"date": "2026-11-20T10:00:00+00:00", "num_cpus": 16, "caches": []}
    source = random.Random(1)
    paths = folder / "baseline.json", folder / "candidate.json"
    for path, change in zip(paths, (1.0, _LARGE_CHANGE), strict=True):
        rows = [
            _repetition(index, number, factor, source)
            for index, factor in _factors(benchmarks, change)
            for number in range(PROCESSES)
        ]
        document = {"context": context, "benchmarks": rows}
        path.write_text(json.dumps(document, indent=2), encoding="utf-8")
    return paths


def _factors(benchmarks: int, change: float) -> Iterator[tuple[int, float]]:
    """By how much each takes longer."""
    for index in range(benchmarks):
        yield index, change if index % _CHANGED_EVERY == 0 else 1.0


def _repetition(index: int, number: int, factor: float, source: random.Random) -> Json:
    name = f"BM_Something<float>/size:{index}/threads:1/real_time"
    time = factor * (100.0 + index % 900) * math.exp(source.gauss(0.0, _NOISE))
    about: Json = {"name": name, "family_index": index // 100, "per_family_instance_index": index}
    about |= {"run_name": name, "run_type": "iteration", "repetitions": PROCESSES}
    about |= {"repetition_index": number, "threads": 1, "iterations": 1000, "real_time": time}
    return {**about, "cpu_time": 0.99 * time, "time_unit": "ns", "items_per_second": 1e9 / time}


def _recorded() -> tuple[Json, list[Json]]:
    """The context of a run, and the rows of all families that are not the host's own."""
    files = sorted(path for path in BASELINE.glob("*.json") if path.stem != _HOST_FAMILY)
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in files]
    session = list(documents[0]["sessions"].values())[-1]
    context = {**session, "warpgauge_format": "run/1", "filter": ""}
    return context, [row for document in documents for row in document["benchmarks"]]


def _row(templates: list[Json], index: int, factor: float, source: random.Random) -> Json:
    template = templates[index % len(templates)]
    name = f"{template['name']}/copy:{index // len(templates)}"
    typical = factor * float(str(template["real_time"]))
    times = [_short(typical * math.exp(source.gauss(0.0, _NOISE))) for _ in range(PROCESSES)]
    made: Json = {"name": name, "run_name": name, "process_medians": times}
    made["real_time"] = sorted(times)[PROCESSES // 2]
    return {**template, **made, **({} if "host_clock" in template else _OF_THE_MOMENT)}


def _short(time: float) -> float:
    """Seven digits, as scripts/bench writes them."""
    return float(f"{time:.7g}")
