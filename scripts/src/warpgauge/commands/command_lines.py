# SPDX-License-Identifier: Apache-2.0
"""The command lines of commands that show or keep measurements; functions have their names."""

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
from warpgauge.measure.options import PROCESSES
from warpgauge.records.sessions import STALE_DAYS
from warpgauge.system.location import STANDARD_INPUT

_BASELINE_EPILOG = """\
exit status:
  0  done; for check: no problem found
  2  bad usage, or something cannot be read, recorded or written; nothing was changed
  3  check: a warning; record: there is no GPU

baselines/README.md and scripts/README.md explain baselines."""

_RECORD = """\
Measure this GPU and add the session to the baseline of its model, as scripts/bench
--record does. The tree must be committed. Use --suite full if the baseline holds the full
suite. A baseline keeps a limited number of sessions; a session that is dropped is named."""

_ADD = """\
Add the session of a run file that scripts/bench wrote. It replaces the session of the same
boot and GPU. If there are too many sessions, the oldest session of the GPU with the most
sessions is dropped. Counters and labels are taken from the newest session."""

_SESSIONS = "Show the sessions of each baseline, their age and origin, and the number of rows."

_LIMITS = """\
Print, as Markdown, the time and rate of each benchmark in the newest session, and the rate as
a fraction of its limit: of the copy, the write or the vendor's GEMM that the same process
measured."""

_REFERENCES = """\
Print the times of a baseline as references of a ReFrame test, for one system
and partition. A healthy GPU exceeds some benchmark's limit in 1 % of runs."""

_PRUNE = """\
Remove sessions, or benchmarks that no longer exist, and list what is removed. At
least one session stays for each benchmark; use --removed to remove a benchmark with its
last session. Counters and labels stay. To undo it, restore the files with git."""

_CHECK = """\
Load every baseline and warn of what makes it unreliable: its age, its sessions, misnamed files,
files that lack sessions, and benchmarks that are gone or new (if programs are built in
build/release)."""


def baseline() -> Parser:
    parser = Parser(
        prog="warpgauge baseline",
        description="Record, show, export, prune and check baselines: the accepted times of a GPU.",
        epilog=_BASELINE_EPILOG,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, help: str, text: str) -> Parser:
        return commands.add_parser(name, help=help, description=text)

    # fmt: off
    record = command("record", "measure this GPU and add the session", _RECORD)
    what = group(record, "what to measure", "%(prog)s --suite full --device 1")
    bench_options.add_suite_and_device(what)
    how_long = group(record, "how long", "%(prog)s --processes 9")
    how_long.add_argument("--processes", metavar="N", type=positive, default=PROCESSES,
        help=f"processes per program; default {PROCESSES}")
    arguments.add_timeout(how_long)
    arguments.add_verbose(group(record, "output", "%(prog)s --verbose"))

    added = command("add-session", "add the session of a run file", _ADD)
    add = group(added, "what to add", "%(prog)s build/runs/2026-11-20-090507.json").add_argument
    add("run_file", metavar="RUN_FILE", type=Path, help="a run file, e.g. of build/runs")

    shown = command("show", "show what the baselines hold", _SESSIONS)
    add = _choice(shown, "what to show", "%(prog)s nvidia-h200 --rows").add_argument
    add("--rows", action="store_true", help="list every benchmark with its time in each session, "
        "and its scatter")

    limited = command("limits", "show how close each benchmark comes to its limit", _LIMITS)
    arguments.add_filter(_choice(limited, "what to show", "%(prog)s --filter '^gemm/'"))

    exported = command("export", "print references for ReFrame", _REFERENCES)
    what = _choice(exported, "what to print", "%(prog)s nvidia-h200 --reframe cluster:gpu")
    what.add_argument("--reframe", metavar="SYSTEM:PARTITION", required=True, help="system and "
        "partition of the ReFrame test")

    pruned = command("prune", "remove sessions and benchmarks", _PRUNE)
    add = _choice(pruned, "what to remove", "%(prog)s nvidia-h200 --keep 2 --dry-run").add_argument
    add("--keep", metavar="N", type=positive, help="keep N sessions; removes the oldest session of "
        "the GPU with the most sessions first")
    add("--session", metavar="KEY", action="append", default=[], help="remove this session; "
        "repeatable")
    add("--older-than", metavar="DAYS", type=days, help="remove sessions older than this")
    add("--removed", metavar="REGEX", action="append", default=[], help="remove benchmarks whose "
        "name matches; repeatable")
    add("--dry-run", action="store_true", help="print what would be done, and exit")

    checked = command("check", "report problems of the baselines", _CHECK)
    add = _choice(checked, "what to check", "%(prog)s --stale-days 90").add_argument
    add("--stale-days", metavar="DAYS", type=days, default=STALE_DAYS,
        help=f"warn if the newest session is older than this; default {STALE_DAYS}")
    # fmt: on
    return parser


