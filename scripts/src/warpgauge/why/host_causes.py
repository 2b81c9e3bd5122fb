# SPDX-License-Identifier: Apache-2.0
"""What made an operation slower outside its kernels: host calls, copies, memsets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from warpgauge.why.cupti import COPY, KERNEL, Call, Calls
from warpgauge.why.reason import Cause, Change, Evidence

_GRAPH = re.compile(r"cu(?:da)?GraphLaunch")
_SINGLE = re.compile(r"cu(?:da)?(?:Launch|Memcpy|Memset)")
_WAIT = re.compile(r"cu(?:da)?\w*(?:Synchronize|EventQuery|StreamQuery)")
_COPY = re.compile(r"cu(?:da)?Memcpy")
_COPY_OR_WAIT = re.compile(f"{_COPY.pattern}|{_WAIT.pattern}")
_MEMSET = re.compile(r"cu(?:da)?Memset")
# Calls of one kind may replace each other, such as cudaLaunchKernelExC and cudaLaunchKernel; with
# the cause that more of them are.
_KINDS = (
    (re.compile(r"cu(?:da)?Launch\w*Kernel"), "added_call"),
    *((_COPY, "added_memcpy"), (_MEMSET, "added_memset"), (_WAIT, "added_wait")),
)
# Calls that return after the device has done the preceding work.
_WAITING = re.compile(rf"{_WAIT.pattern}|cu(?:da)?(?:Mem(?:cpy|set)|Malloc|Free)(?!\w*Async)")
# The device's copies, as the trace names them.
_COPY_OF_DEVICE, _OF_PAGEABLE = re.compile(COPY), re.compile(rf"{COPY} (?:pageable|.+ to pageable)")
_POOL = re.compile(r"cu(?:da)?(?:Mem)?(?:Alloc|Malloc|Free)\w*$|cu(?:da)?MemPool\w+$")

# Calls per operation; smaller differences come from operations that were traced partly.
_OFTEN = 0.05
# A call that takes this factor longer does something else; a smaller factor may be a busy host.
_LONGER = 1.5
_TWICE = 1.5  # calls, rounded


def host_causes(before: Evidence, after: Evidence) -> Iterator[Cause]:
    """Yield causes among the calls of a host-timed operation; none if calls are unknown.

    Calls are not part of a device time, and a device-timed operation that was traced may be the
    first, which loads modules.
    """
    if (both := host_calls(before, after)) is None:
        return
    old, new = both
    # A call that replaces another costs no more than the sides differ. (A wait that occurs as often
    # as before is left out: it is shorter if the host reaches it later.)
    usual = {name for name in new if _WAIT.match(name) and not _is_more(old, new, name)}
    longer = _longer(old, new, {*old, *new} - usual)
    for one in _of_calls(old, new):
        seconds = one.seconds or 0.0
        yield replace(one, seconds=min(seconds, longer) if "added" in one.key else seconds)


def makes_more_calls(before: Evidence, after: Evidence) -> bool:
    """Return whether an operation that the host's clock times makes more calls in all."""
    both = host_calls(before, after)
    return both is not None and _total(both[1]).count > _total(both[0]).count + _OFTEN


def host_calls(before: Evidence, after: Evidence) -> tuple[Calls, Calls] | None:
    """Return the calls of an operation that the host's clock times, if known."""
    timed = before.host_clock and after.host_clock
    known = timed and before.calls is not None and after.calls is not None
    return (before.calls or {}, after.calls or {}) if known else None


def device_counts(before: Evidence, after: Evidence) -> bool:
    """Return whether device work may be part of the time: unless the host never waits for it."""
    return any(
        not one.host_clock or one.calls is None or any(map(_WAITING.match, one.calls))
        for one in (before, after)
    )


def device_causes(before: Evidence, after: Evidence) -> Iterator[Cause]:
    """Yield copies, memsets and kernels that the device did not do before, from the trace."""
    if before.device is None or after.device is None:
        return
    yield from _pageable(before, after, before.device, after.device)
    if not device_counts(before, after):
        return
    for kind in (KERNEL, COPY, "memset"):
        of_kind = re.compile(kind)
        old, new = (
            {name: side[name] for name in _matching(of_kind, side)}
            for side in (before.device, after.device)
        )
        counts = _total(old).count, _total(new).count
        if counts[1] > counts[0] + _OFTEN:
            change = Change(f"{kind}s per operation", *counts)
            seconds = _of_shortest(counts[1] - counts[0], old, new)
            yield Cause(f"added_{kind}", change.text, (change,), seconds, 0)


def _of_shortest(more: float, old: Calls, new: Calls) -> float:
    """Return the seconds of `more` additional activities, counting the shortest new ones."""
    seconds = 0.0
    for name, one in sorted(new.items(), key=lambda item: item[1].each):
        taken = min(max(one.count - _total(old, {name}).count, 0.0), more)
        seconds, more = seconds + taken * one.each, more - taken
    return seconds


