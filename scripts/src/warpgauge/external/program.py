# SPDX-License-Identifier: Apache-2.0
"""The kernels of a manifest, measured by the bench_external that is built here (--kernels)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warpgauge.external import manifest, plan
from warpgauge.external.plan import Axes, Case
from warpgauge.measure import machine_context, python_file
from warpgauge.measure import manifest as programs
from warpgauge.measure.manifest import Program
from warpgauge.measure.measuring import Built, Measuring
from warpgauge.records.model import MANIFEST
from warpgauge.system import process
from warpgauge.system.atomic import replace_all
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.location import Place
from warpgauge.system.text import file_name, inert, listed, plural, typed

# Relative to a build folder.
PROGRAM = Path("benchmarks", "bench_external")

_SUFFIX = ".toml:"  # of a manifest, before a kernel's name
_DEADLINE_S = 120.0  # of the references in Python, for each case


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

    @staticmethod
    def single(name: str) -> ExternalKernels | None:
        """Load the case ``kernels.toml:scale``, or of several ``kernels.toml:scale/f32/n:4096``.

        Return None for a name without a manifest. Raises UserError.
        """
        start, suffix, which = name.rpartition(_SUFFIX)
        if not suffix:
            return None
        path = Path(f"{start}{suffix[:-1]}")
        cases = plan.cases(manifest.load(path), [which.partition("/")[0]])
        chosen = [case for case in cases if f"{case.short_name}/".startswith(f"{which}/")]
        if len(chosen) != 1:
            names = listed([case.short_name for case in chosen or cases])
            fault = f"{typed(which)} names {plural(len(chosen), 'benchmark')}"
            raise Place(path).error(fault, f"name one of {names}")
        return ExternalKernels(path, chosen)

    def source(self, measuring: Measuring) -> Mapping[str, str]:
        """Return the commit of the manifest's folder, and where it is; its files must stay."""
        measuring.inputs.require_unchanged(self.files)
        baselines = measuring.options.baselines
        apart = [] if baselines is None else [baselines.absolute()]
        source = machine_context.source(self.path.absolute().parent, apart, self.files)
        return {**source, MANIFEST: str(self.path)}

    def built(self, measuring: Measuring) -> Built:
        """Build this tree, and return the program folder and the commit of the manifest's folder.

        Raises UserError.
        """
        options, source = measuring.options, self.source(measuring)
        if options.record:
            machine_context.require_committed(source)
        # With --record, only the manifest must be committed: its commit is the recorded one.
        here = replace(measuring, options=replace(options, record=False)).built()
        # Keep the plan, so that logged commands can be repeated later.
        own = file_name(self.path.stem, str(self.path.resolve()))
        where = measuring.root / "build" / "external" / own
        return Built(self.provide(here.programs, where), source)

    def provide(self, built: Path, where: Path) -> Path:
        """Write the program folder `where` for the program in `built`. Raises UserError."""
        if not (built / PROGRAM).exists():
            fault = f"{built / PROGRAM} does not exist: build first, with nvcc"
            raise UserError(fault, ExitStatus.NOT_MEASURED)
        path = where.absolute() / "kernels.plan"
        plan.write(self.cases, path)
        self._compute_references(path)
        arguments, inputs = (f"--kernels={path}",), (path, *self.files)
        program = Program((built / PROGRAM).absolute(), arguments=arguments, inputs=inputs)
        programs.write(where, programs.Manifest((program,), self.path.absolute().parent))
        return where

    def _compute_references(self, path: Path) -> None:
        """Write what the cases of a plan read and expect by functions in Python, if any.

        Raises UserError.
        """
        shutil.rmtree(plan.data_of(path, 0).parent, ignore_errors=True)
        asked = [
            {"folder": str(plan.data_of(path, number)), **case.references}
            for number, case in enumerate(self.cases)
            if case.references is not None
        ]
        if not asked:
            return
        program, answer = path.with_name("references"), path.with_name("references.fault")
        request = path.with_name("references.json")
        replace_all({request: json.dumps(asked)})
        answer.unlink(missing_ok=True)
        python_file.write(program, "references", [str(request), str(answer)])
        ending = process.run([str(program)], _DEADLINE_S * len(asked), path.parent)
        if ending.status:
            raise UserError(inert(answer.read_text() if answer.exists() else ending.described()))

    @property
    def files(self) -> list[Path]:
        """All files that the kernels read."""
        return [*dict.fromkeys(path for case in self.cases for path in case.files)]
