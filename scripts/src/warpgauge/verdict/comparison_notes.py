# SPDX-License-Identifier: Apache-2.0
"""The notes of a judged comparison. `note` defines their kinds and words."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from warpgauge.records.benchmark_filter import Request
from warpgauge.records.counters import (
    CANARY,
    LEFT_OUT,
    RESOURCES_VARY,
    TIME_ERROR,
    is_power_limited,
)
from warpgauge.records.model import Clock, Record, Row, Session, Source
from warpgauge.records.sessions import newest_last
from warpgauge.verdict import comparability
from warpgauge.verdict.comparability import Comparability
from warpgauge.verdict.comparison import Evidence, Outcome, Verdict
from warpgauge.verdict.comparison_settings import ENOUGH_FILES, FEWEST_PROCESSES, ComparisonSettings
from warpgauge.verdict.controls import Controls
from warpgauge.verdict.note import MOST, Kind, Note
from warpgauge.verdict.override import Override
from warpgauge.verdict.pairing import Pairing
from warpgauge.verdict.resource_changes import KERNEL
from warpgauge.verdict.screening import ASSUMED_PROCESS_SD

# A smaller movement of a control is usual on a shared machine and not noted.
_TOLD_MOVEMENT = 0.10
_KNOWN = 100.0  # a log ratio; larger or unknown noise sets no limit

Judged = Sequence[tuple[Pairing, Verdict]]


def of(
    baseline: Record,
    candidate: Record,
    judged: Judged,
    request: Request,
    unasked: int,
    moved: Controls,
    settings: ComparisonSettings,
) -> Iterator[Note]:
    """Yield the notes of a comparison, most important first; `unasked` counts those left out."""
    yield from _injection(candidate)
    yield from _contradicted(judged)
    yield from _siblings(judged)
    yield from _few_processes(baseline, candidate, judged, settings.process_scatter)
    if candidate.source is not Source.GOOGLE_BENCHMARK and len(candidate.sessions) > 1:
        yield Note(Kind.SEVERAL_SESSIONS, sessions=len(candidate.sessions))
    yield from _alternated(judged)
    yield from _left_out(judged)
    if vary := [one.candidate for one, _ in judged if one.candidate.counters.get(RESOURCES_VARY)]:
        yield Note(Kind.KERNELS_VARY, names=_names(vary))
    yield from _times([one.candidate for one, _ in judged])
    yield from _resources(judged)
    yield from _host(judged, moved)
    if unasked := unasked - len(request.left_out):
        yield Note(Kind.FILTERED, benchmarks=unasked, filter=request.filters)
    if request.of_full_suite:
        yield Note(Kind.OF_FULL_SUITE, benchmarks=len(request.of_full_suite))
    if request.of_programs:
        yield Note(Kind.OF_PROGRAMS, benchmarks=len(request.of_programs))


def of_systems(pairings: Sequence[Pairing]) -> Iterator[Note]:
    """Yield a note for each clock compared with sessions of this GPU but of another system."""
    for clock in Clock:
        met = [
            one
            for one in pairings
            if one.comparability is Comparability.OTHER_SYSTEM
            and one.candidate.clock is clock
            and not one.is_control
        ]
        if not met:
            continue
        newest = newest_last(met[-1].references)[-1]
        differences = comparability.widened(newest, met[-1].session, clock)
        yield Note(
            Kind.OTHER_SYSTEM,
            clock=clock.value,
            differences=tuple(f"{d.key} {d.baseline} → {d.candidate}" for d in differences),
            benchmarks=len(met),
            minimum_effect=comparability.MINIMUM_EFFECT[clock, Comparability.OTHER_SYSTEM],
        )


def of_overrides(
    baseline: Record,
    candidate: Record,
    waived: Mapping[Override, Sequence[str]],
    allow: Collection[Override],
) -> Iterator[Note]:
    """Yield the notes on `allow`; `waived` maps each override to the benchmarks that needed it."""
    whole = {one.override: one.fact for one in comparability.incompatibilities(baseline, candidate)}
    for one in (one for one in Override if one in allow):
        if fact := whole.get(one):
            yield Note(Kind.OVERRIDDEN, override=one.word, fact=fact)
        elif names := waived.get(one):
            yield Note(Kind.OVERRIDDEN, override=one.word, names=tuple(names))
        else:
            yield Note(Kind.OVERRIDE_UNUSED, override=one.word)


def _host(judged: Judged, moved: Controls) -> Iterator[Note]:
    """Yield a note on the control that differed most between the sides, if that is notable."""
    everything = [*moved.memory.items(), *moved.calls.items()]
    key, most = max(everything, key=lambda one: one[1].seen, default=("", None))
    if most is None or math.expm1(most.seen) < _TOLD_MOVEMENT:
        return
    control = next(one for one, _ in judged if one.candidate.name == most.name)
    ours, session = control.session, next(one for one in control.references if one.key == key)
    other = None  # what else may explain the movement: another boot or machine
    if session.boot_id != ours.boot_id:
        same = session.gpu_uuid is not None and session.gpu_uuid == ours.gpu_uuid
        other = "boot" if same else "machine"
    yield Note(
        Kind.HOST_MOVED,
        name=most.name,
        moved=math.expm1(most.seen),
        limit=math.expm1(most.log_ratio) if most.log_ratio < _KNOWN else None,
        session=key if len(control.references) > 1 else None,
        other=other,
    )


def _injection(candidate: Record) -> Iterator[Note]:
    given = {s.context["inject"] for s in candidate.sessions.values() if s.context.get("inject")}
    for work in sorted(given):
        yield Note(Kind.INJECTED, work=work)


def _contradicted(judged: Judged) -> Iterator[Note]:
    sides = {
        "baseline": [one.baseline for one, _ in judged],
        "candidate": [one.candidate for one, _ in judged],
    }
    for side, rows in sides.items():
        if edited := [row for row in rows if row.contradicted]:
            yield Note(Kind.EDITED, side=side, names=_names(edited))


def _siblings(judged: Judged) -> Iterator[Note]:
    met = [
        (one, verdict.minimum_effect or 0.0)
        for one, verdict in judged
        if one.comparability is Comparability.SIBLING
        and one.candidate.clock is Clock.DEVICE
        and one.session.gpu_name is not None
    ]
    if met:
        yield Note(
            Kind.SIBLINGS,
            gpu=met[0][0].session.gpu_name,
            sessions=len({session.key for one, _ in met for session in one.references}),
            minimum_effect=min(effect for _, effect in met),
            minimum_seconds=comparability.SIBLING_LATENCY,
        )


def _few_processes(
    baseline: Record, candidate: Record, judged: Judged, process_scatter: float
) -> Iterator[Note]:
    """Yield a note on sides with too few processes to show their scatter, and what is assumed."""
    few = {"baseline": 0, "candidate": 0}
    for one, _ in judged:
        base = _few(baseline, one.baseline, one.references)
        cand = _few(candidate, one.candidate, [one.session])
        few = {"baseline": max(few["baseline"], base), "candidate": max(few["candidate"], cand)}
    sides = tuple(side for side, count in few.items() if count)
    most = max(few.values())
    if sides and Source.GOOGLE_BENCHMARK not in (baseline.source, candidate.source):
        yield Note(Kind.FEW_PROCESSES, processes=most, sides=sides, assumed=ASSUMED_PROCESS_SD)
    elif sides:
        facts = {"assumed": process_scatter, "enough": ENOUGH_FILES}
        yield Note(Kind.FEW_FILES, processes=most, sides=sides, **facts)


def _fewest(row: Row, sessions: Iterable[Session]) -> int:
    return min(len(row.process_medians[session.key]) for session in sessions)


def _few(record: Record, row: Row, sessions: Iterable[Session]) -> int:
    """Return the number of processes of a side if too few to show their scatter, else 0."""
    if record.single_process:
        return 1
    fewest = _fewest(row, sessions)
    enough = FEWEST_PROCESSES if record.files else 2
    return fewest if fewest < enough else 0


def _alternated(judged: Judged) -> Iterator[Note]:
    """Yield a note on benchmarks measured in alternation although others ran in lock-step."""
    found = {kind: tuple(v.name for _, v in judged if v.evidence is kind) for kind in Evidence}
    if found[Evidence.PAIRED] and found[Evidence.LOCK_STEP]:
        yield Note(Kind.ALTERNATED, names=found[Evidence.PAIRED])


def _left_out(judged: Judged) -> Iterator[Note]:
    found = {
        (row.name, side): (row.counters[LEFT_OUT], max(map(len, row.process_medians.values())))
        for one, _ in judged
        for side, row in (("baseline", one.baseline), ("candidate", one.candidate))
        if 1.0 <= row.counters.get(LEFT_OUT, 0.0) < MOST / 2
    }
    if found:
        (name, side), (most, kept) = max(found.items(), key=lambda item: item[1][0])
        counts = {"left_out": round(most), "processes": round(most + kept), "more": len(found) - 1}
        yield Note(Kind.LEFT_OUT, name=name, side=side, **counts)


def _times(rows: Sequence[Row]) -> Iterator[Note]:
    """Yield what a reader should know of how times came about."""
    if limited := [row for row in rows if is_power_limited(row.counters)]:
        yield Note(Kind.POWER_LIMITED, names=_names(limited))
    if slow := [row for row in rows if row.counters.get(CANARY, 0.0) > 0.0]:
        yield Note(Kind.SLOW_PROCESS, names=_names(slow))
    if by_events := [row for row in rows if row.counters.get(TIME_ERROR, 0.0) > 0.0]:
        error = max(row.counters[TIME_ERROR] for row in by_events)
        yield Note(Kind.TIMED_BY_EVENTS, error=error, names=_names(by_events))


def _resources(judged: Judged) -> Iterator[Note]:
    found = [
        (verdict.name, differences)
        for _, verdict in judged
        if verdict.outcome is Outcome.PASS
        and (differences := tuple(str(one) for one in verdict.resources if one.key != KERNEL))
    ]
    if found:
        name, differences = found[0]
        yield Note(Kind.RESOURCES, name=name, differences=differences, more=len(found) - 1)


def _names(rows: Iterable[Row]) -> tuple[str, ...]:
    return tuple(row.name for row in rows)
