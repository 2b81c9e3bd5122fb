# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci gpus: the GPU models of .github/gpus.json as a matrix for a workflow.

Standard library only: a hosted runner plans the jobs before anything is installed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from warpgauge.commands.arguments import Parser, group
from warpgauge.github import gpus
from warpgauge.system.errors import ExitStatus


def parse(argv: Sequence[str]) -> str:
    """The slug of the model that is asked for, empty for all. Raises UserError for bad usage."""
    slug: str = command_line().parse_args(argv).gpu
    return slug


def command_line() -> Parser:
    """The options, for --help too."""
    parser = Parser(
        prog="warpgauge ci gpus",
        description="Prints the GPU models of .github/gpus.json as a line for $GITHUB_OUTPUT: "
        'matrix={"include": [...]}, with slug, name, labels and minutes of each.',
    )
    add = group(parser, "which models", "%(prog)s --gpu nvidia-h200").add_argument
    add("--gpu", metavar="SLUG", default="", help="of .github/gpus.json; empty: all of them")
    return parser


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    """Raises UserError for bad usage, and for a list that is wrong."""
    slug, path = parse(argv), gpus.file_of(root)
    wanted = (gpus.chosen(path, slug),) if slug else gpus.read(path)
    print(f"matrix={json.dumps({'include': [asdict(one) for one in wanted]})}")
    return ExitStatus.OK
