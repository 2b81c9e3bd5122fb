# SPDX-License-Identifier: Apache-2.0
"""Why one side is slower than the other: the evidence of both, weighed by the time it explains.

Pure functions. Each cause explains only what the causes before it leave: first what runs and how
it is launched, then how it works, then the consequences. A change that explains little is not
called a cause, and the unexplained rest is stated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from warpgauge.records.counters import RESOURCES
from warpgauge.why.code_causes import by_code, code_causes
from warpgauge.why.cupti import kernels_in
from warpgauge.why.evidence import Cause, Change, Evidence, Explanation
from warpgauge.why.host_causes import device_causes, device_counts, host_causes
from warpgauge.why.kernel_causes import BOUND, LOCAL_MEMORY, CounterPair

# The share of the slowdown that a cause must explain. The scatter of counters and of traced calls
# is smaller.
_LEAST_SHARE = 0.15
# Names of library kernels, among which the library chose. An author's own kernel may also be
# called gemm.
_LIBRARY = re.compile(
    r"cublas|cutlass|cudnn|xmma|nvjet|cusparse|cufft|(?:maxwell|volta|turing|ampere|sm\d+)_\w*gemm"
)
# If kernels slow down by more than this multiple of the slowdown, the host does not wait for them.
_AS_MUCH = 1.5
_NO_SHARES = "so the fraction of the time that each cause explains is unknown"
_NOTHING_SEEN = "which might show the cause"
_CLOCK = "working_sm_clock_hz"
_CLOCK_NOISE = 0.005
# What usually makes a kernel slower, the worst first: cause, resource, words, and the bad sign.
_OF_RESOURCES = (
    ("added_kernel", "kernels", "More kernels per operation", 1),
    ("spills", "local_bytes", LOCAL_MEMORY, 1),
    ("occupancy", "blocks_per_sm", "Fewer blocks fit on a multiprocessor", -1),
)


def causes(before: Evidence, after: Evidence, slowdown: float) -> Explanation:
    """Return what makes `after` slower by `slowdown`, a fraction.

    Shares need counters or, for a host time, the calls. Without them, causes have no shares.
    """
    longer = slowdown * before.seconds
    moved = _changed_resources(before, after)
    if not longer > 0.0:
        return Explanation(slowdown, others=moved)
    found = [*_all(before, after, longer)]
    weighed = [one for one in found if one.seconds is not None]
    counted = before.counters is not None and after.counters is not None
    called = before.host_clock and before.calls is not None and after.calls is not None
    named, left = _shared_out(weighed, longer)
    missing: tuple[str, ...] = ()
    if not (counted or called):
        unweighed = {one.key: one for one in reversed(found) if one.seconds is None}  # each once
        named += reversed(unweighed.values())
        if before.host_clock or _may_have_kernels(before, after):
            lacking = "The host's calls" if before.host_clock else "Hardware counters"
            missing = (f"{lacking} are missing, {_NO_SHARES if named else _NOTHING_SEEN}.",)
    said = {change.words for cause in named for change in cause.changes}
    keys = {cause.key for cause in named}
    small = (one.changes[0] for one in weighed if one.key not in keys and one.rank < 2)
    others = [change for change in (*moved, *small) if change.words not in said]
    known = counted or called or any(cause.share is not None for cause in named)
    unexplained = left / longer if known else None
    return Explanation(slowdown, (*named,), unexplained, (*others,), missing)


def _all(before: Evidence, after: Evidence, longer: float) -> Iterator[Cause]:
    yield from _clock(before, after)
    yield from device_causes(before, after)
    yield from host_causes(before, after)
    if not device_counts(before, after):
        return
    if before.counters is None or after.counters is None:
        yield from _other_kernels(before, after, None)
        found = [*_by_resources(before, after), *code_causes(before, after)]
        # Fewer blocks often cost nothing, so other changes are likelier.
        found.sort(key=lambda one: one.key == "occupancy")
        yield from by_code(before, after, found)
        return
    both = CounterPair(before.counters, after.counters)
    if both.has("time") and _is_waited_for(before, after, both.slower, longer):
        yield from _other_kernels(before, after, both.slower)
        for one in by_code(before, after, both.causes()):
            # Kernels cannot explain more than their own additional time.
            yield replace(one, seconds=min(one.seconds or 0.0, both.slower))


def _may_have_kernels(*sides: Evidence) -> bool:
    """Return False if the trace shows no kernels, as for a copy: then nothing can be counted."""
    return any(one.device is None or kernels_in(one.device) for one in sides)


def _is_waited_for(before: Evidence, after: Evidence, slower: float, longer: float) -> bool:
    """Return whether the host waits for its kernels, judged by the slowdown if without calls."""
    known = before.calls is not None and after.calls is not None
    return not before.host_clock or known or slower <= _AS_MUCH * longer


def _shared_out(found: Sequence[Cause], longer: float) -> tuple[list[Cause], float]:
    """Return the causes, largest first, and the seconds that they leave unexplained."""
    left, named = longer, []
    for one in sorted(found, key=lambda one: (one.rank, -(one.seconds or 0.0))):
        seconds = min(one.seconds or 0.0, left)
        if seconds >= _LEAST_SHARE * longer:
            named.append(replace(one, share=seconds / longer))
            left -= seconds
    return sorted(named, key=lambda cause: -(cause.share or 0.0)), left


def _clock(before: Evidence, after: Evidence) -> Iterator[Cause]:
    """Yield a lower SM clock as a cause of device times; the code does not cause it."""
    old, new = (side.resources.get(_CLOCK, 0.0) for side in (before, after))
    by_memory = (after.counters or {}).get("dram_busy", 0.0) > BOUND
    if not (before.host_clock or by_memory) and 0.0 < new < old * (1.0 - _CLOCK_NOISE):
        changes = (Change("SM clock", old, new, "Hz"),)
        seconds = after.seconds * (1.0 - new / old)
        yield Cause("clock", "The SM clock is lower", changes, seconds, 0)


def _other_kernels(before: Evidence, after: Evidence, slower: float | None) -> Iterator[Cause]:
    """Yield other kernels chosen by a library; differences of their counters are consequences."""
    if before.kernels is None or after.kernels is None:
        return
    gone = [name for name in before.kernels if name not in after.kernels]
    come = [name for name in after.kernels if name not in before.kernels]
    if gone and come and any(map(_LIBRARY.search, (*gone, *come))):
        old, new = sum(before.kernels[one] for one in gone), sum(after.kernels[one] for one in come)
        words = f"Another kernel runs: {come[0]} instead of {gone[0]}"
        changes = (Change("time of the library's kernels", old, new, "s"),)
        yield Cause("library_kernel", words, changes, None if slower is None else new - old, 0)


def _by_resources(before: Evidence, after: Evidence) -> Iterator[Cause]:
    """Yield, without counters, what usually makes a kernel slower."""
    for key, resource, words, worse in _OF_RESOURCES:
        old, new = before.resources.get(resource), after.resources.get(resource)
        if old is not None and new is not None and (new - old) * worse > 0:
            yield Cause(key, words, (Change(RESOURCES[resource], old, new),), None, 0)


def _changed_resources(before: Evidence, after: Evidence) -> tuple[Change, ...]:
    old, new = before.resources, after.resources
    both = [key for key in RESOURCES if key in old and key in new]
    return tuple(Change(RESOURCES[k], old[k], new[k]) for k in both if old[k] != new[k])
