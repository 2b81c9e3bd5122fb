# SPDX-License-Identifier: Apache-2.0
"""The command line of warpgauge why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from warpgauge.commands import arguments, bench_options
from warpgauge.commands.arguments import (
    Parser,
    duration,
    folder,
    group,
    input_file,
    positive,
    refuse_together,
    revision,
)
from warpgauge.commands.bench_options import Options
from warpgauge.measure.options import FIRST_LOOK
from warpgauge.records.model import FULL_SUITE

if TYPE_CHECKING:
    from warpgauge.reports.formats import Format

_FORMATS = ("terminal", "markdown", "json")
_BUDGET_S = 60.0


@dataclass(frozen=True, kw_only=True)
class WhyOptions(Options):
    name: str | None  # None: benchmarks that the newest run flagged
    run: Path | None  # the candidate's run file of an existing pair
    base_build_dir: Path | None
    gather_s: float  # limit for the evidence of one benchmark


def parse(argv: Sequence[str], formats: Mapping[str, Format[str]]) -> WhyOptions:
    """Parse `argv`; `formats` are those of --format. Raises UserError for bad usage."""
    parser = command_line()
    given = parser.parse_args(argv)
    refuse_together(parser.given(given), "--against", "--base-build-dir")
    refuse_together(parser.given(given), "--budget", "--processes")
    return bench_options.options_of({"suite": FULL_SUITE, **vars(given)}, WhyOptions, formats)


def command_line() -> Parser:
    parser = Parser(
        prog="warpgauge why",
        description="Find the reason why a benchmark is slower than in another build: measure both "
        "in pairs, and compare machine code, hardware counters and CUDA calls.",
        epilog="Exit status: 0 the reason was printed, or that it is unknown; 2 bad usage; 3 not "
        "measured, as without a GPU: only machine code was compared.",
    )
    # fmt: off
    what = group(parser, "what to explain", "%(prog)s gemm/tiled/f32/n:1024 --against main")
    add = what.add_argument
    add("name", metavar="NAME", nargs="?", help="name of a benchmark; default: benchmarks that the "
        "newest run of pairs found slower")
    arguments.add_programs(what)

    against = group(parser, "what to compare with",
        "%(prog)s gemm/tiled/f32/n:1024 --against HEAD~1")
    add = against.add_argument
    add("--against", metavar="REF", type=revision, help="the faster commit; default: the base of "
        "the run")
    add("--base-build-dir", metavar="DIR", type=folder, help="use this build folder as the base, "
        "without building")
    add("--run", metavar="FILE", type=input_file, help="use this run file of a pair, and the "
        "base's run file beside it, instead of measuring again")

    how_long = group(parser, "how long",
        "%(prog)s gemm/tiled/f32/n:1024 --against main --gather 2m")
    add = how_long.add_argument
    add("--gather", dest="gather_s", metavar="TIME", type=duration, default=_BUDGET_S,
        help=f"limit of the time to gather evidence, per benchmark; default {_BUDGET_S:.0f}s")
    add("--processes", metavar="N", type=positive, help="processes per side before the first look; "
        f"default {FIRST_LOOK}")
    add("--budget", dest="budget_s", metavar="TIME", type=duration, help="limit of "
        "measuring time, e.g. 60s or 5m")
    arguments.add_measuring(how_long)

    output = group(parser, "output", "%(prog)s gemm/tiled/f32/n:1024 --format markdown=why.md")
    output.add_argument("--format", action="append", default=[], metavar="NAME[=FILE]", help="write"
        f" the reasons as {', '.join(_FORMATS)}, to standard output or FILE; repeatable")
    arguments.add_verbose(output)
    # fmt: on
    return parser
