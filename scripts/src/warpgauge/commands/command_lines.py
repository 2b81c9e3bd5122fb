# SPDX-License-Identifier: Apache-2.0
"""The command lines of commands that show or keep measurements; functions have their names."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from warpgauge.commands import compare
from warpgauge.commands.argument_types import days, file, folder, input_file, positive, revision
from warpgauge.commands.arguments import Parser, add, add_filter, add_formats, group
from warpgauge.records.sessions import STALE_DAYS
from warpgauge.system.location import STANDARD_INPUT

BRANCH = "origin/history"
_NIGHTS = 30

_REPORT = """\
Write a comparison as one self-contained HTML file: the verdict, the measurements
of every benchmark and, with --history, its times over the last nights.

A single RUN is compared with the baseline of its GPU model in baselines/. Of two,
the first is the baseline and the second is judged. Each is a run file, a
baseline's folder, or Google Benchmark JSON. Without a baseline the page shows
only the times."""

_FLEET = """\
Find the GPU or node of a fleet that is slower than the others of its model, or
the firmware, driver or rack, and the benchmarks that show it. FOLDER holds a
run file of scripts/bench for each GPU, at any depth; the newest file of a GPU
counts. A healthy fleet shows an outlier in at most 1 % of runs."""


# fmt: off
def baseline() -> Parser:
    parser = Parser(
        prog="warpgauge baseline",
        description="Show, export, prune and check baselines, the accepted times of a GPU, and add "
        "sessions. scripts/bench --record measures one.",
        epilog="""\
exit status:
  0  done; for check: no problem found
  2  bad usage, or something cannot be read, recorded or written; nothing was changed
  3  check: a warning

baselines/README.md explains baselines.""",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    added = commands.add_parser("add-session", help="add the session of a run file",
        description="Add the session of a run file that scripts/bench wrote. It replaces the "
        "session of the same boot and GPU. If there are too many sessions, the oldest session of "
        "the GPU with the most sessions is dropped. Counters and labels are taken from the newest "
        "session.")
    what = group(added, "what to add", "%(prog)s build/runs/2026-11-20-090507.json")
    what.add_argument("run_file", metavar="RUN_FILE", type=Path, help="a run file, e.g. of "
        "build/runs")

    shown = commands.add_parser("show", help="show what the baselines hold",
        description="Show the sessions of each baseline, their age and origin, and the number of "
        "rows.")
    what = _baselines(shown, "what to show", "%(prog)s nvidia-h200 --rows")
    what.add_argument("--rows", action="store_true", help="list every benchmark with its time in "
        "each session, and its scatter")

    limited = commands.add_parser("limits", help="show how close each benchmark comes to its limit",
        description="Print, as Markdown, the time and rate of each benchmark in the newest "
        "session, and the rate as a fraction of its limit: of the copy, the write or the vendor's "
        "GEMM that the same process measured.")
    add_filter(_baselines(limited, "what to show", "%(prog)s --filter '^gemm/'"))

    exported = commands.add_parser("export", help="print references for ReFrame",
        description="Print the times of a baseline as references of a ReFrame test, for one "
        "system and partition. A healthy GPU exceeds some benchmark's limit in 1 % of runs.")
    what = _baselines(exported, "what to print", "%(prog)s nvidia-h200 --reframe cluster:gpu")
    what.add_argument("--reframe", metavar="SYSTEM:PARTITION", required=True, help="system and "
        "partition of the ReFrame test")

    pruned = commands.add_parser("prune", help="remove sessions and benchmarks",
        description="Remove sessions, or benchmarks that no longer exist, and list what is "
        "removed. At least one session stays for each benchmark; use --removed to remove a "
        "benchmark with its last session. Counters and labels stay. To undo it, restore the files "
        "with git.")
    what = _baselines(pruned, "what to remove", "%(prog)s nvidia-h200 --keep 2 --dry-run")
    what.add_argument("--keep", metavar="N", type=positive, help="keep N sessions; removes the "
        "oldest session of the GPU with the most sessions first")
    what.add_argument("--session", metavar="KEY", action="append", default=[], help="remove this "
        "session; repeatable")
    what.add_argument("--older-than", metavar="DAYS", type=days, help="remove sessions older than "
        "this")
    what.add_argument("--removed", metavar="REGEX", action="append", default=[], help="remove "
        "benchmarks whose name matches; repeatable")
    what.add_argument("--dry-run", action="store_true", help="print what would be done, and exit")

    checked = commands.add_parser("check", help="report problems of the baselines",
        description="Load every baseline and warn of what makes it unreliable: its age, its "
        "sessions, misnamed files, files that lack sessions, and benchmarks that are gone or new "
        "(if programs are built in build/release).")
    what = _baselines(checked, "what to check", "%(prog)s --stale-days 90")
    what.add_argument("--stale-days", metavar="DAYS", type=days, default=STALE_DAYS,
        help=f"warn if the newest session is older than this; default {STALE_DAYS}")
    return parser


def _baselines(parser: Parser, title: str, example: str) -> argparse._ArgumentGroup:
    what = group(parser, title, example)
    what.add_argument("asked", metavar="GPU_OR_PATH", nargs="?", help="a GPU model, e.g. 'NVIDIA "
        "H200' or nvidia-h200, or a path; default: all of baselines/")
    return what


def history() -> Parser:
    parser = Parser(
        prog="warpgauge history",
        description="Show the results of the nightly runs. They are on the branch `history`, which "
        "the workflow nightly extends; get it with git fetch origin history.",
        epilog="Exit status: 0 done; 2 bad usage, or no history; 3 done, but some lines of the "
        "history cannot be read (listed on standard error).",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    shown = commands.add_parser("show", help="show how times developed",
        description="Show each benchmark's newest time and the median of the nights before it.")
    what = _nights(shown, "%(prog)s --gpu nvidia-h200 --filter '^gemm/' --nights 14", last=True)
    add_filter(what)

    series = commands.add_parser("series", help="show a benchmark night by night",
        description="Show one benchmark night by night: its time, the error of that time, and "
        "where it was measured.")
    what = _nights(series, "%(prog)s sync/stream_idle --gpu nvidia-h200", last=True)
    what.add_argument("benchmark", metavar="NAME", help="name of the benchmark")

    changed = commands.add_parser("changes", help="show when times changed",
        description="Show in which night times changed, and which commits are in between. Changes "
        "of machine, driver or GPU are shown apart from changes of code.")
    what = _nights(changed, "%(prog)s --gpu nvidia-h200 --filter '^gemm/'")
    add_filter(what)
    add(what, "--policy", help="policy that says which changes are too small or expected; default: "
        "baselines/policy.toml")
    add(what, "--verbose", help="also show changes that a policy entry or a later commit explains")

    exported = commands.add_parser("export", help="write a CSV file",
        description="Write every time with its night to a CSV file.")
    what = _nights(exported, "%(prog)s history.csv --gpu nvidia-h200")
    what.add_argument("file", metavar="FILE", type=file, help="the CSV file to write")
    add_filter(what)
    return parser


def _nights(parser: Parser, example: str, *, last: bool = False) -> argparse._ArgumentGroup:
    what = group(parser, "what to show", example)
    what.add_argument("--gpu", metavar="SLUG", default="", help="GPU model, e.g. nvidia-h200; "
        "empty: all")
    what.add_argument("--ref", metavar="REF", type=revision, default=BRANCH, help="branch or "
        f"commit that holds the history; default {BRANCH}")
    if last:
        what.add_argument("--nights", metavar="N", type=positive, default=_NIGHTS,
            help=f"show the last N nights; default {_NIGHTS}")
    return what


def parse_report(argv: Sequence[str]) -> argparse.Namespace:
    """Parse `argv`; `base`, which may be None, and `run` are the two sides. Raises UserError."""
    parser = report()
    options = parser.parse_args(argv)
    *before, run = options.runs
    if len(before) > 1:
        parser.error("a report has at most two sides: give one or two RUNs")
    base = before[0] if before else None
    if base is STANDARD_INPUT and run is STANDARD_INPUT:
        parser.error("standard input can be read only once: give a file instead of one '-'")
    if options.out is None and run is STANDARD_INPUT:
        parser.error("standard input has no file name to derive the report's name from: give --out")
    where = run.resolve() if run.name in ("", "..") else run
    out = options.out or where.with_name(f"{where.name.removesuffix('.json')}.html")
    return argparse.Namespace(**{**vars(options), "base": base, "run": run, "out": out})


def report() -> Parser:
    parser = Parser(prog="warpgauge report", description=_REPORT, epilog="""\
