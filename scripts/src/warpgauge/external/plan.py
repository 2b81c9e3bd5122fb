# SPDX-License-Identifier: Apache-2.0
"""The kernel plan: every kernel of a manifest at every point of its axes, written for bench_external."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from warpgauge.external.case import Case
from warpgauge.external.manifest import Manifest


def cases(
    manifest: Manifest,
    kernels: Sequence[str] | None = None,
    axes: Mapping[str, Sequence[int]] | None = None,
) -> list[Case]:
    """The cases of `kernels`, or of all that are not for reference only, in the manifest's order.

    `axes` has other values of axes than the manifest; each must be an axis of some of the kernels.
    Raises UserError.
    """
    raise NotImplementedError


def write(
    cases: Sequence[Case], path: Path, rename: Callable[[str], str] = lambda name: name
) -> None:
    """Write the plan of `cases` to `path`, each under the name that `rename` gives it.

    Raises UserError, also for two cases of one name.
    """
    raise NotImplementedError
