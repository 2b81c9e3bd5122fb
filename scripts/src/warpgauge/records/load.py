# SPDX-License-Identifier: Apache-2.0
"""Read run files, baselines and other tools' results, from a file or folder, as a Record."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

from warpgauge.records import processes
from warpgauge.records.counters import HOST_CLOCK, Clock
from warpgauge.records.document import Document, as_object, document_of, failure_of, misfit, rows_of
from warpgauge.records.fields import (
    MACHINE_CODE,
    context_strings,
    counters_of,
    elapsed_of,
    label_of,
    name_of,
    number_or_zero,
    pairs_of,
    rounds_of,
    seconds,
    timed_by_host,
    unit_of,
    why_of,
)
from warpgauge.records.google_benchmark import load_google_benchmark
from warpgauge.records.model import Record, Session, Source
from warpgauge.records.nvbench import nvbench
from warpgauge.records.other_tools import catch2, catch2_json, hyperfine, pytest_benchmark
from warpgauge.records.row import Row
from warpgauge.records.sessions import session_key
from warpgauge.system.errors import UserError
from warpgauge.system.location import Object, Place, content_of
from warpgauge.system.text import quoted

RUN_FORMAT = "run/1"
BASELINE_FORMAT = "baseline/1"

# Files round times to seven digits. A larger relative difference means that the file was edited.
_ROUNDING = 1e-3

# Prefix of files that warpgauge bench --self-check keeps beside the baselines; they hold no times.
SELF_CHECK = "self-check-"

_BySession = Mapping[str, tuple[float, ...]]
# A row's times by session, from the row, the seconds in its unit, and its place.
_Medians = Callable[[Object, float, Place], _BySession]

# Each reads the files of one tool, and returns None for others.
_OTHER_TOOLS = (nvbench, pytest_benchmark, hyperfine, catch2_json)


def load(path: Path) -> Record:
    """Return the record in a file, or in all ``*.json`` of a folder, or else all ``*.xml``.

    Plain files of a folder that measured the same benchmarks are its processes. Raise UserError,
    nothing else.
    """
    records: Sequence[Record] = [_load_file(file) for file in result_files(path)]
    if len(records) == 1:
        return records[0]
    _require_one_kind(path, records)
    if records[0].source.is_plain:
        records = processes.told_apart(records)
    join = processes.merged if processes.are_processes(records) else _merged
    return join(path, records)


def load_processes(paths: Sequence[Path]) -> Record:
    """Return the record of plain files, one process each. Raises UserError."""
    files = [file for path in paths for file in result_files(path)]
    records = [_load_file(file) for file in files]
    for at, (file, record) in enumerate(zip(files, records, strict=True)):
        if file.resolve() in map(Path.resolve, files[:at]):
            raise Place(file).error("is given twice, but is one process", "give it once")
        if not record.source.is_plain:
            raise Place(file).error(
                f"is a {record.source.value}, which already holds the medians of its processes",
                "compare it without --processes",
            )
    if len(records) == 1:
        return records[0]
    _require_one_kind(records[0].path, records)
    return processes.merged(records[0].path, processes.told_apart(records))


def _load_file(path: Path) -> Record:
    place = Place(path)
    content = content_of(place)
    return catch2(place, content) or load_document(document_of(place, content))


def result_files(path: Path) -> list[Path]:
    try:
        if not path.is_dir():
            return [path]
        entries = sorted(path.iterdir())
        files = [entry for entry in entries if _is_result(entry)]
        files = files or [entry for entry in entries if entry.suffix == ".xml"]
        folders = [entry for entry in entries if holds_results(entry)]
    except (OSError, ValueError) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else ""
        fault = f"cannot be read ({reason})" if reason else "cannot be read"
        raise Place(path).error(fault, "check the path") from None
    if not files:
        remedy = f"did you mean {folders[0]}?" if folders else "give a file or another folder"
        raise UserError(f"{path}: the folder holds no *.json or *.xml file; {remedy}")
    return files


def holds_results(folder: Path) -> bool:
    """Return whether `folder` is a readable folder that holds a result file."""
    try:
        return folder.is_dir() and any(_is_result(entry) for entry in folder.iterdir())
    except OSError:
        return False


def _is_result(entry: Path) -> bool:
    return entry.suffix == ".json" and not entry.name.startswith((".", SELF_CHECK))


def load_document(document: Document) -> Record:
    """Return the record in a parsed file, by the format that its context names."""
    version = context_strings(document.top, document.place).get("warpgauge_format")
    if version is None:
        records = (read(document) for read in _OTHER_TOOLS)
        return next(filter(None, records), None) or load_google_benchmark(document)
    if version not in (RUN_FORMAT, BASELINE_FORMAT):
        raise document.place.error(
            f"has the format {quoted(version)}; this warpgauge reads {RUN_FORMAT} and "
            f"{BASELINE_FORMAT}",
            "update warpgauge, or the program that wrote the file",
        )
    return _run(document) if version == RUN_FORMAT else _baseline(document)


def _run(document: Document) -> Record:
    context = context_strings(document.top, document.place)
    session = Session(session_key(context, context.get("date", "")), context)
    sessions = {session.key: session}

    def medians(row: Object, unit: float, place: Place) -> _BySession:
        return {session.key: _times(row.get("process_medians"), unit, "process_medians", place)}

    rows = _rows(document, medians, in_pairs=True)
    return Record(document.place.path, Source.RUN, sessions, rows)


def _baseline(document: Document) -> Record:
    listed = as_object(document.top.get("sessions"), "sessions", document.place)
    if not listed:
        raise document.place.error("'sessions' is empty", "record it again")
    gpu_name = context_strings(document.top, document.place).get("gpu_name", "")
    sessions: dict[str, Session] = {}
    for key in listed:
        place = Place(document.place.path, f"session {quoted(key)}")
        context = context_strings(listed, place, key)
        context.setdefault("gpu_name", gpu_name)
        sessions[key] = Session(key, context)

    def medians(row: Object, unit: float, place: Place) -> _BySession:
        by_session = as_object(row.get("process_medians"), "process_medians", place)
        if not by_session:
            raise place.error("'process_medians' is empty", "record it again")
        for key in by_session:
            if key not in sessions:
                raise place.error(f"names the session {quoted(key)}, which 'sessions' lacks")
        return {
            key: _times(times, unit, f"process_medians of {key}", place)
            for key, times in by_session.items()
        }

    return Record(document.place.path, Source.BASELINE, sessions, _rows(document, medians))


def _times(value: object, unit: float, key: str, place: Place) -> tuple[float, ...]:
    if not isinstance(value, list):
        raise misfit(value, key, "a list", place)
    if not value:
        raise place.error(f"{quoted(key)} is empty")
    return tuple([seconds(time, unit, key, place) for time in value])


def _rows(document: Document, medians: _Medians, *, in_pairs: bool = False) -> Mapping[str, Row]:
    rows: dict[str, Row] = {}
    for place, row in rows_of(document):
        name = name_of(row, place)
        if name in rows:
            raise place.error("this benchmark is in the file twice", "remove one of them")
        counters, label = counters_of(row, place), label_of(row)
        clock = Clock.HOST if counters.get(HOST_CLOCK) or timed_by_host(row) else Clock.DEVICE
        failure = failure_of(row)
        if failure is not None:
            why, skipped = failure.message, failure.skipped
            rows[name] = Row(name, {}, clock, counters, label, why, skipped=skipped)
            continue
        unit = unit_of(row, place)
        summary = seconds(row.get("real_time"), unit, "real_time", place)
        times = medians(row, unit, place)
        processes = sum(map(len, times.values()))
        rounds = rounds_of(row, processes, place) if in_pairs else ()
        rows[name] = Row(
            name,
            times,
            clock,
            counters,
            label,
            rounds=rounds,
            pairs=pairs_of(row, rounds, place) if in_pairs else (),
            elapsed=elapsed_of(row, len(rounds), place) if in_pairs else (),
            contradicted=not math.isclose(
                summary, median(map(median, times.values())), rel_tol=_ROUNDING
            ),
            iterations=int(number_or_zero(row.get("iterations"))),
            cpu_seconds=number_or_zero(row.get("cpu_time")) * unit,
            machine_code=label_of(row, MACHINE_CODE),
            why=why_of(row, place),
        )
    return rows


def _require_one_kind(path: Path, records: Sequence[Record]) -> None:
    for record in records:
        if record.source is not records[0].source:
            raise UserError(
                f"{path}: {records[0].path.name} is a {records[0].source.value} and "
                f"{record.path.name} is a {record.source.value}; give files of one kind"
            )


def _merged(path: Path, records: Sequence[Record]) -> Record:
    sessions: dict[str, Session] = {}
    rows: dict[str, Row] = {}
    owners: dict[str, Path] = {}
    for record in records:
        for name, row in record.rows.items():
            if name in owners:
                raise UserError(
                    f"{path}: benchmark {quoted(name)} is in {owners[name].name} and in "
                    f"{record.path.name}; keep one of them"
                )
            owners[name], rows[name] = record.path, row
        for key, session in record.sessions.items():
            known = sessions.get(key)
            sessions[key] = session if known is None else _agreed(known, session)
    faults = tuple(fault for record in records for fault in record.faults)
    return Record(path, records[0].source, sessions, rows, faults=faults)


def _agreed(one: Session, other: Session) -> Session:
    """Merge a session from two files, without the keys on which they contradict each other.

    A binary may know keys that another lacks (cuBLAS's version). A contradicted filter must not
    hide what the other file was asked for.
    """
    both = {**one.context, **other.context}
    agreed = {
        key: value
        for key, value in both.items()
        if one.context.get(key, value) == other.context.get(key, value)
    }
    return Session(one.key, agreed)
