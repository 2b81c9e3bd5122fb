# SPDX-License-Identifier: Apache-2.0
"""Why benchmarks became slower: a requested one, or (--why) every confirmed regression.

The evidence of both sides is gathered and weighed. Without a time, only machine code is compared.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TypeVar

from warpgauge.measure import cubins, drive_lines
from warpgauge.measure.ab_run import Side
from warpgauge.measure.discovery import Binary
from warpgauge.measure.drive_lines import Program, answers
from warpgauge.measure.measuring import Measuring
from warpgauge.measure.plan import Lane, command, gpu_arguments, gpu_environment
from warpgauge.records.counters import Clock
from warpgauge.records.model import Record
from warpgauge.records.row import Moved, Row, Why
from warpgauge.system import atomic, process
from warpgauge.system.errors import ExitStatus, UserError, of_system
from warpgauge.system.text import clause, duration, inert
from warpgauge.verdict.comparison import Comparison, Outcome
from warpgauge.why import cupti, machine_code, ncu
from warpgauge.why.causes import code_changes, explanation
from warpgauge.why.cupti import Activity
from warpgauge.why.machine_code import Kernel
from warpgauge.why.reason import Evidence, Reason
from warpgauge.why.trace_views import chrome_trace

Pair = tuple[Binary, Binary]  # base and candidate, each with the one benchmark
_T = TypeVar("_T")

# A job that gates a pull request already takes minutes. If more regressions occur than fit, they
# usually come from one change.
BUDGET_S = 180.0
_EACH_S = 60.0  # the most for one benchmark
_MOST_KERNELS = 20  # the most kernels whose machine code is compared
_LONGEST_NAME = 80  # characters of a folder's name


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

    scratch: Path
    device: int | str | None
    trace_library: Path | None  # the library that traces both sides, if there is one
    seconds: float  # the budget of everything except the builds
    traces: Path | None = None  # the folder that keeps traces, made when needed
    missing: list[str] = field(default_factory=list)
    isolate: bool = False  # the programs that are traced; ncu cannot profile them then
    began: float = field(default_factory=time.monotonic)

    def side(self, binary: Binary, name: str, row: Row, what: str) -> Evidence:
        """Return the evidence of one benchmark, which has a time; `what` names the side.

        The program runs once under CUPTI, which tells the kernels and calls, and once under ncu.
        """
        seconds = statistics.median(chain.from_iterable(row.process_medians.values()))
        found = Evidence(seconds, row.clock is Clock.HOST, row.counters)
        if not binary.needs_gpu:
            return found
        lane = Lane((binary,))
        words = command(lane, binary, gpu_arguments(self.device), (name,))
        trace, kernels = self._unless_missing(what, "traced", lambda: self._trace(words)), None
        if trace is not None:
            if self.traces is not None:
                kept = chrome_trace(trace, {"benchmark": name, "side": what})
                self.traces.mkdir(parents=True, exist_ok=True)
                atomic.replace_all({self.traces / f"trace-{what}.json": kept})
            calls = self._unless_missing(what, "traced", lambda: cupti.calls_of(trace))
            device = cupti.device_of(trace)
            found = replace(found, calls=calls, device=device)
            names = cupti.kernels_in(device)
            if not names:
                return found  # ncu would not find kernels either
            kernels = sum(device[f"{cupti.KERNEL} {one}"].count for one in names)
            code = self._unless_missing(what, "disassembled", lambda: self._code(binary, names))
            whole = code is not None and len(code) == len(set(map(cubins.stable_name, names)))
            found = replace(found, code=code, code_is_whole=whole)
        kernels = row.counters.get("kernels") or kernels
        counted = self._unless_missing(what, "counted", lambda: self._counted(words, kernels))
        if counted is not None:
            found = replace(found, counters=counted.counters, kernels=counted.kernels)
        return found

    def _code(self, binary: Binary, names: Sequence[str]) -> Mapping[str, Kernel]:
        architecture = machine_code.architecture_of(self.device)
        return machine_code.kernels_of(binary.path, names[:_MOST_KERNELS], architecture)

    def _trace(self, words: Sequence[str]) -> Sequence[Activity] | None:
        if self.trace_library is None:
            return None
        file = self.scratch / "trace.json"
        file.unlink(missing_ok=True)
        # An isolated program can write only its report, which the trace replaces as it ends.
        to = Path(drive_lines.INHERITED) if self.isolate else file
        variables = cupti.environment(self.trace_library, to)
        both = {**gpu_environment(self.device), **variables}
        if self.isolate:
            program, left = Program([[*words]], "plain", ["trace"]), self._left()
            [ending] = answers([program], left, self.scratch, both, told="trace", isolate=True)
            file.write_text(ending.stdout)
        else:
            ending = process.run(words, self._left(), self.scratch, both)
        if ending.status:
            raise UserError(ending.described(), ExitStatus.NOT_MEASURED)
        return cupti.read_trace(file)

    def _counted(self, words: Sequence[str], kernels: float | None) -> ncu.Counted:
        if self.isolate:
            raise UserError("ncu cannot profile isolated programs", ExitStatus.NOT_MEASURED)
        variables = gpu_environment(self.device)
        return ncu.counted(words, self.scratch, self._left(), kernels, variables)

    def _left(self) -> float:
        """Return a process's time limit: half of the remaining budget, at least one second."""
        return max((self.seconds - (time.monotonic() - self.began)) / 2, 1.0)

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
    seconds: float,
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
    device = measuring.options.device
    gathering = Gathering(
        measuring.scratch, device, library, seconds, traces, missing, measuring.isolates
    )
    base = gathering.side(pair[0], name, found.base, "base")
    candidate = gathering.side(pair[1], name, found.candidate, "candidate")
    every = [*dict.fromkeys(missing)]
    return explanation(name, base, candidate, found.slowdown, every, found.may_be_chance)


