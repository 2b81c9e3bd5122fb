# SPDX-License-Identifier: Apache-2.0
"""The run file: Google Benchmark JSON, with one row per benchmark for all its processes."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

from msgspec import structs, to_builtins

from warpgauge.measure import program_identity
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
    combined,
    is_disturbed,
    with_limits,
)
from warpgauge.records.document import Failure
from warpgauge.records.load import RUN_FORMAT, load
from warpgauge.records.model import Clock, Why
from warpgauge.records.row import Pair, Row
from warpgauge.records.sessions import CANDIDATE, only_session
from warpgauge.system.atomic import replace_all

Content = tuple[Mapping[str, str], Sequence[Row]]  # context and rows

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


@dataclass(frozen=True)
class _Process:
    """One process's result for one benchmark."""

    round: int
    side: str
    row: Row
    machine_code: str

    @staticmethod
    def of(outcome: TurnResult, row: Row) -> _Process:
        code = program_identity.of_row(outcome.binary, row.launches)
        return _Process(outcome.round, outcome.side, row, code)

    @property
    def time(self) -> float:
        """The median of the repetitions, in seconds."""
        return median(next(iter(self.row.process_medians.values())))

    def pair(self, looks: Sequence[int]) -> Pair:
        """Return the pair of this process and the base's of its round."""
        pair = self.row.pairs[0] if self.row.pairs else Pair(base_first=self.round % 2 == 1)
        return structs.replace(pair, look=1 + bisect_left(looks, self.round))


def _row(name: str, asked: Sequence[TurnResult], looks: Sequence[int] | None) -> Row:
    measured, failures, reported = list[_Process](), list[tuple[int, Failure]](), list[Row]()
    for outcome in asked:
        row = outcome.report.rows.get(name)
        reported += [row] if row else []
        missing = None if row else Failure("it was not reported")
        if failure := outcome.failures.get(name, missing):
            failures.append((outcome.round, failure))
        elif row:
            measured.append(_Process.of(outcome, row))
    clock = reported[-1].clock if reported else Clock.DEVICE
    if failures or not measured:
        why, counters = _overall(failures, measured), combined([row.counters for row in reported])
        origin = {key: counters[key] for key in (SOURCE_LINE, FULL_SUITE) if key in counters}
        return Row(name, {}, clock, origin, error=why.message, skipped=why.skipped)
    return _merged(name, clock, measured, looks)


def _overall(failures: Sequence[tuple[int, Failure]], measured: Sequence[_Process]) -> Failure:
    """Return the failure of a benchmark, which is skipped only where every process skipped it."""
    if not failures:
        return Failure("it was not run")
    errors = [failure for failure in failures if not failure[1].skipped]
    number, why = (errors or failures)[0]
    return Failure(f"in round {number}: {why}") if errors or measured else why


def _merged(
    name: str, clock: Clock, measured: Sequence[_Process], looks: Sequence[int] | None
) -> Row:
    """Return the row of a benchmark that was measured in all processes."""
    limits = with_limits([one.row.counters for one in measured], [one.time for one in measured])
    kept = _undisturbed(
        [
            replace(one, row=structs.replace(one.row, counters=counters))
            for one, counters in zip(measured, limits, strict=True)
        ]
    )
    elapsed = tuple([one.row.elapsed[0] if one.row.elapsed else None for one in kept])
    codes = {one.machine_code for one in kept}
    in_pairs = looks is not None
    is_candidate = in_pairs and kept[0].side == CANDIDATE
    return Row(
        name,
        {"": tuple([one.time for one in kept])},
        clock,
        _counters([one.row.counters for one in kept], len(measured)),
        kept[-1].row.label,
        rounds=tuple([one.round for one in kept]) if in_pairs else (),
        pairs=tuple([one.pair(looks or ()) for one in kept]) if is_candidate else (),
        elapsed=elapsed if in_pairs and any(elapsed) else (),
        iterations=sum(one.row.iterations for one in kept),
        cpu_seconds=median(one.row.cpu_seconds for one in kept),
        machine_code=codes.pop() if len(codes) == 1 else "",
    )


def _undisturbed(measured: Sequence[_Process]) -> Sequence[_Process]:
    """Return the processes with an undisturbed GPU at full clock if most are; otherwise all.

    A majority of three or more has at least two processes, the fewest that show a spread.
    """
    clean = [one for one in measured if not is_disturbed(one.row.counters)]
    return clean if 2 * len(clean) > len(measured) else measured


def _counters(kept: Sequence[Mapping[str, float]], processes: int) -> dict[str, float]:
    """Combine the counters; add how many processes were left out and how many were throttled."""
    throttled = sum(bool(counters.get(THROTTLED)) for counters in kept)
    counts = {LEFT_OUT: float(processes - len(kept)), THROTTLED: float(throttled)}
    return {**combined(kept), **{key: count for key, count in counts.items() if count}}


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


def document(
    binaries: Sequence[Binary],
    outcomes: Sequence[TurnResult],
    facts: Mapping[str, str],
    fallbacks: Mapping[str, str],
    looks: Sequence[int] | None = None,
) -> Content:
    """Return what `write` takes; see `context` and `rows`."""
    return context(binaries, outcomes, facts, fallbacks), rows(binaries, outcomes, looks)


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
