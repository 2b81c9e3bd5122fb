# SPDX-License-Identifier: Apache-2.0
"""The run file: Google Benchmark JSON, with one row per benchmark for all its processes."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median

from msgspec import structs, to_builtins

from warpgauge.measure import cubins
from warpgauge.measure.discovery import Binary
from warpgauge.measure.plan import TurnResult
from warpgauge.records import fields
from warpgauge.records.counters import (
    FULL_SUITE,
    HOST_CLOCK,
    LEFT_OUT,
    NOT_LISTED,
    SOURCE_LINE,
    THROTTLED,
    Clock,
    combined,
    is_disturbed,
    with_limits,
)
from warpgauge.records.document import Failure
from warpgauge.records.load import RUN_FORMAT, load
from warpgauge.records.row import Pair, Row, Why
from warpgauge.records.sessions import CANDIDATE, only_session
from warpgauge.system.atomic import replace_all

Content = tuple[Mapping[str, str], Sequence[Row]]  # context and rows

_Measured = tuple[TurnResult, Row]  # what one process measured of a benchmark

# A program that could not be listed has one row, with this counter.
_NOT_LISTED = {NOT_LISTED: 1.0}


def rows(
    binaries: Sequence[Binary], outcomes: Iterable[TurnResult], looks: Sequence[int] | None = None
) -> list[Row]:
    """Return one row per benchmark, from the processes asked for it, in order of registration.

    A benchmark that failed in any round becomes an errored row; one that every process skipped
    becomes a skipped row. Disturbed processes are left out if a majority was undisturbed;
    otherwise counters mark the times as invalid. `looks` are the last rounds of the looks at pairs:
    rows then have their rounds, and a candidate's its pairs. None if there were no pairs.
    """
    everything, merged = [*outcomes], list[Row]()
    for binary in binaries:
        if binary.fault is not None:
            error = f"{binary.path.name}: {binary.fault}"
            merged.append(Row(binary.family, {}, Clock.DEVICE, _NOT_LISTED, error=error))
            continue
        own = [outcome for outcome in everything if outcome.binary.family == binary.family]
        for name in binary.names:
            if binary.skipped is not None:
                skipped = Row(name, {}, Clock.DEVICE, error=binary.skipped, skipped=True)
                merged.append(skipped)
            else:
                asked = [outcome for outcome in own if name in outcome.binary.names]
                merged.append(_row(name, asked, looks))
    return merged


def _row(name: str, asked: Sequence[TurnResult], looks: Sequence[int] | None) -> Row:
    measured, failures, reported = list[_Measured](), list[tuple[int, Failure]](), list[Row]()
    for outcome in asked:
        row = outcome.report.rows.get(name)
        reported += [row] if row else []
        missing = None if row else Failure("it was not reported")
        if failure := outcome.failures.get(name, missing):
            failures.append((outcome.round, failure))
        elif row:
            measured.append((outcome, row))
    clock = reported[-1].clock if reported else Clock.DEVICE
    if measured and not failures:
        return _merged(name, clock, measured, looks)
    why, counters = Failure("it was not run"), combined([row.counters for row in reported])
    if failures:  # a benchmark is skipped only where every process skipped it
        errors = [failure for failure in failures if not failure[1].skipped]
        number, why = (errors or failures)[0]
        why = Failure(f"in round {number}: {why}") if errors or measured else why
    origin = {key: counters[key] for key in (SOURCE_LINE, FULL_SUITE) if key in counters}
    return Row(name, {}, clock, origin, error=why.message, skipped=why.skipped)


def _time(row: Row) -> float:
    """Return the median of the repetitions of one process, in seconds."""
    return median(next(iter(row.process_medians.values())))


def _merged(
    name: str, clock: Clock, measured: Sequence[_Measured], looks: Sequence[int] | None
) -> Row:
    """Return the row of a benchmark that was measured in all processes.

    It leaves out processes on a disturbed or throttled GPU if most are not. A majority of three or
    more has at least two processes, the fewest that show a spread.
    """
    rows = [row for _, row in measured]
    limits = with_limits([row.counters for row in rows], [*map(_time, rows)])
    everything = [
        (outcome, structs.replace(row, counters=counters))
        for (outcome, row), counters in zip(measured, limits, strict=True)
    ]
    clean = [one for one in everything if not is_disturbed(one[1].counters)]
    kept = clean if 2 * len(clean) > len(everything) else everything
    rows = [row for _, row in kept]
    throttled = sum(bool(row.counters.get(THROTTLED)) for row in rows)
    counts = {LEFT_OUT: float(len(measured) - len(kept)), THROTTLED: float(throttled)}
    elapsed = tuple([row.elapsed[0] if row.elapsed else None for row in rows])
    codes = {cubins.of_row(one.binary, row.launches) for one, row in kept}
    in_pairs = looks is not None
    is_candidate = in_pairs and kept[0][0].side == CANDIDATE
    return Row(
        name,
        {"": tuple(map(_time, rows))},
        clock,
        combined([row.counters for row in rows]) | {key: n for key, n in counts.items() if n},
        rows[-1].label,
        rounds=tuple([one.round for one, _ in kept]) if in_pairs else (),
        pairs=tuple([_pair(*one, looks or ()) for one in kept]) if is_candidate else (),
        elapsed=elapsed if in_pairs and any(elapsed) else (),
        iterations=sum(row.iterations for row in rows),
        cpu_seconds=median(row.cpu_seconds for row in rows),
        machine_code=codes.pop() if len(codes) == 1 else "",
    )


def _pair(outcome: TurnResult, row: Row, looks: Sequence[int]) -> Pair:
    """Return the pair of a candidate's process and the base's of its round."""
    pair = row.pairs[0] if row.pairs else Pair(base_first=outcome.round % 2 == 1)
    return structs.replace(pair, look=1 + bisect_left(looks, outcome.round))


# Context fields that describe all GPUs of a run together.
_OF_GPUS = ("gpu_name", "gpu_uuid")


def context(
    binaries: Sequence[Binary],
    outcomes: Iterable[TurnResult],
    facts: Mapping[str, str],
    fallbacks: Mapping[str, str],
) -> Mapping[str, str]:
    """Merge the reports' contexts with what else is known of the run.

    Earlier reports take precedence, in the order of `binaries`; `fallbacks` fill in the rest, and
    `facts` override all. After a reboot within the run, `boot_id` is empty. Programs with several
    build types get all of them.
    """
    place = {binary.family: index for index, binary in enumerate(binaries)}
    merged: dict[str, str] = {}
    seen: dict[str, set[str]] = {"boot_id": set(), "build_type": set()}
    for outcome in sorted(outcomes, key=lambda o: (o.round, place[o.binary.family])):
        reported = outcome.report.context
        for key in seen.keys() & reported.keys():
            seen[key].add(reported[key])
        merged = {**reported, **merged}
    if len(seen["boot_id"]) > 1:
        merged["boot_id"] = ""
    if len(seen["build_type"]) > 1:
        merged["build_type"] = " and ".join(sorted(seen["build_type"]))
    # A program that runs on several GPUs reports only one of them.
    several = _OF_GPUS if "," in fallbacks.get("gpu_uuid", "") else ()
    known = {key: one for key, one in fallbacks.items() if key in several or key not in merged}
    return {**merged, **known, **facts, "warpgauge_format": RUN_FORMAT}


def write(files: Mapping[Path, Content]) -> None:
    """Write each file's context and rows, as `replace_all` does. Raises UserError."""
    # Resolve links, so that a link stays a link.
    replace_all({path.resolve(): text(*content) for path, content in files.items()})


