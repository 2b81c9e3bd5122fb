# SPDX-License-Identifier: Apache-2.0
"""The run file: Google Benchmark JSON, with one row per benchmark for all its processes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from warpgauge.measure import program_identity
from warpgauge.measure.discovery import Binary
from warpgauge.measure.plan import TurnResult
from warpgauge.records import fields
from warpgauge.records.counters import (
    FLAWS,
    FULL_SUITE,
    LEFT_OUT,
    NOT_LISTED,
    RESOURCES,
    SOURCE_LINE,
    THROTTLED,
    combined,
    is_disturbed,
    with_limits,
)
from warpgauge.records.load import RUN_FORMAT
from warpgauge.records.model import Why
from warpgauge.records.program_report import Report, is_run
from warpgauge.system.atomic import replace_all
from warpgauge.system.document import TIME_UNITS, Failure

JsonRow = dict[str, Any]
Content = tuple[Report, Sequence[JsonRow]]  # context and rows

SIGNIFICANT_DIGITS = 7  # far below the noise, and short in a diff

# Counters that are exact rather than measured: these are not rounded.
_EXACT = frozenset((*RESOURCES, *FLAWS, "clock_event_reasons", SOURCE_LINE))


def rows(
    binaries: Sequence[Binary], outcomes: Iterable[TurnResult], *, paired: bool = False
) -> list[JsonRow]:
    """Return one row per benchmark, from the processes asked for it, in order of registration.

    A benchmark that failed in any round becomes an errored row; one that every process skipped
    becomes a skipped row. Disturbed processes are left out if a majority was undisturbed;
    otherwise counters mark the times as invalid. With `paired`, rows list the rounds of their times
    and any lock-step ratios.
    """
    everything, merged = [*outcomes], list[JsonRow]()
    for place, binary in enumerate(binaries):
        if binary.fault is not None:
            fault = Failure(f"{binary.path.name}: {binary.fault}")
            merged.append(_failed(_identity(binary.family, place, 0), fault) | {NOT_LISTED: 1.0})
            continue
        own = [outcome for outcome in everything if outcome.binary.family == binary.family]
        for index, name in enumerate(binary.names):
            identity = _identity(name, place, index)
            if binary.skipped is not None:
                merged.append(_failed(identity, Failure(binary.skipped, skipped=True)))
            else:
                asked = [outcome for outcome in own if name in outcome.binary.names]
                merged.append(_row(identity, asked, paired=paired))
    return merged


@dataclass(frozen=True)
class _Measured:
    """One process's result for one benchmark: medians over repetitions, in ns."""

    round: int
    time: float
    cpu_time: float
    iterations: int
    label: str
    counters: dict[str, float]
    ratio: float | None
    elapsed: float | None
    machine_code: str

    @staticmethod
    def of(outcome: TurnResult, repetitions: Sequence[JsonRow]) -> _Measured:
        scales = [TIME_UNITS[row.get("time_unit", "ns")] * 1e9 for row in repetitions]
        pairs = list(zip(repetitions, scales, strict=True))
        last = repetitions[-1]
        return _Measured(
            outcome.round,
            median(float(row["real_time"]) * scale for row, scale in pairs),
            median(fields.number_or_zero(row.get("cpu_time")) * scale for row, scale in pairs),
            sum(int(fields.number_or_zero(row.get("iterations"))) for row in repetitions),
            fields.label_of(last),
            combined([fields.counters_of(row) for row in repetitions]),
            outcome.pair_ratios.get(last["name"]),
            last.get(fields.ELAPSED),
            program_identity.of_row(outcome.binary, fields.launches_of(last)),
        )


def _row(identity: JsonRow, asked: Sequence[TurnResult], *, paired: bool) -> JsonRow:
    measured, failures, reported = list[_Measured](), list[tuple[int, Failure]](), list[JsonRow]()
    for outcome in asked:
        found = outcome.report.get("benchmarks", [])
        found = [row for row in found if is_run(row) and row["name"] == identity["name"]]
        reported += found
        missing = None if found else Failure("it was not reported")
        if failure := outcome.failures.get(identity["name"], missing):
            failures.append((outcome.round, failure))
        else:
            measured.append(_Measured.of(outcome, found))
    if failures or not measured:
        merged = _failed(identity, _overall(failures, measured)) | _origin(reported)
    else:
        merged = identity | _times(measured, paired=paired)
    return fields.with_host_time(merged) if any(map(fields.timed_by_host, reported)) else merged


def _overall(failures: Sequence[tuple[int, Failure]], measured: Sequence[_Measured]) -> Failure:
    """Return the failure of a benchmark, which is skipped only where every process skipped it."""
    if not failures:
        return Failure("it was not run")
    errors = [failure for failure in failures if not failure[1].skipped]
    number, why = (errors or failures)[0]
    return Failure(f"in round {number}: {why}") if errors or measured else why


