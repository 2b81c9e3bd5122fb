# SPDX-License-Identifier: Apache-2.0
"""The command line of warpgauge profile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warpgauge.commands import arguments, bench_options
from warpgauge.commands.arguments import Parser, file, group
from warpgauge.commands.bench_options import Options
from warpgauge.records.benchmark_filter import matches
from warpgauge.records.model import FULL_SUITE
from warpgauge.system.errors import UserError
from warpgauge.system.text import typed

_SHOWN = ("ncu", "nsys", "trace", "table", "sass")


@dataclass(frozen=True, kw_only=True)
class ProfileOptions(Options):
    """Options of warpgauge profile."""

    name: str  # of the benchmark, or a filter that matches only one
    ncu: Path | None
    nsys: Path | None
    trace: Path | None
    table: bool
    sass: bool

    @property
    def traces(self) -> bool:
        return self.table or self.trace is not None


def parse(argv: Sequence[str]) -> ProfileOptions:
    """Parse `argv`. Raises UserError for bad usage."""
    from warpgauge.system.atomic import resolved

    values = vars(command_line().parse_args(argv))
    matches(values["name"], "", "NAME")
    for option in ("ncu", "nsys"):
        path, suffix = values[option], f".{option}-rep"
        if path is not None and path.suffix != suffix:
            raise UserError(
                f"--{option} {typed(str(path))}: its GUI opens only *{suffix}: use this suffix"
            )
    if not any(values[one] for one in _SHOWN):
        values["table"] = True
    paths = (values["ncu"], values["nsys"], values["trace"])
    named = [resolved(path) for path in paths if path]
    if len(set(named)) < len(named):
        raise UserError("two of the reports would go to the same file: name another one")
    return bench_options.options_of({"suite": FULL_SUITE, **values}, ProfileOptions)


def command_line() -> Parser:
    parser = Parser(
        prog="warpgauge profile",
        description="Run one benchmark under a profiler, in a process of its own. Profilers slow "
        "down the program: these times are not recorded or compared.",
        epilog="Exit status: 0 done; 2 bad usage; 3 no GPU, a tool that is missing or has no "
        "permission to profile, or a benchmark that failed.",
    )
    # fmt: off
    what = group(parser, "what to profile", "%(prog)s launch/chain_fused --table")
    add = what.add_argument
    add("name", metavar="NAME", help="name of a benchmark, or a regular expression that matches "
        "exactly one")
    arguments.add_programs(what)
    arguments.add_timeout(what)
    add("--no-wait", dest="wait", action="store_false", help="fail (exit 3) instead of waiting if "
        "another command is measuring here")

    shown = group(parser, "what to show; default --table",
        "%(prog)s gemm/tiled/f32/n:1024 --ncu gemm.ncu-rep --trace gemm.json")
    add = shown.add_argument
    add("--table", action="store_true", help="print the time by kernel and by CUDA call")
    add("--sass", action="store_true", help="print the machine code of the kernels")
    add("--trace", metavar="FILE", type=file, help="write a trace for ui.perfetto.dev (JSON): "
        "kernels, copies, CUDA calls, phases")
    add("--ncu", metavar="FILE", type=file, help="write an Nsight Compute report (*.ncu-rep) of "
        "one operation")
    add("--nsys", metavar="FILE", type=file, help="write an Nsight Systems report (*.nsys-rep) of "
        "the process")
    arguments.add_verbose(shown)
    # fmt: on
    return parser