exit status:
  0  the report was written, whatever its verdict
  2  bad usage, or input that cannot be read
  3  the report was written, but some lines of the history cannot be read

For an exit status that depends on the verdict, use `compare`.""")
    what = group(parser, "what to show", "%(prog)s build/runs/2026-11-20-090507.json")
    what.add_argument("runs", type=input_file, nargs="+", metavar="RUN", help="one run: the times "
        "to show; two: the accepted times, then these; - is standard input")
    what.add_argument("--history", metavar="BRANCH", help="add the last nights from this branch, "
        "e.g. origin/history, or from the folder of its checkout")
    add(what, "--out", help="write the report here; default: RUN with the suffix .html")
    compare.add_rule(group(parser, "what counts", "%(prog)s old.json new.json --min-effect 2"))
    parser.set_defaults(filter="")
    return parser


def fleet() -> Parser:
    parser = Parser(prog="warpgauge fleet", description=_FLEET, epilog="""\
exit status:
  0  no outlier, and everything was judged
  1  at least one outlier
  2  bad usage, or no readable file
  3  no outlier, but a file cannot be read, a GPU lacks benchmarks that the others
     have, or a model has too few GPUs""")
    what = group(parser, "input", "%(prog)s . --factors nodes.csv --filter '^memcpy/'")
    what.add_argument("folder", metavar="FOLDER", type=folder, help="folder of run files")
    what.add_argument("--factors", metavar="FILE", type=Path, help="CSV that says what nodes or "
        "GPUs have in common: the first column is node or gpu_uuid, the others are factors, e.g. "
        "rack")
    add_filter(what)
    output = group(parser, "output", "%(prog)s . --format json --format html=fleet.html")
    add_formats(output, "result", ("terminal", "json", "html"))
    return parser
# fmt: on
