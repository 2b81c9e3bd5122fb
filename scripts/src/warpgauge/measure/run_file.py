# SPDX-License-Identifier: Apache-2.0
"""The run file: Google Benchmark JSON, with one row per benchmark for all its processes."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from warpgauge.measure import program_identity
from warpgauge.measure.discovery import Binary
from warpgauge.measure.turn_result import TurnResult
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
from warpgauge.records.program_report import Report, is_run
from warpgauge.system.atomic import replace_all
from warpgauge.system.document import TIME_UNITS, Failure

JsonRow = dict[str, Any]
Content = tuple[Report, Sequence[JsonRow]]  # context and rows
# Digest of a program's kernels, given their launches (`fields.launches_of`); empty if unknown.
Digest = Callable[[Binary, Mapping[str, float]], str]

SIGNIFICANT_DIGITS = 7  # far below the noise, and short in a diff

# Counters that are exact rather than measured: these are not rounded.
_EXACT = frozenset((*RESOURCES, *FLAWS, "clock_event_reasons", SOURCE_LINE))


def rows(
    binaries: Sequence[Binary],
    outcomes: Iterable[TurnResult],
    *,
    paired: bool = False,
    digest: Digest = lambda _binary, _launches: "",
) -> list[JsonRow]:
    """Return one row per benchmark, from the processes asked for it, in order of registration.

    A benchmark that failed in any round becomes an errored row; one that every process skipped
    becomes a skipped row. Disturbed processes are left out if a majority was undisturbed;
    otherwise counters mark the times as invalid. With `paired`, rows list the rounds of their times
    and any lock-step ratios. `digest` returns the digest of a row's kernels.
    """
    by_binary = defaultdict[str, list[TurnResult]](list)
    for outcome in outcomes:
        by_binary[outcome.binary.family].append(outcome)
    merged = []
    for place, binary in enumerate(binaries):
        family = binary.family
        if binary.fault is not None:
            fault = Failure(f"{binary.path.name}: {binary.fault}")
            merged.append(_failed(_identity(family, place, 0), fault) | {NOT_LISTED: 1.0})
            continue
        if binary.skipped is not None:
            why = Failure(binary.skipped, skipped=True)
            named = enumerate(binary.names)
            merged += [_failed(_identity(name, place, index), why) for index, name in named]
            continue
        processes = [one for one in by_binary[family] if one.binary.names]
        for index, name in enumerate(binary.names):
            asked = [one for one in processes if name in one.binary.names]
            merged.append(_row(_identity(name, place, index), asked, digest, paired))
    return merged


def _runs(outcome: TurnResult) -> list[JsonRow]:
    return [row for row in outcome.report.get("benchmarks", []) if is_run(row)]


def _row(
    identity: JsonRow, processes: Sequence[TurnResult], digest: Digest, paired: bool
) -> JsonRow:
    measured = []
    reported: list[JsonRow] = []
    failure = None if processes else Failure("it was not run")
    skips: list[tuple[TurnResult, Failure]] = []
    for outcome in processes:
        found = [row for row in _runs(outcome) if row["name"] == identity["name"]]
        reported += found
        missing = None if found else Failure("it was not reported")
        why = outcome.failures.get(identity["name"], missing)
        if why is not None and why.skipped:
            skips.append((outcome, why))
        elif why is not None:
            failure = failure or Failure(f"in round {outcome.round}: {why}")
        else:
            ratio = outcome.pair_ratios.get(identity["name"])
            code = digest(outcome.binary, fields.launches_of(found[-1]))
            facts = {"round": outcome.round, "ratio": ratio, "machine_code": code}
            measured.append({**_process_row(found), **facts})
    if failure := failure or _skipped(skips, measured):
        return _timed(_failed(identity, failure) | _origin(reported), reported)
    limits = with_limits(
        [row["counters"] for row in measured], [row["real_time"] for row in measured]
    )
    kept = _undisturbed(
        [{**row, "counters": one} for row, one in zip(measured, limits, strict=True)]
    )
    times = [row["real_time"] for row in kept]
    rounds: JsonRow = {"process_rounds": [row["round"] for row in kept]} if paired else {}
    ratios = [row["ratio"] and _short(row["ratio"]) for row in kept]
    if paired and any(ratios):
        rounds["pair_ratios"] = ratios
    label = {"label": kept[-1]["label"]} if kept[-1]["label"] else {}
    merged = {
        **identity,
        "iterations": sum(row["iterations"] for row in kept),
        "real_time": _short(median(times)),
        "cpu_time": _short(median(row["cpu_time"] for row in kept)),
        "time_unit": "ns",
        "process_medians": [_short(time) for time in times],
        **rounds,
        **_counters([row["counters"] for row in kept], len(measured)),
        **label,
        **_machine_code(kept),
        **_sources(processes),
    }
    return _timed(merged, reported)


def _timed(merged: JsonRow, rows: Sequence[JsonRow]) -> JsonRow:
    """Mark the row as timed by the host if any of its rows is."""
    return fields.with_host_time(merged) if any(map(fields.timed_by_host, rows)) else merged


def _skipped(
    skips: Sequence[tuple[TurnResult, Failure]], measured: Sequence[JsonRow]
) -> Failure | None:
    """Return the failure of a benchmark that some processes skipped; None if none did."""
    if not skips or not measured:
        return skips[0][1] if skips else None
    outcome, why = skips[0]
    in_round = f"skipped in round {outcome.round} ({why.message})"
    return Failure(f"{in_round}, measured in round {measured[0]['round']}")


def _undisturbed(measured: Sequence[JsonRow]) -> Sequence[JsonRow]:
    """Return the processes with an undisturbed GPU at full clock if most are; otherwise all.

    A majority of three or more has at least two processes, the fewest that show a spread.
    """
    clean = [row for row in measured if not is_disturbed(row["counters"])]
    return clean if 2 * len(clean) > len(measured) else measured


def _counters(kept: Sequence[Mapping[str, float]], processes: int) -> dict[str, float]:
    """Combine the counters; add how many processes were left out and how many were throttled."""
    throttled = sum(bool(counters.get(THROTTLED)) for counters in kept)
    counts = {LEFT_OUT: float(processes - len(kept)), THROTTLED: float(throttled)}
    merged = combined(kept)
    short = {key: _short(value) for key, value in merged.items() if key not in _EXACT}
    return {**merged, **short, **{key: count for key, count in counts.items() if count}}


def _process_row(repetitions: Sequence[JsonRow]) -> JsonRow:
    """Return one process's result for one benchmark: the median over repetitions, in ns."""
    scales = [TIME_UNITS[row.get("time_unit", "ns")] * 1e9 for row in repetitions]
    pairs = list(zip(repetitions, scales, strict=True))
    cpu_times = [fields.number_or_zero(row.get("cpu_time")) * scale for row, scale in pairs]
    return {
        "iterations": sum(int(fields.number_or_zero(row.get("iterations"))) for row in repetitions),
        "real_time": median(float(row["real_time"]) * scale for row, scale in pairs),
        "cpu_time": median(cpu_times),
        "label": fields.label_of(repetitions[-1]),
        "counters": combined([fields.counters_of(row) for row in repetitions]),
    }


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


