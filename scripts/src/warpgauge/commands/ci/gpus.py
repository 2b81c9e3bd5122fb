# SPDX-License-Identifier: Apache-2.0
"""scripts/gpus: the GPU models of .github/gpus.json as a matrix for a workflow.

Standard library only: a hosted runner plans the jobs before anything is installed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from warpgauge.commands.arguments import Parser
from warpgauge.github import gpus
from warpgauge.system.errors import ExitStatus


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    """scripts/gpus. Raises UserError."""
    parser = Parser(
        prog="gpus",
        description="Prints the GPU models of .github/gpus.json as a line for $GITHUB_OUTPUT: "
        'matrix={"include": [...]}, with slug, name, labels and minutes of each.',
    )
    parser.add_argument("--only", metavar="SLUG", default="", help="this model; empty: all")
    given = parser.parse_args(argv)
    path = gpus.file_of(root)
    wanted = (gpus.chosen(path, given.only),) if given.only else gpus.read(path)
    print(f"matrix={json.dumps({'include': [asdict(one) for one in wanted]})}")
    return ExitStatus.OK
