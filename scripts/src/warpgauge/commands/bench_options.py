# SPDX-License-Identifier: Apache-2.0
"""The options of scripts/bench, which other measuring commands extend."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from warpgauge.baselines.recordable import FEWEST_PROCESSES
from warpgauge.commands import measuring_lines
from warpgauge.commands.argument_types import EVERY_GPU
from warpgauge.commands.arguments import contradiction, refuse_together
from warpgauge.commands.format_options import Formats
from warpgauge.measure.options import MeasurementOptions
from warpgauge.records.benchmark_filter import matches, require_portable
from warpgauge.reports.format import FORMATS, Format
from warpgauge.system.errors import UserError
from warpgauge.verdict.override import Override

# Formats that cannot be written to one stream twice.
_ONE_DOCUMENT = frozenset(("json", "junit", "svg", "html"))

# Options, each with those that it contradicts.
_CONTRADICTIONS = {
    "--budget": ("--processes", "--quick", "--record", "--no-confirm"),
    "--list": ("--self-check",),
    "--record": ("--against", "--filter", "--inject"),
    "--self-check": "--record --against --inject --out --format --export".split(),
    "--against": ("--no-confirm",),
    "--why": ("--record", "--self-check", "--no-confirm", "--build-dir", "--kernels"),
    # External kernels have no suites, and are of one program.
    "--kernels": ("--build-dir", "--suite", "--programs", "--isolate"),
}
# Options allowed with --resume; all others are taken from the interrupted run.
_WITH_RESUME = frozenset(("--resume", "--no-wait", "--verbose"))


@dataclass(frozen=True, kw_only=True)
class Options(MeasurementOptions):
    out: Path | None
    parallel: bool
    self_check: bool
    self_check_of: tuple[Path, ...]  # folders of earlier self-checks
    resume: Path | None
    list: bool  # print only the names that would be measured
    wait: bool
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
    parser = measuring_lines.bench()
    values = parser.parse_args(argv)
    options, given = options_of(vars(values), Options), parser.given(values)
    if options.resume is not None:
        refuse_together(given, "--resume", *(one for one in given if one not in _WITH_RESUME))
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
    formats: Mapping[str, Format] = FORMATS,
) -> AnyOptions:
    """Return the options of a measuring command, with bench's defaults for missing ones.

    `formats` are those of --format. Raises UserError for a wrong one.
    """
    values = {**vars(measuring_lines.bench().parse_args([])), **given}
    for regex in ("filter", "programs"):
        matches(values[regex], "", f"--{regex}")
    named, fail_on, seed = values.pop("self_check"), values.pop("fail_on"), values["seed"]
    named_kernels, here = values["kernels"], values["build_dir"] is None
    ours = here and named_kernels is None
    baselines = measuring_lines.BASELINES
    theirs = baselines if named_kernels is None else named_kernels.parent / baselines
    changed = {
        "baselines": values["baselines"] or (None if ours else theirs),
        **{name: values[name] or "" for name in ("against", "inject")},
        "confirm": values["confirm"] and ours,
        "build": values["build"] and here,
        "self_check": named is not None,
        "self_check_of": tuple(named or ()),
        "seed": random.SystemRandom().getrandbits(32) if seed is None else seed,
        "formats": Formats.parse(values.pop("format"), values.pop("export"), formats),
        "fail_on_resources": bool(fail_on),
        "allow": frozenset(values["allow"]),
    }
    return kind(**{**values, **changed})
