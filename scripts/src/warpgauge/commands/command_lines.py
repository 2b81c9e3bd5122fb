# SPDX-License-Identifier: Apache-2.0
"""The command lines of the commands that show or keep what was measured, by the command's name."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from warpgauge.commands import arguments, bench_options, compare
from warpgauge.commands.arguments import (
    Parser,
    days,
    file,
    folder,
    group,
    input_file,
    positive,
    revision,
)
from warpgauge.files.location import STANDARD_INPUT
from warpgauge.measurement.options import PROCESSES
from warpgauge.records.sessions import STALE_DAYS

_BASELINE_EPILOG = """\
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

_SESSIONS = "Show the sessions of each baseline, their age and origin, and how many rows there are."

_LIMITS = """\
Print, as Markdown, the time and the rate of each benchmark in the newest session, and the
share that this is of what bounds it: of the copy, the write or the vendor's GEMM that the same
process measured."""

_REFERENCES = """\
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


def baseline() -> Parser:
    parser = Parser(
        prog="warpgauge baseline",
        description="Records, shows, exports, prunes and checks baselines, the accepted times of a "
        "GPU.",
        epilog=_BASELINE_EPILOG,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, help: str, text: str) -> Parser:
        return commands.add_parser(name, help=help, description=text)

    # fmt: off
    record = command("record", "measure this GPU and add the session", _RECORD)
    what = group(record, "what is measured", "%(prog)s --suite full --device 1")
    bench_options.add_suite_and_device(what)
    how_long = group(record, "how long", "%(prog)s --processes 9")
    how_long.add_argument("--processes", metavar="N", type=positive, default=PROCESSES,
        help=f"of each program; default {PROCESSES}")
    arguments.add_timeout(how_long)
    arguments.add_verbose(group(record, "output", "%(prog)s --verbose"))

    added = command("add-session", "add the session of a run file", _ADD)
    add = group(added, "what is added", "%(prog)s build/runs/2026-11-20-090507.json").add_argument
    add("run_file", metavar="RUN_FILE", type=Path, help="as in build/runs")

    shown = command("show", "show what the baselines hold", _SESSIONS)
    add = _choice(shown, "what is shown", "%(prog)s nvidia-h200 --rows").add_argument
    add("--rows", action="store_true", help="list every benchmark with its time a session, and how "
        "far times scatter")

    limited = command("limits", "show how near each benchmark comes to its limit", _LIMITS)
    arguments.add_filter(_choice(limited, "what is shown", "%(prog)s --filter '^gemm/'"))

    exported = command("export", "print references for ReFrame", _REFERENCES)
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


BRANCH = "origin/history"
_NIGHTS = 30

_NEWEST = "Show each benchmark's newest time beside the median of the nights before it."
_SERIES = (
    "Show one benchmark night by night: its time, how well that is known, and where it was "
    "measured."
)
_CHANGES = (
    "Tell in which night times changed, and with which commits; machines, drivers and GPUs that "
    "changed are told apart from code."
)
_PARQUET = (
    "Write every time with its night as a Parquet file, for DuckDB, ClickHouse and the like. Needs "
    "pyarrow."
)


def history() -> Parser:
    parser = Parser(
        prog="warpgauge history",
        description="Shows what the nights measured, from the branch `history` that the workflow "
        "nightly adds to: git fetch origin history gets it. build/history/ keeps a database of it.",
        epilog="Exit status: 0 done; 2 bad usage, or no history; 3 done, but for lines that cannot "
        "be read, which standard error names.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    # fmt: off
    shown = commands.add_parser("show", help="show how times went", description=_NEWEST)
    what = _nights_of(shown, "%(prog)s --gpu nvidia-h200 --filter '^gemm/' --nights 14")
    arguments.add_filter(what)
    _add_nights(what)

    one = commands.add_parser("series", help="show a benchmark night by night", description=_SERIES)
    what = _nights_of(one, "%(prog)s sync/stream_idle --gpu nvidia-h200")
    what.add_argument("benchmark", metavar="NAME", help="of the benchmark")
    _add_nights(what)

    changed = commands.add_parser("changes", help="tell when times changed", description=_CHANGES)
    what = _nights_of(changed, "%(prog)s --gpu nvidia-h200 --filter '^gemm/'")
    arguments.add_filter(what)
    add = what.add_argument
    add("--newest", action="store_true", help="only changes that the last nights show")
    add("--policy", type=Path, metavar="FILE", help="which changes are too small or expected; "
        "default: baselines/policy.toml")
    add("--verbose", action="store_true", help="show those, too, that a policy entry or a later "
        "commit explains")

    exported = commands.add_parser("export", help="write a Parquet file", description=_PARQUET)
    what = _nights_of(exported, "%(prog)s history.parquet --gpu nvidia-h200")
    what.add_argument("file", metavar="FILE", type=file, help="to be written")
    arguments.add_filter(what)
    # fmt: on
    return parser


def _nights_of(parser: Parser, example: str) -> argparse._ArgumentGroup:
    what = group(parser, "what is taken", example)
    add = what.add_argument
    add("--gpu", metavar="SLUG", default="", help="the GPU model, as nvidia-h200; empty: all")
    add("--ref", metavar="REF", type=revision, default=BRANCH,
        help=f"where the history is; default {BRANCH}")  # fmt: skip
    return what


def _add_nights(what: argparse._ArgumentGroup) -> None:
    what.add_argument("--nights", metavar="N", type=positive, default=_NIGHTS,
        help=f"the last so many; default {_NIGHTS}")  # fmt: skip


_REPORT = """\
Write a comparison as one HTML file, which needs no network: the verdict, every
benchmark with its measurements and, with --history, how it went over the nights.