def by_code(name: str, pair: Pair, why: str) -> Reason:
    """Return the reason from the programs' machine code alone, without running them."""
    try:
        old, new = (cubins.digests(one.path) for one in pair)
        differ = [one for one in old if one in new and old[one] != new[one]]
        gone, come = [one for one in old if one not in new], [one for one in new if one not in old]
        before = machine_code.kernels_of(pair[0].path, [*differ, *gone][:_MOST_KERNELS])
        after = machine_code.kernels_of(pair[1].path, [*differ, *come][:_MOST_KERNELS])
    except (UserError, OSError) as fault:
        return Reason(name, missing=(why, f"{_words(fault)}."))
    changes = code_changes(before, after)
    renamed = len(changes) - len(before.keys() & after.keys())
    counts = len(differ) + renamed, len(gone) + len(come) - 2 * renamed
    return Reason(name, code=changes, of_program=counts, missing=(why,))


def of_regressions(
    found: Comparison, sides: Callable[[], Sides], measuring: Measuring, folder: Path
) -> Comparison:
    """Return `found` with a reason for each regression that pairs have shown by its time.

    `folder` gets a folder for each, with the change of its machine code and the traces. Faults here
    do not change a verdict. Runs with injected extra work are not explained.
    """
    slower = [
        (one.change.ratio, one)
        for one in found.verdicts
        if one.outcome is Outcome.REGRESSION and one.by_time is None and one.change and one.in_pairs
    ]
    slower.sort(key=lambda both: -both[0])
    if not slower or measuring.options.inject:
        return found
    began, reasons = time.monotonic(), dict[str, Why]()
    for number, (slowdown, verdict) in enumerate(slower, 1):
        name = inert(verdict.name)
        try:
            left = BUDGET_S - (time.monotonic() - began)
            if left <= 0.0:
                raise UserError(f"the {duration(BUDGET_S)} for all explanations are used up")
            measuring.note(f"Looking into {name}")
            own = folder / f"{number}-{_file_name(verdict.name)}"
            seconds = min(left, _EACH_S)
            reasons[verdict.name] = _why(verdict.name, slowdown, sides(), measuring, seconds, own)
        except (UserError, OSError) as fault:
            reasons[verdict.name] = Why(f"{name} is not explained: {_words(fault)}.")
    verdicts = (replace(one, why=reasons.get(one.name)) for one in found.verdicts)
    return replace(found, verdicts=tuple(verdicts))


def _why(
    name: str, slowdown: float, sides: Sides, measuring: Measuring, seconds: float, folder: Path
) -> Why:
    base, candidate = (one.only([name]).binaries for one in sides.programs)
    before, after = (record.rows.get(name) for record in sides.records)
    if not (base and candidate and before and after):
        raise UserError("its programs or run files no longer exist")
    measured, pair = Measured(before, after, slowdown), (base[0], candidate[0])
    reason = explained(name, pair, measured, measuring, seconds, folder)
    if lines := reason.code_lines:
        folder.mkdir(parents=True, exist_ok=True)
        atomic.replace_all({folder / "machine-code.txt": "\n".join([*lines, ""])})
    return Why(reason.paragraph, tuple(Moved(*row) for row in reason.table))


def _file_name(benchmark: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]+", "_", benchmark)[:_LONGEST_NAME]


def _words(fault: UserError | OSError) -> str:
    """Return a fault as a clause."""
    return clause(str(of_system(fault) if isinstance(fault, OSError) else fault))
