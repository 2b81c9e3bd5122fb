# SPDX-License-Identifier: Apache-2.0
"""Why one side is slower than the other: what differs first, then what it did.

Pure functions. Each cause explains only what the causes before it leave: first what runs and how
it is launched, then how it works, then the consequences. A change that explains little is not
called a cause, and the unexplained rest is stated. A cause whose worth was not checked by
experiment has no share.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from warpgauge.records.counters import KERNELS, RESOURCES
from warpgauge.why import host_causes
from warpgauge.why import machine_code as sass
from warpgauge.why.code_change import CodeChange, changed
from warpgauge.why.cupti import kernels_in, readable, without_arguments
from warpgauge.why.kernel_causes import BOUND, Sides
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
# Kernels that slow down by more than this multiple of a host time: the host does not wait for them.
_AS_MUCH = 1.5
_NO_SHARES = "so the fraction of the time that each cause explains is unknown"
_NOTHING_SEEN = "which might show the cause"
_CLOCK = "working_sm_clock_hz"
_CLOCK_NOISE = 0.01
_ELEMENTS = re.compile(r"/n:(\d+)")  # of a benchmark's name
_WORD = re.compile(r"[\w:]+|\S")  # of a kernel's name
_MORE = 1.2  # growth of a class of executed instructions
# Share of all instructions. Rare branches of CUDA's functions have fewer, such as FP64 in sinf().
_LEAST = 0.02
_MOST_LOOPS = 2
_SPILLED = "registers are spilled to local memory"
# More instructions of a class: cause, what is counted, and the class.
_GROWN = (
    ("spills", "local loads", sass.LOCAL_LOAD),
    ("fp64", "FP64 instructions in the code", sass.FP64),
    ("atomics", "global atomics in the code", sass.GLOBAL_ATOMIC),
)
# Instructions of approximate functions, which the precise ones lack; and those of precise ones
# alone, which execute an approximate one as often (division once more, for rare values).
_APPROXIMATE = {"MUFU.LG2": "logf", "MUFU.SIN": "sinf", "MUFU.COS": "cosf"}
_PRECISE = {"FFMA.RM": ("MUFU.EX2", 0, "expf"), "FCHK": ("MUFU.RCP", 1, "division")}
_FAST = {"division": "__fdividef"}


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
        same_code=_is_same_code(before, after),
        may_be_chance=may_be_chance,
    )
    longer = slowdown * before.seconds
    if not longer > 0.0:
        return reason
    found = [*_all(reason, before, after, longer)]
    weighed = [cause for cause in found if cause.seconds is not None]
    counted, called = is_counted(before, after), host_causes.host_calls(before, after) is not None
    named, left = _shared_out(weighed, longer)
    unknown = [cause for cause in found if cause.seconds is None]
    # More calls cost time, however little of it a trace shows.
    if host_causes.makes_more_calls(before, after):
        unknown += (cause for cause in weighed if "added" in cause.key)
    for cause in unknown:
        if cause.key not in {its.key for its in named}:
            named.append(cause)
    # What differs in the launch may begin the words of what it did.
    said = {cause.words for cause in named}
    named = [one for one in named if sum(one.words in words for words in said) == 1]
    if not (counted or called) and (before.host_clock or _may_have_kernels(before, after)):
        lacking = "The host's calls" if before.host_clock else "Hardware counters"
        so = _NO_SHARES if named else _NOTHING_SEEN
        missing = (f"{lacking} are missing, {so}.", *missing)
    # What differs in the launch comes before what it may have done.
    named.sort(key=lambda cause: (-(cause.share or 0.0), cause.rank))
    shown = {change.words for cause in named for change in cause.changes}
    keys = {cause.key for cause in named}
    small = (one.changes[0] for one in weighed if one.key not in keys and one.rank < 2)
    others = {one.words: one for one in (*moved, *small) if one.words not in shown}
    weighs = counted or called or any(cause.share is not None for cause in named)
    return replace(
        reason,
        causes=(*named,),
        unexplained=left / longer if weighs else None,
        others=(*others.values(),),
        missing=(*missing,),
    )


def _all(reason: Reason, before: Evidence, after: Evidence, longer: float) -> Iterator[Cause]:
    yield from _clock(before, after)
    yield from host_causes.device_causes(before, after)
    yield from host_causes.host_causes(before, after)
    if not host_causes.device_counts(before, after):
        return
    sides = _kernels(reason, before, after)
    unknown = before.host_clock and host_causes.host_calls(before, after) is None
    if sides.is_counted and unknown and sides.slower > _AS_MUCH * longer:
        return  # the host does not wait for them
    yield from _other_kernels(before, after)
    if not sides.relaunched:
        yield from _other_arguments(before, after)
    for cause in sides.causes():
        # Kernels cannot explain more than their own additional time.
        seconds = None if cause.seconds is None else min(cause.seconds, sides.slower)
        yield replace(cause, seconds=seconds)


def _kernels(reason: Reason, before: Evidence, after: Evidence) -> Sides:
    """Return what is known of the kernels of both sides."""
    kept = [key for key in RESOURCES if key in before.resources and key in after.resources]
    counted, number = is_counted(before, after), _ELEMENTS.search(reason.name)
    both: list[dict[str, float]] = []
    for side in (before, after):
        found = {**(side.counters or {})} if counted else {}
        found |= {key: side.resources[key] for key in kept}
        threads = found.get("grid", 0.0) * found.get("block", 0.0)
        if number and threads and found.get(KERNELS, 1.0) == 1.0:
            elements = float(number[1]) / threads
            found |= {"elements": elements} if elements.is_integer() else {}
        if not counted and "waves" in side.resources and "blocks_per_sm" in found:
            blocks = side.resources["waves"] * found["blocks_per_sm"]
            found["blocks_each"] = float(f"{blocks:.5g}")  # waves are rounded, too
        if len(bounds := {kernel.bounds for kernel in (side.code or {}).values()}) == 1:
            found["bounds"] = bounds.pop()
        both.append(found)
    names = [{*map(without_arguments, kernels_in(side.device or {}))} for side in (before, after)]
    return Sides(
        both[0],
        both[1],
        {} if reason.same_code else _code_differences(before, after, reason.code.values()),
        reason.same_code,
        names[0] == names[1],
    )


def is_counted(*sides: Evidence) -> bool:
    return all("time" in (side.counters or {}) for side in sides)


def _may_have_kernels(*sides: Evidence) -> bool:
    """Return False if the trace shows no kernels, as for a copy: then nothing can be counted."""
    return any(one.device is None or kernels_in(one.device) for one in sides)


def _shared_out(found: Sequence[Cause], longer: float) -> tuple[list[Cause], float]:
    """Return the causes that explain enough, and the seconds that no share explains."""
    left, unexplained, named = longer, longer, []
    for cause in sorted(found, key=lambda one: (one.rank, -(one.seconds or 0.0))):
        seconds = min(cause.seconds or 0.0, left)
        if seconds >= _LEAST_SHARE * longer:
            named.append(replace(cause, share=seconds / longer if cause.is_sound else None))
            left -= seconds
            unexplained -= seconds if cause.is_sound else 0.0
    return named, unexplained


def _clock(before: Evidence, after: Evidence) -> Iterator[Cause]:
    """Yield a lower SM clock as a cause of device times; the code does not cause it."""
    old, new = (side.resources.get(_CLOCK, 0.0) for side in (before, after))
    by_memory = (after.counters or {}).get("dram_busy", 0.0) > BOUND
    if not (before.host_clock or by_memory) and 0.0 < new < old * (1.0 - _CLOCK_NOISE):
        changes = (Change("SM clock", old, new, "Hz"),)
        seconds = after.seconds * (1.0 - new / old)
        yield Cause("clock", "the SM clock is lower", changes, seconds, 0)


def _other_kernels(before: Evidence, after: Evidence) -> Iterator[Cause]:
    """Yield other kernels chosen by a library; differences of their counters are consequences."""
    was, is_now = (
        {readable(name): one.seconds for name, one in kernels_in(side.device or {}).items()}
        for side in (before, after)
    )
    gone = [name for name in was if name not in is_now]
    come = [name for name in is_now if name not in was]
    if gone and come and any(map(_LIBRARY.search, (*gone, *come))):
        old, new = sum(was[name] for name in gone), sum(is_now[name] for name in come)
        words = f"another kernel: {come[0]} instead of {gone[0]}"
        changes = (Change("time of the library's kernels", old, new, "s"),)
        yield Cause("library_kernel", words, changes, new - old, 0)


def _other_arguments(before: Evidence, after: Evidence) -> Iterator[Cause]:
    """Yield a template argument that alone differs in a kernel's name, such as a tile's width."""
    for old, new in _pairs(before.code or {}, after.code or {}):
        names = [_WORD.findall(readable(kernel.name)) for kernel in (old, new)]
        differ = [at for at, (a, b) in enumerate(zip(*names, strict=False)) if a != b]
        if len(names[0]) == len(names[1]) and len(differ) == 1:
            at = differ[0]
            of = next((word for word in reversed(names[1][:at]) if word[0].isalpha()), "")
            was, is_now = (name[at].removesuffix("u") for name in names)
            yield Cause("template", f"{of.rpartition('::')[2]} {was} → {is_now}", (), None, 1)


def _changed_resources(before: Evidence, after: Evidence) -> tuple[Change, ...]:
    old, new = before.resources, after.resources
    both = [key for key in RESOURCES if key in old and key in new]
    return tuple(Change(RESOURCES[k], old[k], new[k]) for k in both if old[k] != new[k])


def code_changes(
    before: Mapping[str, Kernel] | None, after: Mapping[str, Kernel] | None
) -> dict[str, CodeChange]:
    """Return the change of each kernel that both sides have, by its name in the source."""
    pairs = _pairs(before or {}, after or {})
    return {readable(new.name): changed(old, new) for old, new in pairs}


def _pairs(
    before: Mapping[str, Kernel], after: Mapping[str, Kernel]
) -> list[tuple[Kernel, Kernel]]:
    """Return each kernel that both sides have.

    Of kernels whose template arguments or parameters changed, those with a unique name.
    """
    pairs = [(before[key], after[key]) for key in before if key in after]
    rest = [(kernel, 0) for key, kernel in before.items() if key not in after]
    rest += [(kernel, 1) for key, kernel in after.items() if key not in before]
    by_name: dict[str, tuple[list[Kernel], list[Kernel]]] = {}
    for kernel, side in rest:
        by_name.setdefault(without_arguments(kernel.name), ([], []))[side].append(kernel)
    pairs += [(old[0], new[0]) for old, new in by_name.values() if len(old) == len(new) == 1]
    return pairs


def _is_same_code(before: Evidence, after: Evidence) -> bool:
    """Return whether both sides are known to run the same kernels with the same machine code."""
    old, new = ({k: one.digest for k, one in (side.code or {}).items()} for side in (before, after))
    return before.code_is_whole and after.code_is_whole and bool(old) and old == new


def _code_differences(
    before: Evidence, after: Evidence, changes: Iterable[CodeChange]
) -> dict[str, Cause]:
    """Return what of the code usually makes a kernel slower, by cause."""
    found: dict[str, Cause] = {}
    for change in changes:
        if not change.is_same:
            for cause in _of_change(change, _functions(before, after)):
                found.setdefault(cause.key, cause)
    is_spill = (one.is_spill for kernel in (after.code or {}).values() for one in kernel.code)
    if "spills" in found and any(is_spill):
        found["spills"] = replace(found["spills"], words=_SPILLED)
    return found


def _of_change(change: CodeChange, functions: str) -> Iterator[Cause]:
    everything = sum(one.weighted for one in change.after.values())
    for key, what, kind in _GROWN:
        old, new = change.counts(kind)
        more = new.weighted - old.weighted
        if new.weighted > old.weighted * _MORE and more >= _LEAST * everything:
            moved = Change(what, old.instructions, new.instructions)
            yield Cause(key, "", (moved,))
    # Narrower accesses with more conversions come from a smaller element type.
    old, new = change.counts(sass.CONVERSION)
    for width in change.widths:
        wide, narrow = width.before[0], width.after[0]
        is_global = width.access in (sass.GLOBAL_LOAD, sass.GLOBAL_STORE)
        if is_global and narrow < wide and old.weighted >= new.weighted:
            moved = Change(f"bits of a {width.access}", wide, narrow)
            yield Cause("narrower", moved.text, (moved,))
    few, many = change.counts(sass.FP16)
    old, new = change.counts(sass.FP32)
    if many.weighted * _MORE < few.weighted and new.weighted > old.weighted * _MORE:
        moved = Change("FP16 instructions in the code", few.instructions, many.instructions)
        yield Cause("fp32", "", (moved,))
    loops = [str(loop) for loop in change.unrolled if loop.is_less]
    if loops:
        yield Cause("unrolling", ", ".join(loops[:_MOST_LOOPS]), ())
    if functions:
        moved = Change("FP32 instructions in the code", old.instructions, new.instructions)
        yield Cause("precise", functions, (moved,))


def _functions(before: Evidence, after: Evidence) -> str:
    """Return which precise functions replace approximate ones, as far as the code tells."""
    old, new = (
        Counter(one.opcode for kernel in (side.code or {}).values() for one in kernel.code)
        for side in (before, after)
    )
    names = [name for code, name in _APPROXIMATE.items() if new[code] < old[code]]
    for code, (approximate, more, name) in _PRECISE.items():
        if new[code] > old[code] and 0 < old[approximate] >= new[approximate] - more:
            names.append(name)
    return ", ".join(f"{name} instead of {_FAST.get(name, f'__{name}')}" for name in names)
