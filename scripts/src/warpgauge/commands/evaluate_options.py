# SPDX-License-Identifier: Apache-2.0
"""The command line of warpgauge evaluate."""

from __future__ import annotations

import argparse
import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warpgauge.commands import arguments, bench_options
from warpgauge.commands.arguments import (
    Parser,
    devices,
    group,
    refuse_together,
)
from warpgauge.commands.bench_options import Options
from warpgauge.records.model import FULL_SUITE
from warpgauge.system.errors import UserError
from warpgauge.system.text import inert

# Pairs before the first look: a change is likely here, and fewer pairs cannot show one.
PAIRS = 6

_DESCRIPTION = """\
Check whether a kernel is correct, within memory, and faster than the kernel it
should replace, at all values of their axes. Each of the two is a variant of a
family of this repository (gemm/tiled/f32) or a kernel of a manifest
(kernels.toml:scale). Both are verified, and measured in lock-step pairs of
processes."""

_EPILOG = """\
exit status:
  0  correct, within the memory limit, and faster or equal at every point
  1  correct, but slower at some point
  2  bad usage, or input that cannot be read
  3  a wrong result, over the memory limit, not measured, or undecided"""

_UNITS = {"": 1, "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}
_UNITS |= {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([kKMG]i?B|B|)", re.ASCII)
_VALUE = r"(?:\d{1,18}|\d*[A-Za-z_.+-][\w.+-]*)"  # an integer, or what has more than digits
_AXIS = re.compile(rf"([A-Za-z_]\w*)=({_VALUE}(?:,{_VALUE})*)", re.ASCII)


@dataclass(frozen=True)
class Kernel:
    """What the user named: `name` is a variant, or a kernel of `manifest`."""

    typed: str
    name: str
    manifest: Path | None = None


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(Options):
    """Options of warpgauge evaluate; the base is the first of the `sides`."""

    sides: tuple[Kernel, Kernel]
    axes: Mapping[str, Sequence[str]]
    memory_limit: int | None  # bytes


def parse(argv: Sequence[str]) -> EvaluateOptions:
    """Parse `argv`. Raises UserError for bad usage."""
    from warpgauge.reports.evaluation_document import FORMATS

    parser = command_line()
    given = parser.parse_args(argv)
    refuse_together(parser.given(given), "--budget", "--processes")
    values = {**vars(given), "suite": FULL_SUITE, "processes": given.processes or PAIRS}
    axes = values.pop("axis")
    twice = next((axis for axis in axes if sum(axis[0] == one[0] for one in axes) > 1), None)
    if twice is not None:
        raise UserError(f"--axis {twice[0]} is given twice: join its values, e.g. n=1,2")
    values |= {"axes": dict(axes), "sides": (values.pop("base"), values.pop("candidate"))}
    return bench_options.options_of(values, EvaluateOptions, FORMATS)


def command_line() -> Parser:
    parser = Parser(prog="warpgauge evaluate", description=_DESCRIPTION, epilog=_EPILOG)
    # fmt: off
    what = group(parser, "what to measure", "%(prog)s gemm/cublas/f32 kernels.toml:gemm")
    add = what.add_argument
    add("base", type=_kernel, metavar="BASE", help="the kernel to compare with")
    add("candidate", type=_kernel, metavar="CANDIDATE", help="the kernel to judge")
    add("--axis", metavar="NAME=VALUE,...", type=_axis, action="append", default=[],
        help="values of an axis; repeatable; default: all values that both kernels have")
    add("--device", metavar="GPU", type=devices, help="GPU index (as nvidia-smi -L counts) or "
        "UUID; several, e.g. 0,1, for kernels that need them; default: the first GPU")
    add("--no-build", dest="build", action="store_false", help="use build/release without "
        "building")

    how_long = group(parser, "how long", "%(prog)s gemm/naive/f32 gemm/tiled/f32 --budget 60s")
    arguments.add_pairs(how_long, "kernel", PAIRS, "until every point is decided")

    rule = group(parser, "what counts",
        "%(prog)s reduce/sum/f32 reduce/sum_cub/f32 --memory-limit 1GB")
    rule.add_argument("--memory-limit", metavar="SIZE", type=_size, help="fail (exit 3) if the "
        "candidate's peak device memory exceeds this, e.g. 512MiB or 2GB")

    output = group(parser, "output", "%(prog)s gemm/naive/f32 gemm/tiled/f32 --format json")
    add = output.add_argument
    arguments.add_pair_files(output)
    add("--format", metavar="NAME[=FILE]", action="append", default=[],
        help="write the evaluation as terminal, markdown or json, to standard output or FILE; "
        "repeatable")
    arguments.add_verbose(output)
    # fmt: on
    return parser


def _kernel(text: str) -> Kernel:
    manifest, colon, name = text.rpartition(":")
    if colon and manifest.endswith(".toml") and name:
        return Kernel(text, name, Path(manifest))
    if colon or text.endswith(".toml") or not all(text.split("/")) or not text.isprintable():
        raise argparse.ArgumentTypeError(
            f"{inert(repr(text))} is neither a variant of a family, e.g. gemm/tiled/f32 (without "
            "axis values, which go to --axis), nor a kernel of a manifest, e.g. kernels.toml:scale"
        )
    return Kernel(text, text)


def _axis(text: str) -> tuple[str, tuple[str, ...]]:
    if found := _AXIS.fullmatch(text):
        values = (str(int(one)) if one.isdecimal() else one for one in found[2].split(","))
        return found[1], tuple(dict.fromkeys(values))
    raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE,..., e.g. n=1024,2048")


def _size(text: str) -> int:
    with contextlib.suppress(KeyError, OverflowError):
        if (found := _SIZE.fullmatch(text)) and (size := int(float(found[1]) * _UNITS[found[2]])):
            return size
    raise argparse.ArgumentTypeError(f"{text!r} is not a memory size, e.g. 512MiB or 2GB")
