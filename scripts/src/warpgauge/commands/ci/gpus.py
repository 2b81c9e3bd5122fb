# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci gpus: the GPU models of .github/gpus.json as a matrix for a workflow.

Standard library only: a hosted runner plans the jobs before anything is installed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from warpgauge.commands.ci import command_lines
from warpgauge.github import gpus
from warpgauge.system.errors import ExitStatus


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    """Raises UserError for bad usage, and for a list that is wrong."""
    given = command_lines.gpus().parse_args(argv)
    slug, path = given.gpu, gpus.file_of(given.root or root)
    wanted = (gpus.chosen(path, slug),) if slug else gpus.read(path)
    print(f"matrix={json.dumps({'include': [asdict(one) for one in wanted]})}")
    return ExitStatus.OK
