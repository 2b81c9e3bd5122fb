# SPDX-License-Identifier: Apache-2.0
"""The command lines of commands that measure; functions have their names."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from warpgauge.commands.arguments import (
    EVERY_GPU,
    EXIT_STATUS,
    FILE,
    MANIFEST,
    PYTHON,
    SOURCE,
    Parser,
    add,
    add_comparison_options,
    add_formats,
    axis,
    axis_with_values,
    commit,
    devices,
    devices_or_all,
    file,
    group,
    injection,
    inputs,
    kernel,
    metric,
    path,
    revision,
    size,
    source,
    versions,
)
from warpgauge.measure.options import FIRST_LOOK, PROCESSES, QUICK_PROCESSES
from warpgauge.records.benchmark_filter import normal
from warpgauge.records.sessions import FEWEST_OF_A_CHANGE
from warpgauge.reports.format import FORMATS

BASELINES = Path("baselines")

_BENCH = """\
Build the benchmarks, run them in fresh processes, write a run file, and compare it
with the baseline of this GPU model. Benchmarks that do not pass are measured again,
in pairs with the commit of the baseline. What pairs find slower is explained, for at
most 3 minutes."""

_AB = """\
Compare two builds of another project's programs, written with Google Benchmark
or nvbench; one source with two compilers, or one build with two versions of a
package or values of a variable (--axis); or two commands (--command).
Every executable file in the folders must be such a program, because it is run.
Programs of the same name are run in pairs of fresh processes, until every
benchmark is decided or the budget ends: in lock-step if they were written with
warpgauge, else in turns (A B, B A, ...). What is slower is explained, for at
most 3 minutes."""

_EVALUATE = """\
Check whether a kernel is correct, within memory, and faster than the kernel it
should replace, at all values of their axes. Each of the two is a variant of a
family of this repository (gemm/tiled/f32) or a kernel of a manifest
(kernels.toml:scale), or both are functions of files in Python (mine.py:softmax;
mine.py is short for mine.py:kernel). Both are verified, and measured in
lock-step pairs of processes."""

_EXPLAIN = """\
Show what a benchmark launches: its kernels, CUDA calls and machine code, from one
run under a profiler. With --against or RUN.json, find the reason why it is slower
than in another build: measure both in pairs, and compare machine code, hardware
counters and CUDA calls. Profilers slow down a program: their times are not recorded."""

_BISECT = """\
Find the commit that made a benchmark slower: builds commits between GOOD
and BAD, and measures each in pairs with GOOD. With --axis, the same for versions
of nvcc or of a package, from the first (GOOD) to the last (BAD)."""


# fmt: off
def bench() -> Parser:
    parser = Parser(prog="warpgauge bench", description=_BENCH, epilog=EXIT_STATUS)
    what = group(parser, "what to measure", "%(prog)s --filter '^gemm/' --device 1")
    what.add_argument("source", metavar=SOURCE, nargs="?", type=source, help="measure the "
        f"benchmarks of this file in Python (*{PYTHON}), or the kernels of this manifest "
        f"(*{MANIFEST}), instead of the suite; {BASELINES} beside it holds their baselines")
    add(what, "--filter", "--suite")
    add(what, "--device", type=devices_or_all, help="GPU index or UUID; several, e.g. 0,1, for "
        f"programs that need them; {EVERY_GPU}: each GPU in turn, with its own run file, then all "
        "together; default 0")
    add(what, "--build-dir", help="measure another project's build folder, without building; run "
        f"files go to DIR/runs; {BASELINES} here holds its baselines and policy")
    add(what, "--no-build", "--isolate")
    what.add_argument("--inject", metavar="REGEX=FACTOR", type=injection, help="add real extra "
        "work to matching benchmarks")

    what.add_argument("--energy", action="store_true", help="also measure the energy of an "
        "operation, if it is replayed: takes three seconds each, and heats the GPU, so that times "
        "are not comparable")

    how_long = group(parser, "how long", "%(prog)s --budget 5m")
    add(how_long, "--budget", help="limit of measuring time, e.g. 60s or 5m: measures "
        f"{QUICK_PROCESSES} processes of everything, then pairs of what is still open")
    add(how_long, "--processes", help=f"processes per program; default {QUICK_PROCESSES}, or "
        f"{PROCESSES} where no pairs can follow. In pairs: processes per side before the first "
        f"look, an even number, at least {FIRST_LOOK}")
    add(how_long, "--timeout")

    what = group(parser, "what to compare with", "%(prog)s --against main")
    add(what, "--against", type=revision, help="compare with this commit instead of a baseline: "
        "build it too, and measure both in pairs")
    what.add_argument("--changed", metavar="FILE", type=Path, help="what warpgauge changed "
        "wrote as JSON: of the benchmarks that cannot have changed, measure only a random tenth")
    what.add_argument("--no-confirm", dest="confirm", action="store_false", help="judge by the "
        "baseline alone, without measuring again in pairs")

    rule = group(parser, "what counts", "%(prog)s --allow throttled")
    add_comparison_options(rule)

    instead = group(parser, "instead of a comparison", "%(prog)s --record")
    instead = instead.add_mutually_exclusive_group()
    instead.add_argument("--record", action="store_true", help="add this run to the baseline of "
        "this GPU model")
    instead.add_argument("--self-check", action="store_true", help="test the gate: compare this "
        "build with itself, with 1 to 10 %% of extra work in most benchmarks (14 pairs, and more "
        "within --budget, by default 6 minutes)")
    instead.add_argument("--resume", metavar="FOLDER", nargs="?", type=Path, const=Path(),
        help="continue an interrupted run: the latest, or the one of this journal")
    instead.add_argument("--list", action="store_true", help="list the benchmarks that would run, "
        "one per line, as far as their programs are built, and exit")

    output = group(parser, "output", "%(prog)s --format markdown=report.md")
    add(output, "--out")
    add_formats(output, "comparison", FORMATS)
    parser.hide("--changed", "--isolate", "--inject", "--energy", "--processes", "--timeout",
        "--self-check")
    return parser


def ab() -> Parser:
    parser = Parser(prog="warpgauge ab", description=_AB, epilog=f"{EXIT_STATUS}\n\n"
        'docs/pages/verdicts.md explains the verdicts.')
    what = group(parser, "what to measure", "%(prog)s old/build new/build --filter '^BM_copy'")
    what.add_argument("base", type=path, metavar="BASE_FOLDER", nargs="?", help="the programs to "
        "compare with")
    what.add_argument("candidate", type=path, metavar="CANDIDATE_FOLDER", nargs="?", help="the "
        "programs to judge")
    what.add_argument("--command", metavar=("BASE", "CANDIDATE"), nargs=2, help="instead of "
        "folders: two commands of the shell. The rows are those of the result file that they write "
        "to $WARPGAUGE_RESULTS, or one, the time of the command")
    what.add_argument("--axis", metavar="NAME=VALUE,...", type=partial(versions, most=2),
        help="with one folder: nvcc=12.8,13.0 builds this CMake project with two versions of nvcc, "
        "or paths of them; triton=3.5.0,3.6.0 takes two versions of a package of PyPI, and a name "
        "in capitals two values of a variable, e.g. LD_LIBRARY_PATH, or PATH for two environments "
        f"of Python; both also for a file of benchmarks in Python (*{PYTHON})")
    what.add_argument("--metric", metavar="REGEX", type=metric, help="with --command: "
        "a number that they print, as the last group of the pattern, e.g. 'took ([0-9.]+)'; a unit "
        "may follow it: a time, or a rate such as tokens/s. A group before it names the row")
    add(what, "--filter")
    what.add_argument("--programs", metavar="REGEX", type=normal, default="", help="start only "
        "programs in whose name Python's re finds it; --programs=-REGEX: others")
    what.add_argument("--commits", metavar=("BASE", "CANDIDATE"), nargs=2, type=commit,
        default=("", ""), help="the commits that the programs were built from, in 40 digits each; "
        "recorded in the run files")
    add(what, "--device", type=devices, help="GPU that the programs see: index (as nvidia-smi -L "
        "counts) or UUID, or several, e.g. 0,1; default: all")
    add(what, "--isolate")

    how_long = group(parser, "how long", "%(prog)s old/build new/build --budget 5m")
    _add_pairs(how_long, FIRST_LOOK, "depends on what the first pairs took")
    add(how_long, "--timeout")

    rule = group(parser, "what counts", "%(prog)s old/build new/build --policy policy.toml")
    add_comparison_options(rule, usual_policy="none")
    rule.add_argument("--base-policy", metavar="FILE", type=Path, help="with --policy: the base's "
        "own policy, if it had one; slowdowns that it already expects do not excuse new ones")

    output = group(parser, "output", "%(prog)s old/build new/build --format json=verdict.json")
    add(output, "--out", help="write the candidate's run file here; the base's goes beside it as "
        "FILE with -base before the suffix; default build/runs/<time>.json")
    add_formats(output, "comparison", FORMATS)
    parser.hide("--commits", "--isolate", "--base-policy")  # for gates
    return parser


def evaluate() -> Parser:
    parser = Parser(prog="warpgauge evaluate", description=_EVALUATE, epilog="""\
