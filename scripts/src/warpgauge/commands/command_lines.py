# SPDX-License-Identifier: Apache-2.0
"""The options of the commands that do not measure, and of those for workflows (`ci_*`)."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from warpgauge.commands import upstream
from warpgauge.commands.arguments import (
    EXIT_STATUS,
    Parser,
    add,
    add_comparison_options,
    add_formats,
    add_output,
    days,
    file,
    folder,
    group,
    input_file,
    percentage,
    positive,
    revision,
)
from warpgauge.reports.format import FORMATS
from warpgauge.system import environment
from warpgauge.system.errors import UserError

PROCESSES = "--processes"
BRANCH = "origin/history"
WORKFLOW, POLICY = ".github/workflows/gpu.yml", "baselines/policy.toml"
_NIGHTS = 30
_RUN = "--repository owner/name --run-id 1234"
_TOKEN = "Reads the token from GH_TOKEN and the API's address from GITHUB_API_URL."

_COMPARE = """\
Compare two benchmark results: which benchmarks got slower or faster? A single
run is compared with the baseline of its GPU model in baselines/.

BASELINE and CANDIDATE are each a run file of scripts/bench, a baseline
(baselines/<gpu>), plain Google Benchmark JSON, or a folder of one of these.
- reads standard input, for one of the files.

Plain files count as one process each, by the median of its repetitions. Give
several either as a folder or with --processes. Seven files per side find changes
of 5 % where processes scatter by 1 % or less. With fewer, only large changes
are reported (--process-scatter)."""

_FLEET = """\
Find the GPU or node of a fleet that is slower than the others of its model, or
the firmware, driver or rack, and the benchmarks that show it. FOLDER holds a
run file of scripts/bench for each GPU, at any depth; the newest file of a GPU
counts. A healthy fleet shows an outlier in at most 1 % of runs."""


# fmt: off
def compare(prog: str = "warpgauge compare") -> Parser:
    usual = (PROCESSES, "--process-scatter", "--min-effect")
    parser = Parser(prog=prog, usual=usual, description=_COMPARE, epilog=f"""\
example, for a program that was run in five processes per side:
  compare.py --processes old-*.json -- new-*.json

The command lines of Google Benchmark's compare.py are understood: benchmarks,
filters and benchmarksfiltered, of files or programs, with -a, -d and --no-color.

{EXIT_STATUS}

