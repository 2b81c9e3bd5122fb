# SPDX-License-Identifier: Apache-2.0
"""Selects the benchmarks to run before any of them runs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from warpgauge.measure import discovery
from warpgauge.measure.discovery import Binary, Probe
from warpgauge.records import benchmark_filter
from warpgauge.records.benchmark_filter import hint, matching
from warpgauge.records.names import FULL_SUITE
from warpgauge.system import process
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import typed

# Characters with a special meaning in both POSIX extended and Python expressions.
_SPECIAL = re.compile(r"[\\.\[()*+?{|^$]")

# Longest filter in bytes: Linux allows 128 KiB per argument, and std::regex 100,000 states.
LONGEST_FILTER = 32 * 1024


def required(filter: str, names: Sequence[str]) -> tuple[str, ...]:
    """Like `matching`, but raises UserError if there is no match."""
    found = matching(filter, names)
    if not found:
        raise UserError(f"no benchmark matches --filter {typed(filter)}{hint(filter, names)}")
    return found


def chosen(everything: Iterable[Binary], filter: str, option: str = "--filter") -> list[Binary]:
    """Return the programs with the benchmarks that `filter` selects; may be empty.

    A program that cannot be listed stays, since its benchmarks are unknown.
    """
    found = [replace(one, names=matching(filter, one.names, option)) for one in everything]
    return [one for one in found if one.names or one.fault is not None]


def wanted(everything: Sequence[Binary], filter: str, *, suites: bool = False) -> list[Binary]:
    """Like `chosen`, but raises UserError if empty. `suites`: the message may suggest --suite."""
    left = chosen(everything, filter)
    if any(binary.names for binary in left):
        return left
    if left:  # only programs with faults
        asked = f" of --filter {typed(filter)}" if filter else ""
        # Without a GPU, programs that need one are not built.
        first = next((one for one in left if not one.needs_gpu or process.has_gpu()), None)
        why = (
            f"{first.path.name} {first.fault}" if first else "it needs a GPU: no driver reports one"
        )
        fault = f"nothing{asked} can be measured: {why}"
        raise UserError(fault, ExitStatus.NOT_MEASURED)
    if suites and matching(filter, discovery.left_out(everything)):
        match = f"match --filter {typed(filter)}" if filter else "are in the programs"
        raise UserError(f"only benchmarks of the full suite {match}: add --suite {FULL_SUITE}")
    if not filter:
        raise UserError("the programs that were built have no benchmark")
    required(filter, [name for binary in everything for name in binary.names])  # which raises
    return left


def require_drivable(binaries: Sequence[Binary], commit: str) -> None:
    """Raise UserError if programs of `commit` use a warpgauge that cannot be measured in pairs."""
    other = next((one for one in binaries if one.not_driven), None)
    if other is not None:
        raise UserError(
            f"commit {commit} cannot be measured in pairs: its {other.path.name} "
            f"{other.not_driven}; record the baseline again (scripts/bench --record), or name a "
            "later commit",
            ExitStatus.NOT_MEASURED,
        )


def able(binaries: Sequence[Binary], probe: Probe) -> list[Binary]:
    """Return programs that need no GPU, and those that can use the GPUs of `probe`.

    A program that needs more GPUs is skipped. Several GPUs are for programs that need several.
    """
    found = []
    for binary in binaries:
        if not binary.needs_gpu:
            found.append(binary)
        elif probe.no_gpu is None and binary.gpus > probe.gpus:
            device = ",".join(map(str, range(binary.gpus)))
            why = f"needs {binary.gpus} GPUs: --device {device}"
            found.append(replace(binary, skipped=why))
        elif probe.no_gpu is None and (probe.gpus == 1 or binary.gpus > 1):
            found.append(binary)
    return found


def runnable(binaries: Sequence[Binary], probe: Probe) -> list[Binary]:
    """Like `able`, but raises UserError if nothing can be measured with the GPUs available."""
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
    """Return the programs that have some of `names`, with only those.

    A program that could not be listed stays if some of `names` belong to its family.
    """
    families = {name.split("/", 1)[0] for name in names}
    left = [replace(one, names=tuple(n for n in one.names if n in names)) for one in binaries]
    return [one for one in left if one.names or (one.fault is not None and one.family in families)]


def exactly(names: Collection[str]) -> str:
    """Return a filter for exactly these names, with the same meaning in C++ and in Python."""
    escaped = (_SPECIAL.sub(r"\\\g<0>", name) for name in names)
    return f"^({'|'.join(escaped)})$"


def in_parts(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Split `names`, in order, into the fewest parts whose filters are short enough."""
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


def require_injected(regex: str, binaries: Sequence[Binary], no_gpu: str | None) -> None:
    """Raise UserError unless --inject matches a benchmark that will run.

    `regex` is searched as is: a leading ``-`` and ``all`` have no special meaning here.
    """
    names = [name for binary in binaries for name in binary.names]
    if not any(benchmark_filter.found("--inject", regex, name) for name in names):
        why = f": {no_gpu}" if no_gpu else hint(regex, names)
        raise UserError(f"no benchmark that will run matches --inject {typed(regex)}{why}")
