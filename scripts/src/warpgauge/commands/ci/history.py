# SPDX-License-Identifier: Apache-2.0
"""The command line of scripts/warpgauge ci history: add a night, show what there is."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from warpgauge.commands import arguments
from warpgauge.commands.arguments import Parser, group, positive
from warpgauge.github import gpus, history_branch
from warpgauge.github.api import GitHub
from warpgauge.github.branch import Repository
from warpgauge.github.fields import require_repository
from warpgauge.records.benchmark_filter import normal
from warpgauge.system.errors import ExitStatus, UserError, of_system

_REF = f"origin/{history_branch.BRANCH}"
_NIGHTS = 30

_ADD = """\
Take the run files that the GPU jobs of a run of nightly.yml uploaded, and add a line for each to
the branch history. GH_TOKEN is the token, GITHUB_API_URL where its API is."""

_SHOW = """\
Show the nights of a GPU model: each benchmark's newest time beside the median of the nights before
it, or of a single one every night."""


def main(
    argv: Sequence[str], root: Path, environment: Mapping[str, str] = os.environ
) -> ExitStatus:
    """Raises UserError for what the user can mend."""
    try:
        return _run(argv, root, environment)
    except OSError as fault:
        raise of_system(fault) from fault


def _run(argv: Sequence[str], root: Path, environment: Mapping[str, str]) -> ExitStatus:
    given = parse(argv)
    from warpgauge.history import show
    from warpgauge.system.layout import Output

    console = Output(highlight=False)
    if given.command == "add":
        repository = Repository(GitHub.of(environment), require_repository(given.repository))
        console.print(
            history_branch.add(repository, given.run_id, root), markup=False, soft_wrap=True
        )
        return ExitStatus.OK
    listed = gpus.file_of(root)
    gpu = gpus.chosen(listed, given.gpu) if given.gpu else gpus.read(listed)[0]
    if not given.ref.strip() or not given.ref.isprintable():
        raise UserError(f"{given.ref!r} names no commit")
    history = show.nights(root, given.ref, gpu.slug)
    show.show(history[-given.nights :], normal(given.filter), console)
    return ExitStatus.OK


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Raises UserError for bad usage."""
    return command_line().parse_args(argv)


def command_line() -> Parser:
    """The options, for --help too."""
    parser = Parser(
        prog="warpgauge ci history",
        description="Keeps what each night measured, on a branch of its own, and shows it.",
        epilog="Exit status: 0 done; 2 refused, and nothing was written; 3 nothing was measured.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    added = commands.add_parser("add", help="add the night that a run measured", description=_ADD)
    example = "%(prog)s --repository owner/name --run-id 1234"
    arguments.add_run(group(added, "which run", example), history_branch.WORKFLOW)
    shown = commands.add_parser("show", help="show how times went", description=_SHOW)
    what = group(shown, "what is shown", "%(prog)s --gpu nvidia-h200 --filter '^gemm/' --nights 14")
    add = what.add_argument
    add("--gpu", metavar="SLUG", default="",
        help="of .github/gpus.json; empty: the first there")  # fmt: skip
    arguments.add_filter(what)
    add("--nights", metavar="N", type=positive, default=_NIGHTS,
        help=f"the last so many; default {_NIGHTS}")  # fmt: skip
    add("--ref", metavar="REF", default=_REF, help=f"where the history is; default {_REF}")
    return parser
