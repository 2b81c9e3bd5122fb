# SPDX-License-Identifier: Apache-2.0
"""Why benchmarks became slower: a requested one, or (--why) every confirmed regression.

The evidence of both sides is gathered and weighed. Without a time, only machine code is compared.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from warpgauge.measure.ab_run import Side
from warpgauge.measure.discovery import Binary
from warpgauge.measure.measuring import Measuring
from warpgauge.records.model import Record, Row
from warpgauge.system import atomic
from warpgauge.system.errors import UserError, of_system
from warpgauge.system.text import clause, duration, inert
from warpgauge.verdict.comparison import Comparison, Moved, Outcome, Verdict, Why
from warpgauge.why import code_causes, gather, trace_file
from warpgauge.why.causes import causes
from warpgauge.why.gather import Gathering
from warpgauge.why.reason import Reason

Pair = tuple[Binary, Binary]  # base and candidate, each with the one benchmark

# A job that gates a pull request already takes minutes. If more regressions occur than fit, they
# usually come from one change.
BUDGET_S = 180.0
_EACH_S = 60.0  # the most for one benchmark
_LONGEST_NAME = 80  # characters of a folder's name


@dataclass(frozen=True)
class Measured:
    """Both rows of a benchmark with a time on both sides; a slowdown of 0.1 is 10 %."""

    base: Row
    candidate: Row
    slowdown: float
    is_shown: bool = True  # whether the slowdown is beyond chance


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
            library = trace_file.trace_library(pair[1].path, measuring.root)
    except UserError as fault:
        missing.append(f"Neither side is traced: {fault}.")
    device = measuring.options.device
    gathering = Gathering(measuring.scratch, device, library, seconds, traces, missing)
    sides = (
        gathering.side(pair[0], name, found.base, "base"),
        gathering.side(pair[1], name, found.candidate, "candidate"),
    )
    return Reason(
        name,
        causes(*sides, found.slowdown),
        code_causes.code_changes(*sides),
        sides,
        code_causes.is_same_code(*sides),
        tuple(dict.fromkeys(gathering.missing)),
        is_shown=found.is_shown,
    )


def by_code(name: str, pair: Pair, why: str) -> Reason:
    """Return the reason from the programs' machine code alone, without running them."""
    try:
        found = gather.changed_kernels(*(one.path for one in pair))
    except (UserError, OSError) as fault:
        return Reason(name, None, {}, missing=(why, f"{_words(fault)}."))
    changes = code_causes.changes_of(found.before, found.after)
    renamed = len(changes) - len(found.before.keys() & found.after.keys())
    counts = found.differ + renamed, found.alone - 2 * renamed
    return Reason(name, None, changes, of_program=counts, missing=(why,))


@dataclass(frozen=True)
class Sides:
    """The two builds that were measured in pairs, and their run files."""

    programs: tuple[Side, Side]
    records: tuple[Record, Record]


def of_regressions(
    found: Comparison, sides: Callable[[], Sides], measuring: Measuring, folder: Path
) -> Comparison:
    """Return `found` with a reason for each regression that pairs have shown by its time.

    `folder` gets a folder for each, with the change of its machine code and the traces. Faults here
    do not change a verdict. Runs with injected extra work are not explained.
    """
    slower = [one for one in found.verdicts if _is_confirmed(one)]
    slower.sort(key=lambda one: -one.change.ratio if one.change else 0.0)
    if not slower or measuring.options.inject:
        return found
    began, reasons = time.monotonic(), dict[str, Why]()
    for number, verdict in enumerate(slower, 1):
        left = BUDGET_S - (time.monotonic() - began)
        if left <= 0.0:
            why = f"the {duration(BUDGET_S)} for all explanations are used up"
            reasons[verdict.name] = _not_explained(verdict, why)
            continue
        measuring.note(f"Looking into {inert(verdict.name)}")
        own = folder / f"{number}-{_file_name(verdict.name)}"
        try:
            reason = _reason(verdict, sides(), measuring, min(left, _EACH_S), own)
            moved = tuple(Moved(*row) for row in reason.table)
            reasons[verdict.name] = Why(reason.paragraph, moved)
        except (UserError, OSError) as fault:
            reasons[verdict.name] = _not_explained(verdict, _words(fault))
    verdicts = (replace(one, why=reasons.get(one.name)) for one in found.verdicts)
    return replace(found, verdicts=tuple(verdicts))


def _is_confirmed(one: Verdict) -> bool:
    by_time = one.outcome is Outcome.REGRESSION and one.by_time is None
    return by_time and one.change is not None and one.in_pairs


def _reason(
    verdict: Verdict, sides: Sides, measuring: Measuring, seconds: float, folder: Path
) -> Reason:
    name = verdict.name
    base, candidate = (one.only([name]).binaries for one in sides.programs)
    rows = [record.rows.get(name) for record in sides.records]
    if not (base and candidate and rows[0] and rows[1] and verdict.change):
        raise UserError("its programs or run files no longer exist")
    measured = Measured(rows[0], rows[1], verdict.change.ratio)
    pair = base[0], candidate[0]
    reason = explained(name, pair, measured, measuring, seconds, folder)
    if lines := reason.code_lines:
        folder.mkdir(parents=True, exist_ok=True)
        text = "\n".join([*lines, ""])
        atomic.replace_all({folder / "machine-code.txt": text})
    return reason


def _not_explained(verdict: Verdict, why: str) -> Why:
    return Why(f"{inert(verdict.name)} is not explained: {why}.")


def _file_name(benchmark: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]+", "_", benchmark)[:_LONGEST_NAME]


def _words(fault: UserError | OSError) -> str:
    """Return a fault as a clause."""
    return clause(str(of_system(fault) if isinstance(fault, OSError) else fault))
