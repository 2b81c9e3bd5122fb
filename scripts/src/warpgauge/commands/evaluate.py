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
from warpgauge.commands.external_kernels import ExternalKernels
from warpgauge.commands.one_gpu import waiting
from warpgauge.commands.run_paths import MEASURING
from warpgauge.execution import gpu_watch, machine_context, manifest, selection, variants
from warpgauge.execution.discovery import Probe
from warpgauge.execution.gpu_watch import GpuWatch
from warpgauge.execution.variants import Axes, Variant
from warpgauge.measurement.ab_run import AbRun
from warpgauge.measurement.budget import Budget
from warpgauge.measurement.looks import open_rows
from warpgauge.measurement.measuring import Built, Measuring, Suite
from warpgauge.measurement.paired import BASE, CANDIDATE, Side
from warpgauge.reports import evaluation as report
from warpgauge.system.command_log import CommandLog
from warpgauge.system.errors import ExitStatus
from warpgauge.system.layout import Output
from warpgauge.system.locks import alone, of_gpu
from warpgauge.verdict import judge
from warpgauge.verdict.comparison import Comparison
from warpgauge.verdict.evaluation import Evaluation, evaluated

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
        gpu = gpu_watch.chosen(options.device)
        with tempfile.TemporaryDirectory(prefix="warpgauge-") as scratch, ExitStack() as held:
            measuring = Measuring(
                options, self.root, Path(scratch), self.notes, self.notes, Budget(options.budget_s)
            )
            log = CommandLog(paths.log, self.argv, goes_on=False, command=COMMAND)
            held.callback(lambda: measuring.note(f"commands: {os.path.relpath(log.path)}"))
            held.enter_context(log.used())
            external_kernels = [_of_manifest(kernel, asked.axes) for kernel in asked.kernels]
            for one in external_kernels:
                measuring.inputs.require_unchanged(one.files if one else ())
            built = measuring.built()
            both = [
                self._variant(*one, built, measuring)
                for one in zip((BASE, CANDIDATE), asked.kernels, external_kernels, strict=True)
            ]
            common = variants.in_common(*both)
            if any(one.needs_gpu for one in common):
                gpu = gpu or gpu_watch.chosen(0)
                measuring = self._on_gpu(gpu["gpu_uuid"], measuring, held)
            known = {**machine_context.machine(), **gpu}
            known |= machine_context.gpu(gpu.get("gpu_uuid", ""))
            suite = Suite((common[1],), Probe({}), known)
            measuring.note(f"Measuring {suite.size} in pairs")
            base, candidate = (
                _side(*one, built) for one in zip(common, asked.kernels, strict=True)
            )
            pairs = AbRun(measuring, suite, built.source)
            looks = pairs.compared(base, candidate, "", paths.pair, judge.judge, open_rows)
            found = self._evaluated(looks.found, both, common)
            status = options.formats.deliver(found, lambda: report.render(found, self.results))
            measuring.tell_budget()
            if looks.stop is not None:
                raise looks.stop
            return status

    def _variant(
        self,
        side: str,
        kernel: Kernel,
        kernels: ExternalKernels | None,
        built: Built,
        measuring: Measuring,
    ) -> Variant:
        """A side's benchmarks, by their common names. Raises UserError where there is none."""
        scratch = measuring.scratch
        if kernels is None:
            return variants.of_family(built.programs, kernel.name, self.asked.axes, scratch)
        # The commands of a log can be repeated until the next evaluation: what they need stays.
        folder = self.root / "build" / "external" / f"evaluate-{side}"
        (program,) = manifest.read(kernels.provide(built.programs, folder)).programs
        return variants.of_program(program, variants.variant_of(kernels.cases[0].name), scratch)

    def _on_gpu(self, uuid: str, measuring: Measuring, held: ExitStack) -> Measuring:
        """To measure on this GPU alone, which nobody else that measures has meanwhile."""
        wait = waiting(self.asked.measuring, f"{_MEASURES} on this GPU", self.notes)
        held.enter_context(alone(of_gpu(uuid), wait))
        # An index is the driver's, and CUDA counts in an order of its own.
        options = replace(measuring.options, device=uuid)
        measuring = replace(measuring, options=options, watch=GpuWatch(uuid, measuring.note))
        measuring.wait_for_gpu()
        return measuring

    def _evaluated(
        self, found: Comparison, both: Sequence[Variant], common: Sequence[Variant]
    ) -> Evaluation:
        base, candidate = (
            [variants.point_of(name) for name in whole.names if name not in part.names]
            for whole, part in zip(both, common, strict=True)
        )
        one, other = (kernel.typed for kernel in self.asked.kernels)
        return evaluated(found, (one, other), self.asked.memory_limit, (base, candidate))


def _of_manifest(kernel: Kernel, axes: Axes) -> ExternalKernels | None:
    """At the values of `axes`; None for a variant of a family. Raises UserError."""
    if kernel.manifest is None:
        return None
    values = {axis: [*map(int, values)] for axis, values in axes.items()}
    return ExternalKernels.of(kernel.manifest, [kernel.name], values)


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
