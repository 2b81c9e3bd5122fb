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
from warpgauge.measurement.options import FIRST_LOOK
from warpgauge.records.model import FULL_SUITE

if TYPE_CHECKING:
    from warpgauge.reports.formats import Format

_FORMATS = ("terminal", "markdown", "json")
_BUDGET_S = 60.0


@dataclass(frozen=True, kw_only=True)
class WhyOptions(Options):
    name: str | None  # None: what the newest run flagged
    run: Path | None  # the candidate's run file of a pair that was measured
    base_build_dir: Path | None
    gather_s: float  # for the evidence of a benchmark


def parse(argv: Sequence[str], formats: Mapping[str, Format[str]]) -> WhyOptions:
    """`formats` are those of --format. Raises UserError for bad usage."""
    parser = command_line()
    given = parser.parse_args(argv)
    refuse_together(parser.given(given), "--against", "--base-build-dir")
    refuse_together(parser.given(given), "--budget", "--processes")
    return bench_options.options_of({"suite": FULL_SUITE, **vars(given)}, WhyOptions, formats)


def command_line() -> Parser:
    parser = Parser(
        prog="warpgauge why",
        description="Tells why a benchmark is slower than in another build: measures both in "
        "pairs, and compares machine code, hardware counters and calls of CUDA.",
        epilog="Exit status: 0 the reason was printed, or that it is unknown; 2 bad usage; "
        "3 not measured, as without a GPU: then only machine code is compared.",
    )
    # fmt: off
    what = group(parser, "of what", "%(prog)s gemm/tiled/f32/n:1024 --against main")
    add = what.add_argument
    add("name", metavar="NAME", nargs="?", help="of a benchmark; default: what the newest run of "
        "pairs found slower")
    arguments.add_programs(what)

    against = group(parser, "against what", "%(prog)s gemm/tiled/f32/n:1024 --against HEAD~1")
    add = against.add_argument
    add("--against", metavar="REF", type=revision, help="the commit that was faster; default: that "
        "of the run")
    add("--base-build-dir", metavar="DIR", type=folder, help="its build folder, as it is")
    add("--run", metavar="FILE", type=input_file, help="the run file of a pair that was measured, "
        "with that of its base beside it, instead of measuring again")

    how_long = group(parser, "how long",
        "%(prog)s gemm/tiled/f32/n:1024 --against main --gather 2m")
    add = how_long.add_argument
    add("--gather", dest="gather_s", metavar="TIME", type=duration, default=_BUDGET_S,
        help=f"for the evidence of a benchmark; default {_BUDGET_S:.0f}s")
    add("--processes", metavar="N", type=positive, help="of each side before the first look; "
        f"default {FIRST_LOOK}")
    add("--budget", dest="budget_s", metavar="TIME", type=duration, help="of measuring")
    arguments.add_measuring(how_long)

    output = group(parser, "output", "%(prog)s gemm/tiled/f32/n:1024 --format markdown=why.md")
    output.add_argument("--format", action="append", default=[], metavar="NAME[=FILE]", help="as "
        f"{', '.join(_FORMATS)}, to standard output or FILE; repeatable")
    arguments.add_verbose(output)
    # fmt: on
    return parser
