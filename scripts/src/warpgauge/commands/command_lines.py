# SPDX-License-Identifier: Apache-2.0
"""The options of the commands that do not measure, and of those for workflows (`ci_*`)."""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from warpgauge.commands.arguments import (
    EXIT_STATUS,
    Parser,
    add,
    add_comparison_options,
    add_formats,
    folder,
    group,
    input_file,
    percentage,
    revision,
)
from warpgauge.reports.format import FORMATS
from warpgauge.system import environment
from warpgauge.system.errors import UserError
from warpgauge.system.text import typed

NIGHTS = 30
PROCESSES = "--processes"

_COMPARE = """\
Compare two benchmark results: which benchmarks got slower or faster? A single
run is compared with the baseline of its GPU model in baselines/.

BASELINE and CANDIDATE are each a run file of warpgauge bench, a baseline
(baselines/<gpu>), a plain file, or a folder of one of these. Plain files are
JSON of Google Benchmark, nvbench, pytest-benchmark or hyperfine, or XML of
Catch2. - reads standard input, for one of the files.

Plain files count as one process each, by the median of their repetitions; but
each run of hyperfine is a process. Give several as a folder or with
--processes. Seven files per side find changes of 5 % where processes scatter by
1 % or less. With fewer, only large changes are reported (--process-scatter)."""

_FLEET = """\
Find the GPU or node of a fleet that is slower than the others of its model, or
the firmware, driver or rack, and the benchmarks that show it. FOLDER holds a
run file of warpgauge bench for each GPU, at any depth; the newest file of a GPU
counts. A healthy fleet shows an outlier in at most 1 % of runs."""