def _machine_code(kept: Sequence[JsonRow]) -> JsonRow:
    """Return the digest field if all processes agree on it."""
    told = {row["machine_code"] for row in kept}
    return {fields.MACHINE_CODE: told.pop()} if len(told) == 1 and "" not in told else {}


def _sources(processes: Sequence[TurnResult]) -> JsonRow:
    """Return the source files that hold the program's kernels, if the program reports them."""
    for outcome in processes:
        names = outcome.report.get("context", {}).get("sources")
        if isinstance(names, str) and names:
            return {"sources": names.split(",")}
    return {}


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
    """Return the argument of `write`, with digests of the kernels; see `context` and `rows`."""
    found = rows(binaries, outcomes, paired=paired, digest=program_identity.of_row)
    return context(binaries, outcomes, facts, fallbacks), found


def write(files: Mapping[Path, Content]) -> None:
    """Write each file's context and rows, as `replace_all` does. Raises UserError."""
    # Resolve links, so that a link stays a link.
    replace_all({path.resolve(): _text(*content) for path, content in files.items()})


def _text(run_context: Report, rows: Sequence[JsonRow]) -> str:
    facts = ",\n".join(f"{json.dumps(key)}: {_json(value)}" for key, value in run_context.items())
    lines = ",\n".join(_json(row) for row in rows)
    return f'{{\n"context": {{\n{facts}\n}},\n"benchmarks": [\n{lines}\n]\n}}\n'


def _json(value: object) -> str:
    return json.dumps(value, allow_nan=False)
