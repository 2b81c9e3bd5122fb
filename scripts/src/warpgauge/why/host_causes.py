# SPDX-License-Identifier: Apache-2.0
"""What made an operation slower outside its kernels: host calls, copies, memsets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from warpgauge.why.cupti import COPY, DEVICE, Call, Calls
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
_OF_PAGEABLE = re.compile(rf"{COPY} (?:pageable|.+ to pageable)")
_POOL = re.compile(r"cu(?:da)?(?:Mem)?(?:Alloc|Malloc|Free)\w*$|cu(?:da)?MemPool\w+$")

# Calls per operation; smaller differences come from operations that were traced partly.
_OFTEN = 0.05
# A call that takes this factor longer does something else; a smaller factor may be a busy host.
_LONGER = 1.5
_TWICE = 1.5  # calls, rounded


class _Moved(NamedTuple):
    """Calls, or work of the device, on both sides."""

    was: Call
    is_now: Call

    @property
    def more(self) -> float:
        return self.is_now.count - self.was.count

    @property
    def is_more(self) -> bool:
        return self.more > _OFTEN

    @property
    def seconds(self) -> float:
        """The additional ones."""
        return self.is_now.seconds - self.was.seconds

    def counts(self, words: str) -> Change:
        return Change(words, self.was.count, self.is_now.count)


def _moved(old: Calls, new: Calls, names: Iterable[str]) -> _Moved:
    """Return the sums of all of these names."""
    names = [*names]
    found = [[side[name] for name in names if name in side] for side in (old, new)]
    return _Moved(*(Call(sum(o.count for o in own), sum(o.seconds for o in own)) for own in found))


def host_causes(before: Evidence, after: Evidence) -> Iterator[Cause]:
    """Yield causes among the calls of a host-timed operation; none if calls are unknown.

    Calls are not part of a device time, and a device-timed operation that was traced may be the
    first, which loads modules.
    """
    if (both := host_calls(before, after)) is None:
        return
    # A call that replaces another costs no more than the sides differ. (A wait that occurs as often
    # as before is left out: it is shorter if the host reaches it later.)
    longer = _moved(*both, {*both[0], *both[1]} - _usual_waits(*both)).seconds
    for cause in _of_calls(*both):
        seconds = cause.seconds or 0.0
        yield replace(cause, seconds=min(seconds, longer) if "added" in cause.key else seconds)


def _usual_waits(old: Calls, new: Calls) -> set[str]:
    """Return the waits that are no more than before."""
    return {its for its in {*old, *new} if _WAIT.match(its) and not _moved(old, new, [its]).is_more}


def makes_more_calls(before: Evidence, after: Evidence) -> bool:
    """Return whether an operation that the host's clock times makes more calls in all."""
    both = host_calls(before, after)
    return both is not None and _moved(*both, {*both[0], *both[1]}).is_more


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
    old, new = before.device, after.device
    pageable = _moved(old, new, filter(_OF_PAGEABLE.match, {*old, *new}))
    if pageable.is_more:
        # The host makes these copies within the call, in parts.
        calls = before.calls or {}, after.calls or {}
        changes = (pageable.counts("copies of pageable memory"),)
        seconds = _moved(*calls, filter(_COPY_OR_WAIT.match, {*calls[0], *calls[1]})).seconds
        yield Cause("pageable", "the copied memory is now pageable", changes, seconds, 0)
    for kind in sorted(DEVICE) if device_counts(before, after) else ():
        names = [name for name in {**old, **new} if name.startswith(kind)]
        moved = _moved(old, new, names)
        if moved.is_more:
            change = moved.counts(f"{kind}s per operation")
            # The shortest of those that are new.
            seconds, more = 0.0, moved.more
            for name in sorted(new.keys() & names, key=lambda name: new[name].each):
                taken = min(max(_moved(old, new, [name]).more, 0.0), more)
                seconds, more = seconds + taken * new[name].each, more - taken
            yield Cause(f"added_{kind}", change.text, (change,), seconds, 0)


def _of_calls(old: Calls, new: Calls) -> Iterator[Cause]:
    names = {*old, *new}
    graphs, singles, pool = (
        {name for name in names if pattern.match(name)} for pattern in (_GRAPH, _SINGLE, _POOL)
    )
    launched, enqueued = _moved(old, new, graphs), _moved(old, new, singles)
    explained: set[str] = set()
    if launched.more < -_OFTEN < _OFTEN < enqueued.is_now.count:
        changes = (
            launched.counts("graph launches"),
            enqueued.counts("calls that enqueue one operation"),
        )
        explained = graphs | singles
        words = "the work of one graph launch is now enqueued call by call"
        yield Cause("graph_to_stream", words, changes, _moved(old, new, explained).seconds, 0)
    allocation = _moved(old, new, pool)
    was, is_now = allocation
    if is_now.each > _LONGER * was.each > 0.0:
        changes = (
            allocation.counts("calls that allocate and free"),
            Change("time per call", was.each, is_now.each, "s"),
        )
        pool |= _usual_waits(old, new)  # at which it may release memory
        explained |= pool
        words = "allocation takes longer: the memory pool keeps less and asks the driver again"
        yield Cause("memory_pool", words, changes, _moved(old, new, pool).seconds, 0)
    kinds: dict[tuple[str, str], list[str]] = {}
    for name in sorted(names - explained):
        kind = next(((one.pattern, key) for one, key in _KINDS if one.match(name)), None)
        kinds.setdefault(kind or (name, "added_call"), []).append(name)
    for (_, key), alike in kinds.items():
        each = {name: _moved(old, new, [name]) for name in alike}
        yield from _of_kind(key, each, _moved(old, new, alike))


def _of_kind(key: str, names: Mapping[str, _Moved], all_: _Moved) -> Iterator[Cause]:
    """Yield calls that are made more often or take longer; one may replace another."""
    name = max(names, key=lambda one: (names[one].more, names[one].seconds))
    gone = min(names, key=lambda one: names[one].more)
    was, is_now = all_
    if all_.is_more:
        changes = (all_.counts(f"{name} per operation"),)
        often = "once" if all_.more < _TWICE else f"{all_.more:.0f} times"
        yield Cause(key, f"{name} called {often} more", changes, all_.seconds, 0)
        return
    is_other = names[gone].more < -_OFTEN
    if is_now.each > (1.0 if is_other else _LONGER) * was.each > 0.0:
        changes = (Change(f"time of {name}", was.each, is_now.each, "s"),)
        words = f"{name} instead of {gone}" if is_other else f"{name} takes longer"
        # At a synchronisation the host waits for the device's work, so it is a consequence.
        rank = 2 if _WAIT.match(name) and not is_other else 1
        yield Cause("slower_call", words, changes, all_.seconds, rank)
