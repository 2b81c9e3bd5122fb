# SPDX-License-Identifier: Apache-2.0
"""The command line of warpgauge why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warpgauge.commands import arguments, bench_options
from warpgauge.commands.arguments import (
    Parser,
    duration,
    folder,
    group,
    input_file,
    one_device,
    positive,
    refuse_together,
    revision,
)
from warpgauge.commands.bench_options import Options
from warpgauge.measurement.options import FIRST_LOOK
from warpgauge.records.model import FULL_SUITE

_FORMATS = ("terminal", "markdown", "json")
_BUDGET_S = 60.0
_OWN = ("name", "run", "base_build_dir", "gather_s", "format")


@dataclass(frozen=True)
class WhyOptions:
    """Which benchmark, of which two builds; `bench` says how to build and measure."""

    name: str | None  # None: what the newest run flagged
    run: Path | None  # the candidate's run file of a pair that was measured
    base_build_dir: Path | None
    gather_s: float  # for the evidence of a benchmark
    bench: Options


def parse(argv: Sequence[str]) -> WhyOptions:
    """Raises UserError for bad usage."""
    from warpgauge.commands.format_options import Formats
    from warpgauge.commands.why_formats import FORMATS

    parser = command_line()
    given = parser.parse_args(argv)
    refuse_together(parser.given(given), "--against", "--base-build-dir")
    refuse_together(parser.given(given), "--budget", "--processes")
    values = vars(given)
    own = {name: values.pop(name) for name in _OWN}
    formats = Formats.parse(own.pop("format"), known=FORMATS)
    usual = vars(bench_options.command_line().parse_args([]))
    bench = bench_options.options_of({**usual, "suite": FULL_SUITE, **values})
    return WhyOptions(**own, bench=replace(bench, formats=formats))


def command_line() -> Parser:
    """The options, for --help too."""
    parser = Parser(
        prog="warpgauge why",
        description="Tells why a benchmark is slower than in another build: measures both in "
        "pairs, and compares machine code, hardware counters and calls of CUDA.",
        epilog="Exit status: 0 told, which may be that it is unknown; 2 bad usage; 3 not measured, "
        "as without a GPU: then only machine code is compared.",
    )
    # fmt: off
    what = group(parser, "of what", "%(prog)s gemm/f32/n:4096 --against main")
    add = what.add_argument
    add("name", metavar="NAME", nargs="?", help="of a benchmark; default: what the newest run of "
        "pairs found slower")
    add("--device", metavar="GPU", type=one_device, help="index or UUID; default 0")
    add("--build-dir", metavar="DIR", type=folder, help="another project's build folder, as it is")
    add("--no-build", dest="build", action="store_false", help="run what build/release holds")

    add = group(parser, "against what", "%(prog)s gemm/f32/n:4096 --against HEAD~1").add_argument
    add("--against", metavar="REF", type=revision, help="the commit that was faster; default: that "
        "of the run")
    add("--base-build-dir", metavar="DIR", type=folder, help="its build folder, as it is")
    add("--run", metavar="FILE", type=input_file, help="the run file of a pair that was measured, "
        "with that of its base beside it, instead of measuring again")

    how_long = group(parser, "how long", "%(prog)s gemm/f32/n:4096 --against main --gather 2m")
    add = how_long.add_argument
    add("--gather", dest="gather_s", metavar="TIME", type=duration, default=_BUDGET_S,
        help=f"for the evidence of a benchmark; default {_BUDGET_S:.0f}s")
    add("--processes", metavar="N", type=positive, help="of each side before the first look; "
        f"default {FIRST_LOOK}")
    add("--budget", dest="budget_s", metavar="TIME", type=duration, help="of measuring")
    arguments.add_measuring(how_long)

    add = group(parser, "output", "%(prog)s gemm/f32 --format markdown=why.md").add_argument
    add("--format", action="append", default=[], metavar="NAME[=FILE]", help="as "
        f"{', '.join(_FORMATS)}, to standard output or FILE; repeatable")
    add("--verbose", action="store_true", help="show the build's output and every command")
    # fmt: on
    return parser