docs/pages/verdicts.md explains the words, docs/pages/rule.md the rule.""")
    what = group(parser, "what to compare", "%(prog)s baselines/nvidia-h200 run.json")
    what.add_argument("baseline", type=input_file, nargs="?", metavar="BASELINE", help="the "
        "accepted times, or the only run; - is standard input")
    what.add_argument("candidate", type=input_file, nargs="?", metavar="CANDIDATE", help="the "
        "times to judge; - is standard input")
    what.add_argument("more", nargs="*", help=argparse.SUPPRESS)
    what.add_argument(PROCESSES, type=Path, nargs="+", default=(), metavar="FILE", help="plain "
        "Google Benchmark files, one per process: first the baseline's, then --, then the "
        "candidate's")
    add(what, "--filter")
    _add_rule(parser)
    output = group(parser, "output", "%(prog)s old.json new.json --format markdown=report.md")
    output.add_argument("--all", action="store_true", help="list every benchmark, including "
        "those within tolerance")
    add_output(output)
    output.add_argument("--history", metavar="BRANCH", help="with --format html: add the last "
        "nights from this branch, e.g. origin/history, or from the folder of its checkout")
    upstream.add_options(output)
    return parser


def _add_rule(parser: Parser) -> None:
    rule = group(parser, "what counts", "%(prog)s old.json new.json --min-effect 2")
    rule.add_argument("--min-effect", metavar="PERCENT", type=percentage, help="smallest change "
        "that counts; default: 0.5 to 20, depending on the clock and the source of the data")
    rule.add_argument("--process-scatter", metavar="PERCENT", type=percentage, help="assumed "
        "standard deviation between two processes of the same code, used if a side has fewer than "
        "three plain files; default: 15")
    add_comparison_options(rule)


def demo() -> Parser:
    parser = Parser(
        prog="warpgauge demo",
        description="Show a comparison with a baseline that was recorded on a GPU. Needs no GPU, "
        "no compiler and no build.",
        epilog="Exit status: 0 shown, whatever its verdict; 2 bad usage.",
    )
    output = group(parser, "output", "%(prog)s --format html=demo.html")
    add_formats(output, "comparison", FORMATS)
    add(output, "--verbose", help="show longer notes and the decision rule, too")
    return parser


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
    what = _command(commands, "add-session", "add the session of a run file that scripts/bench "
        "wrote; it replaces the session of the same boot and GPU. If there are too many, the "
        "oldest session of the GPU with the most sessions is dropped",
        "%(prog)s build/runs/2026-11-20-090507.json")
    what.add_argument("run_file", metavar="RUN_FILE", type=Path, help="a run file, e.g. of "
        "build/runs")

    what = _command(commands, "show", "show the sessions of each baseline, their age and origin, "
        "and the number of rows", "%(prog)s nvidia-h200 --rows")
    _add_baselines(what)
    what.add_argument("--rows", action="store_true", help="list every benchmark with its time in "
        "each session, and its scatter")

    what = _command(commands, "limits", "print, as Markdown, the time and rate of each benchmark "
        "in the newest session, and the rate as a fraction of its limit: of the copy, the write or "
        "the vendor's GEMM that the same process measured", "%(prog)s --filter '^gemm/'")
    _add_baselines(what)
    add(what, "--filter")

    what = _command(commands, "export", "print the times of a baseline as references of a ReFrame "
        "test. A healthy GPU exceeds some benchmark's limit in one of 100 runs",
        "%(prog)s nvidia-h200 --reframe cluster:gpu")
    _add_baselines(what)
    what.add_argument("--reframe", metavar="SYSTEM:PARTITION", required=True, help="system and "
        "partition of the ReFrame test")

    what = _command(commands, "prune", "remove sessions, or benchmarks that no longer exist, and "
        "list what is removed. At least one session stays for each benchmark that --removed does "
        "not match. To undo it, restore the files with git",
        "%(prog)s nvidia-h200 --keep 2 --dry-run")
    _add_baselines(what)
    what.add_argument("--keep", metavar="N", type=positive, help="keep N sessions; removes the "
        "oldest session of the GPU with the most sessions first")
    what.add_argument("--session", metavar="KEY", action="append", default=[], help="remove this "
        "session; repeatable")
    what.add_argument("--older-than", metavar="DAYS", type=days, help="remove sessions older than "
        "this")
    what.add_argument("--removed", metavar="REGEX", action="append", default=[], help="remove "
        "benchmarks whose name matches; repeatable")
    what.add_argument("--dry-run", action="store_true", help="print what would be done, and exit")

    _add_baselines(_command(commands, "check", "load every baseline and warn of what makes it "
        "unreliable: its age, its sessions, misnamed files, files that lack sessions, and "
        "benchmarks that are gone or new (if programs are built in build/release)",
        "%(prog)s nvidia-h200"))
    return parser


def _command(
    commands: argparse._SubParsersAction[Parser], name: str, what: str, example: str
) -> argparse._ArgumentGroup:
    """Add a command within another; return the group of its options."""
    parser = commands.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.")
    return group(parser, "arguments", example)


def _add_baselines(where: argparse._ActionsContainer) -> None:
    where.add_argument("asked", metavar="GPU_OR_PATH", nargs="?", help="a GPU model, e.g. 'NVIDIA "
        "H200' or nvidia-h200, or a path; default: all of baselines/")


def history() -> Parser:
    parser = Parser(
        prog="warpgauge history",
        description="Show the results of the nightly runs. They are on the branch `history`, which "
        "the workflow nightly extends; get it with git fetch origin history.",
        epilog="Exit status: 0 done; 2 bad usage, or no history; 3 done, but some lines of the "
        "history cannot be read (listed on standard error).",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    shown = _command(commands, "show", "show each benchmark's newest time and the median of the "
        "nights before it", "%(prog)s --gpu nvidia-h200 --filter '^gemm/' --nights 14")
    series = _command(commands, "series", "show a benchmark night by night: its time, the error of "
        "that time, and where it was measured", "%(prog)s sync/stream_idle --gpu nvidia-h200")
    series.add_argument("benchmark", metavar="NAME", help="name of the benchmark")
    changed = _command(commands, "changes", "show in which night times changed, and which commits "
        "are in between. Changes of machine, driver or GPU are shown apart from changes of code",
        "%(prog)s --gpu nvidia-h200 --filter '^gemm/'")
    add(changed, "--policy", help="policy that says which changes are too small or expected; "
        "default: baselines/policy.toml")
    add(changed, "--verbose", help="also show changes that a policy entry or a later commit "
        "explains")
    exported = _command(commands, "export", "write every time with its night to a CSV file",
        "%(prog)s history.csv --gpu nvidia-h200")
    exported.add_argument("file", metavar="FILE", type=file, help="the CSV file to write")
    for what in (shown, series, changed, exported):
        what.add_argument("--gpu", metavar="SLUG", default="", help="GPU model, e.g. nvidia-h200; "
            "empty: all")
        what.add_argument("--ref", metavar="REF", type=revision, default=BRANCH, help="branch or "
            f"commit that holds the history; default {BRANCH}")
    for what in (shown, series):
        what.add_argument("--nights", metavar="N", type=positive, default=_NIGHTS, help="show the "
            f"last N nights; default {_NIGHTS}")
    for what in (shown, changed, exported):
        add(what, "--filter")
    return parser


def fleet() -> Parser:
    parser = Parser(prog="warpgauge fleet", description=_FLEET, epilog="""\
