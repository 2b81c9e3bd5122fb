# SPDX-License-Identifier: Apache-2.0
"""How long the device was busy with an operation, out of all that it did. Pure functions.

The engine puts four stamps on the stream for every region that it times (quiet_region.cpp in
fixtures): before the lead, before the work, after the work, after the tail. What lies between the
second and the third is the work, and nothing else is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from statistics import median
from typing import TypeGuard

from warpgauge.files.json_file import Object
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import inert, plural

# The clock samples of fixtures/cuda/sm_clock.cu, each with its point, as the compiler writes their
# names.
_STAMP = re.compile(r"_ZN9warpgauge\d+_GLOBAL__N_.*19clock_sample_kernelILNS_11SamplePointE(\d)E")
_BEFORE_WORK, _AFTER_WORK, _AFTER_TAIL = 1, 2, 3


@dataclass(frozen=True)
class Activity:
    """A kernel, a copy or a memset, and when the device was busy with it."""

    kind: str
    name: str
    start_ns: int
    end_ns: int


Region = Sequence[Activity]


@dataclass(frozen=True)
class Work:
    """What a benchmark says of its own timed regions."""

    operations: int  # in all regions that it kept
    samples: int  # these regions
    kernels: int | None = None  # an operation, where it knows


@dataclass(frozen=True)
class Busy:
    """What the device did for one operation."""

    nanoseconds: float  # the median over the regions
    kernels: int
    regions: int


class TraceFault(UserError):
    """The trace and what the benchmark says do not go together, so that neither proves the other.

    Its sentence is of one benchmark; others may do.
    """

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, ExitStatus.NOT_MEASURED)


def busy(activities: Iterable[Activity], work: Work) -> Busy:
    """Raises TraceFault where the trace does not hold the work that was timed."""
    found = [region for region in regions(activities) if region]
    if not found:
        raise TraceFault("the trace shows no timed region with work in it")
    copies = _copies(work)
    # Whatever was timed before, ceilings and calibration, the measurement itself comes last.
    length = len(found[-1])
    timed = list(takewhile(lambda region: len(region) == length, reversed(found)))
    if len(timed) < work.samples:
        raise TraceFault(
            f"the trace shows {plural(len(timed), 'region')} of {plural(length, 'record')}, "
            f"but the benchmark kept {plural(work.samples, 'sample')}: records are missing"
        )
    kernels = sum(one.kind == "kernel" for one in timed[-1])
    if length % copies or kernels % copies:
        raise TraceFault(
            f"{plural(length, 'record')} a region, {kernels} of them kernels, are not a multiple "
            f"of its {plural(copies, 'operation')}"
        )
    kernels //= copies
    if work.kernels is not None and kernels != work.kernels:
        raise TraceFault(
            f"the trace shows {plural(kernels, 'kernel')} an operation, the benchmark's graph "
            f"{work.kernels}"
        )
    return Busy(median(union_ns(region) for region in timed) / copies, kernels, len(timed))


def regions(activities: Iterable[Activity]) -> list[Region]:
    """The work of every timed region, in order of time. Raises TraceFault for one left open."""
    ordered = sorted(activities, key=lambda one: (one.start_ns, one.end_ns))
    untimed = sum(not 0 < one.start_ns <= one.end_ns for one in ordered)
    if untimed:
        raise TraceFault(f"CUPTI took no time of {plural(untimed, 'record')}")
    found: list[Region] = []
    region: list[Activity] | None = None  # the work so far, inside of one
    for one in ordered:
        stamp = _STAMP.match(one.name)
        place = int(stamp[1]) if stamp else None
        if place is None:
            if region is not None:
                region.append(one)
        elif place == _AFTER_WORK and region is not None:
            found.append(region)
            region = None
        elif place == _AFTER_TAIL and region is not None:
            break
        else:  # the clock is also looked at with no work behind it
            region = [] if place == _BEFORE_WORK else None
    if region is not None:
        raise TraceFault(f"timed region {len(found) + 1} of the trace has no end")
    return found


def union_ns(activities: Iterable[Activity]) -> int:
    """For how long at least one of them ran: what overlaps counts once, gaps do not count."""
    total = reached = 0
    for one in sorted(activities, key=lambda one: one.start_ns):
        total += max(0, one.end_ns - max(one.start_ns, reached))
        reached = max(reached, one.end_ns)
    return total


def _copies(work: Work) -> int:
    """Operations a region."""
    if not (work.samples > 0 and work.operations > 0) or work.operations % work.samples:
        raise TraceFault(
            f"{plural(work.operations, 'operation')} in {plural(work.samples, 'sample')} are no "
            "whole number a sample"
        )
    return work.operations // work.samples


_MARK = "warpgauge_trace"


def read_trace(path: Path) -> Sequence[Activity]:
    """All that the device did. Raises UserError when nothing was traced at all, which no other
    benchmark will mend, and TraceFault when something is missing.
    """
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as fault:
        why = "there is none" if isinstance(fault, FileNotFoundError) else str(fault.strerror)
        raise UserError(
            f"CUPTI left no trace ({why}): the driver could not load libwarpgauge_trace.so, as "
            "when the CUPTI that it was built with is gone; build again, in an empty build/release",
            ExitStatus.NOT_MEASURED,
        ) from None
    head = _object(lines[0] if lines else "")
    count, dropped, faults = (head.get(key) for key in ("activities", "dropped", "faults"))
    if _MARK not in head or not _is_count(count) or not _is_count(dropped):
        raise TraceFault("its trace is damaged: it does not begin as one")
    if not isinstance(faults, list):
        raise TraceFault("its trace is damaged: it has no list of faults")
    if faults:
        told = inert("; ".join(map(str, faults)))
        if count == 0:
            raise UserError(f"nothing could be traced: {told}", ExitStatus.NOT_MEASURED)
        raise TraceFault(f"its trace is incomplete: {told}")
    if dropped:
        raise TraceFault(f"its trace is incomplete: CUPTI dropped {plural(int(dropped), 'record')}")
    if len(lines) - 1 != count:
        raise TraceFault(f"its trace breaks off: {len(lines) - 1} of {count} records are there")
    return [_activity(line, number) for number, line in enumerate(lines[1:], start=1)]


def _activity(line: str, number: int) -> Activity:
    told = _object(line)
    kind, name, start, end = (told.get(key) for key in ("kind", "name", "start_ns", "end_ns"))
    if isinstance(kind, str) and isinstance(name, str) and _is_count(start) and _is_count(end):
        return Activity(kind, name, int(start), int(end))
    raise TraceFault(f"its trace is damaged: record {number} cannot be read")


def _object(line: str) -> Object:
    try:
        told = json.loads(line)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
