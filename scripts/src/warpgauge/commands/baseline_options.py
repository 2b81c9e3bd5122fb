# SPDX-License-Identifier: Apache-2.0
"""The command line of warpgauge baseline."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warpgauge.baselines.prune import SESSIONS_KEPT, Criteria
from warpgauge.baselines.recordable import FEWEST_PROCESSES
from warpgauge.commands import arguments, bench_options
from warpgauge.commands.arguments import Parser, days, group, index, positive, seconds
from warpgauge.commands.bench_options import PROCESSES
from warpgauge.execution.plan import DEADLINE_S
from warpgauge.records.benchmark_filter import normal
from warpgauge.records.model import DEFAULT_SUITE, FULL_SUITE
from warpgauge.system.errors import UserError
from warpgauge.verdict.staleness import STALE_DAYS

_EPILOG = """\
exit status:
  0  done, and for check: all is well
  2  bad usage, or something that cannot be read, recorded or written; all is as it was
  3  check: a warning; record: there is no GPU to measure

baselines/README.md and scripts/README.md explain what a baseline is."""

_RECORD = f"""\
Measure this GPU now and add the session to the baseline of its model: the same as
scripts/bench --record. The tree must be committed, and the whole suite is measured: with
--suite full where the baseline holds the full one.
At most {SESSIONS_KEPT} sessions stay; what gives way is told."""

_ADD = f"""\
Add the session of a run file that scripts/bench wrote. No other session is touched,
but that one of the same boot and GPU is replaced, and that at most {SESSIONS_KEPT} stay: the
oldest of the GPU that has most sessions gives way. Counters and labels become the
run's where it is the newest session."""

_SHOW = "Show the sessions of each baseline, their age and origin, and how many rows there are."

_LIMITS = """\
Print, as Markdown, the time and the rate of each benchmark in the newest session, and the
share that this is of what bounds it: of the copy, the write or the vendor's GEMM that the same
process measured."""

_PRUNE = """\
Remove sessions, or benchmarks that no longer exist. Says what goes; all files change, or
none does. A baseline is never left empty, and a benchmark never without a session:
name what shall go with its last session by --removed. Counters and labels stay."""

_CHECK = """\
Load every baseline and warn of what makes it less than reliable: its age, its sessions,
files that contradict each other, benchmarks that are gone or new (where programs are
built in build/release), and times that scatter too much."""


@dataclass(frozen=True)
class RecordNow:
    bench_arguments: tuple[str, ...]


@dataclass(frozen=True)
class AddSession:
    run_file: Path


@dataclass(frozen=True)
class Show:
    asked: str | None
    rows: bool


@dataclass(frozen=True)
class Limits:
    asked: str | None
    filter: str


@dataclass(frozen=True)
class Prune:
    asked: str | None
    criteria: Criteria
    dry_run: bool


@dataclass(frozen=True)
class Check:
    asked: str | None
    stale_days: float


Options = RecordNow | AddSession | Show | Limits | Prune | Check


def parse(argv: Sequence[str]) -> Options:
    """Raises UserError for bad usage."""
    given = command_line().parse_args(argv)
    if given.command == "record":
        options = ("suite", "device", "processes", "timeout")
        values = {key: getattr(given, key) for key in options}
        told = [f"--{key}={value}" for key, value in values.items() if value is not None]
        return RecordNow((*told, *(["--verbose"] if given.verbose else [])))
    if given.command == "add-session":
        return AddSession(given.run_file)
    if given.command == "show":
        return Show(given.asked, given.rows)
    if given.command == "limits":
        return Limits(given.asked, normal(given.filter))
    if given.command == "check":
        return Check(given.asked, given.stale_days)
    criteria = Criteria(given.keep, tuple(given.session), given.older_than, tuple(given.removed))
    if criteria.is_empty:
        raise UserError(
            "prune needs to know what goes: give --keep, --session, --older-than or --removed"
        )
    return Prune(given.asked, criteria, given.dry_run)


def command_line() -> Parser:
    """The options, for --help too."""
    parser = Parser(
        prog="warpgauge baseline",
        description="Records, shows, prunes and checks baselines, the accepted times of a GPU.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, help: str, description: str) -> Parser:
        return commands.add_parser(
            name,
            help=help,
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    # fmt: off
    record = command("record", "measure this GPU and add the session", _RECORD)
    what = group(record, "what is measured", "%(prog)s --suite full --device 1")
    what.add_argument("--suite", choices=(DEFAULT_SUITE, FULL_SUITE),
        help="full: every benchmark; default: those that cover each cost once")
    bench_options.add_device(what)
    add = group(record, "how long", "%(prog)s --processes 9").add_argument
    add("--processes", metavar="N", type=_processes,
        help=f"of each program; default {PROCESSES}, at least {FEWEST_PROCESSES}")
    add("--timeout", metavar="SECONDS", type=seconds,
        help=f"for one benchmark, which is ended then; default {DEADLINE_S:g}")
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
    options.add_argument(
        "asked",
        metavar="GPU_OR_PATH",
        nargs="?",
        help="a GPU model, as 'NVIDIA H200' or nvidia-h200, or a path; default all of baselines/",
    )
    return options


def _processes(text: str) -> int:
    if (number := index(text)) < FEWEST_PROCESSES:
        raise argparse.ArgumentTypeError(f"must be at least {FEWEST_PROCESSES}")
    return number
