# SPDX-License-Identifier: Apache-2.0
"""The command line of scripts/bench."""

from __future__ import annotations

import argparse
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warpgauge.baselines.recordable import FEWEST_PROCESSES
from warpgauge.commands import arguments
from warpgauge.commands.arguments import (
    Parser,
    duration,
    file,
    folder,
    group,
    index,
    one_device,
    positive,
    revision,
    seconds,
)
from warpgauge.commands.format_options import Formats
from warpgauge.execution.plan import DEADLINE_S
from warpgauge.measurement.options import MeasurementOptions
from warpgauge.records.benchmark_filter import normal, require_portable
from warpgauge.records.model import DEFAULT_SUITE, FULL_SUITE
from warpgauge.reports.exports import EXPORTS
from warpgauge.reports.formats import FORMATS
from warpgauge.system.errors import UserError
from warpgauge.verdict.override import Override

# Seven process medians a side let a t test see 0.3 % of device time; a quick look needs three, and
# so does the first one of a budget: fewer may all be odd ones (`screening`).
PROCESSES = 7
QUICK_PROCESSES = 3

EVERY_GPU = "all"

_BASELINES = Path("baselines")

# Formats of which two cannot follow each other in one stream.
_ONE_DOCUMENT = frozenset(("json", "junit", "svg"))

# What the benchmarks accept as a factor of --inject, beside 1 itself.
SMALLEST_FACTOR, LARGEST_FACTOR = 1.001, 100.0


@dataclass(frozen=True, kw_only=True)
class Options(MeasurementOptions):
    """What the user asked for."""

    budget_s: float | None
    out: Path | None
    baseline: Path | None
    parallel: bool
    self_check: bool
    self_check_of: Path | None  # run files that are there already
    resume: Path | None
    list: bool  # only the names of what would be measured
    dry_run: bool
    wait: bool
    quiet: bool
    formats: Formats
    fail_on: tuple[str, ...]
    policy: Path | None
    allow: frozenset[Override]

    @property
    def every_gpu(self) -> bool:
        return self.device == EVERY_GPU


def parse(argv: Sequence[str]) -> Options:
    """Raises UserError for bad usage, and for what contradicts itself."""
    parser = command_line()
    given = parser.parse_args(argv)
    if given.resume is not None:
        _check_resuming(vars(given), vars(parser.parse_args([])))
    fewest = given.quick or given.budget is not None
    options = Options(
        filter=normal(given.filter),
        suite=given.suite,
        processes=given.processes or (QUICK_PROCESSES if fewest else PROCESSES),
        budget_s=given.budget,
        out=given.out,
        baseline=given.baseline,
        build_dir=given.build_dir,
        baselines=given.baselines or (_BASELINES if given.build_dir else None),
        device=given.device,
        parallel=given.parallel,
        against=given.against or "",
        confirm_beside=given.confirm_beside or "",
        confirm=not given.no_confirm and given.build_dir is None,
        second_look=not given.quick,
        record=given.record,
        self_check=given.self_check is not None,
        self_check_of=given.self_check or None,
        resume=given.resume,
        list=given.list,
        dry_run=given.dry_run,
        inject=given.inject or "",
        seed=random.SystemRandom().getrandbits(32) if given.seed is None else given.seed,
        timeout_s=given.timeout,
        wait=not given.no_wait,
        build=not given.no_build and given.build_dir is None,
        quiet=given.quiet,
        verbose=given.verbose,
        formats=Formats.parse(given.format, given.export),
        fail_on=tuple(given.fail_on),
        policy=given.policy,
        allow=frozenset(given.allow),
    )
    require_portable("--filter", options.filter.removeprefix("-"))
    require_portable("--inject", options.injected_regex)
    if options.budget_s is not None:
        decides = {"--processes": given.processes, "--quick": given.quick}
        _refuse(
            "--budget", {**decides, "--record": given.record, "--self-check": options.self_check}
        )
    if options.list or options.dry_run:
        option = "--list" if options.list else "--dry-run"
        both = options.list and options.dry_run
        _refuse(option, {"--dry-run": both, "--self-check": options.self_check})
    if options.quiet:
        _refuse("--quiet", {"--verbose": options.verbose})
    if options.record:
        _check_recordable(options)
    _check_build_dir(options)
    if options.self_check:
        others: dict[str, object] = {"--record": options.record, "--against": options.against}
        others |= {"--inject": options.inject, "--out": options.out, "--format": given.format}
        others |= {"--confirm-beside": options.confirm_beside, "--export": given.export}
        if options.self_check_of:
            others |= {"--quick": given.quick, "--processes": given.processes}
        _refuse("--self-check", others)
    if options.every_gpu:
        shown = options.formats.shown.name
        others = {
            "--self-check, which is of one GPU": options.self_check,
            f"--format {shown} without =FILE": shown in _ONE_DOCUMENT,
        }
        _refuse("--device all", others)
    if options.parallel:
        others = {"a single GPU (--device all measures them all)": not options.every_gpu}
        others["--record, whose host times are to be undisturbed"] = options.record
        _refuse("--parallel", others)
    if options.against:
        _refuse("--against", {"--baseline": options.baseline, "--no-confirm": given.no_confirm})
    if options.confirm_beside:
        others = {"--against": options.against, "--no-confirm": given.no_confirm}
        _refuse("--confirm-beside", others)
    return options


