# SPDX-License-Identifier: Apache-2.0
"""warpgauge fleet: finds GPUs, nodes or levels of a factor that are slower than the others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from warpgauge.baselines import show, store
from warpgauge.commands import command_lines
from warpgauge.commands.output import Formats
from warpgauge.fleet import judging, reading, report
from warpgauge.fleet.report import FORMATS
from warpgauge.system.errors import ExitStatus
from warpgauge.system.layout import Output


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    given = command_lines.fleet().parse_args(argv)
    formats = Formats.parse(given.format, known=FORMATS)
    formats.check(root / "baselines", [given.folder])
    measured = reading.read(given.folder).matching(given.filter)
    baseline = None
    if given.baseline is not None:
        folder = store.open_folder(given.baseline)
        baseline = judging.Baseline(folder.gpu_names, show.limits(folder.whole))
    found = judging.judged(measured, given.factors, baseline)
    shown = Output(highlight=False)
    return formats.deliver(found, found.exit_status, lambda: report.render(found, shown))
