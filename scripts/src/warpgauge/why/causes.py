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
from warpgauge.why.code_causes import OF_CODE, by_code, code_suspects, is_same_code
from warpgauge.why.device_causes import suspects
from warpgauge.why.evidence import Cause, Change, Evidence, Explanation
from warpgauge.why.host_causes import device_counts, device_suspects, host_suspects
from warpgauge.why.suspects import BOUND, LOCAL_MEMORY, CounterPair, Suspect

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
_CLOCK = "working_sm_clock_hz"
_CLOCK_NOISE = 0.005
# The evidence needed for a device time, and for a host time.
_COUNTERS, _CALLS = "Hardware counters", "The host's calls"
_NO_SHARES = "{} are missing, so the fraction of the time that each cause explains is unknown."
_NOTHING_SEEN = "{} are missing, which might show the cause."


def causes(before: Evidence, after: Evidence, slowdown: float) -> Explanation:
    """Return what makes `after` slower by `slowdown`, a fraction.

    Shares need counters or, for a host time, the calls. Without them, causes have no shares.
    """
    longer = slowdown * before.seconds
    missing: tuple[str, ...] = ()
    found = [*_all(before, after, longer)]
    if not longer > 0.0:
        return Explanation(slowdown, (), None, (*_changed_resources(before, after),))
    weighed = [one for one in found if one.seconds is not None]
    counted = before.counters is not None and after.counters is not None
    called = before.host_clock and before.calls is not None and after.calls is not None
    named, left = _shared_out(weighed, longer)
    if not (counted or called):
        unweighed = {one.key: one for one in reversed(found) if one.seconds is None}  # each once
        named += [Cause(one.key, one.words, one.changes) for one in reversed(unweighed.values())]
        lacking = _CALLS if before.host_clock else _COUNTERS
        if before.host_clock or _may_have_kernels(before) or _may_have_kernels(after):
            missing = ((_NO_SHARES if named else _NOTHING_SEEN).format(lacking),)
    said = {change.words for cause in named for change in cause.changes}
    keys = {cause.key for cause in named}
    others = [one for one in _changed_resources(before, after) if one.words not in said]
    others += [
        one.changes[0]
        for one in weighed
        if one.key not in keys and one.rank < 2 and one.changes[0].words not in said
    ]
    known = counted or called or any(cause.share is not None for cause in named)
    return Explanation(slowdown, (*named,), left / longer if known else None, (*others,), missing)


def _all(before: Evidence, after: Evidence, longer: float) -> Iterator[Suspect]:
    yield from _clock(before, after)
    yield from device_suspects(before, after)
    yield from host_suspects(before, after)
    if not device_counts(before, after):
        return
    if before.counters is not None and after.counters is not None:
        both = CounterPair(before.counters, after.counters)
        if both.has("time") and _is_waited_for(before, after, both.slower, longer):
            yield from _other_kernels(before, after, both.slower)
            same = is_same_code(before, after)
            for one in by_code(before, after, suspects(both)):
                if not (same and one.key in OF_CODE):
                    # Kernels cannot explain more than their own additional time.
                    yield replace(one, seconds=min(one.seconds or 0.0, both.slower))
    else:
        yield from _other_kernels(before, after, None)
        found = [*_by_resources(before, after), *code_suspects(before, after)]
        # Fewer blocks often cost nothing, so other changes are likelier.
        found.sort(key=lambda one: one.key == "occupancy")
        yield from by_code(before, after, found)


def _may_have_kernels(side: Evidence) -> bool:
    """Return False if the trace shows no kernels, as for a copy: then nothing can be counted."""
    return side.device is None or any(name.startswith("kernel") for name in side.device)


def _is_waited_for(before: Evidence, after: Evidence, slower: float, longer: float) -> bool:
    """Return whether the host waits for its kernels, judged by the slowdown if without calls."""
    known = before.calls is not None and after.calls is not None
    return not before.host_clock or known or slower <= _AS_MUCH * longer


def _shared_out(found: Sequence[Suspect], longer: float) -> tuple[list[Cause], float]:
    """Return the causes, largest first, and the seconds that they leave unexplained."""
    left, named = longer, []
    for one in sorted(found, key=lambda one: (one.rank, -(one.seconds or 0.0))):
        seconds = min(one.seconds or 0.0, left)
        if seconds >= _LEAST_SHARE * longer:
            named.append(Cause(one.key, one.words, one.changes, seconds / longer))
            left -= seconds
    return sorted(named, key=lambda cause: -(cause.share or 0.0)), left


def _clock(before: Evidence, after: Evidence) -> Iterator[Suspect]:
    """Yield a lower SM clock as a suspect for device times; the code does not cause it."""
    old, new = (side.resources.get(_CLOCK, 0.0) for side in (before, after))
    by_memory = (after.counters or {}).get("dram_busy", 0.0) > BOUND
    if not (before.host_clock or by_memory) and 0.0 < new < old * (1.0 - _CLOCK_NOISE):
        changes = (Change("SM clock", old, new, "Hz"),)
        seconds = after.seconds * (1.0 - new / old)
        yield Suspect("clock", "The SM clock is lower", changes, seconds, 0)


def _other_kernels(before: Evidence, after: Evidence, slower: float | None) -> Iterator[Suspect]:
    """Yield other kernels chosen by a library; differences of their counters are consequences."""
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
    words = f"Another kernel runs: {come[0]} instead of {gone[0]}"
    changes = (Change("time of the library's kernels", old, new, "s"),)
    yield Suspect("library_kernel", words, changes, None if slower is None else new - old, 0)


def _by_resources(before: Evidence, after: Evidence) -> Iterator[Suspect]:
    """Yield, without counters, what usually makes a kernel slower, the worst first."""
    for key, words, worse in (
        ("kernels", "More kernels per operation", 1),
        ("local_bytes", LOCAL_MEMORY, 1),
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
