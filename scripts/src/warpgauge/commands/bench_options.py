# SPDX-License-Identifier: Apache-2.0
"""The command line of scripts/bench."""

from __future__ import annotations

import argparse
import contextlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from warpgauge.commands import arguments
from warpgauge.commands.arguments import (
    Parser,
    contradiction,
    devices,
    duration,
    file,
    folder,
    group,
    positive,
    refuse_together,
    revision,
)
from warpgauge.measure.options import (
    FIRST_LOOK,
    PROCESSES,
    QUICK_PROCESSES,
    MeasurementOptions,
)
from warpgauge.records.model import DEFAULT_SUITE, FULL_SUITE
from warpgauge.system.errors import UserError
from warpgauge.verdict.override import Override

if TYPE_CHECKING:
    from warpgauge.commands.format_options import Formats
    from warpgauge.reports.formats import Format

EVERY_GPU = "all"

_BASELINES = Path("baselines")

# Formats that cannot be written to one stream twice.
_ONE_DOCUMENT = frozenset(("json", "junit", "svg", "html"))

# Limits of the factor of --inject, which may also be 1.
SMALLEST_FACTOR, LARGEST_FACTOR = 1.001, 100.0

_DESCRIPTION = """\
Build the benchmarks, run them in fresh processes, write a run file, and compare it
with the baseline of this GPU model. Benchmarks that do not pass are measured again,
in pairs with the commit of the baseline."""

# Options, each with those that it contradicts.
_CONTRADICTIONS = {
    "--budget": ("--processes", "--quick", "--record", "--no-confirm"),
    "--list": ("--dry-run", "--self-check"),
    "--dry-run": ("--self-check",),
    "--quiet": ("--verbose",),
    "--record": ("--against", "--filter", "--inject", "--baseline"),
    "--self-check": "--record --against --inject --out --format --export".split(),
    "--against": ("--baseline", "--no-confirm"),
    "--why": ("--record", "--self-check", "--no-confirm", "--build-dir", "--kernels"),
    # External kernels have no suites, and are of one program.
    "--kernels": ("--build-dir", "--suite", "--programs"),
}
# Options allowed with --resume; all others are taken from the interrupted run.
_WITH_RESUME = frozenset(("--resume", "--no-wait", "--quiet", "--verbose"))


@dataclass(frozen=True, kw_only=True)
class Options(MeasurementOptions):
    out: Path | None
    baseline: Path | None
    parallel: bool
    self_check: bool
    self_check_of: tuple[Path, ...]  # folders of earlier self-checks
    resume: Path | None
    list: bool  # print only the names that would be measured
    dry_run: bool
    wait: bool
    quiet: bool
    formats: Formats
    fail_on_resources: bool
    policy: Path | None
    allow: frozenset[Override]

    @property
    def every_gpu(self) -> bool:
        return self.device == EVERY_GPU


AnyOptions = TypeVar("AnyOptions", bound=Options)


