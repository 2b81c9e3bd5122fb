# SPDX-License-Identifier: Apache-2.0
"""scripts/bench: build, measure in fresh processes, write the run file, compare, exit truly."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from warpgauge.commands import every_gpu, resume
from warpgauge.commands.bench_options import parse
from warpgauge.commands.one_gpu import Bench, waiting
from warpgauge.reports.formats import TERMINAL
from warpgauge.system.errors import ExitStatus, of_system
from warpgauge.system.layout import Output
from warpgauge.system.locks import alone


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    """Raises UserError for what the user can mend, a full disk included."""
    options, before = parse(argv), None
    if options.resume is not None:
        before = resume.interrupted(options, root / "build" / "runs")
        argv, options = before.argv, before.options
    # What a program reads from standard output stands there alone.
    shown = Output(stderr=options.formats.shown is not TERMINAL)
    faults = Output(stderr=True)
    notes = Output(stderr=True, quiet=True) if options.quiet else faults
    one = Bench(options, root, shown, notes, faults, argv, before)
    try:
        if options.self_check_of:
            return one.judge_self_check(options.self_check_of)
        with alone(one.work, waiting(options, "of this tree", notes)):
            return every_gpu.measured(one) if options.every_gpu else one.run()
    except OSError as fault:
        raise of_system(fault) from fault
