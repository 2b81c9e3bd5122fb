# SPDX-License-Identifier: Apache-2.0
"""The files of a baseline: their contents, and their text, which is stable for readable diffs."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warpgauge.records.counters import OF_THE_MOMENT, RESOURCES
from warpgauge.records.fields import context_strings
from warpgauge.records.load import BASELINE_FORMAT, json_files, load, load_document
from warpgauge.records.model import Record, Session, Source
from warpgauge.records.sessions import PAIR_KEY, PAIR_SIDE
from warpgauge.system.document import TIME_UNITS, read, rows_of
from warpgauge.system.errors import UserError
from warpgauge.system.json_file import Object
from warpgauge.system.text import inert
from warpgauge.verdict.comparability import BASELINES, BUILD_DIR, MANIFEST

# Seven digits are a hundred times finer than the repeatability of any benchmark.
_DIGITS = 7
_LINES = ",\n"

# Context fields about the place and time of a run rather than about its results.
_NOT_KEPT = OF_THE_MOMENT.union(
    (BUILD_DIR, MANIFEST, BASELINES, PAIR_KEY, PAIR_SIDE),
    "warpgauge_format host_name executable json_schema_version order_seed".split(),
    # The build type of Google Benchmark's package ("debug" on Debian), not of the benchmarks.
    ("library_build_type",),
)

# A session's processes are not measured in pairs.
_FIELDS_NOT_KEPT = OF_THE_MOMENT | {"process_rounds", "pair_ratios"}

Times = Mapping[str, Sequence[float]]

_REMEDY = {
    Source.RUN: "add it as a session with scripts/warpgauge baseline add-session",
    Source.GOOGLE_BENCHMARK: "measure with scripts/warpgauge baseline record",
}


@dataclass(frozen=True)
class FamilyFile:
    """One file: its record, and its rows by name as JSON objects.

    `gpu_name` is from the file's own context; empty if it has none.
    """

    path: Path
    record: Record
    rows: Mapping[str, Object]
    gpu_name: str


@dataclass(frozen=True)
class Folder:
    """All files of one GPU model's baseline, and their combined record."""

    path: Path
    whole: Record
    files: tuple[FamilyFile, ...]

    def session(self, family: str, key: str) -> Session:
        """Return a session as the family's file has it, or else as the whole baseline has it."""
        own = (file.record.sessions for file in self.files if file.path.stem == family)
        return {**self.whole.sessions, **next(own, {})}[key]

    @property
    def gpu_names(self) -> tuple[str, ...]:
        """The GPU models of its sessions; a good baseline has one."""
        names = {session.gpu_name for session in self.whole.sessions.values()}
        return tuple(sorted(name for name in names if name))


def open_folder(path: Path) -> Folder:
    """Load the baseline in a folder, or one file of it. Raises UserError."""
    files = tuple(_family_file(file) for file in json_files(path))
    return Folder(path, load(path), files)


def open_readable(paths: Iterable[Path]) -> tuple[list[Folder], list[str]]:
    """Load all readable baselines; also return a sentence on each unreadable one."""
    folders: list[Folder] = []
    faults: list[str] = []
    for path in paths:
        try:
            folders.append(open_folder(path))
        except UserError as fault:  # noqa: PERF203
            faults.append(str(fault))
    return folders, faults


def _family_file(path: Path) -> FamilyFile:
    document = read(path)
    record = load_document(document)
    if record.source is not Source.BASELINE:
        raise UserError(
            inert(f"{path} is not a baseline but a {record.source.value}; {_REMEDY[record.source]}")
        )
    rows = {str(row["name"]): row for _, row in rows_of(document)}
    gpu_name = context_strings(document.top, document.place).get("gpu_name", "")
    return FamilyFile(path, record, rows, gpu_name)


def family_text(
    gpu_name: str, sessions: Sequence[Session], rows: Sequence[tuple[Object, Times]]
) -> str:
    """Return the text of a file. `rows` are a run file's rows with process medians (s) by session.

    Sessions are one per line, oldest first; rows are one per line, in the given order.
    """
    context = {"warpgauge_format": BASELINE_FORMAT, "gpu_name": gpu_name}
    session_lines = [
        f"{_json(session.key)}: {_json(_kept(session.context))}"
        for session in sessions
        if any(session.key in times for _, times in rows)
    ]
    order = {session.key: index for index, session in enumerate(sessions)}
    row_lines = [_json(_row(row, times, order)) for row, times in rows]
    return (
        f'{{\n"context": {_json(context)},\n'
        f'"sessions": {{\n{_LINES.join(session_lines)}\n}},\n'
        f'"benchmarks": [\n{_LINES.join(row_lines)}\n]\n}}\n'
    )


def _row(row: Object, times: Times, order: Mapping[str, int]) -> Object:
    unit = TIME_UNITS[str(row["time_unit"])]
    medians = {
        key: [_rounded(time / unit) for time in times[key]]
        for key in sorted(times, key=order.__getitem__)
    }
    middle = statistics.median(statistics.median(times[key]) for key in medians)
    replaced: Object = {"real_time": _rounded(middle / unit), "process_medians": medians}
    kept = {
        key: _rounded(value) if isinstance(value, float) and key not in RESOURCES else value
        for key, value in row.items()
        # Drop NaN, which Google Benchmark may write for an absent counter.
        if key not in _FIELDS_NOT_KEPT
        and not (isinstance(value, float) and not math.isfinite(value))
    }
    return {**kept, **replaced}


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _kept(context: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in context.items() if value and key not in _NOT_KEPT}


def _json(value: object) -> str:
    return json.dumps(value, allow_nan=False)
