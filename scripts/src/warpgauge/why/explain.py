# SPDX-License-Identifier: Apache-2.0
"""Why benchmarks became slower: a requested one, or every regression that pairs found.

The evidence of both sides is gathered and weighed.
"""

from __future__ import annotations

import math
import shlex
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from warpgauge.measure import cubins, program_code, selection
from warpgauge.measure.ab_run import Side
from warpgauge.measure.discovery import Binary
from warpgauge.measure.measuring import Measuring
from warpgauge.records.counters import KERNELS, Clock
from warpgauge.records.model import Record, Session
from warpgauge.records.row import Row, Why
from warpgauge.reports.view import bound_words
from warpgauge.system import environment, process
from warpgauge.system.errors import UserError, of_system
from warpgauge.system.git import short
from warpgauge.system.text import clause, duration, inert
from warpgauge.verdict import comparability
from warpgauge.verdict.comparison import Change, Comparison, ContextDifference, Outcome, Verdict
from warpgauge.why import cupti
from warpgauge.why.causes import explanation
from warpgauge.why.profiling import Profiling
from warpgauge.why.reason import Evidence, Reason

Pair = tuple[Binary, Binary]  # base and candidate, each with the one benchmark
_T = TypeVar("_T")

# A job that gates a pull request already takes minutes. If more regressions occur than fit, they
# usually come from one change.
BUDGET_S = 180.0
_EACH_S = 60.0  # the most for one benchmark
_MOST_KERNELS = 20  # the most kernels whose machine code is compared
_MOST_NAMED = 3  # differences in a sentence


@dataclass(frozen=True)
class Sides:
    """The two builds that were measured in pairs, and their run files."""

    programs: tuple[Side, Side]
    records: tuple[Record, Record]


def evidence(
    side: Profiling, row: Row, what: str, library: Path | None, missing: list[str]
) -> Evidence:
    """Return the evidence of one benchmark, which has a time; `what` names the side.

    The program runs once under CUPTI with this trace library, which tells the kernels and calls,
    and once under ncu. A sentence for each unavailable source is added to `missing`.
    """

    def tried(how: str, get: Callable[[], _T]) -> _T | None:
        try:
            return get()
        except (UserError, OSError) as fault:
            missing.append(f"The {what} is not {how}: {_words(fault)}.")
            return None

    seconds = statistics.median(row.times)
    found = Evidence(seconds, row.clock is Clock.HOST, row.counters)
    if not side.binary.needs_gpu:
        return found
    trace = tried("traced", partial(side.trace, library)) if library is not None else None
    kernels = row.counters.get(KERNELS)
    if trace is not None:
        device = cupti.device_of(trace)
        found = replace(found, calls=tried("traced", partial(cupti.calls_of, trace)), device=device)
        names = cupti.kernels_in(device)
        if not names:
            return found  # ncu would not find kernels either
        code = tried("disassembled", partial(side.code, [*names][:_MOST_KERNELS]))
        whole = code is not None and len(code) == len(set(map(cubins.stable_name, names)))
        found = replace(found, code=code, code_is_whole=whole)
        kernels = kernels or sum(kernel.count for kernel in names.values())
    return replace(found, counters=tried("counted", partial(side.counted, kernels)))


def of_pairs(name: str, pair: Pair, found: Comparison, measuring: Measuring) -> Reason:
    """Return the reason of one benchmark of two builds that were measured in pairs."""
    records = found.baseline, found.candidate
    change = next((one.change for one in found.verdicts if one.name == name), None)
    rows = [record.rows[name] for record in records if name in record.rows]
    times = [row.times for row in rows if row.times]
    if change is None and len(times) == 2:  # pairs that are not compared
        old, new = map(statistics.median, times)
        change = Change(new / old - 1.0, -math.inf, math.inf)
    if change is not None:
        return _explained(name, change, pair, records, measuring)
    fault = next((f": {row.error}" for row in rows if row.error), "")
    return Reason(name, missing=(f"It has no time on both sides{fault}.",))


def _explained(
    name: str,
    change: Change,
    pair: Pair,
    records: tuple[Record, Record],
    measuring: Measuring,
    seconds: float = math.inf,
) -> Reason:
    """Return the reason for a change of time, gathering evidence for at most `seconds`."""
    library, missing = None, list[str]()
    try:
        if any(one.needs_gpu for one in pair):
            library = cupti.trace_library(pair[1].file, measuring.tree)
    except UserError as fault:
        missing.append(f"Neither side is traced: {fault}.")
    until = time.monotonic() + seconds

    def left() -> float:
        half = (until - time.monotonic()) / 2  # one process must not use up the budget
        return min(measuring.options.timeout_s, max(half, 1.0))

    base, candidate = (
        evidence(Profiling(measuring, binary, left), record.rows[name], what, library, missing)
        for binary, record, what in zip(pair, records, ("base", "candidate"), strict=True)
    )
    every = [*dict.fromkeys(missing)]
    return explanation(name, base, candidate, change.ratio, every, not change.low > 0.0)