exit status:
  0  correct, within the memory limit, and faster or equal at every point
  1  correct, but slower at some point
  2  bad usage, or input that cannot be read
  3  a wrong result, over the memory limit, not measured, or undecided""")
    what = group(parser, "what to measure", "%(prog)s gemm/cublas/f32 kernels.toml:gemm")
    what.add_argument("base", type=kernel, metavar="BASE", help="the kernel to compare with")
    what.add_argument("candidate", type=kernel, metavar="CANDIDATE", help="the kernel to judge")
    what.add_argument("--axis", metavar="NAME=VALUE,...", type=axis_with_values, action="append",
        default=[], help="values of an axis; repeatable; default: all values that both kernels "
        "have, or the defaults of the parameters of inputs()")
    what.add_argument("--inputs", metavar="FILE.py|SHAPE:TYPE,...", type=inputs, action="append",
        default=[], help="of functions in Python: the file with inputs(), by default the base's; "
        "or shapes of normally distributed arguments, e.g. 4096x1024:bf16,1024 (default type f32); "
        "repeatable: each is one point")
    add(what, "--device", type=devices, help="GPU index (as nvidia-smi -L counts) or UUID; "
        "several, e.g. 0,1, for kernels that need them; default: the first GPU")

    how_long = group(parser, "how long", "%(prog)s gemm/naive/f32 gemm/tiled/f32 --budget 60s")
    _add_pairs(how_long, FEWEST_OF_A_CHANGE, "until every point is decided")

    rule = group(parser, "what counts",
        "%(prog)s reduce/sum/f32 reduce/sum_cub/f32 --memory-limit 1GB")
    rule.add_argument("--memory-limit", metavar="SIZE", type=size, help="fail (exit 3) if the "
        "candidate's peak device memory exceeds this, e.g. 512MiB or 2GB")

    output = group(parser, "output", "%(prog)s gemm/naive/f32 gemm/tiled/f32 --format json")
    add_formats(output, "evaluation", ("terminal", "json"))
    return parser


def sweep() -> Parser:
    parser = Parser(
        prog="warpgauge sweep",
        description="Measure benchmarks over the values of an axis, and show their variants side "
        "by side.",
        epilog="Exit status: 0 everything was measured or skipped; 2 bad usage or unreadable "
        "input; 3 something was not measured, or gave no valid result.",
    )
    what = group(parser, "what to measure", "%(prog)s reduce/sum --axis n=4Ki..64Mi")
    what.add_argument("what", nargs="+", metavar="WHAT",
        help="family, first part of benchmark names, manifest of kernels (*.toml), or file of "
        "benchmarks in Python (*.py); RUN.json shows that run file without measuring")
    what.add_argument("--axis", metavar="NAME[=VALUE,...]", type=axis, required=True, help="the "
        "axis, e.g. n, and its values, e.g. 4096,1Mi or 0.5,1, or a range of doubled values, e.g. "
        "4Ki..64Mi; default: all values of the full suite")
    add(what, "--device", "--build-dir")

    output = group(parser, "output", "%(prog)s reduce --axis n --format csv=sum.csv")
    add_formats(output, "table or plot", ("terminal", "csv", "svg"))
    return parser


def explain() -> Parser:
    parser = Parser(prog="warpgauge explain", description=_EXPLAIN, epilog="""\
