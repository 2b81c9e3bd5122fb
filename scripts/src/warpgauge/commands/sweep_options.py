# SPDX-License-Identifier: Apache-2.0
"""The command line of warpgauge sweep."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warpgauge.commands import arguments, bench_options
from warpgauge.commands.arguments import (
    Parser,
    file,
    group,
    positive,
    refuse_together,
)
from warpgauge.commands.bench_options import Options
from warpgauge.measure.options import QUICK_PROCESSES
from warpgauge.records.model import DEFAULT_SUITE, FULL_SUITE, number
from warpgauge.system import command_log
from warpgauge.system.errors import UserError
from warpgauge.system.text import typed

_UNITS = {"": 1, **{unit: 1 << 10 * n for n, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi"), 1)}}
_VALUE = re.compile(r"([0-9]{1,18})(|[KMGTP]i)")
_KERNELS = ".toml"
_LARGEST = 2**63 - 1  # fits signed and unsigned 64-bit integers
_MOST_VALUES = 1000

STREAM = Path("/dev/stdout")  # replaces all names of standard output

# Options that are only for measuring.
_MEASURING = ("--values", "--suite", "--device", "--processes", "--build-dir", "--no-build",
              "--out", "--timeout", "--seed", "--no-wait", "--verbose")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class SweepOptions(Options):
    """Options of warpgauge sweep."""

    what: tuple[str, ...]  # families or prefixes of names
    manifests: tuple[Path, ...]  # manifests of kernels
    axis: str
    values: tuple[float, ...]  # replace the suite's values, unless empty
    measured: Path | None  # an existing run to show
    csv: Path | None
    svg: Path | None
    log_y: bool


def parse(argv: Sequence[str]) -> SweepOptions:
    """Parse `argv`. Raises UserError for bad usage."""
    from warpgauge.system.atomic import resolved

    parser = command_line()
    given = parser.parse_args(argv)
    if given.measured is not None:
        refuse_together(parser.given(given), "--from", *_MEASURING)
    run = given.out
    log = run and run.with_suffix(command_log.SUFFIX)
    if run == STREAM:
        raise UserError("--out: a run file cannot go to standard output; name a file")
    files = [one for one in (run, log, given.csv, given.svg) if one is not None]
    for index, path in enumerate(files):
        if resolved(path) in map(resolved, files[:index]):
            raise UserError(f"{path} would be written twice: name another file for one of them")
    values = vars(given)
    words = dict.fromkeys(values["what"])
    values["what"] = tuple(one for one in words if not one.endswith(_KERNELS))
    values["manifests"] = tuple(Path(one) for one in words if one.endswith(_KERNELS))
    return bench_options.options_of(values, SweepOptions)


def command_line() -> Parser:
    parser = Parser(
        prog="warpgauge sweep",
        description="Measure benchmarks over the values of an axis, and show their variants side "
        "by side.",
        epilog="Exit status: 0 everything was measured or skipped; 2 bad usage or unreadable "
        "input; 3 something was not measured, or gave no valid result.",
    )
    # fmt: off
    what = group(parser, "what to measure", "%(prog)s reduce/sum --x n --values 4Ki..64Mi")
    add = what.add_argument
    add("what", nargs="+", metavar="WHAT", type=_beginning,
        help="family, first part of benchmark names, or manifest of kernels (*.toml)")
    add("--x", dest="axis", metavar="AXIS", type=_axis, required=True, help="name of the axis, "
        "e.g. n")
    add("--values", metavar="V,...", type=_values, default=(), help="values of the axis, e.g. "
        "4096,1Mi or 0.5,1, or a range of doubled values, e.g. 4Ki..64Mi; default: the suite's "
        "values")
    add("--suite", choices=(DEFAULT_SUITE, FULL_SUITE), default=DEFAULT_SUITE,
        help="full: every benchmark; default: a selection that covers each cost once")
    arguments.add_programs(what)
    arguments.add_filter(what, "--programs")
    add("--from", dest="measured", metavar="RUN", type=Path, help="show this run file or baseline, "
        "without measuring")

    how_long = group(parser, "how long", "%(prog)s gemm --x n --processes 7")
    how_long.add_argument("--processes", metavar="N", type=positive,
        help=f"processes per program; default {QUICK_PROCESSES}")
    arguments.add_measuring(how_long)

    output = group(parser, "output", "%(prog)s reduce --x n --csv sum.csv --svg sum.svg")
    add = output.add_argument
    add("--csv", metavar="FILE", type=_output, help="write the table, with intervals and roofline "
        "fractions, here; - is standard output, instead of the terminal table")
    add("--svg", metavar="FILE", type=_output, help="write a plot of the lines, with the roofline, "
        "here; - is standard output, instead of the terminal table")
    add("--log-y", action="store_true", help="also make the vertical axis logarithmic")
    add("--out", metavar="FILE", type=_output, help="write the run file here; default "
        "build/runs/<time>.json")
    arguments.add_verbose(output)
    # fmt: on
    return parser


def _output(text: str) -> Path:
    from warpgauge.system.output_file import STANDARD_OUTPUT

    return STREAM if text in ("-", *STANDARD_OUTPUT) else file(text)


def _beginning(text: str) -> str:
    """Parse a prefix of benchmark names, or a manifest."""
    if text.endswith(_KERNELS):
        return text
    if not text.strip("/") or not text.isprintable() or text.startswith("/"):
        raise argparse.ArgumentTypeError(
            f"{typed(text)} cannot be the first part of a benchmark name"
        )
    return text


def _axis(text: str) -> str:
    if not text or not text.isprintable() or set(text) & set(":/=,"):
        raise argparse.ArgumentTypeError(f"{typed(text)} is not the name of an axis, e.g. n")
    return text


def _values(text: str) -> tuple[float, ...]:
    """Parse ``4096,1Mi``, ``0.5,1``, and ``4Ki..64Mi``, which doubles; the order is kept."""
    found: list[float] = []
    for part in text.split(","):
        first, dots, last = part.partition("..")
        ends = [_value(one) for one in ([first, last] if dots else [first])]
        if dots and not 0 < ends[0] <= ends[1]:
            raise argparse.ArgumentTypeError(
                f"{typed(part)} does not increase from a value above 0"
            )
        while ends[0] <= ends[-1]:
            found.append(ends[0])
            if not dots:
                break
            ends[0] *= 2
    if len(found) > _MOST_VALUES:
        raise argparse.ArgumentTypeError(f"{typed(text)} has more than {_MOST_VALUES} values")
    if len(set(found)) < len(found):
        raise argparse.ArgumentTypeError(f"{typed(text)} has a value twice")
    return tuple(found)


def _value(text: str) -> float:
    parts = _VALUE.fullmatch(text)
    value = number(text) if parts is None else int(parts[1]) * _UNITS[parts[2]]
    if value is None:
        raise argparse.ArgumentTypeError(f"{typed(text)} is not a value, e.g. 4096, 4Ki or 0.5")
    if isinstance(value, float):
        # Any axis takes 4096, but an axis of integers does not take 4096.0.
        return int(value) if value.is_integer() and abs(value) <= _LARGEST else value
    if value > _LARGEST:
        raise argparse.ArgumentTypeError(f"{typed(text)} is larger than 2^63 - 1")
    return value