def _check_resuming(given: Mapping[str, object], usual: Mapping[str, object]) -> None:
    """A run goes on as it began."""
    free = ("resume", "no_wait", "quiet", "verbose")
    changed = [name for name in given if name not in free and given[name] != usual[name]]
    _refuse("--resume", {f"--{name.replace('_', '-')}": True for name in changed})


def _check_build_dir(options: Options) -> None:
    if options.build_dir is None and options.baselines is not None:
        raise UserError("--baselines is of another project: give its --build-dir, too")
    if options.build_dir is not None and (options.against or options.confirm_beside):
        option = "--against" if options.against else "--confirm-beside"
        raise UserError(
            f"{option} does not go with --build-dir, of which no other commit is built here: "
            "scripts/warpgauge ab compares two build folders"
        )


def _check_recordable(options: Options) -> None:
    """A baseline is the whole suite, as it is, measured often enough."""
    spoiled = {
        "--against": options.against,
        "--confirm-beside": options.confirm_beside,
        "--filter": options.filter,
        "--inject": options.inject,
        "--baseline": options.baseline,
        "--no-build, which may run the build of another commit": not options.build
        and options.build_dir is None,
        f"fewer than {FEWEST_PROCESSES} processes": options.processes < FEWEST_PROCESSES,
    }
    _refuse("--record", spoiled)


def _refuse(option: str, others: Mapping[str, object]) -> None:
    for what, given in others.items():
        if given:
            raise UserError(f"{option} does not go with {what}: leave one of the two out")


