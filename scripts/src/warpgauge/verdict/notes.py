# SPDX-License-Identifier: Apache-2.0
"""What a reader must know to weigh a comparison, one sentence each."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from warpgauge.records.benchmark_filter import Request
from warpgauge.records.counters import LEFT_OUT, RESOURCES_VARY
from warpgauge.records.model import Clock, Record, Row, Session, Source
from warpgauge.records.sessions import newest_last
from warpgauge.system.text import inert, listed, percent, plural
from warpgauge.verdict import comparability, context
from warpgauge.verdict.comparability import Comparability
from warpgauge.verdict.comparison import Evidence, Outcome, Verdict
from warpgauge.verdict.comparison_settings import FEWEST_PROCESSES, ComparisonSettings
from warpgauge.verdict.controls import Controls, is_control
from warpgauge.verdict.override import Override
from warpgauge.verdict.pairing import Pairing
from warpgauge.verdict.resource_changes import KERNEL
from warpgauge.verdict.screening import ASSUMED_PROCESS_SD

# A control that moved less is the usual weather of a shared machine.
_TOLD_MOVEMENT = 0.10

Judged = Sequence[tuple[Pairing, Verdict]]


def of(
    baseline: Record,
    candidate: Record,
    judged: Judged,
    request: Request,
    unasked: int,
    moved: Controls,
    settings: ComparisonSettings,
) -> list[str]:
    """The notes of a comparison, the weightiest first; `unasked` counts benchmarks left out."""
    notes = [
        *_injection(candidate),
        *_contradicted(judged),
        *_siblings(judged),
        *_few_processes(baseline, candidate, judged, settings.process_scatter),
        *_several_sessions(candidate),
        *_alternated(judged),
        *_left_out(judged),
        *_varying(judged),
        *_resources(judged),
        *_host(judged, moved),
    ]
    if unasked:
        them = "was" if unasked == 1 else "were"
        notes.append(f"{plural(unasked, 'benchmark')} {them} not asked for ({request.limits}).")
    return notes


def of_skips(skipped: Sequence[Row]) -> list[str]:
    """What was not measured, and was not expected to be."""
    if not skipped:
        return []
    reasons = dict.fromkeys(inert(row.error or "") for row in skipped)
    them = "was" if len(skipped) == 1 else "were"
    return [
        f"{plural(len(skipped), 'benchmark')} of which the baseline has no time {them} not "
        f"measured ({listed([row.name for row in skipped])}): {'; '.join(reasons)}."
    ]


def of_systems(pairings: Sequence[Pairing]) -> list[str]:
    """A sentence for each clock that meets sessions of this GPU, but not of this system."""
    notes = []
    for clock in Clock:
        met = [
            one
            for one in pairings
            if one.kin is Comparability.OTHER_SYSTEM
            and one.candidate.clock is clock
            and not is_control(one.candidate)
        ]
        if not met:
            continue
        newest = newest_last(met[-1].references)[-1]
        differences = ", ".join(
            f"{one.key} {inert(one.baseline)} → {inert(one.candidate)}"
            for one in comparability.widened(newest, met[-1].session, clock)
        )
        least = comparability.MINIMUM_EFFECT[clock, Comparability.OTHER_SYSTEM]
        notes.append(
            f"Not the baseline's system ({differences}): for {plural(len(met), 'benchmark')} of "
            f"{clock.value} time only a change of {percent(least, sign=False)} or more counts."
        )
    return notes


def of_overrides(
    baseline: Record,
    candidate: Record,
    waived: Mapping[Override, Sequence[str]],
    allow: Collection[Override],
) -> list[str]:
    """The notes of `allow`; `waived` are the benchmarks that `pair` compared despite each."""
    whole = {one.allowance: one.fact for one in context.objections(baseline, candidate)}
    notes = []
    for override in (one for one in Override if one in allow):
        what = whole.get(override) or _first_of(waived.get(override, ()))
        although = f"compared although {override.although}: {what}" if what else "it was not needed"
        notes.append(f"--allow {override.word}: {although}.")
    return notes


def _host(judged: Judged, moved: Controls) -> list[str]:
    """The control that differed most between the sides, where that is worth a sentence."""
    everything = [*moved.memory.items(), *moved.calls.items()]
    key, most = max(everything, key=lambda one: one[1].seen, default=("", None))
    if most is None or math.expm1(most.seen) < _TOLD_MOVEMENT:
        return []
    seen, limit = (percent(math.expm1(one), sign=False) for one in (most.seen, most.log_ratio))
    pairing = next(one for one, _ in judged if one.candidate.name == most.name)
    return [
        f"The host was not the same on both sides: {inert(most.name)} moved by {seen}"
        f"{_since(pairing, key)} (its median; with its noise, up to {limit}). Times of the host "
        "that changed no more say nothing of the code."
    ]


def _since(control: Pairing, key: str) -> str:
    """From where a control moved, if that is elsewhere or not plain: another host explains much."""
    session = next(one for one in control.references if one.key == key)
    several = len(control.references) > 1
    where = ""
    if session.boot_id != control.session.boot_id:
        same = session.gpu_uuid is not None and session.gpu_uuid == control.session.gpu_uuid
        where = ", of another boot" if same else ", of another machine"
    whom = f"session {inert(key)}" if several else "the baseline"
    return f" against {whom}{where}" if several or where else ""


def _injection(candidate: Record) -> list[str]:
    given = {s.context["inject"] for s in candidate.sessions.values() if s.context.get("inject")}
    return [
        f"The candidate was measured with injected extra work ({inert(one)})."
        for one in sorted(given)
    ]


def _contradicted(judged: Judged) -> list[str]:
    sides = {
        "baseline": [one.baseline.name for one, _ in judged if one.baseline.contradicted],
        "candidate": [one.candidate.name for one, _ in judged if one.candidate.contradicted],
    }
    return [
        f"The {side}'s real_time is not the median of its process_medians, as if the file had been "
        f"edited, in {_first_of(names)}; only process_medians count."
        for side, names in sides.items()
        if names
    ]


def _siblings(judged: Judged) -> list[str]:
    met = [
        (one, verdict.minimum_effect or 0.0)
        for one, verdict in judged
        if one.kin is Comparability.SIBLING
        and one.candidate.clock is Clock.DEVICE
        and one.session.gpu_name is not None
    ]
    if not met:
        return []
    gpu = inert(met[0][0].session.gpu_name or "GPU")
    sessions = {session.key for one, _ in met for session in one.references}
    effect = percent(min(effect for _, effect in met), sign=False)
    latency = f"{1e9 * comparability.SIBLING_LATENCY:.0f} ns"
    return [
        f"This very {gpu} is not in the baseline: compared with {plural(len(sessions), 'session')} "
        f"of its siblings, which differ without a cause, so only a change of device time of "
        f"{effect} or of {latency}, whichever is more, could be seen; scripts/bench --against a "
        "commit sees smaller ones."
    ]


def _few_processes(
    baseline: Record, candidate: Record, judged: Judged, process_scatter: float
) -> list[str]:
    """Which sides do not show how far processes scatter, and what is assumed."""
    few = {"baseline": 0, "candidate": 0}
    for one, _ in judged:
        base = _few(baseline, one.baseline, one.references)
        cand = _few(candidate, one.candidate, [one.session])
        few = {"baseline": max(few["baseline"], base), "candidate": max(few["candidate"], cand)}
    sides = [side for side, count in few.items() if count]
    if not sides:
        return []
    who = "Both sides have" if len(sides) == len(few) else f"The {sides[0]} side has"
    most = max(few.values())
    count = "a single process" if most == 1 else f"no more than {most} processes"
    if Source.GOOGLE_BENCHMARK in (baseline.source, candidate.source):
        return [
            f"{who} {count}, and repetitions do not show how far the next would lie: two processes "
            f"of the same code are assumed to lie {percent(process_scatter, sign=False)} apart "
            "(--process-scatter), or as far as all changes do where that is more. Measure "
            f"{FEWEST_PROCESSES} processes a side or more, and give all their files (--processes)."
        ]
    return [
        f"{who} {count}, which cannot tell how far the next would lie; a "
        f"spread of {percent(ASSUMED_PROCESS_SD, sign=False)} is assumed, or that of all changes "
        "where it is more."
    ]


def _few(record: Record, row: Row, sessions: Iterable[Session]) -> int:
    """How many processes a side has, where those do not show how far they scatter; else 0."""
    if record.single_process:
        return 1
    fewest = min(len(row.process_medians[session.key]) for session in sessions)
    enough = FEWEST_PROCESSES if record.files else 2
    return fewest if fewest < enough else 0


def _several_sessions(candidate: Record) -> list[str]:
    if len(candidate.sessions) < 2 or candidate.source is Source.GOOGLE_BENCHMARK:
        return []
    count = plural(len(candidate.sessions), "session")
    return [f"The candidate holds {count}; the newest of each benchmark is judged."]


def _alternated(judged: Judged) -> list[str]:
    """What was not measured in lock-step where other benchmarks were."""
    found = {kind: [v.name for _, v in judged if v.evidence is kind] for kind in Evidence}
    names = found[Evidence.PAIRED]
    if not names or not found[Evidence.LOCK_STEP]:
        return []
    were = plural(len(names), "benchmark was", "benchmarks were")
    return [
        f"{were} measured in alternating processes, which scatter more than pairs in lock-step: "
        f"{listed(names)}."
    ]


def _left_out(judged: Judged) -> list[str]:
    found = {
        (row.name, side): (row.counters[LEFT_OUT], max(map(len, row.process_medians.values())))
        for one, _ in judged
        for side, row in (("baseline", one.baseline), ("candidate", one.candidate))
        if row.counters.get(LEFT_OUT)
    }
    if not found:
        return []
    (name, side), (most, kept) = max(found.items(), key=lambda item: item[1][0])
    return [
        "The SM clock was lowered, or others used the GPU, in some processes; they do not count: "
        f"{most:.0f} of {most + kept:.0f} of {inert(name)} ({side}){_and_more(len(found))}."
    ]


def _varying(judged: Judged) -> list[str]:
    names = [one.candidate.name for one, _ in judged if one.candidate.counters.get(RESOURCES_VARY)]
    if not names:
        return []
    return [
        f"Not every process of the candidate ran the same kernels, going by what they take: "
        f"{_first_of(names)}."
    ]


def _resources(judged: Judged) -> list[str]:
    found = [
        (verdict.name, differences)
        for _, verdict in judged
        if verdict.outcome is Outcome.PASS
        and (differences := [str(one) for one in verdict.resources if one.key != KERNEL])
    ]
    if not found:
        return []
    name, differences = found[0]
    return [
        f"Other resources in an unchanged time: {inert(name)} ({'; '.join(differences)})"
        f"{_and_more(len(found))}."
    ]


def _first_of(names: Sequence[str]) -> str:
    return f"{inert(names[0])}{_and_more(len(names))}" if names else ""


def _and_more(count: int) -> str:
    return f", and {plural(count - 1, 'more benchmark')}" if count > 1 else ""