def parse(argv: Sequence[str]) -> Options:
    """Parse `argv`. Raises UserError for bad usage and contradictory options."""
    from warpgauge.baselines.recordable import FEWEST_PROCESSES
    from warpgauge.records.benchmark_filter import matches, require_portable

    parser = command_line()
    values = parser.parse_args(argv)
    options, given = options_of(vars(values), Options), parser.given(values)
    if options.resume is not None:
        refuse_together(given, "--resume", *(one for one in given if one not in _WITH_RESUME))
    matches(options.filter, "", "--filter")
    require_portable("--inject", options.injected_regex)
    if "--baselines" in given and not {"--build-dir", "--kernels"} & {*given}:
        raise UserError("--baselines needs --build-dir or --kernels")
    for option in ("--against", "--budget"):
        if option in given and options.build_dir is not None:
            raise UserError(
                f"{option} cannot be combined with --build-dir, which cannot build another commit: "
                "use scripts/warpgauge ab to compare two build folders"
            )
    if options.against and options.kernels is not None:
        raise UserError(
            "--against cannot be combined with --kernels, which cannot measure another commit: use "
            "scripts/warpgauge evaluate to compare two kernels"
        )
    for option, others in _CONTRADICTIONS.items():
        refuse_together(given, option, *others)
    if options.record and not options.build and options.build_dir is None:
        raise contradiction("--record", "--no-build, because the programs may be of another commit")
    if options.record and options.screening(confirms=False) < FEWEST_PROCESSES:
        raise contradiction("--record", f"fewer than {FEWEST_PROCESSES} processes")
    if options.self_check_of:
        refuse_together(given, "--self-check", "--quick", "--processes")
    if options.every_gpu:
        if options.self_check:
            raise contradiction("--device all", "--self-check, which tests one GPU")
        if options.formats.shown.name in _ONE_DOCUMENT:
            shown = f"--format {options.formats.shown.name} without =FILE"
            raise contradiction("--device all", shown)
    if options.parallel and not options.every_gpu:
        raise contradiction("--parallel", "a single GPU (--device all measures them all)")
    if options.parallel and options.record:
        raise contradiction("--parallel", "--record, which needs undisturbed host times")
    return options


def options_of(
    given: Mapping[str, Any],
    kind: type[AnyOptions],
    formats: Mapping[str, Format[str]] | None = None,
) -> AnyOptions:
    """Return the options of a measuring command, with bench's defaults for missing ones.

    `formats` are those of --format, by default a comparison's. Raises UserError for a wrong one.
    """
    from warpgauge.commands.format_options import Formats
    from warpgauge.records.benchmark_filter import matches
    from warpgauge.reports.formats import FORMATS

    values = {**vars(command_line().parse_args([])), **given}
    matches(values["programs"], "", "--programs")
    named, fail_on, seed = values.pop("self_check"), values.pop("fail_on"), values["seed"]
    named_kernels, here = values["kernels"], values["build_dir"] is None
    ours = here and named_kernels is None
    theirs = _BASELINES if named_kernels is None else named_kernels.parent / _BASELINES
    changed = {
        "baselines": values["baselines"] or (None if ours else theirs),
        **{name: values[name] or "" for name in ("against", "inject")},
        "confirm": values["confirm"] and ours,
        "build": values["build"] and here,
        "self_check": named is not None,
        "self_check_of": tuple(named or ()),
        "seed": random.SystemRandom().getrandbits(32) if seed is None else seed,
        "formats": Formats.parse(values.pop("format"), values.pop("export"), formats or FORMATS),
        "fail_on_resources": bool(fail_on),
        "allow": frozenset(values["allow"]),
    }
    return kind(**{**values, **changed})


