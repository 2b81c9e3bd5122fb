# SPDX-License-Identifier: Apache-2.0
"""warpgauge compare, and scripts/compare.py. Packages are imported after parsing the options."""

from __future__ import annotations

import argparse
import gc
import itertools
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from warpgauge.commands import arguments
from warpgauge.commands.argument_types import between, input_file
from warpgauge.commands.arguments import EXIT_STATUS, Parser, group
from warpgauge.commands.main import STATISTICS
from warpgauge.system import entry_point, environment, streams
from warpgauge.system.text import inert

if TYPE_CHECKING:
    from warpgauge.records.model import Record
    from warpgauge.verdict.comparison import Comparison

_PROCESSES = "--processes"

_DESCRIPTION = """\
Compare two benchmark results: which benchmarks got slower or faster?

BASELINE and CANDIDATE are each a run file of scripts/bench, a baseline
(baselines/<gpu>), plain Google Benchmark JSON, or a folder of one of these.
- reads standard input, for one of the files.

Plain files count as one process each, by the median of its repetitions. Give
several either as a folder or with --processes. Seven files per side let a
change of 10 % be found. With fewer, only large changes are
reported (--process-scatter)."""

_EPILOG = f"""\
example, for a program that was run in five processes per side:
  compare.py --processes old-*.json -- new-*.json

{EXIT_STATUS}

scripts/README.md explains how a verdict is reached."""


def starter(argv: Sequence[str]) -> int:
    """Run scripts/compare.py, and return its exit status."""
    return entry_point.run("compare.py", lambda: main(argv, environment.ROOT, "compare.py"))


def main(argv: Sequence[str], root: Path, prog: str = "warpgauge compare") -> int:
    """Compare as `argv` asks, and return the exit status. Raises UserError."""
    options = parse(argv, prog)
    environment.ensure(STATISTICS)
    return _compare(options, root / "baselines")


def _compare(options: argparse.Namespace, baselines: Path) -> int:
    from warpgauge.commands.format_options import Formats
    from warpgauge.records.load import load, load_processes
    from warpgauge.verdict.comparison import exit_status

    formats = Formats.parse(options.format, options.export)
    inputs = [path for path in (options.baseline, options.candidate) if path is not None]
    formats.check(baselines, [*inputs, *(path for side in options.processes for path in side)])
    if options.processes:
        baseline, candidate = map(load_processes, options.processes)
    else:
        baseline, candidate = load(options.baseline), load(options.candidate)
    comparison = judged(baseline, candidate, options, baselines)
    return formats.deliver(comparison, exit_status(comparison), lambda: _show(comparison, options))


def judged(
    baseline: Record, candidate: Record, options: argparse.Namespace, baselines: Path
) -> Comparison:
    """Return the comparison of `candidate` with `baseline`.

    `options` are those of `add_rule` and `filter`. Raises UserError.
    """
    from warpgauge.records.benchmark_filter import require_match
    from warpgauge.statistics.error_rates import ALPHA
    from warpgauge.verdict import policy
    from warpgauge.verdict.comparison_settings import PROCESS_SCATTER, ComparisonSettings
    from warpgauge.verdict.judge import judge

    gc.freeze()  # both records live to the end, so the collector need not scan them repeatedly
    require_match(options.filter, baseline, candidate)
    settings = ComparisonSettings(
        filter=options.filter or None,
        minimum_effect=options.min_effect,
        alpha=options.alpha or ALPHA,
        process_scatter=options.process_scatter or PROCESS_SCATTER,
        fail_on_resources=bool(options.fail_on),
        allow=frozenset(options.allow),
        policy=policy.of(baseline, candidate, baselines, options.policy),
        today=date.today(),
    )
    return judge(baseline, candidate, settings)


def _show(comparison: Comparison, options: argparse.Namespace) -> None:
    from rich.console import Console

    from warpgauge.reports.formats.terminal import render

    console = Console(
        highlight=False,
        force_terminal=options.color == "always" or None,
        color_system=None if options.color == "never" else "auto",
    )
    with console.capture() as output:
        render(comparison, console, show_all=options.all, verbose=options.verbose)
    streams.write(output.get())