def of_axis(
    reason: Reason, axis: ContextDifference, pair: Pair, found: Comparison, measuring: Measuring
) -> Reason:
    """Add to the reason of a benchmark whose sides differ in an axis what that does."""
    differs, missing, libraries = [axis], reason.missing, ""
    try:
        sides = [Profiling(measuring, one, lambda: measuring.options.timeout_s) for one in pair]
        others = program_code.library_differences(*(side.libraries() for side in sides))
        libraries = "" if others else " Both sides load the same libraries."
        differs += others
    except (UserError, OSError) as fault:
        missing = (*missing, f"The libraries are not compared: {_words(fault)}.")
    what = ", ".join(f"{it.key} {it.baseline} → {it.candidate}" for it in differs[:_MOST_NAMED])
    verdict = next((one for one in found.verdicts if one.name == reason.name), None)
    outcome = verdict and verdict.outcome
    if outcome is Outcome.REGRESSION:
        remark = f"What makes it slower is {what}."
    elif outcome is Outcome.IMPROVED:
        remark = f"It is faster with {what}."
    elif verdict and (bound := bound_words(verdict)):
        certain = "does not make it slower" if outcome is Outcome.PASS else "may make it slower"
        remark = f"{axis.key} {certain}: {bound}."
    else:
        remark = f"The sides differ in {what}."
    return replace(reason, differs=tuple(differs), remark=remark + libraries, missing=missing)


def by_environment(
    row: Verdict, base: Session, session: Session, words: Sequence[str], in_pairs: bool
) -> Reason:
    """Return what differs between a baseline's session and one of the same source that is slower.

    `words` name the benchmark on a command line; `in_pairs` with the commit it is not slower.
    """
    counters = row.baseline_counters, row.counters
    differs = comparability.of_environment(base, session, row.clock, counters)
    commit = short(base.context.get("commit", ""))
    if in_pairs:
        remark = f"In pairs with the baseline's commit {commit}, it is not slower"
    else:
        remark = f"No source differs from the baseline's commit {commit}"
    if not differs:
        remark += ", and nothing that is recorded of the environment: measure again."
    else:
        remark += f". What differs is the environment: {', '.join(one.key for one in differs)}."
        axes = {its.key: _axis(its) for its in differs}
        tested = dict.fromkeys(filter(None, axes.values()))
        tests = [shlex.join([*words, "--axis", axis]) for axis in tested]
        commands = [environment.started(f"explain {test}") for test in tests]
        if others := [key for key, axis in axes.items() if not axis]:
            bench = shlex.join(["bench", *words[:-1], "--filter", selection.exactly(words[-1:])])
            commands.append(f"restore {', '.join(others)}, then {environment.started(bench)}")
        remark += f" To test it: {'; or '.join(commands)}."
    assert row.change is not None
    return Reason(row.name, row.change.ratio, differs=differs, remark=remark)


def _axis(differs: ContextDifference) -> str:
    """Return the axis that tests a difference of the environment, or ""."""
    if differs.key in ("cublas_version", "nccl_version"):
        return "LD_LIBRARY_PATH=OLD,NEW"
    # An axis has no third number.
    old, new = (".".join(it.split(".")[:2]) for it in (differs.baseline, differs.candidate))
    is_nvcc = differs.key in ("nvcc_version", "runtime_version") and old != new
    return f"nvcc={old},{new}" if is_nvcc else ""


def regressions(found: Comparison, measuring: Measuring) -> list[Verdict]:
    """Return the regressions that pairs have shown by their time, the worst first.

    There are none to explain without a GPU, or with injected extra work.
    """
    slower = [
        (one.change.ratio, one)
        for one in found.verdicts
        if one.outcome is Outcome.REGRESSION and one.by_time is None and one.change and one.in_pairs
    ]
    slower.sort(key=lambda both: -both[0])
    explains = not measuring.options.inject and not process.why_no_gpu()
    return [one for _, one in slower] if explains else []


def of_regressions(
    found: Comparison, sides: Callable[[], Sides], measuring: Measuring, seconds: float = math.inf
) -> Comparison:
    """Return `found` with a reason for each of its `regressions`, gathered in these `seconds`.

    Those with a proved cause are last. Faults here do not change a verdict. Programs that use no
    GPU, of which the profilers know nothing, are not explained.
    """
    began, budget, reasons = time.monotonic(), min(BUDGET_S, seconds), dict[str, Why]()
    slower = sorted(regressions(found, measuring), key=lambda one: bool(one.why and one.why.proved))
    for verdict in slower:
        name, proved = inert(verdict.name), verdict.why.proved if verdict.why else ()
        try:
            left = budget - (time.monotonic() - began)
            if left <= 0.0:
                raise UserError(f"the {duration(budget)} for all explanations are used up")
            why = _why(verdict, sides(), measuring, min(left, _EACH_S))
            if why is not None:
                reasons[verdict.name] = replace(why, proved=proved)
        except (UserError, OSError) as fault:
            if not proved:
                reasons[verdict.name] = Why(f"{name} is not explained: {_words(fault)}.")
    verdicts = (replace(one, why=reasons.get(one.name, one.why)) for one in found.verdicts)
    return replace(found, verdicts=tuple(verdicts))


def _why(verdict: Verdict, sides: Sides, measuring: Measuring, seconds: float) -> Why | None:
    name, change = verdict.name, verdict.change
    base, candidate = (one.only([name]).binaries for one in sides.programs)
    if not (base and candidate and change and all(name in one.rows for one in sides.records)):
        raise UserError("its programs or run files no longer exist")
    pair = base[0], candidate[0]
    if not any(program.needs_gpu for program in pair):
        return None
    measuring.note(f"Looking into {inert(name)}")
    reason = _explained(name, change, pair, sides.records, measuring, seconds)
    return Why(reason.paragraph, reason.table)


def _words(fault: UserError | OSError) -> str:
    """Return a fault as a clause."""
    return clause(str(of_system(fault) if isinstance(fault, OSError) else fault))
