# SPDX-License-Identifier: Apache-2.0
"""The command line of warpgauge fleet."""

from __future__ import annotations

import argparse
from pathlib import Path

from warpgauge.commands import arguments
from warpgauge.commands.arguments import Parser, folder, group

FORMATS = ("terminal", "json", "html")

_DESCRIPTION = """\
Tell which GPU or node of a fleet is slower than the others of its model, or
which firmware, driver or rack, and in which benchmarks. FOLDER holds a run
file of scripts/bench for each GPU, in any folders below it. The newest one of
a GPU counts. A healthy fleet shows an outlier in at most 1 % of runs."""

_EPILOG = """\
exit status:
  0  no outlier, and everything was judged
  1  at least one outlier
  2  bad usage, or no file that can be read
  3  no outlier, but a file cannot be read, a GPU lacks benchmarks that the others
     have, or a model has too few GPUs"""


def command_line() -> Parser:
    """The options, for --help too."""
    parser = Parser(
        prog="warpgauge fleet",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    # fmt: off
    what = group(parser, "what is read", "%(prog)s . --factors nodes.csv --filter '^memcpy/'")
    add = what.add_argument
    add("folder", metavar="FOLDER", type=folder, help="of run files")
    add("--factors", metavar="FILE", type=Path, help="a CSV that says what nodes or GPUs share: "
        "its first column is node or gpu_uuid, the others are factors, as rack")
    arguments.add_filter(what)
    output = group(parser, "output", "%(prog)s . --format json --format html=fleet.html")
    output.add_argument("--format", metavar="NAME[=FILE]", action="append", default=[],
        help=f"{', '.join(FORMATS)}, to standard output or FILE; repeatable")
    # fmt: on
    return parser
