# SPDX-License-Identifier: Apache-2.0
"""A program folder, as a build folder is one, whose only program is bench_external with a plan."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from warpgauge.execution import manifest
from warpgauge.execution.manifest import Manifest, Program


def provide(
    plan_path: Path,
    bench_external: Path,
    where: Path,
    *,
    source: Path | None = None,
    inputs: Sequence[Path] = (),
) -> Path:
    """Make `where` a folder that `execution.discovery.find` takes; return it.

    `source` is the folder whose commit is recorded; `inputs` are the files that decide what is
    measured, beside the plan. Raises UserError.
    """
    plan = plan_path.absolute()
    program = Program(
        bench_external.absolute(),
        arguments=(f"--kernels={plan}",),
        inputs=(plan, *inputs),
    )
    manifest.write(where, Manifest((program,), source))
    return where
