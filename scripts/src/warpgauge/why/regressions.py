# SPDX-License-Identifier: Apache-2.0
"""--why: what confirmed regressions come from, within a budget, the largest first."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from warpgauge.files import atomic
from warpgauge.measurement.measuring import Measuring
from warpgauge.measurement.paired import Side
from warpgauge.records.model import Record
from warpgauge.system.errors import UserError, of_system
from warpgauge.system.text import clause, duration, inert
from warpgauge.verdict.comparison import Comparison, Evidence, Moved, Outcome, Verdict, Why
from warpgauge.why import explain
from warpgauge.why.explain import Measured
from warpgauge.why.reason import Reason

# A job that gates a pull request takes minutes already. As many regressions as that are one change,
# seen several times.
BUDGET_S = 180.0
_EACH_S = 60.0  # of one benchmark at most
_IN_PAIRS = (Evidence.PAIRED, Evidence.LOCK_STEP)
_LONGEST_NAME = 80  # of a folder


@dataclass(frozen=True)
class Sides:
    """The two builds that were measured in pairs, and their run files."""

    programs: tuple[Side, Side]
    records: tuple[Record, Record]


def explained(
    found: Comparison, sides: Callable[[], Sides], measuring: Measuring, folder: Path
) -> Comparison:
    """`found` with a reason of each regression that pairs have shown by its time.

    `folder`, which is made where there is something for it, gets a folder for each with the change
    of its machine code and the traces. Nothing that goes wrong here changes a verdict. Extra work
    that was asked for needs no reason.
    """
    slower = [one for one in found.verdicts if _is_confirmed(one)]
    slower.sort(key=lambda one: -one.change.ratio if one.change else 0.0)
    if not slower or measuring.options.inject:
        return found
    began, reasons = time.monotonic(), dict[str, Why]()
    for number, verdict in enumerate(slower, 1):
        left = BUDGET_S - (time.monotonic() - began)
        if left <= 0.0:
            why = f"the {duration(BUDGET_S)} for all explanations were used up before"
            reasons[verdict.name] = _not_explained(verdict, why)
            continue
        measuring.note(f"Looking into {inert(verdict.name)}")
        own = folder / f"{number}-{_file_name(verdict.name)}"
        try:
            reason = _reason(verdict, sides(), measuring, min(left, _EACH_S), own)
            moved = tuple(Moved(*row) for row in reason.table)
            reasons[verdict.name] = Why(reason.paragraph, moved)
        except (UserError, OSError) as fault:
            told = of_system(fault) if isinstance(fault, OSError) else fault
            reasons[verdict.name] = _not_explained(verdict, clause(str(told)))
    verdicts = (replace(one, why=reasons.get(one.name)) for one in found.verdicts)
    return replace(found, verdicts=tuple(verdicts))


def _is_confirmed(one: Verdict) -> bool:
    by_time = one.outcome is Outcome.REGRESSION and one.by_time is None
    return by_time and one.change is not None and one.evidence in _IN_PAIRS


def _reason(
    verdict: Verdict, sides: Sides, measuring: Measuring, seconds: float, folder: Path
) -> Reason:
    name = verdict.name
    base, candidate = (one.only([name]).binaries for one in sides.programs)
    rows = [record.rows.get(name) for record in sides.records]
    if not (base and candidate and rows[0] and rows[1] and verdict.change):
        raise UserError("its programs or its run files are gone")
    measured = Measured(rows[0], rows[1], verdict.change.ratio)
    pair = base[0], candidate[0]
    reason = explain.explained(name, pair, measured, measuring, seconds, folder)
    if lines := reason.code_lines:
        folder.mkdir(parents=True, exist_ok=True)
        text = "\n".join([*lines, ""])
        atomic.replace_all({folder / "machine-code.txt": text})
    return reason


def _not_explained(verdict: Verdict, why: str) -> Why:
    return Why(f"{inert(verdict.name)} is not explained: {why}.")


def _file_name(benchmark: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]+", "_", benchmark)[:_LONGEST_NAME]
