# SPDX-License-Identifier: Apache-2.0
"""Read what one process reports: Google Benchmark's JSON, from a program that may be faulty."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from warpgauge.records.document import document_of
from warpgauge.records.fields import context_strings
from warpgauge.records.google_benchmark import rows_of_process
from warpgauge.records.row import Row
from warpgauge.system.errors import UserError
from warpgauge.system.location import Place

_LARGEST = 64 * 2**20  # bytes; a larger file is not a report


@dataclass(frozen=True)
class Report:
    """The context of a process, and its rows by name; a row that measured nothing has an error."""

    context: Mapping[str, str] = field(default_factory=dict)
    rows: Mapping[str, Row] = field(default_factory=dict)


def read(path: Path) -> Report | None:
    """Return the report in a file, or None if it holds none."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            return None
        return parsed(path.read_bytes())
    except OSError:
        return None


def parsed(content: bytes) -> Report | None:
    """Return the report in `content`, or None if it is none, or could not become a run file."""
    place = Place(Path("its report"))
    content = content.decode(errors="replace").encode()  # messages may hold any bytes
    try:
        document = document_of(place, content)
        context = context_strings(document.top, place)
        if "context" not in document.top:
            return None
        if document.top.get("benchmarks") == [] and not document.raw_rows:
            return Report(context)
        rows, _ = rows_of_process(document, "")
        return Report(context, rows)
    except UserError:
        return None
