# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci comment: posts the results of a GPU workflow run on its pull request."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from warpgauge.commands.arguments import contradiction
from warpgauge.commands.ci import command_lines
from warpgauge.github import comment, gpus, on_demand, pull_request
from warpgauge.github.api import GitHub
from warpgauge.github.on_demand import Request
from warpgauge.github.pull_request import Base, Pull, Run
from warpgauge.github.result import OTHER_BASE, UNTOUCHED, Result
from warpgauge.records.benchmark_filter import normal
from warpgauge.reports.formats import FORMATS
from warpgauge.reports.markdown.report import MARK
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.verdict.comparison import Comparison


def main(
    argv: Sequence[str],
    root: Path,
    environment: Mapping[str, str] = os.environ,
) -> ExitStatus:
    """Post results. Raises UserError, and posts nothing, for results of another pull request."""
    given = command_lines.comment().parse_args(argv)
    if (given.run_id is None) == (given.pull_request is None):
        raise UserError("give either --run-id or --pull-request")
    api = GitHub.of(environment)

    def result(run: Run, pull: Pull, base: Base, filter: str = "") -> Result:
        ours = given.root is None
        where = given.root or root
        judged_by = base, where, ours, given.policy, normal(filter)
        return Result(api, run, pull, *judged_by, given.report_url, given.pages)

    if given.request:
        if given.run_id is None:
            raise contradiction("--request", "--pull-request")
        asked = Request.read(given.request)
        run = replace(on_demand.run_of(api, given.repository, given.run_id), head=asked.head)
        base = Base(asked.branch, asked.base)
        answer = result(run, Pull(asked.pull, asked.branch), base, asked.filter)
        if given.reports is not None:
            return _kept(answer, given.reports)
        return _answered(asked, answer)
    if given.run_id is not None:
        run = pull_request.run_of(api, given.repository, given.run_id, given.workflow)
    elif newest := pull_request.newest_run(
        api, given.repository, given.pull_request, given.workflow
    ):
        run = newest
    else:
        print(f"no run of {given.workflow} belongs to #{given.pull_request}: nothing to do")
        return ExitStatus.OK
    faults: list[UserError] = []
    status = ExitStatus.OK
    for pull in _pulls(api, run, given.pull_request):
        try:
            if not run.complete:
                if given.reports is None:
                    _outdated(api, run, pull, comment.to_be_measured(run))
                continue
            base = pull_request.base_of(api, run, pull, given.base)
            found = result(run, pull, base, given.filter)
            told = _posted(found) if given.reports is None else _kept(found, given.reports)
            status = max(status, told)
        except UserError as fault:  # continue with the next pull request
            faults.append(fault)
            if fault.status is not ExitStatus.OK and given.reports is None:
                with suppress(UserError):
                    comment.say(api, run, pull.number, comment.not_readable(run))
    if faults:
        raise max(faults, key=lambda fault: fault.status)
    return status


def _pulls(api: GitHub, run: Run, only: int | None) -> list[Pull]:
    """Return the pull requests for which this run is current. Raises UserError."""
    found = pull_request.pulls_of(api, run)
    if len(found) == 1:  # several pull requests each have a run and a base of their own
        pull_request.require_newest(api, run)
    return [pull for pull in found if only in (None, pull.number)]


def _kept(result: Result, folder: Path) -> ExitStatus:
    """Write a page per GPU with a valid result; the comment says which results are not."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in result.parts(gpus.read(gpus.file_of(result.root))):
        if isinstance(part.found, Comparison):
            path = folder / f"checked-report-{part.gpu.slug}.html"
            path.write_text(FORMATS["html"].render(part.found), encoding="utf-8")
            print(f"written: {path}")
    return ExitStatus.OK


def _posted(result: Result) -> ExitStatus:
    """Read all results, then post the comment. Raises UserError."""
    api, run, pull = result.api, result.run, result.pull
    parts = result.parts(gpus.read(gpus.file_of(result.root)))
    # Somebody may have pushed while the results were read.
    pulls = _pulls(api, run, None)
    if pull not in pulls:
        raise pull_request.nothing_to_do(run, f"the base of #{pull.number} has changed")
    if not parts or all(part.found == UNTOUCHED for part in parts):
        _outdated(api, run, pull, comment.not_measured(run, UNTOUCHED if parts else ""))
        return ExitStatus.OK
    if len(pulls) > 1 and all(part.found == OTHER_BASE for part in parts):
        print(f"run {run.id} belongs to another pull request than #{pull.number}")
        return ExitStatus.OK
    print(f"posted: {comment.put(api, run, pull.number, result.base, parts, result.judging)}")
    return _status(result)


def _answered(asked: Request, result: Result) -> ExitStatus:
    """Replace the comment that announced the measurement by its result."""
    run = result.run
    body = comment.not_readable(run)
    try:
        models = asked.models(gpus.read(gpus.file_of(result.root)))
        parts = result.parts(models)
        body = (
            comment.body(run, result.base, parts, result.judging).removeprefix(MARK)
            if parts
            else comment.not_measured(run, "the run had no job for any GPU")
        )
    finally:
        print(f"posted: {on_demand.answer(result.api, run.repository, asked, body)}")
    return _status(result)


def _status(result: Result) -> ExitStatus:
    for refusal in result.refusals:
        print(f"warpgauge ci comment: {refusal}", file=sys.stderr)
    return ExitStatus.BAD_USAGE if result.refusals else ExitStatus.OK


def _outdated(api: GitHub, run: Run, pull: Pull, why: str) -> None:
    marked = comment.mark_outdated(api, run.repository, pull.number, why)
    print(f"marked as outdated: {marked}" if marked else "no comment to mark as outdated yet")
