# SPDX-License-Identifier: Apache-2.0
"""Merge several plain files of one side, one process each, into one record."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from msgspec import structs

from warpgauge.records.counters import combined
from warpgauge.records.model import PROCESSES, Record, Session
from warpgauge.records.row import Row
from warpgauge.records.sessions import newest_last, only_session
from warpgauge.system.errors import UserError
from warpgauge.system.text import plural, quoted

# Keys that decide whether a side may be compared at all. The files of a side must agree on them.
_ALIKE = ("gpu_name", "build_type", "inject")


def are_processes(records: Sequence[Record]) -> bool:
    """Return whether they measured the same benchmarks; else they are parts of one suite."""
    if not all(record.source.is_plain for record in records):
        return False
    names = Counter(name for record in records for name in record.rows)
    return any(count > 1 for count in names.values())


def told_apart(records: Sequence[Record]) -> Sequence[Record]:
    """Return files in which programs that share a name have theirs before all of their benchmarks.

    So does `ab` (`discovery.of_folders`). Files that do not all name their program stay as they
    are.
    """
    programs = _programs(records)
    owners: dict[str, set[str]] = {}
    for program, record in zip(programs, records, strict=True):
        for name in record.rows:
            owners.setdefault(name, set()).add(program)
    shared = {program for those in owners.values() if len(those) > 1 for program in those}
    stems = Counter(PurePath(program).stem for program in shared)
    called = {program: PurePath(program).stem for program in shared}
    called |= {program: program for program, stem in called.items() if stems[stem] > 1}
    return [
        _prefixed(record, called[program]) if program in shared else record
        for program, record in zip(programs, records, strict=True)
    ]


def _programs(records: Sequence[Record]) -> list[str]:
    """Return the file name of each record's program; nothing but "" if any is unknown."""
    paths = [only_session(record).context.get("executable", "") for record in records]
    return [PurePath(path).name for path in paths] if all(paths) else [""] * len(paths)


def _prefixed(record: Record, program: str) -> Record:
    rows = (structs.replace(row, name=f"{program}/{row.name}") for row in record.rows.values())
    return replace(record, rows={row.name: row for row in rows})


def merged(path: Path, records: Sequence[Record]) -> Record:
    """Return one record with the median of each process.

    A row that any process of its program lacks is an error.

    Raise UserError if the files contradict each other in what decides about the comparison.
    """
    session = _session(path.name, records)
    programs: dict[str, list[Record]] = {}
    for program, record in zip(_programs(records), records, strict=True):
        programs.setdefault(program, []).append(record)
    rows = {
        name: _row(name, session.key, of_program)
        for of_program in programs.values()
        for name in dict.fromkeys(name for record in of_program for name in record.rows)
    }
    faults = tuple(fault for record in records for fault in record.faults)
    source = records[0].source
    return Record(path, source, {session.key: session}, rows, of_processes=True, faults=faults)


def _session(key: str, records: Sequence[Record]) -> Session:
    """Return what the files' contexts agree on, with the date of the newest."""
    sessions = [(record.path, one) for record in records for one in record.sessions.values()]
    told: dict[str, tuple[Path, str]] = {}
    contradicted = set()
    for path, session in sessions:
        for name, value in session.context.items():
            first, known = told.setdefault(name, (path, value))
            if value == known:
                continue
            if name in _ALIKE:
                raise UserError(
                    f"{path}: {quoted(name)} is {quoted(value)}, but {quoted(known)} in {first}; "
                    "give files with the same value"
                )
            contradicted.add(name)
    context = {name: value for name, (_, value) in told.items() if name not in contradicted}
    newest = newest_last(session for _, session in sessions)[-1].context
    dated = {"date": newest["date"]} if "date" in newest else {}
    return Session(key, {**context, **dated, PROCESSES: str(len(records))})


def _row(name: str, session: str, records: Sequence[Record]) -> Row:
    rows = [record.rows.get(name) for record in records]
    measured = [row for row in rows if row is not None and row.error is None]
    label = next((row.label for row in measured if row.label), "")
    clock = next(row.clock for row in [*measured, *rows] if row is not None)
    if len(measured) < len(records):
        skipped = all(row is not None and row.skipped for row in rows)
        error = _error(rows, [record.path for record in records])
        return Row(name, {}, clock, label=label, error=error, skipped=skipped)
    times = [statistics.median(of) for row in measured for of in row.process_medians.values()]
    return Row(
        name,
        {session: tuple(times)},
        clock,
        combined([row.counters for row in measured]),
        label,
        iterations=sum(row.iterations for row in measured),
        cpu_seconds=statistics.median(row.cpu_seconds for row in measured),
    )


def _error(rows: Sequence[Row | None], paths: Sequence[Path]) -> str:
    """Return the error of the first file where it failed, else of the first that lacks it."""
    each = list(zip(rows, paths, strict=True))
    failed = [(path.name, row.error) for row, path in each if row is not None and row.error]
    if failed:
        more = f" (and in {plural(len(failed) - 1, 'more file')})" if len(failed) > 1 else ""
        file, error = failed[0]
        return f"in {file}{more}: {error}"
    absent = [path.name for row, path in each if row is None]
    more = f" and {plural(len(absent) - 1, 'more file')}" if len(absent) > 1 else ""
    return f"missing in {absent[0]}{more}: measure it in every process of this side"
