#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small program with the command line of nvbench, without a GPU. FACTOR is how long it takes."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

AXES = {"T": ("type", "", ["I32", "F64"]), "Elements": ("int64", "pow2", ["10", "12"])}


def listed() -> str:
    lines = ["# Devices", "", "## [0] `Fake GPU`", "* SM Version: 900", "", "# Benchmarks", ""]
    lines += ["## [0] `copy` (4 configurations)", "", "### Axes", ""]
    for name, (kind, flags, values) in AXES.items():
        lines.append(f"* `{name}` : {kind}{f' [{flags}]' if flags else ''}")
        lines += [f"  * `{value}` (a value)" for value in values]
    return "\n".join([*lines, "", "## [1] `fails` (1 configurations)", "", "### Axes", "", ""])


def summary(tag: str, value: float) -> dict[str, object]:
    return {"tag": tag, "data": [{"name": "value", "type": "float64", "value": str(value)}]}


def state(values: dict[str, str]) -> dict[str, object]:
    elements = 1 << int(values["Elements"])
    seconds = (
        1e-9 * elements * float(os.environ.get("FACTOR", "1")) * (1 + 1e-4 * (os.getpid() % 9))
    )
    axes = [
        {"name": "T", "type": "string", "value": values["T"]},
        {"name": "Elements", "type": "int64", "value": str(elements)},
    ]
    tags = {
        "time/gpu/mean": seconds,
        "sample_size": 100,
        "time/gpu/stdev/relative": 0.01,
        "sm_clock_rate/mean": 1.9e9,
    }
    summaries = [summary(f"nv/cold/{tag}", value) for tag, value in tags.items()]
    return {"name": "a", "device": 0, "axis_values": axes, "summaries": summaries,
            "is_skipped": False}  # fmt: skip


def main(argv: list[str]) -> int:
    if argv == ["--list"]:
        print(listed())
        return 0
    given: dict[str, list[str]] = {}
    for option, value in zip(argv[::2], argv[1::2], strict=True):
        if option not in ("--benchmark", "--axis", "--json"):
            print(f"Unrecognized command-line argument: `{option}`.", file=sys.stderr)
            return 1
        given.setdefault(option, []).append(value)
    if given["--benchmark"] == ["fails"]:
        print("an illegal memory access was encountered", file=sys.stderr)
        return 1
    values = dict(axis.replace("[pow2]", "").split("=") for axis in given["--axis"])
    document = {
        "meta": {"argv": ["bench"], "version": {"json": {"major": 1}, "nvbench": {"major": 0}}},
        "devices": [{"id": 0, "name": "Fake GPU"}],
        "benchmarks": [{"name": "copy", "states": [state(values)]}],
    }
    Path(given["--json"][0]).write_text(json.dumps(document))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