exit status:
  0  no outlier, and everything was judged
  1  an outlier, a slower group of GPUs, or most GPUs slower than the baseline's
  2  bad usage, or no readable file
  3  no outlier, but a file cannot be read, a GPU lacks benchmarks that the others
     have, or a model has fewer than eight GPUs""")
    what = group(parser, "input", "%(prog)s . --factors nodes.csv --filter '^memcpy/'")
    what.add_argument("folder", metavar="FOLDER", type=folder, help="folder of run files")
    what.add_argument("--factors", metavar="FILE", type=Path, help="CSV that says what nodes or "
        "GPUs have in common: the first column is node or gpu_uuid, the others are factors, e.g. "
        "rack")
    what.add_argument("--baseline", metavar="FOLDER", type=folder, help="baseline of the GPU "
        "model, e.g. baselines/nvidia-h200: also report if most GPUs are slower than its own")
    add(what, "--filter")
    output = group(parser, "output", "%(prog)s . --format json --format html=fleet.html")
    add_formats(output, "result", ("terminal", "json", "html"))
    return parser


def fidelity() -> argparse.ArgumentParser:
    """Return the parser, also for --help. Raises UserError outside of a clone."""
    parser: argparse.ArgumentParser = _from_clone("options").command_line()
    return parser


def run_fidelity(argv: Sequence[str], root: Path) -> int:
    return int(_from_clone("command").main(argv, root))


def _from_clone(module: str) -> ModuleType:
    """Return a module of benchmarks/fidelity. Raises UserError outside of a clone."""
    benchmarks = environment.ROOT / "benchmarks"
    if not (benchmarks / "fidelity").is_dir():
        raise UserError("fidelity needs a clone of warpgauge: run scripts/warpgauge fidelity there")
    sys.path[:0] = [str(benchmarks), str(environment.ROOT / "fixtures" / "trace")]
    return importlib.import_module(f"fidelity.{module}")


def _ci(
    name: str, description: str, status: str, example: str, usage: str | None = None
) -> tuple[Parser, argparse._ArgumentGroup]:
    """Return the parser of a workflows' command, and the group of its options."""
    epilog = f"Exit status: {status}." if status else None
    parser = Parser(
        prog=f"warpgauge ci {name}", usage=usage, description=description, epilog=epilog
    )
    return parser, group(parser, "arguments", f"%(prog)s {example}")