def _times(measured: Sequence[_Measured], *, paired: bool) -> JsonRow:
    """Return the fields of a row that was measured in all processes."""
    limits = with_limits([row.counters for row in measured], [row.time for row in measured])
    kept = _undisturbed(
        [replace(row, counters=own) for row, own in zip(measured, limits, strict=True)]
    )
    rounds: JsonRow = {"process_rounds": [row.round for row in kept]} if paired else {}
    ratios = [row.ratio and _short(row.ratio) for row in kept]
    if paired and any(ratios):
        rounds["pair_ratios"] = ratios
    if paired and any(row.elapsed for row in kept):
        rounds[fields.ELAPSED] = [row.elapsed and _short(row.elapsed) for row in kept]
    codes = {row.machine_code for row in kept}
    is_one = len(codes) == 1 and "" not in codes
    return {
        "iterations": sum(row.iterations for row in kept),
        "real_time": _short(median(row.time for row in kept)),
        "cpu_time": _short(median(row.cpu_time for row in kept)),
        "time_unit": "ns",
        "process_medians": [_short(row.time) for row in kept],
        **rounds,
        **_counters([row.counters for row in kept], len(measured)),
        **({"label": kept[-1].label} if kept[-1].label else {}),
        **({fields.MACHINE_CODE: codes.pop()} if is_one else {}),
    }


def _undisturbed(measured: Sequence[_Measured]) -> Sequence[_Measured]:
    """Return the processes with an undisturbed GPU at full clock if most are; otherwise all.

    A majority of three or more has at least two processes, the fewest that show a spread.
    """
    clean = [row for row in measured if not is_disturbed(row.counters)]
    return clean if 2 * len(clean) > len(measured) else measured


def _counters(kept: Sequence[Mapping[str, float]], processes: int) -> dict[str, float]:
    """Combine the counters; add how many processes were left out and how many were throttled."""
    throttled = sum(bool(counters.get(THROTTLED)) for counters in kept)
    counts = {LEFT_OUT: float(processes - len(kept)), THROTTLED: float(throttled)}
    merged = combined(kept)
    short = {key: _short(value) for key, value in merged.items() if key not in _EXACT}
    return {**merged, **short, **{key: count for key, count in counts.items() if count}}


def _failed(identity: JsonRow, failure: Failure) -> JsonRow:
    """Return an errored row that any reader of Google Benchmark JSON accepts, or a skipped one."""
    nothing = {"iterations": 0, "real_time": 0.0, "cpu_time": 0.0, "time_unit": "ns"}
    error = {"error_occurred": True, "error_message": failure.message}
    skip = {"skipped": True} if failure.skipped else {}
    return {**identity, **nothing, **error, **skip}


def _origin(rows: Sequence[JsonRow]) -> JsonRow:
    """Return where a failed benchmark is defined, as far as its rows say."""
    counters = combined([fields.counters_of(row) for row in rows])
    return {key: counters[key] for key in (SOURCE_LINE, FULL_SUITE) if key in counters}


def _identity(name: str, family_index: int, index: int) -> JsonRow:
    places = {"family_index": family_index, "per_family_instance_index": index}
    run = {"run_name": name, "run_type": "iteration"}
    fixed = {"repetitions": 1, "repetition_index": 0, "threads": 1}
    return {"name": name, **places, **run, **fixed}


def _short(value: float) -> float:
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}")


# Context fields that describe all GPUs of a run together.
_OF_GPUS = ("gpu_name", "gpu_uuid")


def context(
    binaries: Sequence[Binary],
    outcomes: Iterable[TurnResult],
    facts: Mapping[str, str],
    fallbacks: Mapping[str, str],
) -> Report:
    """Merge the reports' contexts with what else is known of the run.

    Earlier reports take precedence, in the order of `binaries`; `fallbacks` fill in the rest, and
    `facts` override all. After a reboot within the run, `boot_id` is empty. Programs with several
    build types get all of them.
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
    # A program that runs on several GPUs reports only one of them.
    several = _OF_GPUS if "," in fallbacks.get("gpu_uuid", "") else ()
    known = {key: one for key, one in fallbacks.items() if key in several or key not in merged}
    return {**merged, **known, **facts, "warpgauge_format": RUN_FORMAT}


def document(
    binaries: Sequence[Binary],
    outcomes: Sequence[TurnResult],
    facts: Mapping[str, str],
    fallbacks: Mapping[str, str],
    *,
    paired: bool = False,
) -> Content:
    """Return what `write` takes; see `context` and `rows`."""
    return context(binaries, outcomes, facts, fallbacks), rows(binaries, outcomes, paired=paired)


def write(files: Mapping[Path, Content]) -> None:
    """Write each file's context and rows, as `replace_all` does. Raises UserError."""
    # Resolve links, so that a link stays a link.
    replace_all({path.resolve(): _text(*content) for path, content in files.items()})


def explain(path: Path, reasons: Mapping[str, Why]) -> None:
    """Add reasons for slowdowns to the rows of a run file that was written before."""
    found = json.loads(path.read_text(encoding="utf-8"))
    rows = [
        {**row, "why": asdict(reasons[row["name"]])} if row["name"] in reasons else row
        for row in found["benchmarks"]
    ]
    write({path: (found["context"], rows)})


def _text(run_context: Report, rows: Sequence[JsonRow]) -> str:
    facts = ",\n".join(f"{json.dumps(key)}: {_json(value)}" for key, value in run_context.items())
    lines = ",\n".join(_json(row) for row in rows)
    return f'{{\n"context": {{\n{facts}\n}},\n"benchmarks": [\n{lines}\n]\n}}\n'


def _json(value: object) -> str:
    return json.dumps(value, allow_nan=False)
