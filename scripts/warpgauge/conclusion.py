# SPDX-License-Identifier: Apache-2.0
"""What scripts/bench shows at its end: a comparison, bare values, or the recorded example."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from warpgauge import baseline, terminal, verdict
from warpgauge.errors import ExitStatus
from warpgauge.model import Record


@dataclass(frozen=True)
class Conclusion:
    """Prints to one console; each method returns the exit status of what it showed."""

    console: Console
    filter: str | None

    def compared(self, base: Record, run: Record) -> ExitStatus:
        """`run` judged against `base`."""
        comparison = verdict.judge(base, run, filter=self.filter)
        terminal.render(comparison, self.console)
        return comparison.exit_status

    def values(self, run: Record) -> ExitStatus:
        """The measured values alone: there is nothing to judge them by."""
        terminal.render_values(run, self.console)
        return ExitStatus.NOT_MEASURED

    def recorded(self, baselines: Path) -> None:
        """What a comparison looks like, from the sessions each baseline holds."""
        folders = [folder for folder in sorted(baselines.glob("*")) if folder.is_dir()]
        for folder in folders:
            pair = baseline.recorded_comparison(folder)
            if pair is None:
                continue
            names = {s.gpu_name for s in pair[1].sessions.values() if s.gpu_name}
            gpu = ", ".join(sorted(names)) or folder.name
            title = f"RECORDED on {gpu}, not measured here: two recorded sessions compared"
            self.console.print()
            self.console.rule(title, characters="=")
            terminal.render(verdict.judge(*pair, filter=None), self.console)
