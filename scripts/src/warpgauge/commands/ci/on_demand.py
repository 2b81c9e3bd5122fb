# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci on-demand: starts the measurement that a comment on a pull request asks for.

Standard library only, so that a comment is answered in seconds.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from warpgauge.commands.ci import command_lines
from warpgauge.github import gpus, on_demand
from warpgauge.github.api import GitHub
from warpgauge.system.errors import ExitStatus


def main(
    argv: Sequence[str], root: Path, environment: Mapping[str, str] = os.environ
) -> ExitStatus:
    """Start the measurement. Raises UserError for a wrong command or comment."""
    given = command_lines.on_demand().parse_args(argv)
    api = GitHub.of(environment)
    comment = api.get(f"/repos/{given.repository}/issues/comments/{given.comment}")
    author = on_demand.author_of(api, given.repository, comment)
    if not author:
        print(f"the author of comment {given.comment} may not push: nothing to do", file=sys.stderr)
        return ExitStatus.OK
    run = on_demand.run_of(api, given.repository, given.run_id)
    known = gpus.read(gpus.file_of(root))
    print(f"request={json.dumps(asdict(on_demand.begin(api, run, comment, author, known)))}")
    return ExitStatus.OK