def command_line() -> Parser:
    """The options, for --help too."""
    parser = Parser(
        prog="warpgauge bench",
        description="Builds and runs the benchmarks in fresh processes, writes a run file, and "
        "compares it with the baseline of this GPU model. What differs is measured again beside "
        "the baseline's own commit.",
        epilog="Exit status: 0 nothing regressed and everything was measured; 1 a regression; "
        "2 bad usage or unreadable input; 3 nothing regressed, but something was not measured "
        "or not comparable.",
    )
    # fmt: off
    what = group(parser, "what is measured", "%(prog)s --filter '^gemm/' --device 1")
    arguments.add_filter(what)
    add = what.add_argument
    add("--suite", choices=(DEFAULT_SUITE, FULL_SUITE), default=DEFAULT_SUITE,
        help="full: every benchmark; default: those that cover each cost once")
    add_device(what)
    add("--parallel", action="store_true", help="with --device all: all at once; host times and "
        "copies are INVALID then")
    add("--build-dir", metavar="DIR", type=folder, help="another project's build folder, measured "
        "as it is; run files go to DIR/runs")
    add("--no-build", action="store_true", help="run what build/release holds")
    add("--inject", metavar="REGEX=FACTOR", type=_injection, help="put real extra work into the "
        "matching benchmarks")

    add = group(parser, "how long", "%(prog)s --budget 5m").add_argument
    add("--quick", action="store_true", help=f"{QUICK_PROCESSES} processes, and no second look "
        "at what stays inconclusive")
    add("--processes", metavar="N", type=positive, help=f"of each program; default {PROCESSES}, at "
        "least 2 with --against")
    add("--budget", metavar="TIME", type=duration, help="of measuring, as in 60s or 5m: "
        f"{QUICK_PROCESSES} processes of everything, then more of what is still open")
    add("--timeout", metavar="SECONDS", type=seconds, default=DEADLINE_S,
        help=f"for one benchmark, which is ended then; default {DEADLINE_S:g}")
    add("--seed", metavar="N", type=index, help="of the order; default random, and recorded")
    add("--no-wait", action="store_true", help="refuse (exit 3) instead of waiting for another "
        "command that measures here")

    add = group(parser, "against what", "%(prog)s --against main").add_argument
    add("--against", metavar="REF", type=revision,
        help="build this commit too, and measure both in turns, without a baseline")
    add("--baseline", metavar="PATH", type=Path, help="default baselines/<this GPU model>")
    add("--baselines", metavar="DIR", type=Path, help="with --build-dir: that project's baselines "
        f"and policy; default {_BASELINES}")
    add("--confirm-beside", metavar="REF", type=revision, help="measure what differs from the "
        "baseline again beside this commit, not the baseline's own")
    add("--no-confirm", action="store_true", help="believe the baseline: measure nothing again")

    rule = group(parser, "what counts", "%(prog)s --fail-on resources --allow throttled")
    arguments.add_comparison_options(rule)

    instead = group(parser, "instead of a comparison", "%(prog)s --record")
    add = instead.add_argument
    add("--record", action="store_true", help="add this run to the baseline of this GPU model")
    add("--self-check", metavar="FOLDER", nargs="?", type=Path, const=False, help="test the gate: "
        "this build beside itself, and with extra work of 1 to 10 %%; with FOLDER, judge an "
        "earlier one again")
    add("--resume", metavar="FOLDER", nargs="?", type=Path, const=Path(), help="go on with an "
        "interrupted run: the latest, or the one of this journal")
    arguments.add_preview(instead)

    add = group(parser, "output", "%(prog)s --format markdown=report.md").add_argument
    add("--out", metavar="FILE", type=file, help="run file; default build/runs/<time>.json")
    add("--format", metavar="NAME[=FILE]", action="append", default=[],
        help=f"the comparison as {', '.join(FORMATS)}, to standard output or FILE; intervals to "
        "FILE.svg or FILE.png; repeatable")
    add("--export", metavar="NAME=FILE", action="append", default=[],
        help=f"the times for another tool: {', '.join(EXPORTS)}; repeatable")
    add("--quiet", action="store_true", help="only the result, faults, and warnings that change "
        "what it means")
    add("--verbose", action="store_true", help="show the build's output and every command")
    # fmt: on
    return parser


def add_device(parser: argparse._ActionsContainer) -> None:
    """Add --device: one GPU, or all of them."""
    parser.add_argument("--device", metavar="GPU", type=_device, help=f"index, UUID, or "
        f"{EVERY_GPU}: each GPU in turn, with its own run file; default 0")  # fmt: skip


def _device(text: str) -> int | str:
    try:
        return text if text == EVERY_GPU else one_device(text)
    except argparse.ArgumentTypeError as fault:
        raise argparse.ArgumentTypeError(f"{fault}, nor {EVERY_GPU}") from None


def _injection(text: str) -> str:
    regex, _, factor = text.rpartition("=")
    try:
        good = bool(regex) and (
            float(factor) == 1 or SMALLEST_FACTOR <= float(factor) <= LARGEST_FACTOR
        )
    except ValueError:
        good = False
    if not good:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not REGEX=FACTOR with a factor from {SMALLEST_FACTOR:g} to "
            f"{LARGEST_FACTOR:g}, as in gemm=1.05"
        )
    return text