One RUN is compared with the baseline of its GPU model in baselines/. Of two, the
first is the baseline and the second is judged. Each is what compare.py takes: a
run file, a baseline's folder, or Google Benchmark JSON. Without any baseline the
page shows the times alone."""

_REPORT_EPILOG = """\
exit status: 0 the report was written, whatever its verdict; 2 bad usage, or input
that cannot be read; 3 the report was written without lines of the history that cannot
be read. `compare` ends with the verdict's."""


def parse_report(argv: Sequence[str]) -> argparse.Namespace:
    """`base` and `run` are the files of both sides; the first may be None. Raises UserError."""
    parser = report()
    options = parser.parse_args(argv)
    runs, base = options.runs, options.baseline
    if len(runs) > 2 or (len(runs) == 2 and base is not None):
        parser.error("a report has two sides: give one RUN and --baseline, or two RUNs")
    *before, run = runs
    base = before[0] if before else base
    if base is STANDARD_INPUT and run is STANDARD_INPUT:
        parser.error("standard input can be read once: give a file in place of one '-'")
    if options.out is None and run is STANDARD_INPUT:
        parser.error("standard input has no file to put the report beside: give --out")
    where = run.resolve() if run.name in ("", "..") else run
    out = options.out or where.with_name(f"{where.name.removesuffix('.json')}.html")
    return argparse.Namespace(**{**vars(options), "base": base, "run": run, "out": out})


def report() -> Parser:
    parser = Parser(prog="warpgauge report", description=_REPORT, epilog=_REPORT_EPILOG)
    # fmt: off
    what = group(parser, "what is shown", "%(prog)s build/runs/2026-11-20-090507.json")
    add = what.add_argument
    add("runs", type=input_file, nargs="+", metavar="RUN",
        help="the times to show, or the accepted times and these; - is standard input")
    add("--baseline", type=input_file, metavar="PATH",
        help="the accepted times; default: those of the GPU model in baselines/")
    add("--history", metavar="BRANCH",
        help="add the last nights: the branch in this clone, as origin/history, or the folder of a "
        "checkout of it")
    add("--out", type=file, metavar="FILE", help="default: RUN with .html, beside it")
    # fmt: on
    compare.add_rule(group(parser, "what counts", "%(prog)s old.json new.json --min-effect 2"))
    parser.set_defaults(filter="")
    return parser


_FLEET_FORMATS = ("terminal", "json", "html")

_FLEET = """\
Tell which GPU or node of a fleet is slower than the others of its model, or
which firmware, driver or rack, and in which benchmarks. FOLDER holds a run
file of scripts/bench for each GPU, in any folders below it. The newest one of
a GPU counts. A healthy fleet shows an outlier in at most 1 % of runs."""

_FLEET_EPILOG = """\
exit status:
  0  no outlier, and everything was judged
  1  at least one outlier
  2  bad usage, or no file that can be read
  3  no outlier, but a file cannot be read, a GPU lacks benchmarks that the others
     have, or a model has too few GPUs"""


def fleet() -> Parser:
    parser = Parser(prog="warpgauge fleet", description=_FLEET, epilog=_FLEET_EPILOG)
    # fmt: off
    what = group(parser, "what is read", "%(prog)s . --factors nodes.csv --filter '^memcpy/'")
    add = what.add_argument
    add("folder", metavar="FOLDER", type=folder, help="of run files")
    add("--factors", metavar="FILE", type=Path, help="a CSV that says what nodes or GPUs share: "
        "its first column is node or gpu_uuid, the others are factors, as rack")
    arguments.add_filter(what)
    output = group(parser, "output", "%(prog)s . --format json --format html=fleet.html")
    output.add_argument("--format", metavar="NAME[=FILE]", action="append", default=[],
        help=f"{', '.join(_FLEET_FORMATS)}, to standard output or FILE; repeatable")
    # fmt: on
    return parser
