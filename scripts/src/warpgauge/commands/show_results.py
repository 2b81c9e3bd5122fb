# SPDX-License-Identifier: Apache-2.0
"""What scripts/bench shows at its end: a comparison, bare values, or the recorded example."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from rich.console import Console

from warpgauge.baselines import store
from warpgauge.commands.bench_options import Options
from warpgauge.commands.format_options import Formats, unpaired_comparison
from warpgauge.commands.run_report import RunReport
from warpgauge.execution.discovery import Probe
from warpgauge.records import load
from warpgauge.records.model import Record
from warpgauge.reports.terminal import report
from warpgauge.system.errors import ExitStatus
from warpgauge.verdict import judge
from warpgauge.verdict.comparison import Comparison
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.note import Kind, Note
from warpgauge.verdict.policy import Policy


@dataclass(frozen=True)
class Conclusion:
    """Prints to one console; each method returns the exit status of what it showed.

    What it compares goes into the `report`, too.
    """

    console: Console
    settings: ComparisonSettings
    formats: Formats
    verbose: bool
    report: RunReport | None = None

    @staticmethod
    def of(options: Options, policy: Policy | None, console: Console) -> Conclusion:
        """Judges and shows as a command of these options was asked to."""
        settings = ComparisonSettings(
            filter=options.filter or None,
            fail_on_resources=options.fail_on_resources,
            allow=options.allow,
            policy=policy,
            today=date.today(),
        )
        return Conclusion(console, settings, options.formats, options.verbose)

    def judged(self, base: Record, run: Record) -> Comparison:
        """`run` judged against `base`; shows nothing."""
        return judge.judge(base, run, self.settings)

    def compared(self, comparison: Comparison) -> ExitStatus:
        """What a comparison found. Raises UserError for a report that cannot be written."""
        try:
            return self.formats.deliver(comparison, lambda: self._render(comparison))
        finally:
            if self.report is not None:
                self.report.write(comparison)

    def values(self, run: Record) -> ExitStatus:
        """The measured values alone: there is nothing to judge them by. As `compared`."""
        report.render_values(run, self.console)
        alone = unpaired_comparison(run, self.settings.allow)
        if self.report is not None:
            self.report.write(alone)
        self.formats.export(alone)
        return ExitStatus.NOT_MEASURED

    def recorded(self, baselines: Path) -> None:
        """What each baseline holds: its sessions compared, or the values of its only one."""
        for folder in store.folders(baselines):
            whole, pair = load.load(folder), store.recorded_comparison(folder)
            names = {session.gpu_name or "" for session in whole.sessions.values()} - {""}
            gpu = ", ".join(sorted(names)) or folder.name
            shown = "recorded sessions compared" if pair else "the one recorded session"
            self.console.print()
            self.console.rule(f"RECORDED on {gpu}, not measured here: {shown}", characters="=")
            if pair is not None:
                self._render(self.judged(*pair))
            else:
                report.render_values(whole, self.console)

    def _render(self, comparison: Comparison) -> None:
        report.render(comparison, self.console, verbose=self.verbose)


def without_gpu(found: Comparison, probe: Probe) -> Comparison:
    """`found` with a note on what is missing from it, where no GPU was measured."""
    if not probe.no_gpu:
        return found
    return replace(found, notes=(Note(Kind.NO_GPU, reason=probe.no_gpu), *found.notes))


def without_baseline(probe: Probe) -> str:
    """Why there is nothing to compare with, and what to do about it."""
    if probe.no_gpu:
        return "Nothing to compare with: baselines belong to a GPU model."
    name = probe.context.get("gpu_name")
    if name is None:
        return "Nothing to compare with: no benchmark lived long enough to name its GPU."
    return f"There is no baseline for {name} yet: the same command with --record makes one"
