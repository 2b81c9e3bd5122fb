# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci gpus: prints what a workflow needs to plan its GPU jobs, from .github/gpus.json.

Standard library only: a hosted runner plans the jobs before anything is installed.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from warpgauge.commands.ci import command_lines
from warpgauge.github import gpus
from warpgauge.reports.formats import github as workflow_commands
from warpgauge.system import git, worktree
from warpgauge.system.errors import ExitStatus, UserError

_HOW = (
    "GPU jobs are skipped: no GPU runner is set up. To turn them on, set the repository variable "
    f'{gpus.VARIABLE} to "on" (Settings, Secrets and variables, Actions, Variables). Pull requests '
    f"from forks cannot read variables: for them, add the topic {gpus.TOPIC} (About)."
)


def main(
    argv: Sequence[str], root: Path, environment: Mapping[str, str] = os.environ
) -> ExitStatus:
    """Print the plan. Raises UserError for bad usage and for a wrong list."""
    given = command_lines.gpus().parse_args(argv)
    root = given.root or root
    path = gpus.file_of(root)
    wanted = (gpus.chosen(path, given.gpu),) if given.gpu else gpus.read(path)
    if given.base:
        # Use the base's list, so that a pull request cannot exclude files from being measured.
        base = worktree.commit_of(root, given.base)
        measured = gpus.touches(_patterns_of(root, base), _changed(root, base))
    else:
        measured = True
    enabled = gpus.turns_on(environment.get(gpus.VARIABLE, ""))
    print(f"matrix={json.dumps({'include': [asdict(one) for one in wanted]})}")
    print(f"enabled={json.dumps(enabled)}")
    print(f"measured={json.dumps(measured)}")
    if not enabled:
        # Standard output is for $GITHUB_OUTPUT; jobs read workflow commands from both streams.
        print(workflow_commands.command("notice", {"title": "GPU jobs are off"}, _HOW),
              file=sys.stderr)  # fmt: skip
    return ExitStatus.OK


def _patterns_of(root: Path, commit: str) -> list[str]:
    """Return the patterns of measured files in a commit's list; empty, for all, if unreadable."""
    found = git.run(root, "show", f"{commit}:./{gpus.file_of(root).relative_to(root)}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "gpus.json")
        path.write_text(found.stdout, encoding="utf-8")
        try:
            return gpus.measured(path)
        except UserError:
            return []


def _changed(root: Path, base: str) -> list[str]:
    """Return the paths changed since the merge base; both names of a renamed file."""
    told = git.require(root, "diff", "--name-only", "--no-renames", "-z", f"{base}...HEAD")
    return list(filter(None, told.split("\0")))