def explain(path: Path, reasons: Mapping[str, Why]) -> None:
    """Add reasons for slowdowns to the rows of a run file that was written before."""
    run = load(path)
    rows = [structs.replace(row, why=reasons.get(row.name, row.why)) for row in run.rows.values()]
    write({path: (only_session(run).context, rows)})


def text(run_context: Mapping[str, str], rows: Sequence[Row]) -> str:
    """Return the text of a run file."""
    facts = ",\n".join(f"{_json(key)}: {_json(value)}" for key, value in run_context.items())
    lines = ",\n".join(_json(row_object(row)) for row in rows)
    return f'{{\n"context": {{\n{facts}\n}},\n"benchmarks": [\n{lines}\n]\n}}\n'


def _ns(seconds: float) -> float:
    """Return nanoseconds, to the 15 digits that survive the change of unit."""
    return float(f"{1e9 * seconds:.15g}")


def row_object(row: Row) -> dict[str, object]:
    """Return the JSON of a row, which any reader of Google Benchmark's JSON accepts."""
    times = [_ns(time) for of_session in row.process_medians.values() for time in of_session]
    found: dict[str, object] = {
        "name": row.name,
        "run_name": row.name,
        "run_type": "iteration",
        "iterations": row.iterations,
        "real_time": _ns(row.seconds) if times else 0.0,
        "cpu_time": _ns(row.cpu_seconds),
        "time_unit": "ns",
    }
    if row.error is not None:
        found |= {"error_occurred": True, "error_message": row.error}
    optional = {
        "skipped": row.skipped,
        "process_medians": times,
        fields.ROUNDS: row.rounds,
        fields.PAIRS: [*map(to_builtins, row.pairs)],
        fields.ELAPSED: row.elapsed,
        "label": row.label,
        fields.MACHINE_CODE: row.machine_code,
        fields.WHY: row.why and asdict(row.why),
    }
    if row.clock is Clock.HOST and not row.counters.get(HOST_CLOCK):
        found[fields.TIMED_BY] = fields.HOST
    return {**found, **{key: value for key, value in optional.items() if value}, **row.counters}


def _json(value: object) -> str:
    return json.dumps(value, allow_nan=False)
