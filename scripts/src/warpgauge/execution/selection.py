# SPDX-License-Identifier: Apache-2.0
"""Selects the benchmarks to run, before any of them runs."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from warpgauge.execution import discovery
from warpgauge.execution.discovery import Binary, Probe
from warpgauge.records import benchmark_filter
from warpgauge.records.benchmark_filter import hint
from warpgauge.records.model import FULL_SUITE
from warpgauge.system import process
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import typed

# What a POSIX extended expression and Python both read as something else than itself.
_SPECIAL = re.compile(r"[\\.\[()*+?{|^$]")

# Bytes of a filter: Linux takes 128 KiB in one argument, and std::regex 100,000 states.
LONGEST_FILTER = 32 * 1024


def chosen(everything: Sequence[Binary], filter: str, scratch: Path) -> list[Binary]:
    """What `filter` leaves, as the binaries themselves read it; it may be nothing."""
    if filter:
        return discovery.select(everything, filter, scratch)
    return [binary for binary in everything if binary.names or binary.fault is not None]


def wanted(
    everything: Sequence[Binary], filter: str, scratch: Path, *, suites: bool = False
) -> list[Binary]:
    """`chosen`, but raises UserError for nothing. `suites` says that --suite can be given."""
    left = chosen(everything, filter, scratch)
    if any(binary.names for binary in left):
        return left
    if left:  # for a fault alone
        asked = f" of --filter {typed(filter)}" if filter else ""
        # Without a GPU, programs that need one are not built.
        first = next((one for one in left if not one.needs_gpu or process.has_gpu()), None)
        why = f"{first.path.name} {first.fault}" if first else "it needs a GPU: no driver shows one"
        fault = f"nothing{asked} can be measured: {why}"
        raise UserError(fault, ExitStatus.NOT_MEASURED)
    if suites and discovery.left_out(everything, scratch, filter):
        match = f"match --filter {typed(filter)}" if filter else "are in the programs"
        raise UserError(f"only benchmarks of the full suite {match}: add --suite {FULL_SUITE}")
    if not filter:
        raise UserError("the programs that were built have no benchmark")
    names = [name for binary in everything for name in binary.names]
    raise UserError(f"no benchmark matches --filter {typed(filter)}{hint(filter, names)}")


def able(binaries: Sequence[Binary], probe: Probe) -> list[Binary]:
    """Programs without need of a GPU, and those that can use the GPUs of `probe`.

    A program that needs more GPUs is skipped. Several GPUs are for programs that need several.
    """
    found = []
    for binary in binaries:
        if not binary.needs_gpu:
            found.append(binary)
        elif probe.no_gpu is None and binary.gpus > probe.gpus:
            why = f"needs {binary.gpus} GPUs, but 1 is given: --device 0,1 gives two"
            if probe.gpus > 1:
                why = f"needs {binary.gpus} GPUs, but {probe.gpus} are given"
            found.append(replace(binary, skipped=why))
        elif probe.no_gpu is None and (probe.gpus == 1 or binary.gpus > 1):
            found.append(binary)
    return found


def runnable(binaries: Sequence[Binary], probe: Probe) -> list[Binary]:
    """`able`, but raises UserError where the GPUs that are there leave nothing to measure."""
    left = able(binaries, probe)
    if any(binary.skipped is None for binary in left):
        return left
    everything = "everything that is selected"
    if probe.no_gpu is not None:
        fault = f"{everything} needs a GPU: {probe.no_gpu}"
    elif left:
        fault = f"{everything} {left[0].skipped}"
    else:
        fault = f"{everything} needs only one GPU: name one of them"
    raise UserError(fault, ExitStatus.NOT_MEASURED)


def only(binaries: Sequence[Binary], names: Collection[str]) -> list[Binary]:
    """The binaries that have some of `names`, with those.

    One that could not be listed stays if some of `names` are of its family.
    """
    families = {name.split("/", 1)[0] for name in names}
    left = [replace(one, names=tuple(n for n in one.names if n in names)) for one in binaries]
    return [one for one in left if one.names or (one.fault is not None and one.family in families)]


def exactly(names: Collection[str]) -> str:
    """A filter for these benchmarks alone, which the benchmarks and Python read alike."""
    escaped = (_SPECIAL.sub(r"\\\g<0>", name) for name in names)
    return f"^({'|'.join(escaped)})$"


def in_parts(names: Sequence[str]) -> list[tuple[str, ...]]:
    """`names` in their order, in as few parts as have a filter (`exactly`) that a program takes."""
    parts: list[list[str]] = []
    left = 0
    for name in names:
        size = len(exactly([name]).encode(errors="surrogateescape"))
        if size > left:
            parts.append([])
            left = LONGEST_FILTER
        parts[-1].append(name)
        left -= size
    return [tuple(part) for part in parts]


def require_injected(regex: str, binaries: Sequence[Binary]) -> None:
    """Raise UserError unless extra work goes into something that runs.

    `regex` is searched as it stands: a leading ``-`` and ``all`` mean nothing more here.
    """
    names = [name for binary in binaries for name in binary.names]
    if not any(benchmark_filter.found("--inject", regex, name) for name in names):
        raise UserError(
            f"no benchmark that will run matches --inject {typed(regex)}{hint(regex, names)}"
        )