# fmt: off
def compare() -> Parser:
    parser = Parser(prog="warpgauge compare", description=_COMPARE, epilog=f"""\
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
    what.add_argument(PROCESSES, nargs="+", default=(), metavar="FILE", help="comes last: plain "
        "files, one per process: the baseline's, then --, then the candidate's")
    add(what, "--filter")
    rule = group(parser, "what counts", "%(prog)s old.json new.json --min-effect 2")
    rule.add_argument("--min-effect", metavar="PERCENT", type=percentage, help="smallest change "
        "that counts; default: 0.5 to 20, depending on the clock and the source of the data")
    rule.add_argument("--process-scatter", metavar="PERCENT", type=percentage, help="assumed "
        "standard deviation between two processes of the same code, used if a side has fewer than "
        "three plain files; default: 15")
    add_comparison_options(rule)
    output = group(parser, "output", "%(prog)s old.json new.json --format markdown=report.md")
    add_formats(output, "comparison", FORMATS)
    output.add_argument("--verbose", action="store_true", help="list every "
        "benchmark, and all notes and rules")
    output.add_argument("--history", metavar="BRANCH", help="with --format html: add the last "
        "nights from this branch, e.g. origin/history, or from the folder of its checkout")
    return parser


def demo() -> Parser:
    parser = Parser(
        prog="warpgauge demo",
        description="Show a comparison of two builds, recorded on a GPU. Needs no GPU, no "
        "compiler and no build.",
        epilog="Exit status: 0 shown, whatever its verdict; 2 bad usage.",
    )
    add_formats(group(parser, "output", "%(prog)s --format html=demo.html"), "comparison", FORMATS)
    return parser


def baseline() -> Parser:
    parser = Parser(
        prog="warpgauge baseline",
        description="Show, export, prune and check baselines, the accepted times of a GPU, and add "
        "sessions. warpgauge bench --record measures one.",
        epilog="""\
exit status:
  0  done; for check: no problem found
  2  bad usage, or something cannot be read, recorded or written; nothing was changed
  3  check: a warning

baselines/README.md explains baselines.""",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, what: str, example: str) -> argparse._ArgumentGroup:
        one = commands.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.")
        return group(one, "arguments", f"%(prog)s {example}")

    what = command("add-session", "add the session of a run file; it replaces that of its boot and "
        "GPU. If there are too many, the oldest one of the GPU with most is dropped",
        "build/runs/2026-11-20-090507.json")
    what.add_argument("run_file", metavar="RUN_FILE", type=Path, help="e.g. of build/runs")
    _add_baselines(command("show", "show the sessions of each baseline, their age and origin; of "
        "one that is named also each benchmark's times, their scatter, and the newest rate as a "
        "fraction of its limit", "nvidia-h200"))
    what = command("export", "print quantiles of all times in seconds, as CSV; or the references "
        "of a ReFrame test. A healthy GPU exceeds some benchmark's limit in one of 100 runs",
        "nvidia-h200 cluster:gpu")
    _add_baselines(what)
    what.add_argument("where", metavar="SYSTEM:PARTITION", nargs="?", help="of the ReFrame test")
    what = command("prune", "remove sessions, or benchmarks that no longer exist, and list them. "
        "Each benchmark that stays keeps a session. To undo it, restore the files with git",
        "--removed '^gemm/old'")
    _add_baselines(what)
    what.add_argument("--session", metavar="KEY", action="append", default=[], help="remove this "
        "session; repeatable")
    what.add_argument("--removed", metavar="REGEX", action="append", default=[], help="remove "
        "benchmarks whose name matches; repeatable")
    _add_baselines(command("check", "warn of what makes a baseline unreliable: its age, its "
        "sessions, misnamed files, and benchmarks that are gone or new (by build/release)",
        "nvidia-h200"))
    return parser


def _add_baselines(where: argparse._ActionsContainer) -> None:
    where.add_argument("asked", metavar="GPU_OR_PATH", nargs="?", help="a GPU model, e.g. 'NVIDIA "
        "H200' or nvidia-h200, or a path; default: all of baselines/")


def history() -> Parser:
    parser = Parser(
        prog="warpgauge history",
        description=f"""\
Show the results of the nightly runs. They are on the branch history, which the
workflow nightly extends; get it with git fetch origin history.

  show         each benchmark's newest time, and the median of the nights before,
               of the last {NIGHTS}
  series NAME  a benchmark in the last {NIGHTS} nights: its time, the error of that
               time, and where it was measured
  changes      in which night times changed, and which commits are in between.
               Changes of machine, driver or GPU are apart from changes of code
  export       every time with its night, as CSV""",
        epilog="Exit status: 0 done; 2 bad usage, or no history; 3 done, but some lines of the "
        "history\ncannot be read (listed on standard error).",
    )
    what = group(parser, "arguments", "%(prog)s show --filter '^gemm/'")
    what.add_argument("command", choices=("show", "series", "changes", "export"), metavar="COMMAND",
        help="show, series, changes or export")
    what.add_argument("name", metavar="NAME", nargs="?", help="benchmark, for series")
    what.add_argument("--gpu", metavar="SLUG", default="", help="GPU model, e.g. nvidia-h200; "
        "default: all")
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
        raise UserError("fidelity needs a clone of warpgauge: run it there")
    sys.path[:0] = [str(benchmarks), str(environment.ROOT / "fixtures" / "trace")]
    return importlib.import_module(f"fidelity.{module}")


def changed() -> Parser:
    parser = Parser(
        prog="warpgauge changed",
        description="Build two commits, and list the benchmarks that the change cannot have "
        "touched: those whose program has the same host code and kernels. Comments and line "
        "numbers do not count. Needs no GPU. baselines/policy.toml may limit the resources of "
        "kernels ([[resources]]).",
        epilog="Exit status: 0 compared; 1 a kernel takes more than the policy allows, and did "
        "not in BASE; 2 bad usage; 3 a side does not build, or cannot be read.",
    )
    what = group(parser, "what to compare", "%(prog)s origin/main --filter '^reduce/'")
    what.add_argument("base", metavar="BASE", type=revision, help="a commit")
    what.add_argument("candidate", metavar="CANDIDATE", type=revision, nargs="?", help="a commit; "
        "default: the working tree")
    what.add_argument("--architectures", metavar="LIST", type=architectures,
        default="80,90a", help="build for these GPUs, e.g. 80,90a,100a; default: "
        "80,90a")
    add(what, "--filter", help="build only the programs with these benchmarks (Python regular "
        "expression; --filter=-REGEX: all others)")
    output = group(parser, "output", "%(prog)s origin/main --format markdown=changed.md")
    add_formats(output, "result", ("terminal", "json", "markdown"))
    return parser


def architectures(text: str) -> str:
    """Parse ``80,90a`` as CMake's list of machine code, without PTX."""
    if re.fullmatch(r"[1-9]\d{1,2}[af]?(,[1-9]\d{1,2}[af]?)*", text, re.ASCII):
        return ";".join(f"{number}-real" for number in text.split(","))
    raise argparse.ArgumentTypeError(f"{typed(text)} is no list of architectures, e.g. 80,90a")


def _ci(name: str, description: str, status: str = "", usage: str | None = None) -> Parser:
    """Return the parser of a workflows' command; `github.api.Job` reads its environment."""
    epilog = f"Exit status: {status}." if status else None
    return Parser(prog=f"warpgauge ci {name}", usage=usage, description=description, epilog=epilog)


def ci_gate() -> Parser:
    parser = _ci("gate",
        "Measure a pull request on the GPU of this runner, in pairs with the commit that it "
        "branched from. Writes reports, run files and the log to FOLDER, and annotates the job.",
        "that of the comparison: 0 pass; 1 a regression; 2 bad usage, or nothing could be "
        "compared; 3 no regression, but something is undecided, not measured or not comparable",
        "%(prog)s --base REF --out-dir FOLDER [--gpu SLUG] [-- OPTIONS of bench]\n"
        "       %(prog)s --programs BASE CANDIDATE --out-dir FOLDER [-- OPTIONS of ab]")
    what = group(parser, "arguments", "%(prog)s --base origin/main --out-dir verdict")
    side = what.add_mutually_exclusive_group(required=True)
    side.add_argument("--base", metavar="REF", type=revision, help="the branch that the pull "
        "request targets, or a commit; the change is compared with their merge base")
    side.add_argument("--programs", metavar=("BASE", "CANDIDATE"), nargs=2,
        help="instead of --base: compare every program of these two folders, in pairs")
    what.add_argument("--gpu", metavar="SLUG", default="", help="fail (exit 3) unless the runner "
        "has this GPU of .github/gpus.json, in the checkout that holds CANDIDATE; empty: any GPU")
    what.add_argument("--out-dir", metavar="FOLDER", type=Path, required=True, help="write "
        "reports, run files and the log here; must be new or empty")
    return parser


def ci_comment() -> Parser:
    parser = _ci("comment",
        "Post the results of a measuring run as a comment on its pull request, or mark the comment "
        "as outdated while the run is in progress. The event names the run, or a pull request "
        "whose base has changed; comment.yml sets WARPGAUGE_REPORT and the like.",
        "0 done, or nothing to do; 2 a result was refused, which the comment says")
    group(parser, "arguments", "%(prog)s --reports made").add_argument("--reports",
        metavar="FOLDER", type=Path, help="post nothing; write checked-report-SLUG.html to this "
        "folder for each GPU with a valid result")
    return parser


def ci_pages() -> Parser:
    parser = _ci("pages",
        "Make a site for GitHub Pages: from the last nights an index by GPU, the newest report of "
        "each GPU, and plots of its times; from the baselines what each GPU model does.",
        "0 done; 2 failed; 3 done, but some lines of the history cannot be read. A report that is "
        "refused is named, and an older one is shown instead")
    what = group(parser, "arguments", "%(prog)s build/history build/pages")
    what.add_argument("history", metavar="HISTORY", type=Path, help="a checkout of the branch "
        "history")
    what.add_argument("out_dir", metavar="FOLDER", type=Path, help="write the site here; must be "
        "new or empty")
    return parser


def ci_gpus() -> Parser:
    parser = _ci("gpus",
        "Print what a workflow needs to plan its GPU jobs, as lines for $GITHUB_OUTPUT: matrix, "
        "the models of .github/gpus.json; enabled, whether WARPGAUGE_GPU says that there are "
        "runners; measured, whether anything that is measured has changed.")
    what = group(parser, "arguments", "%(prog)s --gpu nvidia-h200 --base origin/main")
    what.add_argument("checkout", metavar="FOLDER", type=folder, nargs="?", help="another "
        "project's checkout, with .github/gpus.json")
    what.add_argument("--gpu", metavar="SLUG", default="", help="a GPU of .github/gpus.json; "
        "empty: all of them")
    what.add_argument("--base", metavar="REF", default="", help="the branch that the change "
        "targets, whose .github/gpus.json says which files are measured; empty: all files are")
    return parser


def ci_check_setup() -> Parser:
    parser = _ci("check-setup",
        "Check the repository settings that the gate depends on, one per line: ok, WRONG, or a "
        "note. The token in GH_TOKEN is a maintainer's, which may read Administration, Actions, "
        "Pages and Variables.",
        "0 nothing is wrong; 2 a setting is wrong, or GitHub does not report it")
    what = group(parser, "arguments", "%(prog)s owner/name")
    what.add_argument("repository", metavar="OWNER/NAME", type=_repository, help="on GitHub")
    return parser


def _repository(text: str) -> str:
    from warpgauge.github.api import require_repository

    return require_repository(text)
# fmt: on