def command_line() -> Parser:
    parser = Parser(
        prog="warpgauge bench",
        description=_DESCRIPTION,
        epilog=arguments.EXIT_STATUS,
    )
    # fmt: off
    what = group(parser, "what to measure", "%(prog)s --filter '^gemm/' --device 1")
    arguments.add_filter(what)
    arguments.add_filter(what, "--programs")
    add_suite_and_device(what)
    add = what.add_argument
    add("--parallel", action="store_true", help="with --device all: measure all GPUs at once. Host "
        "times and copies are then INVALID. Programs that need several GPUs run last, alone")
    add("--build-dir", metavar="DIR", type=folder, help="measure another project's build folder, "
        "without building; run files go to DIR/runs")
    add("--kernels", metavar="FILE", type=Path, help="measure the kernels of this manifest "
        "(*.toml) instead of the suite")
    add("--no-build", dest="build", action="store_false", help="use build/release without building")
    add("--inject", metavar="REGEX=FACTOR", type=_injection, help="add real extra work to matching "
        "benchmarks")

    how_long = group(parser, "how long", "%(prog)s --budget 5m")
    add = how_long.add_argument
    add("--quick", action="store_true", help=f"measure {QUICK_PROCESSES} processes, then only as "
        "many pairs as prove a change; benchmarks may stay inconclusive")
    add("--processes", metavar="N", type=positive, help="processes per program; default "
        f"{QUICK_PROCESSES}, or {PROCESSES} where no pairs can follow. In pairs: processes per "
        f"side before the first look, rounded up to an even number; default {FIRST_LOOK}")
    add("--budget", dest="budget_s", metavar="TIME", type=duration, help="limit of measuring time, "
        f"e.g. 60s or 5m: measures {QUICK_PROCESSES} processes of everything, then pairs of "
        "what is still open")
    arguments.add_measuring(how_long)

    add = group(parser, "what to compare with", "%(prog)s --against main").add_argument
    add("--against", metavar="REF", type=revision,
        help="compare with this commit instead of a baseline: build it too, and measure both in "
        "pairs")
    add("--baseline", metavar="PATH", type=Path, help="compare with this baseline; default "
        "baselines/<this GPU model>")
    add("--baselines", metavar="DIR", type=Path, help="with --build-dir or --kernels: the folder "
        f"of baselines and their policy; default {_BASELINES}, or beside the manifest")
    add("--no-confirm", dest="confirm", action="store_false", help="judge by the baseline alone, "
        "without measuring again in pairs")

    rule = group(parser, "what counts", "%(prog)s --fail-on resources --allow throttled")
    arguments.add_comparison_options(rule)

    instead = group(parser, "instead of a comparison", "%(prog)s --record")
    add = instead.add_argument
    add("--record", action="store_true", help="add this run to the baseline of this GPU model")
    add("--self-check", metavar="FOLDER", nargs="*", type=Path, help="test the gate: compare this "
        "build with itself, with 1 to 10 %% of extra work in most benchmarks; with FOLDER, judge "
        "an earlier self-check again; with several, show their sums")
    add("--resume", metavar="FOLDER", nargs="?", type=Path, const=Path(), help="continue an "
        "interrupted run: the latest, or the one of this journal")
    arguments.add_preview(instead)

    output = group(parser, "output", "%(prog)s --format markdown=report.md")
    add = output.add_argument
    add("--out", metavar="FILE", type=file, help="write the run file here; default "
        "build/runs/<time>.json")
    arguments.add_why(output)
    arguments.add_output(output, "build output, every command, ")
    add("--quiet", action="store_true", help="print only the result, faults, and warnings that "
        "affect the result")
    # fmt: on
    return parser


def add_suite_and_device(parser: argparse._ActionsContainer) -> None:
    """Add --suite, and --device for one GPU, several together, or all."""
    # fmt: off
    add = parser.add_argument
    add("--suite", choices=(DEFAULT_SUITE, FULL_SUITE), default=DEFAULT_SUITE,
        help="full: every benchmark; default: a selection that covers each cost once")
    add("--device", metavar="GPU", type=_device, help="GPU index or UUID; several, e.g. 0,1, for "
        f"programs that need them; {EVERY_GPU}: each GPU in turn, with its own run file, then all "
        "together; default 0")
    # fmt: on


def _device(text: str) -> int | str:
    """Parse one GPU, several (``0,1`` stays text), or all."""
    if text == EVERY_GPU:
        return text
    try:
        return devices(text)
    except argparse.ArgumentTypeError as fault:
        raise argparse.ArgumentTypeError(f"{fault}, nor {EVERY_GPU}") from None


def _injection(text: str) -> str:
    regex, _, factor = text.rpartition("=")
    with contextlib.suppress(ValueError):
        number = float(factor)
        if regex and (number == 1 or SMALLEST_FACTOR <= number <= LARGEST_FACTOR):
            return text
    raise argparse.ArgumentTypeError(
        f"{text!r} is not REGEX=FACTOR with a factor from {SMALLEST_FACTOR:g} to "
        f"{LARGEST_FACTOR:g}, e.g. gemm=1.05"
    )