def _choice(parser: Parser, title: str, example: str) -> argparse._ArgumentGroup:
    options = group(parser, title, example)
    which = "a GPU model, e.g. 'NVIDIA H200' or nvidia-h200, or a path; default: all of baselines/"
    options.add_argument("asked", metavar="GPU_OR_PATH", nargs="?", help=which)
    return options


BRANCH = "origin/history"
_NIGHTS = 30

_NEWEST = "Show each benchmark's newest time and the median of the nights before it."
_SERIES = (
    "Show one benchmark night by night: its time, the error of that time, and where it was "
    "measured."
)
_CHANGES = (
    "Show in which night times changed, and which commits are in between. Changes of machine, "
    "driver or GPU are shown apart from changes of code."
)
_EXPORT = "Write every time with its night to a CSV file, for DuckDB, pandas and similar tools."


def history() -> Parser:
    parser = Parser(
        prog="warpgauge history",
        description="Show the results of the nightly runs. They are on the branch `history`, which "
        "the workflow nightly extends; get it with git fetch origin history.",
        epilog="Exit status: 0 done; 2 bad usage, or no history; 3 done, but some lines of the "
        "history cannot be read (listed on standard error).",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    # fmt: off
    shown = commands.add_parser("show", help="show how times developed", description=_NEWEST)
    what = _nights_of(shown, "%(prog)s --gpu nvidia-h200 --filter '^gemm/' --nights 14")
    arguments.add_filter(what)
    _add_nights(what)

    one = commands.add_parser("series", help="show a benchmark night by night", description=_SERIES)
    what = _nights_of(one, "%(prog)s sync/stream_idle --gpu nvidia-h200")
    what.add_argument("benchmark", metavar="NAME", help="name of the benchmark")
    _add_nights(what)

    changed = commands.add_parser("changes", help="show when times changed", description=_CHANGES)
    what = _nights_of(changed, "%(prog)s --gpu nvidia-h200 --filter '^gemm/'")
    arguments.add_filter(what)
    add = what.add_argument
    add("--policy", type=Path, metavar="FILE", help="policy that says which changes are too small "
        "or expected; default: baselines/policy.toml")
    add("--verbose", action="store_true", help="also show changes that a policy entry or a later "
        "commit explains")

    exported = commands.add_parser("export", help="write a CSV file", description=_EXPORT)
    what = _nights_of(exported, "%(prog)s history.csv --gpu nvidia-h200")
    what.add_argument("file", metavar="FILE", type=file, help="the CSV file to write")
    arguments.add_filter(what)
    # fmt: on
    return parser


def _nights_of(parser: Parser, example: str) -> argparse._ArgumentGroup:
    what = group(parser, "what to show", example)
    add = what.add_argument
    add("--gpu", metavar="SLUG", default="", help="GPU model, e.g. nvidia-h200; empty: all")
    add("--ref", metavar="REF", type=revision, default=BRANCH,
        help=f"branch or commit that holds the history; default {BRANCH}")  # fmt: skip
    return what


def _add_nights(what: argparse._ArgumentGroup) -> None:
    what.add_argument("--nights", metavar="N", type=positive, default=_NIGHTS,
        help=f"show the last N nights; default {_NIGHTS}")  # fmt: skip


_REPORT = """\
Write a comparison as one self-contained HTML file: the verdict, the measurements
of every benchmark and, with --history, its times over the last nights.

A single RUN is compared with the baseline of its GPU model in baselines/. Of two,
the first is the baseline and the second is judged. Each is a run file, a
baseline's folder, or Google Benchmark JSON. Without a baseline the page shows
only the times."""

_REPORT_EPILOG = """\
exit status:
  0  the report was written, whatever its verdict
  2  bad usage, or input that cannot be read
  3  the report was written, but some lines of the history cannot be read

For an exit status that depends on the verdict, use `compare`."""


def parse_report(argv: Sequence[str]) -> argparse.Namespace:
    """Parse `argv`; `base`, which may be None, and `run` are the two sides. Raises UserError."""
    parser = report()
    options = parser.parse_args(argv)
    runs, base = options.runs, options.baseline
    if len(runs) > 2 or (len(runs) == 2 and base is not None):
        parser.error("a report has two sides: give one RUN and --baseline, or two RUNs")
    *before, run = runs
    base = before[0] if before else base
    if base is STANDARD_INPUT and run is STANDARD_INPUT:
        parser.error("standard input can be read only once: give a file instead of one '-'")
    if options.out is None and run is STANDARD_INPUT:
        parser.error("standard input has no file name to derive the report's name from: give --out")
    where = run.resolve() if run.name in ("", "..") else run
    out = options.out or where.with_name(f"{where.name.removesuffix('.json')}.html")
    return argparse.Namespace(**{**vars(options), "base": base, "run": run, "out": out})


def report() -> Parser:
    parser = Parser(prog="warpgauge report", description=_REPORT, epilog=_REPORT_EPILOG)
    # fmt: off
    what = group(parser, "what to show", "%(prog)s build/runs/2026-11-20-090507.json")
    add = what.add_argument
    add("runs", type=input_file, nargs="+", metavar="RUN",
        help="one run: the times to show; two: the accepted times, then these; - is standard input")
    add("--baseline", type=input_file, metavar="PATH",
        help="the accepted times; default: those of the GPU model in baselines/")
    add("--history", metavar="BRANCH",
        help="add the last nights from this branch, e.g. origin/history, or from the folder of its "
        "checkout")
    add("--out", type=file, metavar="FILE", help="write the report here; default: RUN with the "
        "suffix .html")
    # fmt: on
    compare.add_rule(group(parser, "what counts", "%(prog)s old.json new.json --min-effect 2"))
    parser.set_defaults(filter="")
    return parser


_FLEET_FORMATS = ("terminal", "json", "html")

_FLEET = """\
Find the GPU or node of a fleet that is slower than the others of its model, or
the firmware, driver or rack, and the benchmarks that show it. FOLDER holds a
run file of scripts/bench for each GPU, at any depth; the newest file of a GPU
counts. A healthy fleet shows an outlier in at most 1 % of runs."""

_FLEET_EPILOG = """\
exit status:
  0  no outlier, and everything was judged
  1  at least one outlier
  2  bad usage, or no readable file
  3  no outlier, but a file cannot be read, a GPU lacks benchmarks that the others
     have, or a model has too few GPUs"""


def fleet() -> Parser:
    parser = Parser(prog="warpgauge fleet", description=_FLEET, epilog=_FLEET_EPILOG)
    # fmt: off
    what = group(parser, "input", "%(prog)s . --factors nodes.csv --filter '^memcpy/'")
    add = what.add_argument
    add("folder", metavar="FOLDER", type=folder, help="folder of run files")
    add("--factors", metavar="FILE", type=Path, help="CSV that says what nodes or GPUs have in "
        "common: the first column is node or gpu_uuid, the others are factors, e.g. rack")
    arguments.add_filter(what)
    output = group(parser, "output", "%(prog)s . --format json --format html=fleet.html")
    output.add_argument("--format", metavar="NAME[=FILE]", action="append", default=[],
        help=f"write the result as {', '.join(_FLEET_FORMATS)}, to standard output or FILE; "
        "repeatable")
    # fmt: on
    return parser
