# SPDX-License-Identifier: Apache-2.0
"""warpgauge evaluate: a kernel beside the one that it shall replace."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from warpgauge.commands import evaluate_options, run_paths
from warpgauge.commands.evaluate_options import EvaluateOptions, Kernel
from warpgauge.commands.one_gpu import waiting
from warpgauge.commands.run_paths import MEASURING
from warpgauge.execution import gpu_watch, machine_context, selection, variants
from warpgauge.execution.discovery import Probe
from warpgauge.execution.gpu_watch import GpuWatch
from warpgauge.execution.variants import Variant
from warpgauge.measurement.ab_run import AbRun
from warpgauge.measurement.budget import Budget
from warpgauge.measurement.measuring import Built, Measuring, Suite
from warpgauge.measurement.paired import Side
from warpgauge.reports import evaluation as report
from warpgauge.system.command_log import CommandLog
from warpgauge.system.errors import ExitStatus
from warpgauge.system.layout import Output
from warpgauge.system.locks import alone, of_gpu
from warpgauge.verdict import judge
from warpgauge.verdict.evaluation import evaluated

COMMAND = "scripts/warpgauge evaluate"
_MEASURES = "command that measures"  # which others are


@dataclass(frozen=True)
class _Invocation:
    """What was asked for, in which tree, and where output goes."""

    asked: EvaluateOptions
    root: Path
    results: Console
    notes: Console
    argv: Sequence[str]

    def run(self) -> ExitStatus:
        """The whole way; everything that can be refused is refused before the minutes of it."""
        asked, options = self.asked, self.asked.measuring
        paths = run_paths.chosen(options, self.root / MEASURING)
        paths.check(options, self.root / "baselines", paths.pair)
        with tempfile.TemporaryDirectory(prefix="warpgauge-") as scratch, ExitStack() as held:
            measuring = Measuring(
                options, self.root, Path(scratch), self.notes, self.notes, Budget(options.budget_s)
            )
            log = CommandLog(paths.log, self.argv, goes_on=False, command=COMMAND)
            held.callback(lambda: measuring.note(f"commands: {os.path.relpath(log.path)}"))
            held.enter_context(log.used())
            built = measuring.built()
            both = (
                self._variant(asked.base, built, measuring),
                self._variant(asked.candidate, built, measuring),
            )
            base, candidate = variants.in_common(*both)
            known = machine_context.machine()
            if base.needs_gpu or candidate.needs_gpu:
                gpu = gpu_watch.chosen(options.device, default=0)
                known = {**known, **gpu, **machine_context.gpu(uuid := gpu["gpu_uuid"])}
                on_it = waiting(options, f"{_MEASURES} on this GPU", self.notes)
                held.enter_context(alone(of_gpu(uuid), on_it))
                measuring = replace(
                    measuring,
                    # An index is the driver's, and CUDA counts in an order of its own.
                    options=replace(options, device=uuid),
                    watch=GpuWatch(uuid, measuring.note),
                )
                measuring.wait_for_gpu()
            suite = Suite((candidate,), Probe({}), known)
            measuring.note(f"Measuring {suite.size} in pairs")
            looks = AbRun(measuring, suite, built.source).compared(
                _side(base, asked.base, built),
                _side(candidate, asked.candidate, built),
                "",
                paths.pair,
                judge.judge,
            )
            alone_in = tuple(
                [variants.point_of(name) for name in side.names if name not in base.names]
                for side in both
            )
            names = asked.base.typed, asked.candidate.typed
            found = evaluated(looks.found, names, asked.memory_limit, (alone_in[0], alone_in[1]))
            status = options.formats.deliver(found, lambda: report.render(found, self.results))
            measuring.tell_budget()
            if looks.stop is not None:
                raise looks.stop
            return status

    def _variant(self, kernel: Kernel, built: Built, measuring: Measuring) -> Variant:
        """Its benchmarks at what is asked for. Raises UserError where there is none."""
        return variants.of_family(built.programs, kernel.name, self.asked.axes, measuring.scratch)


def _side(variant: Variant, kernel: Kernel, built: Built) -> Side:
    filters = {variant.family: selection.exactly(variant.names)}
    return Side((variant,), {**built.source, "kernel": kernel.typed}, filters=filters)


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    """Raises UserError for what the user can mend."""
    asked = evaluate_options.parse(argv)
    results, notes = Output(), Output(stderr=True)
    wait = waiting(asked.measuring, f"{_MEASURES} in this tree", notes)
    with alone(root / "build", wait), alone(root / MEASURING, wait):
        return _Invocation(asked, root, results, notes, argv).run()
