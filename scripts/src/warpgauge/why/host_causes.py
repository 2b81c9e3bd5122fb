# SPDX-License-Identifier: Apache-2.0
"""What made an operation slower outside its kernels: calls of the host, copies, memsets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

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
# Of the device, as the trace names it.
_COPY_OF_DEVICE, _OF_PAGEABLE = re.compile(COPY), re.compile(rf"{COPY} (?:pageable|.+ to pageable)")
_POOL = re.compile(r"cu(?:da)?(?:Mem)?(?:Alloc|Malloc|Free)\w*|cu(?:da)?MemPool\w+")

# Calls an operation; fewer come from operations that only begin in what is traced.
_OFTEN = 0.05
# As much longer takes a call that does something else; what is less lies in how busy the host was.
_LONGER = 1.5


def host_suspects(before: Evidence, after: Evidence) -> Sequence[Suspect]:
    """By the calls of an operation; nothing where those of a side are unknown."""
    if before.calls is None or after.calls is None:
        return []
    return [*_of_calls(before.calls, after.calls)]


def device_suspects(before: Evidence, after: Evidence) -> Iterator[Suspect]:
    """Copies, memsets and kernels that the device did not do before, by the trace."""
    if before.device is None or after.device is None:
        return
    yield from _pageable(before, after, before.device, after.device)
    for kind in sorted({name.split()[0] for name in (*before.device, *after.device)}):
        old, new = (_sum(side, re.compile(kind)) for side in (before.device, after.device))
        if new.count > old.count + _OFTEN:
            changes = (Change(f"{kind}s an operation", old.count, new.count),)
            words = f"An additional {kind}" if new.count - old.count < 1.5 else f"More {kind}s"
            seconds = (new.count - old.count) * _each_of(new)
            yield Suspect(f"added_{kind}", words, changes, seconds, 0)


def _pageable(before: Evidence, after: Evidence, old: Calls, new: Calls) -> Iterator[Suspect]:
    """Copies of pageable memory in place of others: the host makes them in the call, by parts."""
    were, are = (_sum(side, _OF_PAGEABLE) for side in (old, new))
    if are.count <= were.count + _OFTEN:
        return
    copies = [_sum(side, _COPY_OF_DEVICE) for side in (old, new)]
    seconds = copies[1].seconds - copies[0].seconds
    if before.calls is not None and after.calls is not None:
        called = [_sum(side, _COPY_OR_WAIT).seconds for side in (before.calls, after.calls)]
        seconds = max(seconds, called[1] - called[0])
    changes = (Change("copies of pageable memory", were.count, are.count),)
    yield Suspect("pageable", "What is copied is now pageable memory", changes, seconds, 0)


def _of_calls(old: Calls, new: Calls) -> Iterator[Suspect]:
    names = {*old, *new}
    graphs = [name for name in names if _GRAPH.match(name)]
    singles = [name for name in names if _SINGLE.match(name)]
    explained: set[str] = set()
    if _count(new, graphs) < _count(old, graphs) - _OFTEN < _count(new, singles):
        changes = (
            Change("graph launches", _count(old, graphs), _count(new, graphs)),
            Change("calls that enqueue one thing", _count(old, singles), _count(new, singles)),
        )
        explained = {*graphs, *singles}
        words = "What one graph launch did is enqueued call by call"
        yield Suspect("graph_to_stream", words, changes, _longer(old, new, explained), 0)
    pool = {name for name in names if _POOL.fullmatch(name)}
    if _each(new, pool) > _LONGER * _each(old, pool) > 0.0 or _more_pool(old, new, pool):
        waits = {name for name in names if _WAIT.match(name)}  # there a pool gives memory back
        same = {name for name in waits if not _more(old, new, name)}
        changes = (
            Change("calls that allocate and free", _count(old, pool), _count(new, pool)),
            Change("time of each", _each(old, pool), _each(new, pool), "s"),
        )
        explained |= pool | same
        words = "Allocation takes longer: the memory pool keeps less, and asks the driver again"
        yield Suspect("memory_pool", words, changes, _longer(old, new, pool | same), 0)
    for name in sorted(names - explained):
        yield from _of_call(name, old.get(name, _NOTHING), new.get(name, _NOTHING))


def _of_call(name: str, old: Call, new: Call) -> Iterator[Suspect]:
    """A call that is made more often, or takes longer."""
    seconds = new.seconds - old.seconds
    if new.count > old.count + _OFTEN:
        changes = (Change(f"{name} an operation", old.count, new.count),)
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
        changes = (Change(f"time of each {name}", _each_of(old), _each_of(new), "s"),)
        # At a synchronisation the host waits for what the device does.
        rank = 2 if _WAIT.match(name) else 1
        yield Suspect("slower_call", f"{name} takes longer", changes, seconds, rank)


def _sum(calls: Calls, pattern: re.Pattern[str]) -> Call:
    found = [one for name, one in calls.items() if pattern.match(name)]
    return Call(sum(one.count for one in found), sum(one.seconds for one in found))


def _count(calls: Calls, names: Sequence[str] | set[str]) -> float:
    return sum(calls[name].count for name in names if name in calls)


def _longer(old: Calls, new: Calls, names: set[str]) -> float:
    """Seconds more in all of these calls."""
    return sum(new.get(name, _NOTHING).seconds - old.get(name, _NOTHING).seconds for name in names)


def _more(old: Calls, new: Calls, name: str) -> bool:
    return new.get(name, _NOTHING).count > old.get(name, _NOTHING).count + _OFTEN


def _more_pool(old: Calls, new: Calls, pool: set[str]) -> bool:
    """Whether memory is asked of the driver that came out of a pool."""
    return any(_more(old, new, name) and "Pool" not in name and old for name in pool) and (
        _count(old, pool) > 0.0
    )


def _each(calls: Calls, names: set[str]) -> float:
    count = _count(calls, names)
    return sum(calls[name].seconds for name in names if name in calls) / count if count else 0.0


def _each_of(call: Call) -> float:
    return call.seconds / call.count if call.count else 0.0
