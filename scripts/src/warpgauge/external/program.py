# SPDX-License-Identifier: Apache-2.0
"""The kernels of a manifest, measured by the bench_external that is built here (--kernels)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warpgauge.external import manifest, plan
from warpgauge.external.plan import Axes, Case
from warpgauge.measure import machine_context
from warpgauge.measure import manifest as programs
from warpgauge.measure.manifest import Program
from warpgauge.measure.measuring import Built, Measuring
from warpgauge.records.model import BASELINES, MANIFEST
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import typed

# Relative to a build folder.
PROGRAM = Path("benchmarks", "bench_external")


def manifest_values(axis: str, values: Iterable[int | float | None]) -> list[int]:
    """Return the values of an axis if a manifest can have them. Raises UserError."""
    found = [*values]
    integers = [one for one in found if isinstance(one, int) and one >= 0]
    if len(integers) < len(found):
        raise UserError(f"the axis {typed(axis)} of a manifest takes non-negative integers only")
    return integers


@dataclass(frozen=True)
class ExternalKernels:
    path: Path
    cases: Sequence[Case]

    @staticmethod
    def of(
        path: Path, kernels: Sequence[str] | None = None, axes: Axes | None = None
    ) -> ExternalKernels:
        """Load cases as `plan.cases` does. Raises UserError."""
        return ExternalKernels(path, plan.cases(manifest.load(path), kernels, axes))

    def built(self, measuring: Measuring) -> Built:
        """Build this tree, and return the program folder and the commit of the manifest's folder.

        Raises UserError.
        """
        options = measuring.options
        measuring.inputs.require_unchanged(self.files)
        baselines = options.baselines
        apart = [] if baselines is None else [baselines.absolute()]
        source = machine_context.source(self.path.absolute().parent, apart, self.files)
        if options.record:
            machine_context.require_committed(source)
        # With --record, only the manifest must be committed: its commit is the recorded one.
        here = replace(measuring, options=replace(options, record=False)).built()
        # Keep the plan, so that logged commands can be repeated later.
        digest = hashlib.sha256(os.fsencode(self.path.resolve())).hexdigest()[:8]
        where = measuring.root / "build" / "external" / f"{self.path.stem}-{digest}"
        programs = self.provide(here.programs, where)
        return Built(programs, {**source, MANIFEST: str(self.path), BASELINES: str(baselines)})

    def provide(self, built: Path, where: Path) -> Path:
        """Write the program folder `where` for the program in `built`. Raises UserError."""
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
        """All files that the kernels read."""
        return [*dict.fromkeys(path for case in self.cases for path in case.files)]
