# SPDX-License-Identifier: Apache-2.0
"""The command line of warpgauge bisect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpgauge.commands import arguments, bench_options
from warpgauge.commands.arguments import Parser, duration, group, one_device, revision
from warpgauge.commands.bench_options import Options
from warpgauge.records.model import FULL_SUITE
from warpgauge.records.sessions import FEWEST_OF_A_CHANGE

_EPILOG = """\
exit status:
  0  one commit was found for each benchmark
  2  bad usage: BAD does not descend from GOOD, or shows no difference
  3  not certain (the commits that come into question are listed), or not measured"""


@dataclass(frozen=True, kw_only=True)
class BisectOptions(Options):
    """Options of warpgauge bisect."""

    good: str
    bad: str
    rows: tuple[str, ...]
    resume_bisect: bool


def parse(argv: Sequence[str]) -> BisectOptions:
    """Parse `argv`. Raises UserError for bad usage."""
    values = vars(command_line().parse_args(argv))
    values["rows"] = tuple(dict.fromkeys(values.pop("row")))
    # Begin with as many pairs as a change needs: fewer cannot decide about a commit.
    fixed = {"suite": FULL_SUITE, "processes": FEWEST_OF_A_CHANGE}
    return bench_options.options_of({**fixed, **values}, BisectOptions)


def command_line() -> Parser:
    parser = Parser(
        prog="warpgauge bisect",
        description="Find the commit that made a benchmark slower: builds commits between GOOD\n"
        "and BAD, and measures each in pairs with GOOD.",
        epilog=_EPILOG,
    )
    # fmt: off
    what = group(parser, "what to find",
        "%(prog)s v1.2 main --row reduce/sum_cub/f32/n:65536")
    add = what.add_argument
    add("good", metavar="GOOD", type=revision, help="a commit in which the benchmark was fast")
    add("bad", metavar="BAD", type=revision, help="a descendant of GOOD in which it is slower")
    add("--row", metavar="NAME", action="append", required=True, help="full name of the benchmark; "
        "repeatable: several share the builds")
    add("--device", metavar="GPU", type=one_device, help="index or UUID; default 0")

    how_long = group(parser, "how long", "%(prog)s v1.2 main --row NAME --budget 15m")
    add = how_long.add_argument
    add("--budget", dest="budget_s", metavar="TIME", type=duration, help="limit of the whole "
        "search, builds included, e.g. 15m; default: until the commit is found")
    add("--resume", dest="resume_bisect", action="store_true", help="continue the same search "
        "after an interrupt or at the end of its budget")
    arguments.add_measuring(how_long)
    add("--verbose", action="store_true", help="show build output and every command")
    # fmt: on
    return parser
