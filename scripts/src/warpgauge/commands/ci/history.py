# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci history: adds a night to the history."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from warpgauge.commands.ci import command_lines
from warpgauge.github import nights
from warpgauge.github.api import GitHub, Repository
from warpgauge.system.errors import ExitStatus
from warpgauge.system.layout import Output, print_line


def main(
    argv: Sequence[str], root: Path, environment: Mapping[str, str] = os.environ
) -> ExitStatus:
    given = command_lines.history().parse_args(argv)
    repository = Repository(GitHub.of(environment), given.repository)
    print_line(Output(highlight=False), nights.add(repository, given.run_id, root))
    return ExitStatus.OK
