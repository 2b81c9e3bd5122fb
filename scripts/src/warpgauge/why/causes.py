# SPDX-License-Identifier: Apache-2.0
"""Why one side is slower than the other: the evidence of both, weighed by the time it explains.

Pure functions. Each cause explains only what the causes before it leave: first what runs and how
it is launched, then how it works, then the consequences. A change that explains little is not
called a cause, and the unexplained rest is stated. Machine code refines causes from counters; where
there are none, it names causes without a share.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from warpgauge.records.counters import RESOURCES
from warpgauge.why import machine_code as sass
from warpgauge.why.code_change import CodeChange, Unrolling, changed
from warpgauge.why.cupti import kernels_in, readable, without_arguments
from warpgauge.why.host_causes import device_causes, device_counts, host_causes
from warpgauge.why.kernel_causes import BOUND, CACHED, LOCAL_MEMORY, CounterPair
from warpgauge.why.machine_code import Kernel
from warpgauge.why.reason import Cause, Change, Evidence, Reason

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
# Causes that lie only in the code.
_OF_CODE = frozenset(("spills", "unrolling", "precise", "fp64", "narrower"))
_MORE = 1.2  # growth of a class of executed instructions
# Share of all instructions. Rare branches of CUDA's functions have fewer, such as FP64 in sinf().
_LEAST = 0.02
_UNROLLED, _MOST_LOOPS = "Loops are unrolled less", 2
_INDEX_DIFFERS = "Constant memory is read at an index that differs by thread"
# More instructions of a class: cause, words, and the instructions.
_GROWN = (
    ("spills", LOCAL_MEMORY, "local loads", sass.LOCAL_LOAD),
    ("fp64", "Arithmetic in FP64", "FP64 instructions", sass.FP64),
    ("constants", _INDEX_DIFFERS, "such loads", sass.INDEXED_CONSTANT),
    ("atomics", "More atomics", "global atomics", sass.GLOBAL_ATOMIC),
)


def explanation(
    name: str,
    before: Evidence,
    after: Evidence,
    slowdown: float,
    missing: Sequence[str] = (),
    may_be_chance: bool = False,
) -> Reason:
    """Return what makes `after` slower by `slowdown`, a fraction.

    Shares need counters or, for a host time, the calls. Without them, causes have no shares.
    """
    moved = _changed_resources(before, after)
    reason = Reason(
        name,
        slowdown,
        others=moved,
        missing=(*missing,),
        code=code_changes(before.code, after.code),
        sides=(before, after),
        same_code=is_same_code(before, after),
        may_be_chance=may_be_chance,
    )
    longer = slowdown * before.seconds
    if not longer > 0.0:
        return reason
    found = [*_all(before, after, longer)]
    weighed = [one for one in found if one.seconds is not None]
    counted = before.counters is not None and after.counters is not None
    called = before.host_clock and before.calls is not None and after.calls is not None
    named, left = _shared_out(weighed, longer)
    if not (counted or called):
        unweighed = {one.key: one for one in reversed(found) if one.seconds is None}  # each once
        named += reversed(unweighed.values())
        if before.host_clock or _may_have_kernels(before, after):
            lacking = "The host's calls" if before.host_clock else "Hardware counters"
            so = _NO_SHARES if named else _NOTHING_SEEN
            missing = (f"{lacking} are missing, {so}.", *missing)
    said = {change.words for cause in named for change in cause.changes}
    keys = {cause.key for cause in named}
    small = (one.changes[0] for one in weighed if one.key not in keys and one.rank < 2)
    others = (change for change in (*moved, *small) if change.words not in said)
    known = counted or called or any(cause.share is not None for cause in named)
    return replace(
        reason,
        causes=(*named,),
        unexplained=left / longer if known else None,
        others=(*others,),
        missing=(*missing,),
    )


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


def code_changes(
    before: Mapping[str, Kernel] | None, after: Mapping[str, Kernel] | None
) -> dict[str, CodeChange]:
    """Return the change of each kernel that both sides have, by its name in the source."""
    if before is None or after is None:
        return {}
    pairs = [(before[key], after[key]) for key in before if key in after]
    # Of kernels whose template arguments or parameters changed, those with a unique name.
    only_before, only_after = _by_plain_name(before, after), _by_plain_name(after, before)
    for name, old in only_before.items():
        new = only_after.get(name, ())
        if len(old) == len(new) == 1:
            pairs.append((old[0], new[0]))
    return {readable(new.name): changed(old, new) for old, new in pairs}


def _by_plain_name(
    side: Mapping[str, Kernel], other: Mapping[str, Kernel]
) -> dict[str, list[Kernel]]:
    found: dict[str, list[Kernel]] = {}
    for key, kernel in side.items():
        if key not in other:
            found.setdefault(without_arguments(kernel.name), []).append(kernel)
    return found


def is_same_code(before: Evidence, after: Evidence) -> bool:
    """Return whether both sides are known to run the same kernels with the same machine code."""
    old, new = ({k: one.digest for k, one in (side.code or {}).items()} for side in (before, after))
    return before.code_is_whole and after.code_is_whole and bool(old) and old == new


def by_code(before: Evidence, after: Evidence, found: Sequence[Cause]) -> Iterator[Cause]:
    """Yield `found` as the code allows: without what it excludes, and refined by what it shows."""
    changes = code_changes(before.code, after.code).values()
    loops = [_of_loop(loop) for change in changes for loop in change.unrolled if loop.is_less]
    is_known, is_same = before.code_is_whole and after.code_is_whole, is_same_code(before, after)
    is_spill = any(line.is_spill for side in (after.code or {}).values() for line in side.code)
    both = CounterPair(before.counters or {}, after.counters or {})
    # Where a GPU does not count branches separately, the instructions that control a loop may count
    # as arithmetic, as IMAD.MOV does.
    is_loop = loops and "unrolling" not in {one.key for one in found} and both.same_work(CACHED)
    for one in found:
        if one.key == "instructions" and is_loop:
            moved = (*loops[:_MOST_LOOPS], *one.changes)
            yield replace(one, key="unrolling", words=_UNROLLED, changes=moved, rank=1)
        if one.key == "unrolling" and is_known and not loops:
            words = "More branches around the same arithmetic and memory accesses"
            yield replace(one, key="branches", words=words)
        elif one.key == "spills" and is_spill and not is_same:
            yield replace(one, words="Registers are spilled to local memory")
        elif not (is_same and one.key in _OF_CODE):
            yield one


def code_causes(before: Evidence, after: Evidence) -> Iterator[Cause]:
    """Yield changes of the code that usually make a kernel slower, by an unknown time."""
    for change in code_changes(before.code, after.code).values():
        if not change.is_same:
            yield from _of_change(change)


def _of_change(change: CodeChange) -> Iterator[Cause]:
    def cause(key: str, words: str, *changes: Change) -> Cause:
        return Cause(key, words, changes, None, 0)

    everything = sum(one.weighted for one in change.after.values())
    for key, words, what, kind in _GROWN:
        old, new = change.counts(kind)
        more = new.weighted - old.weighted
        if new.weighted > old.weighted * _MORE and more >= _LEAST * everything:
            yield cause(key, words, Change(what, old.instructions, new.instructions))
    # Narrower accesses with more conversions come from a smaller element type.
    old, new = change.counts(sass.CONVERSION)
    for width in change.widths:
        (wide, before), (narrow, after) = width.before, width.after
        if narrow < wide and old.weighted >= new.weighted:
            moved = Change(f"bits of a {width.access}", wide, narrow)
            words = f"{width.access.capitalize()}s are narrower"
            yield cause("narrower", words, moved, Change(f"{width.access}s", before, after))
    for loop in change.unrolled:
        if loop.is_less:
            yield cause("unrolling", _UNROLLED, _of_loop(loop))
    few, many = change.counts(sass.SPECIAL)
    old, new = change.counts(sass.FP32)
    if many.weighted < few.weighted and new.weighted > old.weighted * _MORE:
        words = "A precise function instead of an approximate one"
        moved = Change("FP32 instructions", old.instructions, new.instructions)
        yield cause("precise", words, moved)


def _of_loop(loop: Unrolling) -> Change:
    words = f"unrolling at {loop.source}" if loop.source else "unrolling of a loop"
    return Change(words, loop.before, loop.after)
