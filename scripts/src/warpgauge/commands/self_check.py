# SPDX-License-Identifier: Apache-2.0
"""scripts/bench --self-check: measures, judges, shows and keeps the result."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from warpgauge.baselines import store
from warpgauge.commands.show_results import Conclusion
from warpgauge.measure import self_check
from warpgauge.measure.ab_run import AbRun
from warpgauge.measure.options import FIRST_LOOK
from warpgauge.measure.self_check import SelfCheck
from warpgauge.records import load
from warpgauge.records.model import Record
from warpgauge.system.atomic import replace_all
from warpgauge.system.errors import ExitStatus
from warpgauge.system.text import named
from warpgauge.verdict.comparison import CHANGED, UNMEASURED, Comparison
from warpgauge.verdict.paired_tests import looks_of


def run(
    beside: AbRun, base: Record | None, folder: Path, show: Conclusion, baselines: Path
) -> ExitStatus:
    """Measure and judge; the run files stay in `folder`. Raises UserError."""
    both = self_check.measure(beside, folder, show.judged)
    options = beside.measuring.options
    is_usual = not options.quick and options.budget_s is None
    lacks = "" if is_usual else "it may have had fewer looks than the gate (--quick, --budget)"
    lacks = "it was interrupted" if both.stop else lacks
    status = concluded(both.found, base, show, baselines, beside.measuring.note, lacks)
    if both.stop is not None:
        raise both.stop
    return status


def concluded(
    check: SelfCheck,
    base: Record | None,
    show: Conclusion,
    baselines: Path,
    say: Callable[[str], None],
    lacks: str = "",
) -> ExitStatus:
    """Judge and show a self-check, and return the exit status.

    The result of a whole suite of a committed tree is kept beside the baseline. Raises UserError.
    """
    screened = show.judged(base, check.base) if base is not None else None
    status = shown([check], [] if screened is None else [screened], show)
    if why_not := _why_not_kept(check, show.settings.filter) or lacks:
        say(f"The result is not kept in {os.path.relpath(baselines)}: {why_not}.")
    else:
        path = path_of(baselines, check.context["gpu_name"])
        replace_all({path: self_check.text(check, screened)})
        say(f"kept: {os.path.relpath(path)}")
    return status


def shown(
    checks: Sequence[SelfCheck], screened: Sequence[Comparison], show: Conclusion
) -> ExitStatus:
    """Show the sums of `checks`, and return the exit status of all.

    It is 1 if the gate reported a change without extra work, or the opposite of it; else 3 if it
    could not tell that something is unchanged, or something had no result. `screened` are
    comparisons of the bases with a baseline.
    """
    self_check.render(checks, screened, show.console)
    cases = [case for check in checks for case in check.cases]
    if any(case.is_false_alarm for case in cases) or any(one.count(*CHANGED) for one in screened):
        return ExitStatus.REGRESSION
    unknown = any(case.verdict.is_unmeasured for case in cases if not case.extra)
    unknown = unknown or any(check.failed or not check.cases for check in checks)
    compared = [*screened, *(check.comparison for check in checks)]
    unknown = unknown or any(one.refusal is not None for one in compared)
    unknown = unknown or any(one.count(*UNMEASURED) for one in screened)
    return ExitStatus.NOT_MEASURED if unknown else ExitStatus.OK


def path_of(baselines: Path, gpu_name: str) -> Path:
    """Return the file for a GPU model's result, beside the folder of its baseline."""
    return baselines / f"{load.SELF_CHECK}{store.slug(gpu_name)}.json"


def _why_not_kept(check: SelfCheck, filter: str | None) -> str:
    context = check.context
    if check.comparison.refusal is not None:
        return check.comparison.refusal
    if check.failed:
        return f"{named(check.failed)} gave no result"
    if not check.cases:
        return "no benchmark was compared"
    if context.get("filter") or filter:
        return "only part of the suite was measured (--filter)"
    if context.get("dirty") != "false":
        return "the working tree had uncommitted changes"
    if min(looks_of(check.comparison.candidate), default=0) < FIRST_LOOK:
        return f"the gate was not the usual one, with {FIRST_LOOK} pairs or more"
    return ""
