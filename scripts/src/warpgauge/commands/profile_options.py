# SPDX-License-Identifier: Apache-2.0
"""The command line of warpgauge profile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warpgauge.commands import arguments, bench_options
from warpgauge.commands.arguments import Parser, file, folder, group, one_device
from warpgauge.commands.bench_options import Options
from warpgauge.records.benchmark_filter import require_portable
from warpgauge.records.model import FULL_SUITE
from warpgauge.system.errors import UserError
from warpgauge.system.text import typed

_OWN = ("name", "ncu", "nsys", "trace", "table", "sass")


@dataclass(frozen=True)
class ProfileOptions:
    """Which benchmark, what of it to show or to write where, and how to build and run it."""

    name: str  # the benchmark's, or a filter that only one matches
    ncu: Path | None
    nsys: Path | None
    trace: Path | None
    table: bool
    sass: bool
    bench: Options

    @property
    def traces(self) -> bool:
        return self.table or self.trace is not None


def parse(argv: Sequence[str]) -> ProfileOptions:
    """Raises UserError for bad usage."""
    from warpgauge.files.atomic import resolved

    values = vars(command_line().parse_args(argv))
    own = {name: values.pop(name) for name in _OWN}
    require_portable("NAME", own["name"])
    for option in ("ncu", "nsys"):
        path, suffix = own[option], f".{option}-rep"
        if path is not None and path.suffix != suffix:
            raise UserError(f"--{option} {typed(str(path))}: its GUI opens *{suffix}: name it so")
    if not any(own[one] for one in _OWN[1:]):
        own["table"] = True
    named = [resolved(path) for path in (own["ncu"], own["nsys"], own["trace"]) if path]
    if len(set(named)) < len(named):
        raise UserError("two of the reports have the same file: name another one")
    usual = vars(bench_options.command_line().parse_args([]))
    bench = bench_options.options_of({**usual, "suite": FULL_SUITE, **values})
    return ProfileOptions(**own, bench=bench)


def command_line() -> Parser:
    """The options, for --help too."""
    parser = Parser(
        prog="warpgauge profile",
        description="Runs one benchmark under a profiler, in a process of its own. Profilers slow "
        "what they watch: nothing of it is recorded or compared.",
        epilog="Exit status: 0 done; 2 bad usage; 3 no GPU, a tool that is missing or may not "
        "profile here, or a benchmark that failed.",
    )
    # fmt: off
    what = group(parser, "what is profiled", "%(prog)s launch/empty --table")
    add = what.add_argument
    add("name", metavar="NAME", help="of a benchmark, or a regular expression that one matches")
    add("--device", metavar="GPU", type=one_device, help="index or UUID; default 0")
    add("--build-dir", metavar="DIR", type=folder, help="another project's build folder, as it is")
    add("--no-build", dest="build", action="store_false", help="run what build/release holds")
    arguments.add_timeout(what)
    add("--no-wait", dest="wait", action="store_false", help="refuse (exit 3) instead of waiting "
        "for another command that measures here")

    add = group(parser, "what is shown; default --table",
        "%(prog)s gemm/f32 --ncu gemm.ncu-rep --trace gemm.json").add_argument
    add("--table", action="store_true", help="time by kernel and by call of CUDA")
    add("--sass", action="store_true", help="machine code of the kernels")
    add("--trace", metavar="FILE", type=file, help="JSON for ui.perfetto.dev: kernels, copies, "
        "calls of CUDA, phases")
    add("--ncu", metavar="FILE", type=file, help="Nsight Compute's report (*.ncu-rep) of one "
        "operation")
    add("--nsys", metavar="FILE", type=file, help="Nsight Systems' report (*.nsys-rep) of the "
        "process")
    add("--verbose", action="store_true", help="show the build's output and every command")
    # fmt: on
    return parser