exit status:
  0  done, also if the reason is unknown or nothing is slower
  2  bad usage
  3  not measured: there is no GPU, a tool or a permission to profile is missing, or
     the benchmark failed""")
    what = group(parser, "what to explain", "%(prog)s gemm/tiled/f32/n:1024")
    what.add_argument("what", metavar="WHAT", nargs="*", help="name of a benchmark, or a regular "
        "expression that matches exactly one; after FILE.py, of that file in Python; or a kernel "
        "of a manifest, e.g. kernels.toml:scale. RUN.json, with or without a benchmark: what this "
        "run in pairs found slower; default: the newest run")
    add(what, "--device", "--build-dir")

    base = group(parser, "why it is slower", "%(prog)s gemm/tiled/f32/n:1024 --against main")
    add(base, "--against", type=revision, help="the faster build: a commit, or a build folder; "
        "with RUN.json by default the run's base")
    base.add_argument("--axis", metavar="NAME=VALUE,...", type=partial(versions, most=2),
        help="instead of --against: two versions of nvcc, of a package for a file in Python, or "
        "two values of a variable, as for warpgauge ab, e.g. LD_LIBRARY_PATH=/old/lib,/new/lib")
    base.add_argument("--hunks", action="store_true", help="find the lines: build this tree with "
        "parts of the change put back, and measure them (10 minutes at most)")
    add_formats(base, "reasons", ("terminal", "json"))

    shown = group(parser, "what it launches; default: the time by kernel and by CUDA call",
        "%(prog)s gemm/tiled/f32/n:1024 --report gemm.ncu-rep --trace gemm.json")
    option = shown.add_argument
    option("--sass", action="store_true", help="print the machine code of the kernels")
    option("--trace", metavar="FILE", type=file, help="write a trace for ui.perfetto.dev (JSON): "
        "kernels, copies, CUDA calls, phases")
    option("--report", metavar="FILE", type=file, action="append", default=[], help="write a "
        "report of Nsight Compute of one operation (*.ncu-rep), or of Nsight Systems of the "
        "process (*.nsys-rep); repeatable")
    return parser


def bisect() -> Parser:
    parser = Parser(prog="warpgauge bisect", description=_BISECT, epilog="""\
