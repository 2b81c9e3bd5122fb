# SPDX-License-Identifier: Apache-2.0
"""What scripts/bench --self-check does with a build: measure, judge, show, keep."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from warpgauge.baselines import store
from warpgauge.commands.bench_options import PROCESSES
from warpgauge.commands.show_results import Conclusion
from warpgauge.measurement import self_check, self_check_report
from warpgauge.measurement.ab_run import AbRun
from warpgauge.measurement.self_check import SelfCheck
from warpgauge.records import load
from warpgauge.records.model import Record
from warpgauge.system.errors import ExitStatus
from warpgauge.system.text import named
from warpgauge.verdict.comparison import Comparison, Outcome
from warpgauge.verdict.comparison_settings import ComparisonSettings


def run(
    beside: AbRun, base: Record | None, folder: Path, show: Conclusion, baselines: Path
) -> ExitStatus:
    """Measure and judge; the run files stay in `folder`.

    Exit status 1 where the gate called unchanged code changed, 3 where not all was measured. The
    result of a whole suite of a committed tree is kept beside the baseline. Raises UserError.
    """
    judge = _without_exceptions(show).judged
    both = self_check.measure(beside, folder, judge)
    beside.measuring.note(f"run files: {os.path.relpath(folder)}")
    short = "" if beside.measuring.options.second_look else "it had no second look (--quick)"
    short = "it was interrupted" if both.stop else short
    say = beside.measuring.warn
    status = _concluded(both.found, base, show, baselines, say, short)
    if both.stop is not None:
        raise both.stop
    return status


def judged_again(
    folder: Path,
    base_of: Callable[[str], Record | None],
    show: Conclusion,
    baselines: Path,
    say: Callable[[str], None],
) -> ExitStatus:
    """The same of what an earlier one measured and left in `folder`, by today's rule.

    `base_of` gives the baseline of a GPU model. Raises UserError.
    """
    check = self_check.of_files(folder, _without_exceptions(show).judged)
    return _concluded(check, base_of(_context(check)["gpu_name"]), show, baselines, say)


def _concluded(
    check: SelfCheck,
    base: Record | None,
    show: Conclusion,
    baselines: Path,
    say: Callable[[str], None],
    short: str = "",  # of what it lacks
) -> ExitStatus:
    screened = _without_exceptions(show).judged(base, check.run) if base is not None else None
    self_check_report.render(check, screened, show.console)
    judged = [check.same, *([screened] if screened is not None else [])]
    failed = _failed([check.same, *check.injected.values()])
    why_not = _why_not_kept(_context(check), show.settings, failed) or short
    if why_not:
        say(f"The result is not kept in {os.path.relpath(baselines)}: {why_not}.")
    else:
        path = path_of(baselines, _context(check)["gpu_name"])
        self_check_report.write(path, check, screened)
        say(f"kept: {os.path.relpath(path)}")
    if any(one.count(Outcome.REGRESSION, Outcome.IMPROVED) for one in judged):
        return ExitStatus.REGRESSION
    unknown = any(one.exit_status is not ExitStatus.OK for one in judged)
    return ExitStatus.NOT_MEASURED if failed or unknown else ExitStatus.OK


def path_of(baselines: Path, gpu_name: str) -> Path:
    """Where the result for a GPU model is kept: beside the folder of its baseline."""
    return baselines / f"{load.SELF_CHECK}{store.slug(gpu_name)}.json"


def _without_exceptions(show: Conclusion) -> Conclusion:
    """The gate as it is, but for changes that somebody expects: here they are made on purpose."""
    policy = show.settings.policy
    if policy is None:
        return show
    return replace(
        show, settings=replace(show.settings, policy=replace(policy, expected=(), required=()))
    )


def _failed(comparisons: Sequence[Comparison]) -> list[str]:
    """The benchmarks that some side has no result of."""
    without = (Outcome.ERROR, Outcome.INVALID, Outcome.MISSING)
    names = (v.name for one in comparisons for v in one.verdicts if v.outcome in without)
    return list(dict.fromkeys(names))


def _context(check: SelfCheck) -> Mapping[str, str]:
    (session,) = check.run.sessions.values()
    return session.context


def _why_not_kept(
    context: Mapping[str, str], settings: ComparisonSettings, failed: Sequence[str]
) -> str:
    if failed:
        return f"there is no result of {named(failed)}"
    if context.get("filter") or settings.filter:
        return "only a part was measured (--filter)"
    if context.get("dirty") != "false":
        return "the working tree had uncommitted changes"
    if int(context["processes"]) < PROCESSES:
        return f"the gate was not the usual one, of {PROCESSES} rounds"
    return ""
