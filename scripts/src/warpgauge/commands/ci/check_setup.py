# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci check-setup: checks that a repository is set up as the gate needs it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from warpgauge.commands.ci import command_lines
from warpgauge.github import gpus, setup
from warpgauge.github.api import GitHub
from warpgauge.system.errors import ExitStatus
from warpgauge.system.text import inert


def main(
    argv: Sequence[str], root: Path, environment: Mapping[str, str] = os.environ
) -> ExitStatus:
    """Check, and print one line per setting. Raises UserError if the repository is not visible."""
    given = command_lines.check_setup().parse_args(argv)
    path, api, status = gpus.file_of(root), GitHub.of(environment), ExitStatus.OK
    for point in setup.points(api, given.repository, gpus.read(path)):
        print(inert(str(point)))
        if point.right is False:
            status = ExitStatus.BAD_USAGE
    return status
