# SPDX-License-Identifier: Apache-2.0
"""What scripts/bench --self-check does with a build: measure, judge, show, keep."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from warpgauge import baseline, load, self_check, self_check_report
from warpgauge.beside import Beside
from warpgauge.comparison import Outcome
from warpgauge.conclusion import Conclusion
from warpgauge.errors import ExitStatus
from warpgauge.model import Record


def run(
    beside: Beside, base: Record | None, folder: Path, show: Conclusion, baselines: Path
) -> ExitStatus:
    """Exit status 0, or 1 where the gate called unchanged code changed. Raises UserError.

    The result of a whole suite of a committed tree is kept beside the baseline.
    """
    judge = _without_exceptions(show).judged
    check = self_check.measure(beside, folder, judge)
    screened = judge(base, check.run) if base is not None else None
    self_check_report.render(check, screened, show.console)
    beside.measuring.note(f"run files: {os.path.relpath(folder)}")
    why_not = _why_not_kept(beside)
    if why_not:
        beside.measuring.note(f"The result is not kept in {os.path.relpath(baselines)}: {why_not}.")
    else:
        path = path_of(baselines, beside.suite.known["gpu_name"])
        self_check_report.write(path, check, screened)
        beside.measuring.note(f"kept: {os.path.relpath(path)}")
    judged = [check.same, *([screened] if screened is not None else [])]
    alarms = sum(one.count(Outcome.REGRESSION, Outcome.IMPROVED) for one in judged)
    return ExitStatus.REGRESSION if alarms else ExitStatus.OK


def path_of(baselines: Path, gpu_name: str) -> Path:
    """Where the result for a GPU model is kept: beside the folder of its baseline."""
    return baselines / f"{load.SELF_CHECK}{baseline.slug(gpu_name)}.json"


def _without_exceptions(show: Conclusion) -> Conclusion:
    """The gate as it is, but for changes that somebody expects: here they are made on purpose."""
    policy = show.terms.policy
    if policy is None:
        return show
    return replace(
        show, terms=replace(show.terms, policy=replace(policy, expected=(), required=()))
    )


def _why_not_kept(beside: Beside) -> str:
    if beside.measuring.options.filter:
        return "only a part was measured (--filter)"
    if beside.source.get("dirty") != "false":
        return "the working tree had uncommitted changes"
    return ""
