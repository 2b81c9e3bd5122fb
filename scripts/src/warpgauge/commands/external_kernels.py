# SPDX-License-Identifier: Apache-2.0
"""What scripts/bench --kernels measures: a manifest's kernels, by the bench_external built here."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warpgauge.execution import machine_context
from warpgauge.execution import manifest as programs
from warpgauge.execution.manifest import Program
from warpgauge.external import manifest, plan
from warpgauge.external.case import Case
from warpgauge.external.plan import Axes
from warpgauge.measurement.measuring import Built, Measuring
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.verdict.comparability import BASELINES, MANIFEST

# In a folder that was built.
PROGRAM = Path("benchmarks", "bench_external")


@dataclass(frozen=True)
class ExternalKernels:
    path: Path
    cases: Sequence[Case]

    @staticmethod
    def of(
        path: Path, kernels: Sequence[str] | None = None, axes: Axes | None = None
    ) -> ExternalKernels:
        """As `plan.cases` takes them. Raises UserError."""
        return ExternalKernels(path, plan.cases(manifest.load(path), kernels, axes))

    def built(self, measuring: Measuring) -> Built:
        """The program folder, after a build of this tree, and the commit of the manifest's folder.

        Raises UserError.
        """
        options = measuring.options
        measuring.inputs.require_unchanged(self.files)
        baselines = options.baselines
        apart = [] if baselines is None else [baselines.absolute()]
        source = machine_context.source(self.path.absolute().parent, apart, self.files)
        if options.record:
            machine_context.require_committed(source)
        # A program of a tree with changes may be recorded: another commit is, the manifest's.
        here = replace(measuring, options=replace(options, record=False)).built()
        # The commands of a log can be repeated later: what they need stays.
        digest = hashlib.sha256(os.fsencode(self.path.resolve())).hexdigest()[:8]
        where = measuring.root / "build" / "external" / f"{self.path.stem}-{digest}"
        programs = self.provide(here.programs, where)
        return Built(programs, {**source, MANIFEST: str(self.path), BASELINES: str(baselines)})

    def provide(self, built: Path, where: Path) -> Path:
        """The program folder `where`, of what was built in another one. Raises UserError."""
        if not (built / PROGRAM).exists():
            fault = f"{built / PROGRAM} does not exist: build first, with nvcc"
            raise UserError(fault, ExitStatus.NOT_MEASURED)
        path = where.absolute() / "kernels.plan"
        plan.write(self.cases, path)
        arguments, inputs = (f"--kernels={path}",), (path, *self.files)
        program = Program((built / PROGRAM).absolute(), arguments=arguments, inputs=inputs)
        programs.write(where, programs.Manifest((program,), self.path.absolute().parent))
        return where

    @property
    def files(self) -> list[Path]:
        """All files that its kernels read."""
        return [*dict.fromkeys(path for case in self.cases for path in case.files)]
