# SPDX-License-Identifier: Apache-2.0
"""Result files of nvbench, pytest-benchmark, hyperfine and Catch2, as small as a test needs."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from builders import write

Tree = Any  # of JSON

GPU_TIME = "nv/cold/time/gpu"


def value(tag: str, amount: object, **data: object) -> Tree:
    values = {"value": amount, **data}
    named = [{"name": name, "type": "t", "value": None if of is None else str(of)}
             for name, of in values.items()]  # fmt: skip
    return {"tag": tag, "name": tag, "data": named}


def state(
    seconds: float, noise: object = 0.01, samples: int = 50, device: int = 0, **axes: Tree
) -> Tree:
    """What nvbench writes of a state that it measured on a GPU."""
    return {
        "name": "…",
        "device": device,
        "axis_values": axes_of(axes) or None,
        "summaries": [
            value("nv/cold/sample_size", samples),
            value("nv/cold/time/cpu/mean", 2 * seconds),
            value(f"{GPU_TIME}/mean", seconds),
            value(f"{GPU_TIME}/stdev/relative", noise),
            value("nv/batch/time/gpu/mean", seconds / 2),
        ],
        "is_skipped": False,
    }


def axes_of(axes: Mapping[str, object]) -> list[Tree]:
    kinds = {int: "int64", float: "float64", str: "string"}
    return [{"name": name, "type": kinds[type(of)], "value": str(of)} for name, of in axes.items()]


def skipped(reason: str, **axes: Tree) -> Tree:
    made = state(1.0, **axes)
    return {**made, "summaries": None, "is_skipped": True, "skip_reason": reason}


def nvbench(
    benchmarks: Mapping[str, Sequence[Tree]], gpus: Sequence[str] = ("NVIDIA H200",), **json: object
) -> Tree:
    form = {"major": 1, "minor": 0, "patch": 0, "string": "1.0.0", **json}
    return {
        "meta": {
            "argv": ["bin/bench", "--json", "x.json"],
            "version": {"json": form, "nvbench": {"string": "0.1.0"}},
        },
        "devices": [{"id": at, "name": name} for at, name in enumerate(gpus)],
        "benchmarks": [
            {"name": name, "index": at, "axes": None, "states": list(states)}
            for at, (name, states) in enumerate(benchmarks.items())
        ],
    }


def with_samples(path: Path, samples: Sequence[float], stated: int | None = None) -> Path:
    """A file of ``--jsonbin``: one benchmark, ``a``, with its samples beside it."""
    mean = sum(samples) / len(samples)
    made = state(mean)
    tag, size = "nv/json/bin:nv/cold/sample_times", len(samples) if stated is None else stated
    # Of an old version, which was started in another folder.
    name = f"/elsewhere/{path.name}-bin/0.bin"
    made["summaries"].append(value(tag, 0, filename=name, size=size))
    binary = path.parent / f"{path.name}-bin" / "0.bin"
    binary.parent.mkdir(parents=True, exist_ok=True)
    binary.write_bytes(struct.pack(f"<{len(samples)}f", *samples))
    return write(path, nvbench({"a": [made]}))


def pytest_benchmark(stats: Mapping[str, Tree]) -> Tree:
    return {
        "machine_info": {"node": "host", "cpu": {"brand_raw": "A CPU"}},
        "commit_info": {"id": "a" * 40, "dirty": True},
        "benchmarks": [
            {"name": name.rpartition(":")[2], "fullname": name, "stats": of}
            for name, of in stats.items()
        ],
        "datetime": "2026-11-20T10:00:00+00:00",
        "version": "5.1.0",
    }


def hyperfine(times: Mapping[str, Sequence[float]], **keys: object) -> Tree:
    return {
        "results": [
            {"command": command, "mean": 1.0, "user": 0.5, "system": 0.25, "times": list(of),
             "exit_codes": [0] * len(of), **keys}
            for command, of in times.items()
        ]
    }  # fmt: skip


def catch2(results: str) -> str:
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<Catch2TestRun name="tests" xml-format-version="3" catch2-version="3.5.0">'
        f'<TestCase name="sorting">{results}<OverallResult success="true"/></TestCase>'
        "</Catch2TestRun>"
    )


def result(name: str, mean: float, deviation: float = 10.0, samples: int = 100) -> str:
    """A benchmark of Catch2; times in nanoseconds."""
    return (
        f'<BenchmarkResults name="{name}" samples="{samples}" iterations="2">'
        f'<!-- All values in nano seconds --><mean value="{mean}" lowerBound="1" ci="0.95"/>'
        f'<standardDeviation value="{deviation}"/></BenchmarkResults>'
    )


def cut_off(path: Path, document: Tree) -> Path:
    """The file of a program that was killed while it wrote it."""
    path.write_text(json.dumps(document)[:-30], encoding="utf-8")
    return path
