# SPDX-License-Identifier: Apache-2.0
"""How long the device was busy with an operation, out of all that it did. Pure functions.

The engine puts four stamps on the stream for every region that it times (quiet_region.cpp in
fixtures): before the lead, before the work, after the work, after the tail. What lies between the
second and the third is the work, and nothing else is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from statistics import median

from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import plural

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
