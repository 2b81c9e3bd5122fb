# SPDX-License-Identifier: Apache-2.0
"""What made an operation slower outside its kernels: host calls, copies, memsets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from warpgauge.why.calls import Call, Calls
from warpgauge.why.evidence import Change, Evidence
from warpgauge.why.suspects import Suspect
from warpgauge.why.trace_file import COPY

_NOTHING = Call(0.0, 0.0)
_GRAPH = re.compile(r"cu(?:da)?GraphLaunch")
_SINGLE = re.compile(r"cu(?:da)?(?:Launch|Memcpy|Memset)")
_WAIT = re.compile(r"cu(?:da)?\w*(?:Synchronize|EventQuery|StreamQuery)")
_COPY = re.compile(r"cu(?:da)?Memcpy")
_COPY_OR_WAIT = re.compile(f"{_COPY.pattern}|{_WAIT.pattern}")
_MEMSET = re.compile(r"cu(?:da)?Memset")
# Calls of one kind may replace each other, such as cudaLaunchKernelExC and cudaLaunchKernel.
_KINDS = (re.compile(r"cu(?:da)?Launch\w*Kernel"), _COPY, _MEMSET, _WAIT)
# Calls that return after the device has done the preceding work.
_WAITING = re.compile(rf"{_WAIT.pattern}|cu(?:da)?(?:Mem(?:cpy|set)|Malloc|Free)(?!\w*Async)")
# The device's copies, as the trace names them.
_COPY_OF_DEVICE, _OF_PAGEABLE = re.compile(COPY), re.compile(rf"{COPY} (?:pageable|.+ to pageable)")
_POOL = re.compile(r"cu(?:da)?(?:Mem)?(?:Alloc|Malloc|Free)\w*|cu(?:da)?MemPool\w+")

# Calls per operation; smaller differences come from operations that were traced partly.
_OFTEN = 0.05
# A call that takes this factor longer does something else; a smaller factor may be a busy host.
_LONGER = 1.5


def host_suspects(before: Evidence, after: Evidence) -> Sequence[Suspect]:
    """Return the suspects among the calls of a host-timed operation; none if calls are unknown.

    Calls are not part of a device time, and a device-timed operation that was traced may be the
    first, which loads modules.
    """
    if not (before.host_clock and after.host_clock):
        return []
    if before.calls is None or after.calls is None:
        return []
    old, new = before.calls, after.calls
    # A call that replaces another costs no more than the sides differ. (A wait that occurs as often
    # as before is left out: it is shorter if the host reaches it later.)
    usual = {name for name in new if _WAIT.match(name) and not _more(old, new, name)}
    longer = _longer(old, new, {*old, *new} - usual)
    return [
        replace(one, seconds=min(one.seconds or 0.0, longer)) if "added" in one.key else one
        for one in _of_calls(old, new)
    ]


def device_counts(before: Evidence, after: Evidence) -> bool:
    """Return whether device work may be part of the time: unless the host never waits for it."""
    sides = (before, after)
    return any(
        not one.host_clock or one.calls is None or any(map(_WAITING.match, one.calls))
        for one in sides
    )


def device_suspects(before: Evidence, after: Evidence) -> Iterator[Suspect]:
    """Yield copies, memsets and kernels that the device did not do before, from the trace."""
    if before.device is None or after.device is None:
        return
    yield from _pageable(before, after, before.device, after.device)
    if not device_counts(before, after):
        return
    for kind in sorted({name.split()[0] for name in (*before.device, *after.device)}):
        old, new = (_of_kind(side, kind) for side in (before.device, after.device))
        counts = [sum(one.count for one in side.values()) for side in (old, new)]
        more = counts[1] - counts[0]
        if more > _OFTEN:
            words = f"An additional {kind}" if more < 1.5 else f"More {kind}s"
            changes = (Change(f"{kind}s an operation", counts[0], counts[1]),)
            yield Suspect(f"added_{kind}", words, changes, _of_shortest(more, old, new), 0)


def _of_kind(side: Calls, kind: str) -> Calls:
    return {name: one for name, one in side.items() if name.split()[0] == kind}


def _of_shortest(more: float, old: Calls, new: Calls) -> float:
    """Return the seconds of `more` additional activities, counting the shortest new ones."""
    come = sorted(
        (_each_of(one), one.count - old.get(name, _NOTHING).count) for name, one in new.items()
    )
    seconds = 0.0
    for each, count in come:
        taken = min(max(count, 0.0), more)
        seconds, more = seconds + taken * each, more - taken
    return seconds


def _pageable(before: Evidence, after: Evidence, old: Calls, new: Calls) -> Iterator[Suspect]:
    """Yield copies that became pageable; the host makes these within the call, in parts."""
    were, are = (_sum(side, _OF_PAGEABLE) for side in (old, new))
    if are.count <= were.count + _OFTEN:
        return
    copies = [_sum(side, _COPY_OF_DEVICE) for side in (old, new)]
    seconds = copies[1].seconds - copies[0].seconds
    if before.calls is not None and after.calls is not None:
        called = [_sum(side, _COPY_OR_WAIT).seconds for side in (before.calls, after.calls)]
        seconds = max(seconds, called[1] - called[0])
    changes = (Change("copies of pageable memory", were.count, are.count),)
    yield Suspect("pageable", "The copied memory is now pageable", changes, seconds, 0)


def _of_calls(old: Calls, new: Calls) -> Iterator[Suspect]:
    names = {*old, *new}
    graphs = [name for name in names if _GRAPH.match(name)]
    singles = [name for name in names if _SINGLE.match(name)]
    explained: set[str] = set()
    if _count(new, graphs) < _count(old, graphs) - _OFTEN < _count(new, singles):
        changes = (
            Change("graph launches", _count(old, graphs), _count(new, graphs)),
            Change("calls that enqueue one operation", _count(old, singles), _count(new, singles)),
        )
        explained = {*graphs, *singles}
        words = "The work of one graph launch is now enqueued call by call"
        yield Suspect("graph_to_stream", words, changes, _longer(old, new, explained), 0)
    pool = {name for name in names if _POOL.fullmatch(name)}
    if _each(new, pool) > _LONGER * _each(old, pool) > 0.0 or _more_pool(old, new, pool):
        waits = {name for name in names if _WAIT.match(name)}  # a pool may release memory there
        same = {name for name in waits if not _more(old, new, name)}
        changes = (
            Change("calls that allocate and free", _count(old, pool), _count(new, pool)),
            Change("time per call", _each(old, pool), _each(new, pool), "s"),
        )
        explained |= pool | same
        words = "Allocation takes longer: the memory pool keeps less and asks the driver again"
        yield Suspect("memory_pool", words, changes, _longer(old, new, pool | same), 0)
    for kind in _by_kind(names - explained):
        was, is_now = (
            Call(_count(side, kind), sum(side[one].seconds for one in kind if one in side))
            for side in (old, new)
        )
        more = {one: _count(new, {one}) - _count(old, {one}) for one in kind}
        come = max(kind, key=lambda one: (more[one], _longer(old, new, {one})))
        gone = min(kind, key=lambda one: more[one])
        words = f"{come} instead of {gone}" if more[gone] < -_OFTEN else come
        yield from _of_call(come, words, was, is_now)


def _by_kind(names: set[str]) -> Sequence[Sequence[str]]:
    """Return groups of calls that may replace each other; all others are alone."""
    found: dict[str, list[str]] = {}
    for name in sorted(names):
        kind = next((one.pattern for one in _KINDS if one.match(name)), name)
        found.setdefault(kind, []).append(name)
    return [*found.values()]


def _of_call(name: str, whole: str, old: Call, new: Call) -> Iterator[Suspect]:
    """Yield a call that is made more often or takes longer; `whole` names what it replaces."""
    seconds = new.seconds - old.seconds
    if new.count > old.count + _OFTEN:
        changes = (Change(f"{name} per operation", old.count, new.count),)
        if _WAIT.match(name):
            key, words = "added_wait", "An additional synchronisation"
        elif _MEMSET.match(name):
            key, words = "added_memset", "An additional memset"
        elif _COPY.match(name):
            key, words = "added_memcpy", "An additional copy"
        else:
            key, words = "added_call", "An additional API call"
        yield Suspect(key, f"{words}: {name}", changes, seconds, 0)
    elif old.count > 0.0 and _each_of(new) > _LONGER * _each_of(old):
        changes = (Change("time per call", _each_of(old), _each_of(new), "s"),)
        # At a synchronisation the host waits for the device's work, so it is a consequence.
        rank = 2 if _WAIT.match(name) else 1
        yield Suspect("slower_call", f"{whole} takes longer", changes, seconds, rank)


def _sum(calls: Calls, pattern: re.Pattern[str]) -> Call:
    found = [one for name, one in calls.items() if pattern.match(name)]
    return Call(sum(one.count for one in found), sum(one.seconds for one in found))


def _count(calls: Calls, names: Iterable[str]) -> float:
    return sum(calls[name].count for name in names if name in calls)


def _longer(old: Calls, new: Calls, names: set[str]) -> float:
    """Return the additional seconds in all of these calls."""
    return sum(new.get(name, _NOTHING).seconds - old.get(name, _NOTHING).seconds for name in names)


def _more(old: Calls, new: Calls, name: str) -> bool:
    return new.get(name, _NOTHING).count > old.get(name, _NOTHING).count + _OFTEN


def _more_pool(old: Calls, new: Calls, pool: set[str]) -> bool:
    """Return whether memory that came from a pool now comes from the driver."""
    asks_driver = any("Pool" not in name and _more(old, new, name) for name in pool)
    return asks_driver and _count(old, pool) > 0.0


def _each(calls: Calls, names: set[str]) -> float:
    count = _count(calls, names)
    return sum(calls[name].seconds for name in names if name in calls) / count if count else 0.0


def _each_of(call: Call) -> float:
    return call.seconds / call.count if call.count else 0.0
