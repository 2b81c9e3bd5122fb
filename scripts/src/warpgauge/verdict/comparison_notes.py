# SPDX-License-Identifier: Apache-2.0
"""The notes of a judged comparison, in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median

from warpgauge.records.benchmark_filter import NOT_BUILT, Request, same_code
from warpgauge.records.counters import (
    CANARY,
    LEFT_OUT,
    RESOURCES_VARY,
    TIME_ERROR,
    Clock,
    is_power_limited,
)
from warpgauge.records.model import ISOLATED, Record, Session
from warpgauge.records.row import Row
from warpgauge.records.sessions import are_paired, newest_last
from warpgauge.system.environment import started
from warpgauge.system.text import duration, foreign, percent, plural
from warpgauge.verdict import comparability, incompatibility
from warpgauge.verdict.comparability import Comparability
from warpgauge.verdict.comparison import KERNEL, Comparison, Evidence, Outcome, Verdict
from warpgauge.verdict.comparison_settings import ENOUGH_FILES, FEWEST_PROCESSES, ComparisonSettings
from warpgauge.verdict.incompatibility import Override
from warpgauge.verdict.note import MOVED_ALIKE, SIBLINGS, Note, and_more, listed, sentence
from warpgauge.verdict.pairing import Pairing
from warpgauge.verdict.rule import Movement
from warpgauge.verdict.screening import ASSUMED_PROCESS_SD

# A smaller movement of a control is usual on a shared machine and not noted.
_TOLD_MOVEMENT = 0.10
# So many rows of a suite, and this share of them, must move alike to get one note.
_FEWEST_ALIKE, _ALIKE = 12, 0.75
_KNOWN = 100.0  # a log ratio; larger or unknown noise sets no limit
_MOST = 2.0**52  # processes; a larger count is no count

Judged = Sequence[tuple[Pairing, Verdict]]


def of(
    baseline: Record,
    candidate: Record,
    judged: Judged,
    waived: Mapping[Override, Sequence[str]],
    request: Request,
    unasked: int,
    moved: Sequence[Movement] | None,
    settings: ComparisonSettings,
) -> Iterator[Note]:
    """Yield the notes of a comparison, most important first.

    `waived` maps each override to the benchmarks that needed it, `unasked` counts the benchmarks
    that the `request` left out.
    """
    yield from _overrides(baseline, candidate, waived, settings)
    contexts = [session.context for session in candidate.sessions.values()]
    for work in sorted({one["inject"] for one in contexts if one.get("inject")}):
        words = f"The candidate was measured with injected extra work ({foreign(work)})."
        yield Note("injected", words)
    yield from _contradicted(judged)
    if not are_paired(baseline, candidate):
        yield from _moved_alike(judged, is_ours=not candidate.source.is_plain)
        yield from _siblings(judged)
    yield from _few_processes(baseline, candidate, judged, settings.process_scatter)
    if not candidate.source.is_plain and len(candidate.sessions) > 1:
        held = f"The candidate holds {plural(len(candidate.sessions), 'session')}"
        yield Note("several_sessions", f"{held}; each benchmark is judged by its newest session.")
    alternated = [one.name for _, one in judged if one.evidence is Evidence.PAIRED]
    if alternated and any(one.evidence is Evidence.LOCK_STEP for _, one in judged):
        words = "Measured in alternating processes, which scatter more than lock-step pairs"
        yield Note("alternated", f"{words}: {listed(alternated)}.")
    yield from _left_out(judged)
    yield from _of_rows([one.candidate for one, _ in judged])
    yield from _resources(judged)
    energies = {one.name: one.energy for _, one in judged if one.energy}
    if names := sorted(energies, key=lambda name: -abs(energies[name].ratio)):
        shown = listed(f"{name} {energies[name]}" for name in names)
        yield Note("energy", f"Energy differs beyond the meter's error: {shown}.")
    if moved is not None:
        yield from _host(moved)
    for said in sorted({context.get(ISOLATED, "") for context in contexts}):
        if said == "yes":
            yield Note("isolated", "The run says that it isolated the programs from its machine.")
        elif said:
            why = sentence(said.removeprefix("no (").removesuffix(")"))
            yield Note("not_isolated", f"The programs were not isolated from their machine: {why}.")
    if unasked := unasked - len(request.left_out & baseline.rows.keys()):
        skipped = f"{plural(unasked, 'benchmark')} skipped by {foreign('--filter')}"
        yield Note("filtered", f"{skipped} {foreign(request.filters)}.")
    if request.of_full_suite:
        count = plural(len(request.of_full_suite), "benchmark")
        yield Note("of_full_suite", f"{count} of the full suite skipped.")
    for families in sorted({context[NOT_BUILT] for context in contexts if context.get(NOT_BUILT)}):
        count = plural(len(request.not_built), "benchmark")
        yield Note(NOT_BUILT, f"Not built: {foreign(families.replace('/', ', '))} ({count}).")


def of_same_code(found: Comparison) -> Iterator[Note]:
    """Yield a note on the benchmarks whose code is equal on both sides, if the run states any."""
    same, rows = same_code(found.candidate), found.candidate.rows.keys()
    if not same:
        return
    words = (
        f"{len(same)} of {plural(len(same | rows), 'benchmark')} cannot have changed: their "
        "machine code and host code are equal. "
        f"{len(same & rows)} of them were measured as a control."
    )
    yield Note("same_code", words)
    slower = [row.name for row in found.verdicts if row.outcome is Outcome.REGRESSION]
    if wrong := same.intersection(slower):
        count, be = plural(len(wrong), "benchmark"), "is" if len(wrong) == 1 else "are"
        words = (
            f"{count} that cannot have changed {be} slower: the selection is wrong, or the machine "
            f"changed. Measure everything, without {foreign('--changed')}."
        )
        yield Note("same_code_slower", words)


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
        told = listed(f"{one.key} {one.baseline} → {one.candidate}" for one in differences)
        least = comparability.MINIMUM_EFFECT[clock, Comparability.OTHER_SYSTEM]
        yield Note(
            "other_system",
            f"The system differs from the baseline's ({told}): for "
            f"{plural(len(met), 'benchmark')} of {clock.value} time only changes of at least "
            f"{percent(least, sign=False)} count.",
        )


def _overrides(
    baseline: Record,
    candidate: Record,
    waived: Mapping[Override, Sequence[str]],
    settings: ComparisonSettings,
) -> Iterator[Note]:
    whole = {one.override: one.fact for one in incompatibility.of_records(baseline, candidate)}
    for one in (one for one in Override if one in settings.allow):
        compared = f"{foreign(f'--allow {one.word}')}: compared although {one.although}"
        if fact := whole.get(one):
            yield Note("overridden", f"{compared}: {sentence(fact)}.")
        elif names := waived.get(one):
            yield Note("overridden", f"{compared}: {listed(names)}.")
        else:
            yield Note("override_unused", f"{foreign(f'--allow {one.word}')} was not needed.")


def _host(moved: Sequence[Movement]) -> Iterator[Note]:
    """Yield a note on the control that differed most between the sides, if that is notable."""
    most = max(moved, key=lambda control: control.seen, default=None)
    if most is None or math.expm1(most.seen) < _TOLD_MOVEMENT:
        return
    ours, session = most.control.session, most.session
    size = percent(math.expm1(most.seen), sign=False)
    words = f"The host was not the same on both sides: {foreign(most.name)} moved by {size}"
    if len(most.control.references) > 1:
        words += f" against session {foreign(session.key)}"
    if session.boot_id != ours.boot_id:  # what else may explain the movement
        same = session.gpu_uuid is not None and session.gpu_uuid == ours.gpu_uuid
        words += f", of another {'boot' if same else 'machine'}"
    noise = ""
    if most.log_ratio < _KNOWN:
        noise = f"; with its noise, up to {percent(math.expm1(most.log_ratio), sign=False)}"
    nothing = "Changes of host time up to that size say nothing about the code."
    yield Note("host_moved", f"{words} (its median{noise}). {nothing}")


def _contradicted(judged: Judged) -> Iterator[Note]:
    sides = {
        "baseline": [one.baseline for one, _ in judged],
        "candidate": [one.candidate for one, _ in judged],
    }
    for side, rows in sides.items():
        if edited := [row.name for row in rows if row.contradicted]:
            yield Note(
                "edited",
                f"The {side}'s real_time is not the median of its process_medians, as if the file "
                f"had been edited, in {listed(edited)}; only process_medians count.",
            )


def _moved_alike(judged: Judged, *, is_ours: bool) -> Iterator[Note]:
    """Yield a note for each clock of which most rows moved by about the same.

    Noise has no common size: of twelve rows that scatter about zero, less than one suite in 1000
    has three quarters within half of its median (normal, Laplace, t, two states; simulated).
    """
    own = [verdict for _, verdict in judged if not verdict.control]
    for clock in Clock:
        verdicts = [verdict for verdict in own if verdict.clock is clock]
        pairs = [(verdict.baseline_seconds, verdict.candidate_seconds) for verdict in verdicts]
        logs = [math.log(ours) - math.log(base) for base, ours in pairs if base and ours]
        if len(logs) < _FEWEST_ALIKE:
            continue
        middle = median(logs)
        alike = [log for log in logs if abs(log - middle) <= abs(middle) / 2]
        tolerance = median(verdict.tolerance or 0.0 for verdict in verdicts)
        if abs(middle) > math.log1p(tolerance) and len(alike) >= _ALIKE * len(logs):
            size = percent(math.expm1(min(median(alike), _KNOWN)))
            of = f" of {clock.value} time" if is_ours else ""
            command = "bench --against COMMIT" if is_ours else "ab"
            yield Note(
                MOVED_ALIKE,
                f"{len(alike)} of {plural(len(logs), 'benchmark')}{of} moved by about {size}: the "
                "machine or the build changed, not single benchmarks. Measure both sides in turns "
                f"({foreign(started(command))}).",
            )


def _siblings(judged: Judged) -> Iterator[Note]:
    met = [
        (one, verdict.minimum_effect or 0.0)
        for one, verdict in judged
        if one.comparability is Comparability.SIBLING
        and one.candidate.clock is Clock.DEVICE
        and one.session.gpu_name is not None
    ]
    if met:
        sessions = len({session.key for one, _ in met for session in one.references})
        least = percent(min(effect for _, effect in met), sign=False)
        yield Note(
            SIBLINGS,
            f"The baseline has no session of this {foreign(met[0][0].session.gpu_name or '')}. It "
            f"is compared with {plural(sessions, 'session')} of other GPUs of the model, and those "
            f"differ even without a cause. Only changes of device time of at least {least} or "
            f"{duration(comparability.SIBLING_LATENCY)} per kernel, whichever is more, count. "
            f"{foreign(started('bench --against COMMIT'))} detects smaller ones.",
        )


def _few_processes(
    baseline: Record, candidate: Record, judged: Judged, process_scatter: float
) -> Iterator[Note]:
    """Yield a note on sides with too few processes to show their scatter, and what is assumed."""
    base = (_few(baseline, one.baseline, one.references) for one, _ in judged)
    cand = (_few(candidate, one.candidate, [one.session]) for one, _ in judged)
    few = {"baseline": max(base, default=0), "candidate": max(cand, default=0)}
    sides = " and ".join(f"the {side}" for side, count in few.items() if count)
    at_most = f"At most {plural(max(few.values()), 'process', 'processes')} of {sides}"
    if sides and not (baseline.source.is_plain or candidate.source.is_plain):
        yield Note(
            "few_processes",
            f"{at_most}: too few to know the scatter between processes. A standard deviation of "
            f"{percent(ASSUMED_PROCESS_SD, sign=False)} is assumed, or that of all changes if it "
            "is larger.",
        )
    elif sides:
        yield Note(
            "few_files",
            f"{at_most}, and repetitions do not show the scatter between processes. A standard "
            f"deviation of {percent(process_scatter, sign=False)} between two processes of the "
            f"same code is assumed ({foreign('--process-scatter')}), or that of all changes if it "
            f"is larger. Measure {ENOUGH_FILES} processes per side, and give a folder of their "
            "files each.",
        )


def _few(record: Record, row: Row, sessions: Iterable[Session]) -> int:
    """Return the number of processes of a side if too few to show their scatter, else 0."""
    if record.single_process:
        return 1
    fewest = min(len(row.process_medians[session.key]) for session in sessions)
    return fewest if fewest < (FEWEST_PROCESSES if record.of_processes else 2) else 0


def _left_out(judged: Judged) -> Iterator[Note]:
    found = {
        (row.name, side): (row.counters[LEFT_OUT], max(map(len, row.process_medians.values())))
        for one, _ in judged
        for side, row in (("baseline", one.baseline), ("candidate", one.candidate))
        if 1.0 <= row.counters.get(LEFT_OUT, 0.0) < _MOST
    }
    if found:
        (name, side), (most, kept) = max(found.items(), key=lambda item: item[1][0])
        yield Note(
            "left_out",
            "Some processes do not count, because the SM clock was lowered or others used the GPU: "
            f"{round(most)} of {round(most + kept)} of {foreign(name)} ({side})"
            f"{and_more(len(found) - 1)}.",
        )


def _of_rows(rows: Sequence[Row]) -> Iterator[Note]:
    """Yield what a reader should know of how times came about."""
    if vary := [row.name for row in rows if row.counters.get(RESOURCES_VARY)]:
        words = f"The candidate's processes did not all run the same kernels: {listed(vary)}."
        yield Note("kernels_vary", words)
    if limited := [row.name for row in rows if is_power_limited(row.counters)]:
        words = "The power limit lowered the clock while these ran, so their times depend on the "
        yield Note("power_limited", f"{words}GPU's power and cooling: {listed(limited)}.")
    if slow := [row.name for row in rows if row.counters.get(CANARY, 0.0) > 0.0]:
        words = "An earlier benchmark slowed the process of these, so their times may be too long: "
        words += f"{listed(slow)}. Measure them alone with {foreign('--filter')}."
        yield Note("slow_process", words)
    if by_events := [row for row in rows if row.counters.get(TIME_ERROR, 0.0) > 0.0]:
        error = duration(max(row.counters[TIME_ERROR] for row in by_events))
        words = f"Timed by events around each call, which may be off by up to {error}"
        yield Note("timed_by_events", f"{words}: {listed(row.name for row in by_events)}.")


def _resources(judged: Judged) -> Iterator[Note]:
    found = [
        (verdict.name, differences)
        for _, verdict in judged
        if verdict.outcome is Outcome.PASS
        and (differences := [str(one) for one in verdict.resources if one.key != KERNEL])
    ]
    if found:
        name, differences = found[0]
        words = f"Resources changed, but the time did not: {foreign(name)} ({listed(differences)})"
        yield Note("resources", f"{words}{and_more(len(found) - 1)}.")
