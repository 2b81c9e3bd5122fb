# SPDX-License-Identifier: Apache-2.0
"""The command line of warpgauge baseline."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from warpgauge.commands import arguments, bench_options
from warpgauge.commands.arguments import Parser, days, group, positive
from warpgauge.measurement.options import PROCESSES
from warpgauge.records.sessions import STALE_DAYS
from warpgauge.system.errors import UserError

_EPILOG = """\
exit status:
  0  done, and for check: all is well
  2  bad usage, or something that cannot be read, recorded or written; all is as it was
  3  check: a warning; record: there is no GPU to measure

baselines/README.md and scripts/README.md explain what a baseline is."""

_RECORD = """\
Measure this GPU now and add the session to the baseline of its model: the same as
scripts/bench --record. The tree must be committed, and the whole suite is measured: with
--suite full where the baseline holds the full one. A session that gives way is named."""

_ADD = """\
Add the session of a run file that scripts/bench wrote. It replaces the session of the same
boot and GPU. Where there are too many, the oldest of the GPU that has most gives way. Counters
and labels become the run's where it is the newest session."""

_SHOW = "Show the sessions of each baseline, their age and origin, and how many rows there are."

_LIMITS = """\
Print, as Markdown, the time and the rate of each benchmark in the newest session, and the
share that this is of what bounds it: of the copy, the write or the vendor's GEMM that the same
process measured."""

_EXPORT = """\
Print the times of a baseline as references of a ReFrame test, for one system
and partition. A healthy GPU exceeds the limit of any benchmark in 1 % of runs."""

_PRUNE = """\
Remove sessions, or benchmarks that no longer exist. Says what goes; all files change, or
none does. A baseline is never left empty, and a benchmark never without a session:
name what shall go with its last session by --removed. Counters and labels stay."""

_CHECK = """\
Load every baseline and warn of what makes it less than reliable: its age, its sessions,
files that contradict each other, benchmarks that are gone or new (where programs are
built in build/release), and times that scatter too much."""


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The options of one `command`. Raises UserError for bad usage."""
    given = command_line().parse_args(argv)
    if given.command == "prune" and not (
        given.keep or given.session or given.older_than or given.removed
    ):
        raise UserError(
            "prune needs to know what goes: give --keep, --session, --older-than or --removed"
        )
    return given


def command_line() -> Parser:
    """The options, for --help too."""
    parser = Parser(
        prog="warpgauge baseline",
        description="Records, shows, exports, prunes and checks baselines, the accepted times of a "
        "GPU.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    as_it_is = argparse.RawDescriptionHelpFormatter

    def command(name: str, help: str, text: str) -> Parser:
        return commands.add_parser(name, help=help, description=text, formatter_class=as_it_is)

    # fmt: off
    record = command("record", "measure this GPU and add the session", _RECORD)
    what = group(record, "what is measured", "%(prog)s --suite full --device 1")
    bench_options.add_suite_and_device(what)
    how_long = group(record, "how long", "%(prog)s --processes 9")
    how_long.add_argument("--processes", metavar="N", type=positive, default=PROCESSES,
        help=f"of each program; default {PROCESSES}")
    arguments.add_timeout(how_long)
    add = group(record, "output", "%(prog)s --verbose").add_argument
    add("--verbose", action="store_true", help="show the build's output and every command")

    added = command("add-session", "add the session of a run file", _ADD)
    add = group(added, "what is added", "%(prog)s build/runs/2026-11-20-090507.json").add_argument
    add("run_file", metavar="RUN_FILE", type=Path, help="as in build/runs")

    shown = command("show", "show what the baselines hold", _SHOW)
    add = _choice(shown, "what is shown", "%(prog)s nvidia-h200 --rows").add_argument
    add("--rows", action="store_true", help="list every benchmark with its time a session, and how "
        "far times scatter")

    limited = command("limits", "show how near each benchmark comes to its limit", _LIMITS)
    arguments.add_filter(_choice(limited, "what is shown", "%(prog)s --filter '^gemm/'"))

    exported = command("export", "print references for ReFrame", _EXPORT)
    what = _choice(exported, "what is printed", "%(prog)s nvidia-h200 --reframe cluster:gpu")
    what.add_argument("--reframe", metavar="SYSTEM:PARTITION", required=True, help="where the "
        "references hold")

    pruned = command("prune", "remove sessions and benchmarks", _PRUNE)
    add = _choice(pruned, "what is removed", "%(prog)s nvidia-h200 --keep 2 --dry-run").add_argument
    add("--keep", metavar="N", type=positive, help="sessions; the oldest of the GPU that has most "
        "goes first")
    add("--session", metavar="KEY", action="append", default=[], help="this one; repeatable")
    add("--older-than", metavar="DAYS", type=days, help="sessions of more days than these")
    add("--removed", metavar="REGEX", action="append", default=[], help="benchmarks whose "
        "name matches; repeatable")
    add("--dry-run", action="store_true", help="say what would be done, and do nothing")

    checked = command("check", "tell what is wrong with the baselines", _CHECK)
    add = _choice(checked, "what is checked", "%(prog)s --stale-days 90").add_argument
    add("--stale-days", metavar="DAYS", type=days, default=STALE_DAYS,
        help=f"age of the newest session that is too much; default {STALE_DAYS}")
    # fmt: on
    return parser


def _choice(parser: Parser, title: str, example: str) -> argparse._ArgumentGroup:
    options = group(parser, title, example)
    which = "a GPU model, as 'NVIDIA H200' or nvidia-h200, or a path; default all of baselines/"
    options.add_argument("asked", metavar="GPU_OR_PATH", nargs="?", help=which)
    return options
