# SPDX-License-Identifier: Apache-2.0
"""warpgauge report: writes a comparison and its history as one HTML page."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path

from warpgauge.baselines import store
from warpgauge.commands import command_lines, compare, courses
from warpgauge.commands.format_options import unpaired_comparison
from warpgauge.history import show
from warpgauge.history.lines import History
from warpgauge.records.load import load
from warpgauge.records.model import Record, Source
from warpgauge.reports.drawing.course import Course
from warpgauge.reports.format import FORMATS
from warpgauge.reports.formats import html as page
from warpgauge.reports.view import gpu_name
from warpgauge.system.atomic import is_stream, write
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.layout import Output, print_line
from warpgauge.system.output_file import check_report
from warpgauge.system.text import inert
from warpgauge.verdict.comparison import Comparison


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    given = command_lines.parse_report(argv)
    baselines, form = root / "baselines", FORMATS["html"]
    check_report(given.out, baselines, [], form.own, form.kind)
    run = load(given.run)
    base = _baseline(run, given.base, baselines)
    if base is None:
        found = unpaired_comparison(run, given.allow)
    else:
        found = compare.judged(base, run, given, baselines)
    faults: list[str] = []
    try:
        text = page.render(found, histories=_histories(given, root, found, faults))
        write(given.out, text)
    finally:
        status = show.left_out(faults)
    print_line(Output(stderr=is_stream(given.out)), f"Report: {inert(os.path.relpath(given.out))}")
    return status


def _baseline(run: Record, named: Path | None, baselines: Path) -> Record | None:
    """Return the given baseline, or that of the run's GPU model; None if there is none."""
    gpu = gpu_name(run)
    if named is None and gpu and run.source is not Source.BASELINE:
        named = store.find(baselines, gpu)
    return load(named) if named else None


def _histories(
    given: Namespace, root: Path, found: Comparison, faults: list[str]
) -> Mapping[str, Course]:
    """Return the history of each benchmark on this GPU model; `faults` gets unreadable lines.

    Raises UserError if there is no history for it.
    """
    if given.history is None:
        return {}
    gpu = gpu_name(found.candidate)
    if not gpu:
        raise UserError(f"{given.run} names no GPU, so it has no history: omit --history")
    checkout = Path(given.history)
    history = History.at(checkout, "HEAD") if checkout.is_dir() else History.at(root, given.history)
    ((_, nights),) = history.models(store.slug(gpu))
    faults += history.faults
    return courses.of(nights)