def _pageable(before: Evidence, after: Evidence, old: Calls, new: Calls) -> Iterator[Cause]:
    """Yield copies that became pageable; the host makes these within the call, in parts."""
    were, are = (_total(side, _matching(_OF_PAGEABLE, side)).count for side in (old, new))
    if are <= were + _OFTEN:
        return
    seconds = _longer(old, new, _matching(_COPY_OF_DEVICE, {*old, *new}))
    if before.calls is not None and after.calls is not None:
        calls = _matching(_COPY_OR_WAIT, {*before.calls, *after.calls})
        seconds = max(seconds, _longer(before.calls, after.calls, calls))
    changes = (Change("copies of pageable memory", were, are),)
    yield Cause("pageable", "the copied memory is now pageable", changes, seconds, 0)


def _of_calls(old: Calls, new: Calls) -> Iterator[Cause]:
    names = {*old, *new}
    graphs, singles = _matching(_GRAPH, names), _matching(_SINGLE, names)
    launched, enqueued = (
        (_total(old, kind).count, _total(new, kind).count) for kind in (graphs, singles)
    )
    explained: set[str] = set()
    if launched[1] < launched[0] - _OFTEN < enqueued[1]:
        changes = (
            Change("graph launches", *launched),
            Change("calls that enqueue one operation", *enqueued),
        )
        explained = graphs | singles
        words = "the work of one graph launch is now enqueued call by call"
        yield Cause("graph_to_stream", words, changes, _longer(old, new, explained), 0)
    pool = _matching(_POOL, names)
    was, is_now = (_total(side, pool) for side in (old, new))
    # Memory that came from a pool may now come from the driver.
    asks_driver = any("Pool" not in name and _is_more(old, new, name) for name in pool)
    if is_now.each > _LONGER * was.each > 0.0 or (asks_driver and was.count):
        # A pool may release memory at a synchronisation.
        waits = {name for name in _matching(_WAIT, names) if not _is_more(old, new, name)}
        changes = (
            Change("calls that allocate and free", was.count, is_now.count),
            Change("time per call", was.each, is_now.each, "s"),
        )
        explained |= pool | waits
        words = "allocation takes longer: the memory pool keeps less and asks the driver again"
        yield Cause("memory_pool", words, changes, _longer(old, new, pool | waits), 0)
    kinds: dict[tuple[str, str], list[str]] = {}
    for name in sorted(names - explained):
        kind = next(((one.pattern, key) for one, key in _KINDS if one.match(name)), None)
        kinds.setdefault(kind or (name, "added_call"), []).append(name)
    for (_, key), alike in kinds.items():
        yield from _of_kind(key, alike, old, new)


def _of_kind(key: str, kind: Sequence[str], old: Calls, new: Calls) -> Iterator[Cause]:
    """Yield calls that are made more often or take longer; one may replace another."""
    was, is_now = _total(old, kind), _total(new, kind)
    more = {one: _total(new, {one}).count - _total(old, {one}).count for one in kind}
    name = max(kind, key=lambda one: (more[one], _longer(old, new, {one})))
    gone = min(kind, key=lambda one: more[one])
    seconds = is_now.seconds - was.seconds
    if is_now.count > was.count + _OFTEN:
        changes = (Change(f"{name} per operation", was.count, is_now.count),)
        more_often = is_now.count - was.count
        often = "once" if more_often < _TWICE else f"{more_often:.0f} times"
        yield Cause(key, f"{name} called {often} more", changes, seconds, 0)
        return
    is_other = more[gone] < -_OFTEN
    if is_now.each > (1.0 if is_other else _LONGER) * was.each > 0.0:
        changes = (Change(f"time of {name}", was.each, is_now.each, "s"),)
        words = f"{name} instead of {gone}" if is_other else f"{name} takes longer"
        # At a synchronisation the host waits for the device's work, so it is a consequence.
        rank = 2 if _WAIT.match(name) and not is_other else 1
        yield Cause("slower_call", words, changes, seconds, rank)


def _matching(pattern: re.Pattern[str], names: Iterable[str]) -> set[str]:
    return {name for name in names if pattern.match(name)}


def _total(calls: Calls, names: Iterable[str] | None = None) -> Call:
    """Return the sum of these calls, or of all."""
    found = [calls[name] for name in (calls if names is None else names) if name in calls]
    return Call(sum(one.count for one in found), sum(one.seconds for one in found))


def _longer(old: Calls, new: Calls, names: Iterable[str]) -> float:
    """Return the additional seconds in all of these calls."""
    return _total(new, names).seconds - _total(old, names).seconds


def _is_more(old: Calls, new: Calls, name: str) -> bool:
    return _total(new, {name}).count > _total(old, {name}).count + _OFTEN
