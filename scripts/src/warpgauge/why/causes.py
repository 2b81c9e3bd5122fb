# SPDX-License-Identifier: Apache-2.0
"""Why the one side is slower than the other: what is known of both, weighed by the time it takes.

A pure function. Of several causes each explains what those before it leave: first what runs and how
it is launched, then how it works, then what follows from that. What explains little is not called a
cause, and what nothing explains is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from warpgauge.records.counters import RESOURCES
from warpgauge.why.code_causes import OF_CODE, code_suspects, is_same_code
from warpgauge.why.device_causes import suspects
from warpgauge.why.evidence import Cause, Change, Evidence, Explanation
from warpgauge.why.host_causes import device_suspects, host_suspects
from warpgauge.why.suspects import Both, Suspect

# Of the slowdown: who explains less is no cause. The scatter of counters and of traced calls is
# below it.
_LEAST_SHARE = 0.15
# The kernels' names say that a library chose among its own.
_LIBRARY = re.compile(r"cublas|cutlass|cudnn|xmma|nvjet|[a-z]\d*gemm|gemv|cusparse|cufft")
_CLOCK = "working_sm_clock_hz"
_CLOCK_NOISE = 0.005

NO_COUNTERS = "Hardware counters are missing, so the causes have no shares of the time."


def causes(before: Evidence, after: Evidence, slowdown: float) -> Explanation:
    """What makes `after` slower by `slowdown`, as 0.1 for 10 %.

    Shares need counters, or of a host time the calls. Without, what is known is named without one.
    """
    longer = slowdown * before.seconds
    missing, found = [], [*_all(before, after)]
    if not longer > 0.0:
        return Explanation(slowdown, (), None, (*_changed_resources(before, after),))
    weighed = [one for one in found if one.seconds is not None]
    counted = before.counters is not None and after.counters is not None
    called = before.host_clock and before.calls is not None and after.calls is not None
    if not counted and before.kernels is not None and not before.host_clock:
        missing.append(NO_COUNTERS)
    named, left = _shared_out(weighed, longer)
    if not (counted or called):
        unweighed = {one.key: one for one in reversed(found) if one.seconds is None}  # each once
        named += [Cause(one.key, one.words, one.changes) for one in reversed(unweighed.values())]
        missing = [NO_COUNTERS]
    said = {change.words for cause in named for change in cause.changes}
    keys = {cause.key for cause in named}
    others = [one for one in _changed_resources(before, after) if one.words not in said]
    others += [
        one.changes[0]
        for one in weighed
        if one.key not in keys and one.rank < 2 and one.changes[0].words not in said
    ]
    known = counted or called or any(cause.share is not None for cause in named)
    return Explanation(
        slowdown, (*named,), left / longer if known else None, (*others,), (*missing,)
    )


def _all(before: Evidence, after: Evidence) -> Iterator[Suspect]:
    yield from _clock(before, after)
    yield from device_suspects(before, after)
    yield from host_suspects(before, after)
    if before.counters is not None and after.counters is not None:
        both = Both(before.counters, after.counters)
        if both.has("time"):
            yield from _other_kernels(before, after, both.slower)
            same = is_same_code(before, after)
            for one in suspects(both):
                if not (same and one.key in OF_CODE):
                    # Kernels can explain what they take longer, and no more.
                    yield replace(one, seconds=min(one.seconds or 0.0, both.slower))
    else:
        yield from _other_kernels(before, after, None)
        yield from _by_resources(before, after)
        yield from code_suspects(before, after)


def _shared_out(found: Sequence[Suspect], longer: float) -> tuple[list[Cause], float]:
    """The causes, largest first, and the seconds that they leave."""
    left, named = longer, []
    for one in sorted(found, key=lambda one: (one.rank, -(one.seconds or 0.0))):
        seconds = min(one.seconds or 0.0, left)
        if seconds >= _LEAST_SHARE * longer:
            named.append(Cause(one.key, one.words, one.changes, seconds / longer))
            left -= seconds
    return sorted(named, key=lambda cause: -(cause.share or 0.0)), left


def _clock(before: Evidence, after: Evidence) -> Iterator[Suspect]:
    """Of device times: the clock under the work, which is no matter of the code."""
    old, new = (side.resources.get(_CLOCK, 0.0) for side in (before, after))
    if not before.host_clock and 0.0 < new < old * (1.0 - _CLOCK_NOISE):
        changes = (Change("SM clock", old, new, "Hz"),)
        seconds = after.seconds * (1.0 - new / old)
        yield Suspect("clock", "The SM clock is lower", changes, seconds, 0)


def _other_kernels(before: Evidence, after: Evidence, slower: float | None) -> Iterator[Suspect]:
    """Kernels of a library that chose others; what its counters then say is a consequence."""
    if before.kernels is None or after.kernels is None:
        return
    gone = [name for name in before.kernels if name not in after.kernels]
    come = [name for name in after.kernels if name not in before.kernels]
    if not (gone and come and any(_LIBRARY.search(name) for name in (*gone, *come))):
        return
    old, new = (
        sum(side[name] for name in names)
        for side, names in ((before.kernels, gone), (after.kernels, come))
    )
    words = f"A library runs another kernel: {come[0]} in place of {gone[0]}"
    changes = (Change("time of the library's kernels", old, new, "s"),)
    yield Suspect("library_kernel", words, changes, None if slower is None else new - old, 0)


def _by_resources(before: Evidence, after: Evidence) -> Iterator[Suspect]:
    """Without counters: what would usually make a kernel slower, the worst first."""
    for key, words, worse in (
        ("kernels", "More kernels an operation", 1),
        ("local_bytes", "Registers are spilled to local memory", 1),
        ("blocks_per_sm", "Fewer blocks fit on a multiprocessor", -1),
    ):
        old, new = before.resources.get(key), after.resources.get(key)
        if old is not None and new is not None and (new - old) * worse > 0:
            changes = [Change(RESOURCES[key], old, new)]
            name = {"kernels": "added_kernel", "local_bytes": "spills"}.get(key, "occupancy")
            yield Suspect(name, words, (*changes,), None, 0)


def _changed_resources(before: Evidence, after: Evidence) -> Iterator[Change]:
    for key, words in RESOURCES.items():
        old, new = before.resources.get(key), after.resources.get(key)
        if old is not None and new is not None and old != new:
            yield Change(words, old, new)