def ci_gate() -> Parser:
    parser, what = _ci("gate",
        "Measure a pull request on the GPU of this runner, in pairs with the commit that it "
        "branched from. Writes reports, run files and the log to FOLDER, annotates the job and "
        "writes its summary.",
        "that of the comparison. 0 nothing regressed and everything was measured; 1 a regression; "
        "2 bad usage, or nothing could be compared; 3 nothing regressed, but something was not "
        "measured or not comparable", "--base origin/main --out-dir verdict",
        "%(prog)s --base REF --out-dir FOLDER [--gpu SLUG] [-- OPTIONS of scripts/bench]\n"
        "       %(prog)s --programs BASE CANDIDATE --out-dir FOLDER [-- OPTIONS of ab]")
    side = what.add_mutually_exclusive_group(required=True)
    side.add_argument("--base", metavar="REF", type=revision, help="the branch that the pull "
        "request targets, or a commit; the change is compared with their merge base")
    side.add_argument("--programs", metavar=("BASE", "CANDIDATE"), nargs=2, type=Path,
        help="instead of --base: compare every program of these two folders, in pairs")
    opt = what.add_argument
    opt("--gpu", metavar="SLUG", default="", help="a GPU of .github/gpus.json: fail (exit 3) if "
        "the runner has another; empty: take the GPU that is there")
    opt("--root", metavar="FOLDER", type=Path, help="with --programs and --gpu: the project's "
        "checkout, with .github/gpus.json")
    opt("--out-dir", metavar="FOLDER", type=Path, required=True, help="write reports, run files "
        "and the log here; must be new or empty")
    return parser


def ci_comment() -> Parser:
    parser, what = _ci("comment",
        "Post the results of a run of the measuring workflow as a comment on its pull request. "
        f"While the run is in progress, mark the existing comment as outdated. {_TOKEN}",
        "0 done, or nothing to do; 2 refused. If the result of one GPU is refused, the comment "
        "says so and shows the other results", _RUN)
    _add_repository(what)
    run = what.add_mutually_exclusive_group(required=True)
    run.add_argument("--run-id", metavar="N", type=positive, help="a run of the workflow")
    run.add_argument("--pull-request", metavar="N", type=positive, help="instead of --run-id: the "
        "newest run of this pull request, e.g. after a change of its base")
    opt = what.add_argument
    opt("--workflow", metavar="PATH", default=WORKFLOW, help="the measuring workflow; default "
        "%(default)s")
    opt("--request", metavar="JSON", default="", help="the output of warpgauge ci on-demand: the "
        "run is of on-demand.yml, and its result replaces the comment that announced it")
    opt("--reports", metavar="FOLDER", type=Path, help="post nothing; write "
        "checked-report-SLUG.html to this folder for each GPU with a valid result")
    opt("--report-url", metavar="URL", default="", help="address of these reports, to link in the "
        "comment")
    opt("--pages", metavar="URL", default="", help="address of the site that warpgauge ci pages "
        "made; the comment links the GPU's history there")
    opt("--root", metavar="FOLDER", type=Path, help="a checkout of another project's default "
        "branch, with .github/gpus.json")
    opt("--policy", metavar="FILE", default=POLICY, help="its path in the repository; empty: none; "
        "default %(default)s")
    opt("--base", metavar="REF", default="", help="the branch or commit that the run was compared "
        "with; empty: the pull request's base")
    add(what, "--filter")
    return parser


def ci_on_demand() -> Parser:
    parser, what = _ci("on-demand",
        "Answer the comment /warpgauge run FILTER [on GPU] on a pull request: reply that the "
        "measurement has started, and print the request as a line for $GITHUB_OUTPUT: "
        f'request={{"pull": 17, ...}}. Do nothing if the author may not push. {_TOKEN}',
        "0 done, or nothing to do; 2 refused, and the reply says why", f"{_RUN} --comment 5678")
    _add_run(what, "on-demand.yml, which measures")
    what.add_argument("--comment", metavar="N", type=positive, required=True, help="its id")
    return parser


