# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci comment: posts what a run of the GPU workflow found on the pull request it is of."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timezone
from pathlib import Path

from warpgauge.commands.ci import command_lines
from warpgauge.github import comment, gpus, pull_request
from warpgauge.github.api import GitHub
from warpgauge.github.pull_request import Pull, Run
from warpgauge.github.result import UNTOUCHED, Result
from warpgauge.github.terms import Terms
from warpgauge.system.errors import ExitStatus, UserError


def main(
    argv: Sequence[str],
    root: Path,
    environment: Mapping[str, str] = os.environ,
    today: date | None = None,
) -> ExitStatus:
    """Raises UserError for what can be no result of this pull request; nothing is posted then."""
    given = command_lines.comment().parse_args(argv)
    if (given.run_id is None) == (given.pull_request is None):
        raise UserError("name one of --run-id and --pull-request")
    api = GitHub.of(environment)
    if given.run_id is not None:
        run = pull_request.run_of(api, given.repository, given.run_id, given.workflow)
    elif newest := pull_request.newest_run(
        api, given.repository, given.pull_request, given.workflow
    ):
        run = newest
    else:
        print(f"no run of {given.workflow} is of #{given.pull_request}: nothing to do")
        return ExitStatus.OK
    status = ExitStatus.OK
    for pull in _pulls(api, run, given.pull_request):
        if not run.complete:
            _outdated(api, run, pull, comment.to_be_measured(run))
            continue
        try:
            base = pull_request.base_of(api, run, pull)
            day = today or datetime.now(timezone.utc).date()
            terms = Terms(api, run, base, given.root or root, day, given.policy, given.filter)
            status = max(status, _posted(Result(terms, pull, ours=given.root is None)))
        except UserError as fault:
            if fault.status is not ExitStatus.OK:
                _outdated(api, run, pull, comment.not_readable(run))
            raise
    return status


def _pulls(api: GitHub, run: Run, only: int | None) -> list[Pull]:
    """Those where the run is the last word on their head. Raises UserError."""
    found = pull_request.pulls_of(api, run)
    pull_request.require_newest(api, run)
    return [pull for pull in found if only in (None, pull.number)]


def _posted(result: Result) -> ExitStatus:
    """Everything is read before anything is written. Raises UserError."""
    terms, pull = result.terms, result.pull
    api, run = terms.api, terms.run
    parts = result.parts(gpus.read(gpus.file_of(terms.root)))
    # Reading takes a while, in which somebody may have pushed.
    current = pull in _pulls(api, run, pull.number)
    if not current:
        raise pull_request.nothing_to_do(run, f"the base of #{pull.number} has changed")
    if not parts or all(part.found == UNTOUCHED for part in parts):
        _outdated(api, run, pull, comment.not_measured(run, UNTOUCHED if parts else ""))
        return ExitStatus.OK
    print(f"posted: {comment.put(api, run, pull.number, terms.base, parts)}")
    for refusal in result.refusals:
        print(f"warpgauge ci comment: {refusal}", file=sys.stderr)
    return ExitStatus.BAD_USAGE if result.refusals else ExitStatus.OK


def _outdated(api: GitHub, run: Run, pull: Pull, why: str) -> None:
    marked = comment.mark_outdated(api, run.repository, pull.number, why)
    print(f"marked as outdated: {marked}" if marked else "no comment to mark as outdated yet")
