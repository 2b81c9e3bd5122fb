# SPDX-License-Identifier: Apache-2.0
"""Why benchmarks became slower: a requested one, or every regression that pairs found.

The evidence of both sides is gathered and weighed.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TypeVar

from warpgauge.measure import cubins
from warpgauge.measure.ab_run import Side
from warpgauge.measure.discovery import Binary
from warpgauge.measure.measuring import Measuring
from warpgauge.records.counters import Clock
from warpgauge.records.model import Record
from warpgauge.records.row import Moved, Row, Why
from warpgauge.system import atomic, process
from warpgauge.system.errors import UserError, of_system
from warpgauge.system.text import clause, duration, file_name, inert
from warpgauge.verdict.comparison import Comparison, Outcome
from warpgauge.why import cupti
from warpgauge.why.causes import explanation
from warpgauge.why.profiling import Profiling
from warpgauge.why.reason import Evidence, Reason
from warpgauge.why.trace_views import chrome_trace

Pair = tuple[Binary, Binary]  # base and candidate, each with the one benchmark
_T = TypeVar("_T")

# A job that gates a pull request already takes minutes. If more regressions occur than fit, they
# usually come from one change.
BUDGET_S = 180.0
_EACH_S = 60.0  # the most for one benchmark
_MOST_KERNELS = 20  # the most kernels whose machine code is compared


@dataclass(frozen=True)
class Measured:
    """Both rows of a benchmark with a time on both sides; a slowdown of 0.1 is 10 %."""

    base: Row
    candidate: Row
    slowdown: float
    may_be_chance: bool = False


@dataclass(frozen=True)
class Sides:
    """The two builds that were measured in pairs, and their run files."""

    programs: tuple[Side, Side]
    records: tuple[Record, Record]


@dataclass(frozen=True)
class Gathering:
    """How evidence is gathered; `missing` collects a sentence for each unavailable source."""

    measuring: Measuring
    trace_library: Path | None  # the library that traces both sides, if there is one
    seconds: float = math.inf  # the budget of everything except the builds
    traces: Path | None = None  # the folder that keeps traces, made when needed
    missing: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def side(self, binary: Binary, row: Row, what: str) -> Evidence:
        """Return the evidence of one benchmark, which has a time; `what` names the side.

        The program runs once under CUPTI, which tells the kernels and calls, and once under ncu.
        """
        seconds = statistics.median(chain.from_iterable(row.process_medians.values()))
        found = Evidence(seconds, row.clock is Clock.HOST, row.counters)
        if not binary.needs_gpu:
            return found
        side, trace, kernels = Profiling(self.measuring, binary, self._left), None, None
        if self.trace_library is not None:
            trace = self._unless_missing(what, "traced", partial(side.trace, self.trace_library))
        if trace is not None:
            if self.traces is not None:
                kept = chrome_trace(trace, {"benchmark": binary.names[0], "side": what})
                self.traces.mkdir(parents=True, exist_ok=True)
                atomic.replace_all({self.traces / f"trace-{what}.json": kept})
            calls = self._unless_missing(what, "traced", partial(cupti.calls_of, trace))
            device = cupti.device_of(trace)
            found = replace(found, calls=calls, device=device)
            names = cupti.kernels_in(device)
            if not names:
                return found  # ncu would not find kernels either
            kernels = sum(device[f"{cupti.KERNEL} {one}"].count for one in names)
            disassembled = partial(side.code, names[:_MOST_KERNELS])
            code = self._unless_missing(what, "disassembled", disassembled)
            whole = code is not None and len(code) == len(set(map(cubins.stable_name, names)))
            found = replace(found, code=code, code_is_whole=whole)
        kernels = row.counters.get("kernels") or kernels
        counted = self._unless_missing(what, "counted", partial(side.counted, kernels))
        if counted is not None:
            found = replace(found, counters=counted.counters, kernels=counted.kernels)
        return found

    def _left(self) -> float:
        """Return a process's time limit: at most half of the remaining budget, or one second."""
        half = (self.seconds - (time.monotonic() - self.began)) / 2
        return min(self.measuring.options.timeout_s, max(half, 1.0))

    def _unless_missing(self, what: str, how: str, get: Callable[[], _T]) -> _T | None:
        """Return the result of `get`; if it fails, None, and add a sentence to `missing`."""
        try:
            return get()
        except (UserError, OSError) as fault:
            self.missing.append(f"The {what} is not {how}: {_words(fault)}.")
            return None


