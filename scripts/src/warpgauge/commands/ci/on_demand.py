# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci on-demand: a measurement that a comment on a pull request asks for.

Standard library only, so that a comment is answered in seconds.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from warpgauge.commands.ci import command_lines
from warpgauge.github import gpus, on_demand
from warpgauge.github.api import GitHub, NotFound
from warpgauge.github.fields import run_of_workflow, text
from warpgauge.github.pull_request import WORKFLOW
from warpgauge.system.errors import ExitStatus, UserError

# A hosted job may take six hours. The API takes a thousand requests of one repository an hour.
_LONGEST_WAIT_S, _PAUSE_S = 5.5 * 3600, 60.0


def main(
    argv: Sequence[str], root: Path, environment: Mapping[str, str] = os.environ
) -> ExitStatus:
    """Raises UserError for what is wrong with the command or its comment."""
    given = command_lines.on_demand().parse_args(argv)
    api = GitHub.of(environment)
    if given.command == "wait":
        _wait(api, given.repository, given.run_id)
        return ExitStatus.OK
    comment = api.get(f"/repos/{given.repository}/issues/comments/{given.comment}")
    author = on_demand.author_of(api, given.repository, comment)
    if not author:
        print(f"comment {given.comment} is of nobody who may push: nothing to do", file=sys.stderr)
        return ExitStatus.OK
    models = gpus.read(gpus.file_of(root))
    print(f"run={on_demand.begin(api, given.repository, comment, author, models)}")
    return ExitStatus.OK


def _wait(api: GitHub, repository: str, run_id: int) -> None:
    """Nothing tells of the end: GitHub starts no workflow for a run that a job's token began."""
    end = time.monotonic() + _LONGEST_WAIT_S
    while time.monotonic() < end:
        try:
            run = run_of_workflow(api, repository, run_id, WORKFLOW)
            if text(run, "status") == "completed":
                return
        except NotFound:
            raise
        except UserError as fault:  # GitHub stumbles for a while, now and then
            print(f"warpgauge ci on-demand: {fault}", file=sys.stderr)
        time.sleep(_PAUSE_S)
    run = run_of_workflow(api, repository, run_id, WORKFLOW)
    if request := on_demand.request_of(api, repository, run):
        late = "**Not measured yet**: the run goes on, and its result will not stand here."
        print(f"not ended: {on_demand.answer(api, request, run, late)}", file=sys.stderr)
