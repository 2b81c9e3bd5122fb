# SPDX-License-Identifier: Apache-2.0
"""The command line of warpgauge fidelity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warpgauge.commands.arguments import MANIFEST, PYTHON, Parser, add, group
from warpgauge.records.benchmark_filter import matches
from warpgauge.system.errors import UserError
from warpgauge.system.text import typed

_OURS, _NAIVE = "fidelity", "naive"


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    filter: str
    format: Sequence[str]
    binary: str  # the program's name as it lies in the build's folder
    kernels: Path | None = None  # a manifest, whose kernels bench_external measures
    file: Path | None = None  # benchmarks in Python
    naive: bool = False  # the usual timers of one kernel, beside ours and CUPTI's


def parse(argv: Sequence[str]) -> Options:
    """Raises UserError for bad usage."""
    given = vars(command_line().parse_args(argv))
    what = given.pop("what")
    matches(given["filter"], "", "--filter")
    if what.endswith(MANIFEST):
        return Options(**given, binary="bench_external", kernels=Path(what))
    if what.endswith(PYTHON):
        return Options(**given, binary=f"bench_{_OURS}", file=Path(what))
    family = what.removeprefix("bench_")
    if not family or "/" in family:
        raise UserError(f"{typed(what)} is not a family: say elementwise or bench_gemm")
    is_naive = family == _NAIVE
    return Options(**given, binary=f"bench_{_OURS if is_naive else family}", naive=is_naive)


def command_line() -> Parser:
    """The options, for --help too."""
    parser = Parser(
        prog="warpgauge fidelity",
        description="Compare replay times with the device's busy time that CUPTI reports in a "
        "separate process. CUPTI slows down the program, so a time is correct if it agrees either "
        "without CUPTI or in the process with it.",
        epilog="Exit status: 0 all agree; 1 at least one does not; 2 bad usage; 3 none disagrees, "
        "but some are unknown: no GPU, no CUPTI, a benchmark that failed, or one that CUPTI slows "
        "down by more than the tolerance.",
    )
    # fmt: off
    what = group(parser, "what to measure", "%(prog)s gemm --filter '^gemm/' --format json=x.json")
    what.add_argument("what", metavar="WHAT", nargs="?", default=_OURS, help="a family, a manifest "
        f"of kernels (*{MANIFEST}), a file of benchmarks (*{PYTHON}), or {_NAIVE}: the usual "
        f"timers of one kernel, beside replay times and CUPTI's; default {_OURS}")
    add(what, "--filter")
    add(what, "--format", help="write the findings as json, to standard output or FILE")
    # fmt: on
    return parser