def explained(
    name: str,
    pair: Pair,
    found: Measured,
    measuring: Measuring,
    seconds: float = math.inf,
    traces: Path | None = None,
) -> Reason:
    """Return the reason for a slowdown, gathering evidence for at most `seconds`.

    The traces of both sides are written to the folder `traces`, for Perfetto.
    """
    library, missing = None, list[str]()
    try:
        if any(one.needs_gpu for one in pair):
            library = cupti.trace_library(pair[1].path, measuring.tree)
    except UserError as fault:
        missing.append(f"Neither side is traced: {fault}.")
    gathering = Gathering(measuring, library, seconds, traces, missing)
    base = gathering.side(pair[0], found.base, "base")
    candidate = gathering.side(pair[1], found.candidate, "candidate")
    every = [*dict.fromkeys(missing)]
    return explanation(name, base, candidate, found.slowdown, every, found.may_be_chance)


def of_pairs(name: str, pair: Pair, found: Comparison, measuring: Measuring) -> Reason:
    """Return the reason of one benchmark of two builds that were measured in pairs."""
    before, after = (record.rows.get(name) for record in (found.baseline, found.candidate))
    measured = _measured(before, after, found) if before and after else None
    if measured is not None:
        return explained(name, pair, measured, measuring)
    fault = next((row.error for row in (before, after) if row is not None and row.error), None)
    return Reason(name, missing=(f"It has no time on both sides{f': {fault}' if fault else ''}.",))


def _measured(before: Row, after: Row, found: Comparison) -> Measured | None:
    """Return what was measured; None if a side has no time."""
    for verdict in found.verdicts:
        if verdict.name == before.name and verdict.change is not None:
            return Measured(before, after, verdict.change.ratio, not verdict.change.low > 0.0)
    times = [[*chain.from_iterable(row.process_medians.values())] for row in (before, after)]
    if not all(times):
        return None
    old, new = map(statistics.median, times)
    return Measured(before, after, new / old - 1.0, True)


def of_regressions(
    found: Comparison, sides: Callable[[], Sides], measuring: Measuring, folder: Path
) -> Comparison:
    """Return `found` with a reason for each regression that pairs have shown by its time.

    `folder` gets a folder for each, with the change of its machine code and the traces. Faults here
    do not change a verdict. Runs with injected extra work are not explained, nor programs that use
    no GPU, of which the profilers know nothing.
    """
    slower = [
        (one.change.ratio, one)
        for one in found.verdicts
        if one.outcome is Outcome.REGRESSION and one.by_time is None and one.change and one.in_pairs
    ]
    slower.sort(key=lambda both: -both[0])
    if not slower or measuring.options.inject or not process.has_gpu():
        return found
    began, reasons = time.monotonic(), dict[str, Why | None]()
    for number, (slowdown, verdict) in enumerate(slower, 1):
        name = inert(verdict.name)
        try:
            left = BUDGET_S - (time.monotonic() - began)
            if left <= 0.0:
                raise UserError(f"the {duration(BUDGET_S)} for all explanations are used up")
            own = folder / f"{number}-{file_name(verdict.name)}"
            seconds = min(left, _EACH_S)
            reasons[verdict.name] = _why(verdict.name, slowdown, sides(), measuring, seconds, own)
        except (UserError, OSError) as fault:
            reasons[verdict.name] = Why(f"{name} is not explained: {_words(fault)}.")
    verdicts = (replace(one, why=reasons.get(one.name)) for one in found.verdicts)
    return replace(found, verdicts=tuple(verdicts))


def _why(
    name: str, slowdown: float, sides: Sides, measuring: Measuring, seconds: float, folder: Path
) -> Why | None:
    base, candidate = (one.only([name]).binaries for one in sides.programs)
    before, after = (record.rows.get(name) for record in sides.records)
    if not (base and candidate and before and after):
        raise UserError("its programs or run files no longer exist")
    measured, pair = Measured(before, after, slowdown), (base[0], candidate[0])
    if not any(program.needs_gpu for program in pair):
        return None
    measuring.note(f"Looking into {inert(name)}")
    reason = explained(name, pair, measured, measuring, seconds, folder)
    if lines := reason.code_lines:
        folder.mkdir(parents=True, exist_ok=True)
        atomic.replace_all({folder / "machine-code.txt": "\n".join([*lines, ""])})
    return Why(reason.paragraph, tuple(Moved(*row) for row in reason.table))


def _words(fault: UserError | OSError) -> str:
    """Return a fault as a clause."""
    return clause(str(of_system(fault) if isinstance(fault, OSError) else fault))
