# SPDX-License-Identifier: Apache-2.0
"""Writes the run file: Google Benchmark JSON with one row, on one line, a benchmark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from warpgauge.execution.discovery import Binary
from warpgauge.execution.turn_result import Outcome
from warpgauge.files.atomic import replace_all
from warpgauge.measurement.merge import JsonRow
from warpgauge.records.load import RUN_FORMAT
from warpgauge.records.partial_report import Report


def context(
    binaries: Sequence[Binary],
    outcomes: Iterable[Outcome],
    facts: Mapping[str, str],
    fallbacks: Mapping[str, str],
) -> Report:
    """Google Benchmark's context of the first report, and what else is known of the run.

    The other reports fill in what the first lacks, in the order of `binaries`; then `fallbacks` do.
    `facts` hold over all of them. A run that went on after a reboot is of no one boot; programs
    that were built in several ways are of all.
    """
    place = {binary.family: index for index, binary in enumerate(binaries)}
    merged: dict[str, object] = {}
    seen: dict[str, set[str]] = {"boot_id": set(), "build_type": set()}
    for outcome in sorted(outcomes, key=lambda o: (o.round, place[o.binary.family])):
        reported = outcome.report.get("context", {})
        for key in seen.keys() & reported.keys():
            seen[key].add(str(reported[key]))
        merged = {**reported, **merged}
    if len(seen["boot_id"]) > 1:
        merged["boot_id"] = ""
    if len(seen["build_type"]) > 1:
        merged["build_type"] = " and ".join(sorted(seen["build_type"]))
    missing = {key: value for key, value in fallbacks.items() if key not in merged}
    return {**merged, **missing, **facts, "warpgauge_format": RUN_FORMAT}


def write(path: Path, run_context: Report, rows: Sequence[JsonRow]) -> None:
    """Write the file whole or not at all; raises UserError."""
    write_all({path: (run_context, rows)})


def write_all(files: Mapping[Path, tuple[Report, Sequence[JsonRow]]]) -> None:
    """Write each file's context and rows, all files or none; raises UserError."""
    # Resolved: a link stays a link.
    replace_all({path.resolve(): _text(*content) for path, content in files.items()})


def _text(run_context: Report, rows: Sequence[JsonRow]) -> str:
    facts = ",\n".join(f"{json.dumps(key)}: {_json(value)}" for key, value in run_context.items())
    lines = ",\n".join(_json(row) for row in rows)
    return f'{{\n"context": {{\n{facts}\n}},\n"benchmarks": [\n{lines}\n]\n}}\n'


def _json(value: object) -> str:
    return json.dumps(value, allow_nan=False)
