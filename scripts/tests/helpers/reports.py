# SPDX-License-Identifier: Apache-2.0
"""What a process reports, and what a run file makes of several reports."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from warpgauge.measure import run_file
from warpgauge.measure.discovery import Binary
from warpgauge.measure.plan import TurnResult
from warpgauge.records import program_report
from warpgauge.records.program_report import Report


def reported(
    rows: Sequence[Mapping[str, object]], binary: Binary | None = None, **context: object
) -> Report:
    """The report of a process with these rows of Google Benchmark's JSON, named by `binary`."""
    document = {"context": context, "benchmarks": list(rows)}
    found = program_report.parsed(json.dumps(document).encode())
    assert found is not None
    if binary is None:
        return found
    own = map(binary.own_row, found.rows.values())
    return replace(found, rows={row.name: row for row in own})


def written(
    binaries: Sequence[Binary], outcomes: Iterable[TurnResult], looks: Sequence[int] | None = None
) -> list[dict[str, Any]]:
    """The rows of the run file of these outcomes."""
    text = run_file.text({}, run_file.rows(binaries, outcomes, looks))
    found: list[dict[str, Any]] = json.loads(text)["benchmarks"]
    return found
