# SPDX-License-Identifier: Apache-2.0
"""The output of scripts/bench: a comparison, values without one, or the recorded example."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from rich.console import Console

from warpgauge.commands.bench_options import Options
from warpgauge.commands.format_options import Formats, unpaired_comparison
from warpgauge.measure.discovery import Probe
from warpgauge.records.model import Record
from warpgauge.reports.format import FORMATS
from warpgauge.reports.formats import terminal as report
from warpgauge.system.atomic import write
from warpgauge.system.errors import ExitStatus
from warpgauge.system.layout import print_line
from warpgauge.system.output_file import check_report
from warpgauge.system.text import inert
from warpgauge.verdict import judge
from warpgauge.verdict.comparison import Comparison, exit_status
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.note import Note, sentence
from warpgauge.verdict.policy import Policy


@dataclass
class RunReport:
    """The automatic HTML report: it replaces no other file, and its failure changes no result."""

    path: Path
    baselines: Path
    console: Console
    _told: str = field(default="", init=False)

    def write(self, found: Comparison) -> None:
        """Write the page of `found`; only report a failure."""
        page = FORMATS["html"]
        try:
            check_report(self.path, self.baselines, [], page.own, page.kind)
            write(self.path, page.render(found))
            self._told = f"Report: {inert(os.path.relpath(self.path))}"
        except Exception as fault:  # the results are shown in any case
            self._told = f"The report of this run was not written: {inert(str(fault))}"

    def tell(self) -> None:
        """Print the path of the page, or why it was not written."""
        if self._told:
            print_line(self.console, self._told)


@dataclass(frozen=True)
class Conclusion:
    """Shows results on one console; methods return the exit status of what they show.

    Comparisons are also written to `report`.
    """

    console: Console
    settings: ComparisonSettings
    formats: Formats
    verbose: bool
    report: RunReport | None = None

    @staticmethod
    def of(options: Options, policy: Policy | None, console: Console) -> Conclusion:
        """Return how a command with these options judges and shows results."""
        settings = ComparisonSettings(
            filter=options.filter or None,
            fail_on_resources=options.fail_on_resources,
            allow=options.allow,
            policy=policy,
            today=date.today(),
        )
        return Conclusion(console, settings, options.formats, options.verbose)

    def judged(self, base: Record, run: Record) -> Comparison:
        """Return `run` compared with `base`, without showing it."""
        return judge.judge(base, run, self.settings)

    def compared(self, comparison: Comparison) -> ExitStatus:
        """Show a comparison. Raises UserError for a report that cannot be written."""
        try:
            return self.formats.deliver(
                comparison, exit_status(comparison), lambda: self._render(comparison)
            )
        finally:
            if self.report is not None:
                self.report.write(comparison)

    def values(self, run: Record) -> ExitStatus:
        """Show values that cannot be compared with anything. Raises UserError, as `compared`."""
        report.render_values(run, self.console)
        alone = unpaired_comparison(run, self.settings.allow)
        if self.report is not None:
            self.report.write(alone)
        self.formats.export(alone)
        return ExitStatus.NOT_MEASURED

    def recorded(self, example: Path) -> None:
        """Print the recorded comparison of GPU times in `example`, if the file exists."""
        if example.exists():
            self.console.print()
            self.console.rule("An example, RECORDED on a GPU and not measured here", characters="=")
            text = example.read_text(encoding="utf-8")
            self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _render(self, comparison: Comparison) -> None:
        report.render(comparison, self.console, verbose=self.verbose)


def without_gpu(found: Comparison, probe: Probe) -> Comparison:
    """Add a note on what is missing if no GPU was measured."""
    if not probe.no_gpu:
        return found
    note = Note("no_gpu", f"No GPU was measured: {sentence(probe.no_gpu)}.")
    return replace(found, notes=(note, *found.notes))


def without_baseline(probe: Probe) -> str:
    """Return why there is no baseline, and what to do."""
    if probe.no_gpu:
        return "Nothing to compare with: a baseline belongs to a GPU model. ab compares two builds."
    name = probe.context.get("gpu_name")
    if name is None:
        return "Nothing to compare with: no benchmark ran long enough to report its GPU."
    return f"There is no baseline for {name} yet: run the same command with --record to make one"
