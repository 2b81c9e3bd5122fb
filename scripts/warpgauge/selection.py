# SPDX-License-Identifier: Apache-2.0
"""Which of the built benchmarks run, decided before the first of them does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from warpgauge import discovery, request
from warpgauge.discovery import Binary
from warpgauge.errors import ExitStatus, UserError
from warpgauge.suggestion import hint
from warpgauge.text import typed


def wanted(everything: Sequence[Binary], filter: str, scratch: Path) -> list[Binary]:
    """What `filter` leaves, as the binaries themselves read it. Raises UserError for nothing."""
    chosen = discovery.select(everything, filter, scratch) if filter else list(everything)
    if any(binary.names for binary in chosen):
        return chosen
    for binary in chosen:
        if binary.fault is not None:
            asked = f" of --filter {typed(filter)}" if filter else ""
            raise UserError(
                f"nothing{asked} can be measured: {binary.path.name} {binary.fault}",
                ExitStatus.NOT_MEASURED,
            )
    if not filter:
        raise UserError("no benchmark is in the programs that were built")
    names = [name for binary in everything for name in binary.names]
    raise UserError(f"no benchmark matches --filter {typed(filter)}{hint(filter, names)}")


def runnable(binaries: Sequence[Binary], no_gpu: str | None) -> list[Binary]:
    """Without a GPU, those that need none. Raises UserError where that leaves nothing."""
    if no_gpu is None:
        return list(binaries)
    left = [binary for binary in binaries if not binary.needs_gpu]
    if not left:
        raise UserError(
            f"built, but everything that --filter leaves needs a GPU: {no_gpu}",
            ExitStatus.NOT_MEASURED,
        )
    return left


def require_injected(regex: str, binaries: Sequence[Binary]) -> None:
    """Raise UserError unless extra work goes into something that runs.

    `regex` is searched as it stands: a leading ``-`` and ``all`` mean nothing more here.
    """
    names = [name for binary in binaries for name in binary.names]
    if not any(request.found("--inject", regex, name) for name in names):
        raise UserError(
            f"no benchmark that will run matches --inject {typed(regex)}{hint(regex, names)}"
        )
