# SPDX-License-Identifier: Apache-2.0
"""scripts/bench --self-check: measures, judges, shows and keeps the result."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from warpgauge.baselines import store
from warpgauge.commands.show_results import Conclusion
from warpgauge.files.atomic import replace_all
from warpgauge.measurement import self_check, self_check_report
from warpgauge.measurement.ab_run import AbRun
from warpgauge.measurement.options import FIRST_LOOK
from warpgauge.measurement.self_check import SelfCheck
from warpgauge.records import load
from warpgauge.records.model import Record
from warpgauge.records.sessions import only_session
from warpgauge.system.errors import ExitStatus
from warpgauge.system.text import named
from warpgauge.verdict.comparison import Comparison, Outcome
from warpgauge.verdict.paired_tests import looks_of


def run(
    beside: AbRun, base: Record | None, folder: Path, show: Conclusion, baselines: Path
) -> ExitStatus:
    """Measure and judge; the run files stay in `folder`. Raises UserError."""
    both = self_check.measure(beside, folder, show.judged)
    beside.measuring.note(f"run files: {os.path.relpath(folder)}")
    options = beside.measuring.options
    is_usual = not options.quick and options.budget_s is None
    lacks = "" if is_usual else "it may have had fewer looks than the gate (--quick, --budget)"
    lacks = "it was interrupted" if both.stop else lacks
    status = concluded(both.found, base, show, baselines, beside.measuring.warn, lacks)
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

    It is 1 if the gate reported a change of unchanged code, and 3 if not everything was measured.
    The result of a whole suite of a committed tree is kept beside the baseline. Raises UserError.
    """
    screened = show.judged(base, check.run) if base is not None else None
    self_check_report.render(check, screened, show.console)
    judged = [check.same, *([screened] if screened is not None else [])]
    failed = _failed([check.same, *check.injected.values()])
    context = context_of(check)
    if why_not := _why_not_kept(context, show.settings.filter, failed) or lacks:
        say(f"The result is not kept in {os.path.relpath(baselines)}: {why_not}.")
    else:
        path = path_of(baselines, context["gpu_name"])
        replace_all({path: self_check_report.text(check, screened)})
        say(f"kept: {os.path.relpath(path)}")
    if any(one.count(Outcome.REGRESSION, Outcome.IMPROVED) for one in judged):
        return ExitStatus.REGRESSION
    unknown = any(one.exit_status is not ExitStatus.OK for one in judged)
    return ExitStatus.NOT_MEASURED if failed or unknown else ExitStatus.OK


def path_of(baselines: Path, gpu_name: str) -> Path:
    """Return the file for a GPU model's result, beside the folder of its baseline."""
    return baselines / f"{load.SELF_CHECK}{store.slug(gpu_name)}.json"


def _failed(comparisons: Sequence[Comparison]) -> list[str]:
    """Return the benchmarks that have no result on some side."""
    without = (Outcome.ERROR, Outcome.INVALID, Outcome.MISSING)
    names = (v.name for one in comparisons for v in one.verdicts if v.outcome in without)
    return list(dict.fromkeys(names))


def context_of(check: SelfCheck) -> Mapping[str, str]:
    """Return the context of the base run."""
    return only_session(check.run).context


def _why_not_kept(context: Mapping[str, str], filter: str | None, failed: Sequence[str]) -> str:
    if failed:
        return f"{named(failed)} gave no result"
    if context.get("filter") or filter:
        return "only part of the suite was measured (--filter)"
    if context.get("dirty") != "false":
        return "the working tree had uncommitted changes"
    if min(looks_of(context), default=0) < FIRST_LOOK:
        return f"the gate was not the usual one, with {FIRST_LOOK} pairs or more"
    return ""
