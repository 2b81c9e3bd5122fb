# SPDX-License-Identifier: Apache-2.0
"""The command line of warpgauge ab."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warpgauge.commands import arguments
from warpgauge.commands.arguments import Parser, file, group, index, positive, seconds
from warpgauge.commands.bench_options import PROCESSES, Options
from warpgauge.commands.bench_options import parse as of_bench
from warpgauge.execution.plan import DEADLINE_S
from warpgauge.records.benchmark_filter import matches, normal
from warpgauge.records.sessions import FEWEST_ROUNDS
from warpgauge.reports.exports import EXPORTS
from warpgauge.reports.formats import FORMATS
from warpgauge.system.errors import UserError

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
    given = command_line().parse_args(argv)
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
        list=given.list,
        dry_run=given.dry_run,
        wait=not given.no_wait,
        fail_on=tuple(given.fail_on),
        policy=given.policy,
        allow=frozenset(given.allow),
    )
    matches(options.filter, "", "--filter")
    if options.list and options.dry_run:
        raise UserError("--list does not go with --dry-run: leave one of the two out")
    return Asked((given.base, given.candidate), options)


def command_line() -> Parser:
    """The options, for --help too."""
    parser = Parser(
        prog="warpgauge ab",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    # fmt: off
    what = group(parser, "what is measured", "%(prog)s old/build new/build --filter '^BM_copy'")
    add = what.add_argument
    add("base", type=Path, metavar="BASE_FOLDER", help="the programs to compare with")
    add("candidate", type=Path, metavar="CANDIDATE_FOLDER", help="the programs to judge")
    arguments.add_filter(what)
    add("--device", metavar="GPU", type=_gpu, help="index (as nvidia-smi -L counts) or UUID of the "
        "only GPU that the programs see; default: all")

    add = group(parser, "how long", "%(prog)s old/build new/build --processes 3").add_argument
    add("--processes", metavar="N", type=positive, default=PROCESSES,
        help=f"of each program in the first look; default {PROCESSES}, at least {FEWEST_ROUNDS}")
    add("--timeout", metavar="SECONDS", type=seconds, default=DEADLINE_S,
        help=f"for one benchmark, which is ended then; default {DEADLINE_S:g}")
    add("--seed", metavar="N", type=index, help="of the order; default random, and recorded")
    add("--no-wait", action="store_true", help="refuse (exit 3) instead of waiting for another "
        "command that measures here")

    rule = group(parser, "what counts", "%(prog)s old/build new/build --policy policy.toml")
    arguments.add_comparison_options(rule, usual_policy="none")

    instead = group(parser, "instead of measuring", "%(prog)s old/build new/build --list")
    arguments.add_preview(instead)

    example = "%(prog)s old/build new/build --format json=verdict.json"
    add = group(parser, "output", example).add_argument
    add("--out", metavar="FILE", type=file, help="the candidate's run file; the base's is FILE "
        "with -base before its suffix; default build/runs/<time>.json")
    add("--format", metavar="NAME[=FILE]", action="append", default=[],
        help=f"the comparison as {', '.join(FORMATS)}, to standard output or FILE; intervals to "
        "FILE.svg or FILE.png; repeatable")
    add("--export", metavar="NAME=FILE", action="append", default=[],
        help=f"the candidate's times for another tool: {', '.join(EXPORTS)}; repeatable")
    # fmt: on
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