exit status:
  0  one commit or version was found for each benchmark
  2  bad usage: BAD does not descend from GOOD, or shows no difference
  3  not certain (those that come into question are listed), or not measured""")
    what = group(parser, "what to find", "%(prog)s v1.2 main reduce/sum_cub/f32/n:65536")
    what.add_argument("good", metavar="GOOD", nargs="?", type=revision, help="a commit in which "
        "the benchmark was fast")
    what.add_argument("bad", metavar="BAD", nargs="?", type=revision, help="a descendant of GOOD "
        "in which it is slower")
    what.add_argument("rows", metavar="NAME", nargs="*", help="full name of the benchmark; several "
        f"share the builds; after {FILE}, of that file in Python: nothing is built")
    what.add_argument("--axis", metavar="NAME=VALUE,...", type=versions, help="instead of GOOD and "
        "BAD: versions of nvcc, or paths of them, e.g. nvcc=12.6,12.8,13.0; those of a package, "
        f"for {FILE}; or values of a variable, whose name is in capitals")
    add(what, "--device")
    add(what, "--budget", help="limit of the whole search, builds included, e.g. 15m; default: "
        "until the commit is found. The same command continues an unfinished search")
    return parser


def _add_pairs(where: argparse._ActionsContainer, pairs: int, otherwise: str) -> None:
    """Add the limit of a measurement in pairs; `otherwise` describes the default budget."""
    add(where, "--budget", help=f"limit of measuring time, e.g. 60s or 5m: measures {pairs} pairs "
        f"of everything, then more of what is still open; default: {otherwise}")
# fmt: on
