# SPDX-License-Identifier: Apache-2.0
"""The page that a comparison of a run leaves beside its run file, and whose path is told last."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from warpgauge.files.atomic import replace_all, resolved
from warpgauge.files.output_file import check_report
from warpgauge.reports.formats import FORMATS
from warpgauge.system.layout import print_line
from warpgauge.system.text import inert
from warpgauge.verdict.comparison import Comparison


@dataclass
class RunReport:
    """Nobody asked for it: it replaces no other file, and its failure decides nothing."""

    path: Path
    baselines: Path
    console: Console
    _told: str = field(default="", init=False)

    def write(self, found: Comparison) -> None:
        """Keep the page of what was `found`, or why it cannot be kept."""
        page = FORMATS["html"]
        try:
            check_report(self.path, self.baselines, [], page.own, page.kind)
            replace_all({resolved(self.path): page.render(found)})
            self._told = f"Report: {inert(os.path.relpath(self.path))}"
        except Exception as fault:  # what was measured is told all the same
            self._told = f"The report of this run is not written: {inert(str(fault))}"

    def tell(self) -> None:
        """Say where the page is; nothing where there was no comparison."""
        if self._told:
            print_line(self.console, self._told)
