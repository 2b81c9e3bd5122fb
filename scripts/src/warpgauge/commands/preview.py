# SPDX-License-Identifier: Apache-2.0
"""--list and --dry-run of bench and ab: what would be measured, without measuring."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from warpgauge.baselines import store
from warpgauge.commands.bench_options import Options
from warpgauge.commands.external_kernels import PROGRAM
from warpgauge.commands.measuring_command import RunPaths
from warpgauge.commands.one_gpu import Bench
from warpgauge.measure import discovery, manifest, selection
from warpgauge.measure.discovery import Binary
from warpgauge.system import streams
from warpgauge.system.errors import ExitStatus
from warpgauge.system.git import short
from warpgauge.system.text import inert, listed, plural

Facts = list[tuple[str, str]]

ANY_TIME = "<time>.json"  # placeholder for the name of a run file


def list_bench(one: Bench) -> ExitStatus:
    """Print the names that `one` would measure; build first unless told otherwise.

    The names of a manifest's kernels are known without a build. Raises UserError.
    """
    if one.kernels is not None:
        known = [case.name for case in one.kernels.cases]
        asked = selection.required(one.options.filter, known)
        streams.write("".join(f"{inert(name)}\n" for name in asked))
        return ExitStatus.OK
    with one.begun(one.options) as (measuring, held):
        held.enter_context(one.alone_in(one.work))
        measuring = replace(measuring, faults=one.faults)
        return names(_wanted(one, one.built(measuring).programs), measuring.warn)


def names(programs: Sequence[Binary], warn: Callable[[str], None]) -> ExitStatus:
    """Print the benchmarks of `programs`, one per line; a listing error is NOT_MEASURED."""
    asked = dict.fromkeys(name for one in programs for name in one.names)
    streams.write("".join(f"{inert(name)}\n" for name in asked))
    faults = [f"{one.path.name}: {one.fault}" for one in programs if one.fault is not None]
    for fault in dict.fromkeys(faults):  # both sides may have the same
        warn(inert(fault))
    return ExitStatus.NOT_MEASURED if faults else ExitStatus.OK


def plan_bench(one: Bench) -> ExitStatus:
    """Print what `one` would do. Raises UserError for what it would reject."""
    options = one.options
    chosen, commit = one.inputs()
    paths = RunPaths(options.out or one.runs / ANY_TIME)
    if options.out is not None:
        paths.check(options, one.baselines, paths.measured(options))
    options.formats.check(one.baselines, [])
    folder = options.build_dir or one.root / "build" / "release"
    built = [os.path.relpath(folder)] if options.build else []
    if options.against:
        built += [f"commit {short(commit)}"]
    facts = [("build", ", and ".join(built) or "nothing")]
    facts += [("device", "0" if options.device is None else str(options.device))]
    if one.kernels:
        names = dict.fromkeys(case.kernel for case in one.kernels.cases)
        facts += [("kernels", f"{listed([*names])} of {os.path.relpath(one.kernels.path)}")]
    if options.build and not _is_built(one, folder):
        facts += [("programs", "unknown before the first build")]
        if one.kernels:
            before = ", before --filter" if options.filter else ""
            facts += [("benchmarks", f"{len(one.kernels.cases)}{before}")]
    else:
        sides = 2 if options.against else 1
        as_built = f", as last built in {os.path.relpath(folder)}"
        confirms = options.confirm and not options.record
        alone = options.screening(confirms=confirms)
        processes = options.schedule[0] if options.against else alone
        with tempfile.TemporaryDirectory(prefix="warpgauge-") as scratch:
            programs = one.kernels.provide(folder, Path(scratch)) if one.kernels else folder
            facts += sizes(_wanted(one, programs), processes, sides, as_built)
    facts += budget(options)
    if options.against:
        against = f"commit {short(commit)}, in pairs"
    elif chosen is not None:
        against = os.path.relpath(chosen.path)
    else:
        there = ", ".join(path.name for path in store.folders(one.baselines)) or "none"
        where = os.path.relpath(one.baselines)
        against = f"the baseline of the GPU's model, in {where} (available: {there})"
    facts += [("against", against)]
    runs = paths.pair if options.against else (paths.run,)
    files = [*runs, paths.log, paths.report, *reports(options)]
    facts += [("files", ", ".join(os.path.relpath(path) for path in files))]
    if further := [path for path in paths.measured(options) if path not in runs]:
        pairs = ", ".join(os.path.relpath(path) for path in further)
        facts += [("if needed", f"in pairs with the baseline's commit: {pairs}")]
    if options.record:
        facts += [("record", f"a session in {os.path.relpath(one.baselines)}")]
    return show(facts)


def show(facts: Facts) -> ExitStatus:
    """Print what would be done, one fact per line."""
    width = max(len(key) for key, _ in facts)
    lines = [f"  {key:<{width}}  {inert(value)}\n" for key, value in facts]
    streams.write(f"Nothing is measured. A run would use:\n{''.join(lines)}")
    return ExitStatus.OK


def sizes(programs: Sequence[Binary], processes: int, sides: int, note: str = "") -> Facts:
    """Return the numbers of benchmarks and processes of these programs."""
    count = len(programs) * processes * sides
    factors = f"{plural(len(programs), 'program')} x {processes}" + (" x 2 sides" * (sides > 1))
    return [
        ("programs", ", ".join(program.family for program in programs) + note),
        ("benchmarks", str(sum(len(program.names) for program in programs))),
        ("processes", f"{count} ({factors}), and more for benchmarks that stay open"),
    ]


def budget(options: Options) -> list[tuple[str, str]]:
    return [] if options.budget_s is None else [("budget", f"{options.budget_s:g} s")]


def reports(options: Options) -> list[Path]:
    """Return the files of --format and --export."""
    formats = options.formats
    return [path for _, path in (*formats.files, *formats.exports)]


def _is_built(one: Bench, folder: Path) -> bool:
    if one.kernels is not None:
        return (folder / PROGRAM).exists()
    return bool(manifest.read(folder).programs)


def _wanted(one: Bench, folder: Path) -> list[Binary]:
    """Return the selected programs in `folder`. Raises UserError if there are none."""
    with tempfile.TemporaryDirectory(prefix="warpgauge-") as name:
        options = one.options
        everything = discovery.find(folder, Path(name), options.suite, options.programs)
        return selection.wanted(everything, options.filter, suites=True)
