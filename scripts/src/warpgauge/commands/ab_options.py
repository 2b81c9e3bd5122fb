# SPDX-License-Identifier: Apache-2.0
"""The command line of warpgauge ab."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warpgauge.commands import arguments, bench_options
from warpgauge.commands.arguments import (
    EXIT_STATUS,
    Parser,
    commit,
    devices,
    group,
    refuse_together,
)
from warpgauge.commands.bench_options import Options
from warpgauge.measure.options import FIRST_LOOK

_DESCRIPTION = """\
Compare two builds of another project's Google Benchmark programs. Every
executable file in the two folders must be such a program, because it is run.
Programs of the same name are run in pairs of fresh processes, until every
benchmark is decided or the budget ends: in lock-step if they were written with
warpgauge, else in turns (A B, B A, ...)."""

_EPILOG = f"""\
{EXIT_STATUS}

scripts/README.md, "Programs of another project", explains these verdicts."""


@dataclass(frozen=True, kw_only=True)
class AbOptions(Options):
    """Options of warpgauge ab; the base's folder and commit come first."""

    folders: tuple[Path, Path]
    commits: tuple[str, str]  # that the programs were built from; "" if not given
    base_policy: Path | None


def parse(argv: Sequence[str]) -> AbOptions:
    """Parse `argv`. Raises UserError for bad usage."""
    from warpgauge.records.benchmark_filter import matches

    parser = command_line()
    given = parser.parse_args(argv)
    refuse_together(parser.given(given), "--list", "--dry-run")
    refuse_together(parser.given(given), "--budget", "--processes")
    values = vars(given)
    values["folders"] = values.pop("base"), values.pop("candidate")
    options = bench_options.options_of(values, AbOptions)
    matches(options.filter, "", "--filter")
    return options


def command_line() -> Parser:
    parser = Parser(prog="warpgauge ab", description=_DESCRIPTION, epilog=_EPILOG)
    # fmt: off
    what = group(parser, "what to measure", "%(prog)s old/build new/build --filter '^BM_copy'")
    add = what.add_argument
    add("base", type=Path, metavar="BASE_FOLDER", help="the programs to compare with")
    add("candidate", type=Path, metavar="CANDIDATE_FOLDER", help="the programs to judge")
    arguments.add_filter(what)
    arguments.add_filter(what, "--programs")
    add("--commits", metavar=("BASE", "CANDIDATE"), nargs=2, type=commit,
        default=("", ""), help="the commits that the programs were built from, in 40 digits each; "
        "recorded in the run files")
    add("--device", metavar="GPU", type=devices, help="GPU that the programs see: index (as "
        "nvidia-smi -L counts) or UUID, or several, e.g. 0,1; default: all")

    how_long = group(parser, "how long", "%(prog)s old/build new/build --processes 3")
    arguments.add_pairs(how_long, "program", FIRST_LOOK, "depends on what the first pairs took")

    rule = group(parser, "what counts", "%(prog)s old/build new/build --policy policy.toml")
    arguments.add_comparison_options(rule, usual_policy="none")
    rule.add_argument("--base-policy", metavar="FILE", type=Path, help="with --policy: the base's "
        "own policy, if it had one; slowdowns that it already expects do not excuse new ones")

    instead = group(parser, "instead of measuring", "%(prog)s old/build new/build --list")
    arguments.add_preview(instead)

    output = group(parser, "output", "%(prog)s old/build new/build --format json=verdict.json")
    arguments.add_pair_files(output)
    arguments.add_why(output)
    arguments.add_output(output, "every command, ")
    # fmt: on
    return parser