def parse(argv: Sequence[str], prog: str = "warpgauge compare") -> argparse.Namespace:
    """Return the options; `processes` holds the files of both sides, or is empty. Raises UserError.

    argparse does not support a list that ends at ``--``, followed by another list.
    """
    parser = command_line(prog)
    asked = list(itertools.chain.from_iterable(map(_spelled_apart, argv)))
    if _PROCESSES not in asked:
        options = parser.parse_args(asked)
        if options.candidate is None:
            parser.error("the following arguments are required: BASELINE CANDIDATE")
        if asked.count("-") > 1:
            parser.error("standard input can be read only once: give a file instead of one '-'")
        return argparse.Namespace(**{**vars(options), "processes": ()})
    if asked.count(_PROCESSES) > 1:
        parser.error(f"{_PROCESSES} is given twice: name all files after one of them")
    if "-" in asked:
        parser.error(f"{_PROCESSES} needs files: '-' is allowed only as BASELINE or CANDIDATE")
    end = asked.index("--") if "--" in asked else len(asked)
    before, after = asked[:end], asked[end + 1 :]
    candidates = list(itertools.takewhile(lambda word: not word.startswith("-"), after))
    options = parser.parse_args([*before, *after[len(candidates) :]])
    if not candidates:
        parser.error(
            f"{_PROCESSES} needs the files of both sides: {_PROCESSES} A.json … -- B.json …"
        )
    if options.baseline is not None:
        parser.error(
            f"{_PROCESSES} names all files: put {inert(str(options.baseline))} before or after --"
        )
    sides = options.processes, [Path(word) for word in candidates]
    return argparse.Namespace(**{**vars(options), "processes": sides})


def _spelled_apart(word: str) -> list[str]:
    """Split ``--processes=FILE`` into two words."""
    option, _, value = word.partition("=")
    return [option, *filter(None, [value])] if option == _PROCESSES else [word]


def command_line(prog: str = "warpgauge compare") -> Parser:
    parser = Parser(prog=prog, description=_DESCRIPTION, epilog=_EPILOG)
    # fmt: off
    what = group(parser, "what to compare", "%(prog)s baselines/nvidia-h200 run.json")
    add = what.add_argument
    add("baseline", type=input_file, nargs="?", metavar="BASELINE",
        help="the accepted times; - is standard input")
    add("candidate", type=input_file, nargs="?", metavar="CANDIDATE",
        help="the times to judge; - is standard input")
    add(_PROCESSES, type=Path, nargs="+", default=(), metavar="FILE",
        help="plain Google Benchmark files, one per process: first the baseline's, then --, then "
        "the candidate's")
    arguments.add_filter(what)

    add_rule(group(parser, "what counts", "%(prog)s old.json new.json --min-effect 2"))

    output = group(parser, "output", "%(prog)s old.json new.json --format markdown=report.md")
    add = output.add_argument
    add("--all", action="store_true", help="list every benchmark, including unchanged ones")
    arguments.add_output(output)
    add("--color", choices=("auto", "always", "never"), default="auto")
    # fmt: on
    return parser


def add_rule(rule: argparse._ActionsContainer) -> None:
    """Add the options that `judged` uses, except for --filter."""
    add = rule.add_argument
    # fmt: off
    add("--min-effect", metavar="PERCENT", type=_percent,
        help="smallest change that counts; default: 0.5 to 20, depending on the clock and the "
        "source of the data")
    add("--alpha", metavar="P", type=_probability,
        help="probability of any false alarm on unchanged code; default: 0.01")
    add("--process-scatter", metavar="PERCENT", type=_percent,
        help="assumed standard deviation between two processes of the same code, used if a side "
        "has fewer than three plain files; default: 15")
    # fmt: on
    arguments.add_comparison_options(rule)


def _percent(text: str) -> float:
    return between(text, 0.0, 100.0, "a percentage between 0 and 100") / 100.0


def _probability(text: str) -> float:
    return between(text, 0.0, 1.0, "a probability between 0 and 1")
