# SPDX-License-Identifier: Apache-2.0
"""The command line of warpgauge report."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from warpgauge.commands import compare
from warpgauge.commands.arguments import Parser, file, group, input_file
from warpgauge.files.location import STANDARD_INPUT

_DESCRIPTION = """\
Write a comparison as one HTML file, which needs no network: the verdict, every
benchmark with its measurements and, with --history, how it went over the nights.

One RUN is compared with the baseline of its GPU model in baselines/. Of two, the
first is the baseline and the second is judged. Each is what compare.py takes: a
run file, a baseline's folder, or Google Benchmark JSON. Without any baseline the
page shows the times alone."""

_EPILOG = """\
exit status: 0 the report was written, whatever its verdict; 2 bad usage, or input
that cannot be read. `compare` ends with the verdict's."""


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """`base` and `run` are the files of both sides; the first may be None. Raises UserError."""
    parser = command_line()
    options = parser.parse_args(argv)
    runs, base = options.runs, options.baseline
    if len(runs) > 2 or (len(runs) == 2 and base is not None):
        parser.error("a report has two sides: give one RUN and --baseline, or two RUNs")
    *before, run = runs
    base = before[0] if before else base
    if base is STANDARD_INPUT and run is STANDARD_INPUT:
        parser.error("standard input can be read once: give a file in place of one '-'")
    if options.out is None and run is STANDARD_INPUT:
        parser.error("standard input has no file to put the report beside: give --out")
    where = run.resolve() if run.name in ("", "..") else run
    out = options.out or where.with_name(f"{where.name.removesuffix('.json')}.html")
    return argparse.Namespace(**{**vars(options), "base": base, "run": run, "out": out})


def command_line() -> Parser:
    """The options, for --help too."""
    parser = Parser(
        prog="warpgauge report",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    # fmt: off
    what = group(parser, "what is shown", "%(prog)s build/runs/2026-11-20-090507.json")
    add = what.add_argument
    add("runs", type=input_file, nargs="+", metavar="RUN",
        help="the times to show, or the accepted times and these; - is standard input")
    add("--baseline", type=input_file, metavar="PATH",
        help="the accepted times; default: those of the GPU model in baselines/")
    add("--history", metavar="BRANCH",
        help="add the last nights: the branch in this clone, as origin/history, or the folder of a "
        "checkout of it")
    add("--out", type=file, metavar="FILE", help="default: RUN with .html, beside it")
    # fmt: on
    compare.add_rule(group(parser, "what counts", "%(prog)s old.json new.json --min-effect 2"))
    parser.set_defaults(filter="")
    return parser
