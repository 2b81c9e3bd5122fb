# SPDX-License-Identifier: Apache-2.0
"""The command line of scripts/compare.py. Third-party packages are imported inside `main` only."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from warpgauge import environment, streams
from warpgauge.errors import ExitStatus, UserError
from warpgauge.text import inert

if TYPE_CHECKING:
    from warpgauge.comparison import Comparison

_DESCRIPTION = """\
Tell what got slower or faster between two benchmark results.

BASELINE and CANDIDATE are each a run file of scripts/bench, a baseline
(baselines/<gpu>), plain Google Benchmark JSON, or a folder of one of these."""

_EPILOG = """\
exit status:
  0  nothing regressed, and everything was measured
  1  at least one benchmark regressed
  2  bad usage, or input that cannot be read
  3  nothing regressed, but something was not measured or not comparable

scripts/README.md explains how a verdict is reached."""

_INTERRUPTED = 130


def main(argv: Sequence[str]) -> int:
    """Compare as `argv` asks; returns the exit status and leaves no traceback behind."""
    options = _parser().parse_args(argv)
    streams.forgive()
    try:
        environment.ensure(["numpy", "scipy", "rich"])
        return _compare(options)
    except UserError as error:
        _complain(error)
        return error.status
    except KeyboardInterrupt:
        return _INTERRUPTED


def _compare(options: argparse.Namespace) -> int:
    from rich.console import Console

    from warpgauge.load import load
    from warpgauge.output_file import check_picture
    from warpgauge.request import require_match
    from warpgauge.stats import ALPHA
    from warpgauge.terminal import render
    from warpgauge.verdict import judge

    if options.svg is not None:
        check_picture(options.svg, (options.baseline, options.candidate))
    sides = load(options.baseline), load(options.candidate)
    require_match(options.filter, *sides)
    comparison = judge(
        *sides,
        filter=options.filter,
        minimum_effect=options.min_effect,
        alpha=ALPHA if options.alpha is None else options.alpha,
    )
    colours: dict[str, Callable[[], Console]] = {
        "auto": lambda: Console(highlight=False),
        "always": lambda: Console(highlight=False, force_terminal=True),
        "never": lambda: Console(highlight=False, color_system=None),
    }
    console = colours[options.color]()
    with console.capture() as output:
        render(comparison, console, show_all=options.all)
    _write(output.get())
    if options.svg is not None:
        return _with_picture(options.svg, comparison)
    return comparison.exit_status


def _with_picture(path: Path, comparison: Comparison) -> int:
    """Draw; the exit status of all. A picture that fails does not hide a regression."""
    from warpgauge.picture import draw

    try:
        draw(path, comparison)
    except UserError as error:
        _complain(error)
        regressed = comparison.exit_status is ExitStatus.REGRESSION
        return ExitStatus.REGRESSION if regressed else error.status
    return comparison.exit_status


def _complain(error: UserError) -> None:
    print(f"compare.py: {inert(str(error))}", file=sys.stderr)


def _write(text: str) -> None:
    """Print, also where the reader has gone away."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more on its way out, and must find somebody there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="compare.py",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("baseline", type=Path, metavar="BASELINE", help="the accepted times")
    parser.add_argument("candidate", type=Path, metavar="CANDIDATE", help="the times to judge")
    parser.add_argument(
        "--filter",
        metavar="REGEX",
        help="only benchmarks whose name matches; a leading '-' negates (--filter=-REGEX)",
    )
    parser.add_argument(
        "--min-effect",
        metavar="PERCENT",
        type=_percent,
        help="smallest change that counts; default: by clock and origin, 1 to 20",
    )
    parser.add_argument(
        "--alpha",
        metavar="P",
        type=_probability,
        help="chance of calling noise a change, a benchmark; default: 0.001",
    )
    parser.add_argument("--all", action="store_true", help="list unchanged benchmarks too")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write the same as a picture")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    return parser


def _percent(text: str) -> float:
    return _number(text, 0.0, 100.0, "a percentage between 0 and 100") / 100.0


def _probability(text: str) -> float:
    return _number(text, 0.0, 1.0, "a probability between 0 and 1")


def _number(text: str, low: float, high: float, wanted: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not low < number < high:
        raise argparse.ArgumentTypeError(f"{text!r} is not {wanted}")
    return number
