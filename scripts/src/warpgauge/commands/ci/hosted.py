# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci gpus, on-demand and check-setup, on a hosted runner.

Standard library only: they plan jobs and answer comments before anything is installed.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from warpgauge.commands import command_lines
from warpgauge.github import gpus as models
from warpgauge.github import on_demand as requests
from warpgauge.github import setup
from warpgauge.github.api import GitHub, Job, number
from warpgauge.reports.formats import github as workflow_commands
from warpgauge.system import git
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import inert

_HOW = (
    "GPU jobs are skipped: no GPU runner is set up. To turn them on, set the repository variable "
    f'{models.VARIABLE} to "on" (Settings, Secrets and variables, Actions, Variables). Pull '
    f"requests from forks cannot read variables: for them, add the topic {models.TOPIC} (About)."
)


def check_setup(
    argv: Sequence[str], root: Path, environment: Mapping[str, str] = os.environ
) -> ExitStatus:
    """Print one line per setting. Raises UserError if the repository is not visible."""
    given = command_lines.ci_check_setup().parse_args(argv)
    path, api, status = models.file_of(root), GitHub.of(environment), ExitStatus.OK
    for point in setup.points(api, given.repository, models.read(path)):
        print(inert(str(point)))
        if point.right is False:
            status = ExitStatus.BAD_USAGE
    return status


def on_demand(
    argv: Sequence[str], root: Path, environment: Mapping[str, str] = os.environ
) -> ExitStatus:
    """Start the measurement. Raises UserError for a wrong command or comment."""
    job = Job.of(environment)
    api, home, asking = job.api, job.repository, number(job.event, "comment", "id")
    comment = api.get(f"/repos/{home}/issues/comments/{asking}")
    author = requests.author_of(api, home, comment)
    if not author:
        print(f"the author of comment {asking} may not push: nothing to do", file=sys.stderr)
        return ExitStatus.OK
    run = requests.run_of(api, home, job.run_id)
    known = models.read(models.file_of(root))
    print(f"request={json.dumps(asdict(requests.begin(api, run, comment, author, known)))}")
    return ExitStatus.OK


def gpus(
    argv: Sequence[str], root: Path, environment: Mapping[str, str] = os.environ
) -> ExitStatus:
    """Print the plan. Raises UserError for bad usage and for a wrong list."""
    given = command_lines.ci_gpus().parse_args(argv)
    root = given.checkout or root
    path = models.file_of(root)
    wanted = (models.chosen(path, given.gpu),) if given.gpu else models.read(path)
    measured = not given.base or _is_measured(root, git.commit_of(root, given.base))
    enabled = models.turns_on(environment.get(models.VARIABLE, ""))
    print(f"matrix={json.dumps({'include': [asdict(model) for model in wanted]})}")
    print(f"enabled={json.dumps(enabled)}")
    print(f"measured={json.dumps(measured)}")
    if not enabled:
        # Standard output is for $GITHUB_OUTPUT; jobs read workflow commands from both streams.
        notice = workflow_commands.command("notice", {"title": "GPU jobs are off"}, _HOW)
        print(notice, file=sys.stderr)
    return ExitStatus.OK


def _is_measured(root: Path, base: str) -> bool:
    """Return whether a file has changed since the merge base that the base's list measures.

    The base's list, so that a pull request cannot exclude files from being measured. If it is
    unreadable, everything is measured. Of a renamed file both names have changed.
    """
    listed = git.run(root, "show", f"{base}:./{models.file_of(root).relative_to(root)}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "gpus.json")
        path.write_text(listed.stdout, encoding="utf-8")
        try:
            patterns = models.measured(path)
        except UserError:
            patterns = []
    changed = git.require(root, "diff", "--name-only", "--no-renames", "-z", f"{base}...HEAD")
    return models.touches(patterns, list(filter(None, changed.split("\0"))))