def ci_propose() -> Parser:
    parser, what = _ci("propose",
        "Add the run files that the GPU jobs of a run of baseline.yml uploaded to the baseline, as "
        "scripts/warpgauge baseline add-session does, and open a pull request with the result. "
        f"{_TOKEN}", "0 opened; 2 refused, nothing was posted; 3 nothing was recorded",
        f"{_RUN} --gpu nvidia-h200")
    _add_run(what, "baseline.yml")
    what.add_argument("--gpu", metavar="SLUG", required=True, help="a GPU of .github/gpus.json")
    what.add_argument("--sessions", metavar="N", type=positive, default=1, help="number of "
        "sessions that were requested")
    return parser


def ci_history() -> Parser:
    parser = Parser(
        prog="warpgauge ci history",
        description="Keep the results of each night on a branch of its own, which warpgauge "
        f"history shows. {_TOKEN}",
        epilog="Exit status: 0 done; 2 refused, nothing was written; 3 nothing was measured.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_run(_command(commands, "add", "add the results of a run of nightly.yml to the branch "
        "history, one line for each run file that its GPU jobs uploaded", f"%(prog)s {_RUN}"),
        "nightly.yml")
    return parser


def ci_pages() -> Parser:
    parser, what = _ci("pages",
        "Make a site for GitHub Pages from the last nights: an index by GPU, the newest report of "
        f"each GPU, and plots of its times. {_TOKEN}",
        "0 done; 2 failed; 3 done, but some lines of the history cannot be read and were left out. "
        "A report that is refused is named, and an older one is shown instead",
        "--repository owner/name --history build/history --out-dir build/pages")
    _add_repository(what)
    what.add_argument("--history", metavar="FOLDER", type=Path, required=True, help="a checkout "
        "of the branch history")
    what.add_argument("--out-dir", metavar="FOLDER", type=Path, required=True, help="write the "
        "site here; must be new or empty")
    return parser


def ci_gpus() -> Parser:
    parser, what = _ci("gpus",
        "Print what a workflow needs to plan its GPU jobs, as lines for $GITHUB_OUTPUT: "
        'matrix={"include": [...]}, with slug, name, runs_on and minutes of each GPU model of '
        ".github/gpus.json; enabled=true if WARPGAUGE_GPU in the environment says that there are "
        "runners; measured=false if nothing that is measured has changed.", "",
        "--gpu nvidia-h200 --base origin/main")
    what.add_argument("--gpu", metavar="SLUG", default="", help="a GPU of .github/gpus.json; "
        "empty: all of them")
    what.add_argument("--root", metavar="FOLDER", type=Path, help="another project's checkout, "
        "with .github/gpus.json")
    what.add_argument("--base", metavar="REF", default="", help="the branch that the change "
        "targets; its .github/gpus.json says which files are measured; empty: everything is "
        "measured")
    return parser


def ci_check_setup() -> Parser:
    parser, what = _ci("check-setup",
        "Check the repository settings that the gate depends on, one per line: ok, WRONG, or a "
        "note. The token is a maintainer's, which may read Administration, Actions, Pages and "
        f"Variables. {_TOKEN}",
        "0 nothing is wrong; 2 a setting is wrong, or GitHub does not report it",
        "--repository owner/name")
    _add_repository(what)
    return parser


def ci_prepare() -> Parser:
    return Parser(
        prog="warpgauge ci prepare",
        description="Install the Python packages that the other commands need, if this Python "
        "lacks them, and exit.",
    )


def _add_run(where: argparse._ActionsContainer, workflow: str) -> None:
    """Add --repository and --run-id for a run of `workflow`."""
    _add_repository(where)
    where.add_argument("--run-id", metavar="N", type=positive, required=True,
        help=f"a run of {workflow}")


def _add_repository(where: argparse._ActionsContainer) -> None:
    where.add_argument("--repository", metavar="OWNER/NAME", type=_repository, required=True,
        help="the repository on GitHub")


def _repository(text: str) -> str:
    from warpgauge.github.api import require_repository

    return require_repository(text)
# fmt: on
