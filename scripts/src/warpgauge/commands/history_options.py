# SPDX-License-Identifier: Apache-2.0
"""The command line of warpgauge history."""

from __future__ import annotations

from argparse import _ArgumentGroup
from pathlib import Path

from warpgauge.commands import arguments
from warpgauge.commands.arguments import Parser, file, group, positive, revision

BRANCH = "origin/history"
_NIGHTS = 30

_SHOW = """\
Show each benchmark's newest time beside the median of the nights before it."""

_SERIES = """\
Show one benchmark night by night: its time, how well that is known, and where it was measured."""

_CHANGES = """\
Tell in which night times changed, and with which commits; machines, drivers and GPUs that changed
are told apart from code."""

_EXPORT = """\
Write every time with its night as a Parquet file, for DuckDB, ClickHouse and the like. Needs
pyarrow."""


def command_line() -> Parser:
    """The options, for --help too."""
    parser = Parser(
        prog="warpgauge history",
        description="Shows what the nights measured, from the branch `history` that the workflow "
        "nightly adds to: git fetch origin history gets it. build/history/ keeps a database of it.",
        epilog="Exit status: 0 done; 2 bad usage, or a history that cannot be read.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    # fmt: off
    shown = commands.add_parser("show", help="show how times went", description=_SHOW)
    what = _what(shown, "%(prog)s --gpu nvidia-h200 --filter '^gemm/' --nights 14")
    arguments.add_filter(what)
    _add_nights(what)

    one = commands.add_parser("series", help="show a benchmark night by night", description=_SERIES)
    what = _what(one, "%(prog)s sync/stream_idle --gpu nvidia-h200")
    what.add_argument("benchmark", metavar="NAME", help="of the benchmark")
    _add_nights(what)

    changed = commands.add_parser("changes", help="tell when times changed", description=_CHANGES)
    what = _what(changed, "%(prog)s --gpu nvidia-h200 --filter '^gemm/'")
    arguments.add_filter(what)
    add = what.add_argument
    add("--newest", action="store_true", help="only changes that the last nights show")
    add("--policy", type=Path, metavar="FILE", help="which changes are too small or expected; "
        "default: baselines/policy.toml")
    add("--verbose", action="store_true", help="show those, too, that a policy entry or a later "
        "commit explains")

    exported = commands.add_parser("export", help="write a Parquet file", description=_EXPORT)
    what = _what(exported, "%(prog)s history.parquet --gpu nvidia-h200")
    what.add_argument("file", metavar="FILE", type=file, help="to be written")
    arguments.add_filter(what)
    # fmt: on
    return parser


def _what(parser: Parser, example: str) -> _ArgumentGroup:
    what = group(parser, "what is taken", example)
    add = what.add_argument
    add("--gpu", metavar="SLUG", default="", help="the GPU model, as nvidia-h200; empty: all")
    add("--ref", metavar="REF", type=revision, default=BRANCH,
        help=f"where the history is; default {BRANCH}")  # fmt: skip
    return what


def _add_nights(what: _ArgumentGroup) -> None:
    what.add_argument("--nights", metavar="N", type=positive, default=_NIGHTS,
        help=f"the last so many; default {_NIGHTS}")  # fmt: skip
