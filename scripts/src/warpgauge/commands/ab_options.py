# SPDX-License-Identifier: Apache-2.0
"""The command line of warpgauge ab."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warpgauge.commands import arguments
from warpgauge.commands.arguments import Parser, file, index, positive, seconds
from warpgauge.commands.bench_options import PROCESSES, Options
from warpgauge.commands.bench_options import parse as of_bench
from warpgauge.execution.plan import DEADLINE_S
from warpgauge.records.benchmark_filter import matches, normal
from warpgauge.records.sessions import FEWEST_ROUNDS
from warpgauge.reports.formats import FORMATS

_DESCRIPTION = """\
Tell what got slower or faster between two builds of another project's Google
Benchmark programs. Every executable file in the two folders is run, and is
taken for such a program; programs of one name are run in turns, each time in a
fresh process (A B, B A, ...). What that leaves undecided gets a second look."""

_EPILOG = """\
exit status:
  0  nothing regressed, and everything was measured
  1  at least one benchmark regressed
  2  bad usage, or a folder that holds no program
  3  nothing regressed, but something was not measured or not comparable

scripts/README.md, "Programs of another project", explains what such a verdict
rests on."""


@dataclass(frozen=True)
class Asked:
    """Two folders of programs, and what scripts/bench would be asked for, too."""

    folders: tuple[Path, Path]  # the base's first
    options: Options


def parse(argv: Sequence[str]) -> Asked:
    """Raises UserError for bad usage."""
    given = _parser().parse_args(argv)
    reports = [f"--format={one}" for one in given.format]
    usual = of_bench([*reports, *(f"--export={one}" for one in given.export)])
    options = replace(
        usual,
        filter=normal(given.filter),
        processes=given.processes,
        out=given.out,
        device=given.device,
        seed=usual.seed if given.seed is None else given.seed,
        timeout_s=given.timeout,
        wait=not given.no_wait,
        fail_on=tuple(given.fail_on),
        policy=given.policy,
        allow=frozenset(given.allow),
    )
    matches(options.filter, "", "--filter")
    return Asked((given.base, given.candidate), options)


def _parser() -> Parser:
    parser = Parser(
        prog="warpgauge ab",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    # fmt: off
    add("base", type=Path, metavar="BASE_FOLDER", help="the programs to compare with")
    add("candidate", type=Path, metavar="CANDIDATE_FOLDER", help="the programs to judge")
    add("--processes", metavar="N", type=positive, default=PROCESSES,
        help=f"of each program in the first look; default {PROCESSES}, "
        f"{FEWEST_ROUNDS} at least")
    add("--filter", metavar="REGEX", default="",
        help="only benchmarks whose name matches; a leading '-' negates (--filter=-REGEX)")
    add("--out", metavar="FILE", type=file, help="the candidate's run file, and FILE with -base "
        "before its suffix the base's; default build/runs/<time>.json")
    add("--device", metavar="GPU", type=_gpu, help="all that the programs see, by its UUID or by "
        "its index (nvidia-smi -L); default: what they see by themselves")
    add("--timeout", metavar="SECONDS", type=seconds, default=DEADLINE_S,
        help=f"for one benchmark, which is ended then; default {DEADLINE_S:g}")
    add("--seed", metavar="N", type=index, help="of the order; default random, and recorded")
    add("--format", metavar="NAME[=FILE]", action="append", default=[],
        help=f"write the comparison as {', '.join(FORMATS)}, to standard output or FILE; may be "
        "given several times")
    add("--export", metavar="NAME=FILE", action="append", default=[],
        help="write the candidate's times for another tool, as scripts/compare.py does")
    # fmt: on
    arguments.add_comparison_options(parser, usual_policy="none")
    add(
        "--no-wait",
        action="store_true",
        help="refuse (exit 3) instead of waiting while another command measures here",
    )
    return parser


def _gpu(text: str) -> int | str:
    if text.startswith("GPU-"):
        return text
    try:
        return index(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither an index from 0 on nor a UUID, as `nvidia-smi -L` prints both"
        ) from None
