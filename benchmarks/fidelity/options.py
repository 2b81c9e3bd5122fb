# SPDX-License-Identifier: Apache-2.0
"""The command line of warpgauge fidelity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warpgauge.commands.arguments import Parser, add, file, group, one_device, positive, python_file
from warpgauge.measure.options import QUICK_PROCESSES
from warpgauge.records.benchmark_filter import matches
from warpgauge.system.errors import UserError
from warpgauge.system.text import typed

BINARY = "fidelity"


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    binary: str  # the program's name as it lies in the build's folder
    filter: str
    processes: int
    device: int | str | None
    out: Path | None
    build: bool
    kernels: Path | None = None  # a manifest, whose kernels bench_external measures
    file: Path | None = None  # benchmarks in Python
    naive: bool = False  # the usual timers of one kernel, beside ours and CUPTI's
    markdown: bool = False


def parse(argv: Sequence[str]) -> Options:
    """Raises UserError for bad usage, and for what contradicts itself."""
    given = command_line().parse_args(argv)
    if given.kernels is not None:
        if given.binary != BINARY:
            raise UserError("--kernels measures the kernels of a manifest: omit --binary")
        given.binary = "external"
    if given.file is not None and (given.binary != BINARY or given.naive):
        raise UserError("FILE.py has benchmarks of its own: omit --binary, --kernels and --naive")
    if not given.binary or "/" in given.binary:
        raise UserError(
            f"--binary {typed(given.binary)} is not a family: say elementwise or bench_gemm"
        )
    binary = f"bench_{given.binary.removeprefix('bench_')}"
    options = Options(**{**vars(given), "binary": binary})
    matches(options.filter, "", "--filter")
    if options.naive and given.binary != BINARY:
        raise UserError("--naive measures its own kernel: omit --binary and --kernels")
    if options.naive and options.out is not None:
        raise UserError("--naive writes no findings: omit --out")
    if options.markdown and not options.naive:
        raise UserError("--markdown prints the table of --naive: add --naive")
    return options


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
    what = group(parser, "what to measure", "%(prog)s --binary gemm --filter '^gemm/'")
    opt = what.add_argument
    opt("file", metavar="FILE.py", nargs="?", type=python_file,
        help="measure the benchmarks of this file instead of a family")
    add(what, "--filter")
    opt("--binary", metavar="FAMILY", default=BINARY, help=f"family to measure; default {BINARY}")
    opt("--kernels", metavar="FILE", type=Path,
        help="measure the kernels of this manifest (*.toml) instead of a family")
    opt("--device", metavar="GPU", type=one_device, help="index or UUID; default 0")
    opt("--naive", action="store_true",
        help="compare the usual timers of one kernel with replay times and CUPTI's")
    opt("--no-build", dest="build", action="store_false", help="use build/release without building")

    opt = group(parser, "how long", "%(prog)s --processes 5").add_argument
    opt("--processes", metavar="N", type=positive, default=QUICK_PROCESSES,
        help=f"processes without CUPTI, in addition to the one with it; default {QUICK_PROCESSES}")

    opt = group(parser, "output", "%(prog)s --out findings.json").add_argument
    opt("--out", metavar="FILE", type=file, help="also write the findings as JSON")
    opt("--markdown", action="store_true", help="print the table of --naive as Markdown")
    # fmt: on
    return parser
