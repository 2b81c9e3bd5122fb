# SPDX-License-Identifier: Apache-2.0
"""Twenty planted causes are named first; where nothing explains a slowdown, nothing is named.

The file is what `warpgauge explain NAME --against REF --format json` wrote of each on an H200, as
test_planted_causes.py runs it.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from counter_sets import kernel, noisy
from warpgauge.why.causes import explanation
from warpgauge.why.cupti import Call, Calls
from warpgauge.why.machine_code import Instruction, Kernel
from warpgauge.why.reason import Evidence, Reason

Counters = dict[str, float]
Sides = tuple[Evidence, Evidence]
_SEEDS = range(6)

_FILE = Path(__file__).with_name("planted_causes_on_h200.json.gz")
_GIVEN = json.loads(gzip.decompress(_FILE.read_bytes()))
PLANTED = {name: msgspec.convert(one["evidence"], Sides) for name, one in sorted(_GIVEN.items())}
COUNTED = [name for name, (base, _) in PLANTED.items() if base.counters is not None]
CALLED = [name for name, (base, _) in PLANTED.items() if base.host_clock]


def causes(before: Evidence, after: Evidence, slowdown: float) -> Reason:
    return explanation("a/b", before, after, slowdown)


def scattered(evidence: Evidence, seed: int) -> Evidence:
    """The same as another run of the profilers would give it."""
    drawn = random.Random(seed)
    calls = {
        name: Call(one.count, one.seconds * (1.0 + drawn.gauss(0.0, 0.03)))
        for name, one in (evidence.calls or {}).items()
    }
    counters = evidence.counters and noisy(evidence.counters, seed)
    return replace(evidence, counters=counters, calls=calls or evidence.calls)


def both(before: Evidence, after: Evidence, seed: int) -> Sides:
    return scattered(before, 2 * seed), scattered(after, 2 * seed + 1)


@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.parametrize("planted", PLANTED)
def test_the_planted_cause_is_named_first_and_explains_most(planted: str, seed: int) -> None:
    base, candidate = PLANTED[planted]
    found = causes(*both(base, candidate, seed), _GIVEN[planted]["slowdown"])
    first = found.causes[0]
    assert first.key == planted
    if first.share is not None:
        assert first.share > 0.5
        assert found.unexplained is not None
        total = sum(one.share or 0.0 for one in found.causes) + found.unexplained
        assert total == pytest.approx(1.0)


@pytest.mark.parametrize("planted", PLANTED)
def test_without_counters_the_planted_cause_is_named_or_none(planted: str) -> None:
    sides = [replace(side, counters=None) for side in PLANTED[planted]]
    found = causes(sides[0], sides[1], _GIVEN[planted]["slowdown"])
    # Of another grid it is not known whether it leaves multiprocessors idle.
    known = {"tail": "grid"}.get(planted, planted)
    assert [one.key for one in found.causes[:1]] in ([], [known])


@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.parametrize("planted", PLANTED)
def test_evidence_that_scatters_alone_explains_nothing(planted: str, seed: int) -> None:
    side = PLANTED[planted][1]
    assert causes(*both(side, side, seed), _GIVEN[planted]["slowdown"]).causes == ()


def slowdown(before: Evidence, after: Evidence) -> float:
    return after.seconds / before.seconds - 1.0


def host(calls: Mapping[str, tuple[float, float]], device: Calls | None = None) -> Evidence:
    """An operation that the host's clock times: its calls by count and microseconds."""
    made = {name: Call(count, total * 1e-6) for name, (count, total) in calls.items()}
    seconds = sum(one.seconds for one in made.values()) + 2e-6
    return Evidence(seconds, True, calls=made, device=device)


def test_a_copy_that_takes_longer_from_the_same_memory_is_no_pageable_one() -> None:
    pinned = {"memcpy pinned to device": Call(1.0, 2e-5)}
    calls = {"cudaMemcpyAsync": (1.0, 1.5), "cudaStreamSynchronize": (1.0, 22.0)}
    before = host(calls, device=pinned)
    after = host({**calls, "cudaMemcpyAsync": (1.0, 85.0)}, device=pinned)
    (cause,) = causes(before, after, slowdown(before, after)).causes
    assert cause.key == "slower_call"


def test_a_memset_on_the_device_is_named() -> None:
    kernels = {"kernel": Call(1.0, 1e-4)}
    before = Evidence(1e-4, device=kernels)
    after = Evidence(1.1e-4, device={**kernels, "memset": Call(1.0, 8e-6)})
    found = causes(before, after, 0.1)
    assert [(one.key, round(one.share or 0.0, 2)) for one in found.causes] == [
        ("added_memset", 0.8)
    ]


def longer(one: Counters, factor: float) -> Counters:
    """The same work in more time."""
    busy = {key: value / factor for key, value in one.items() if key.endswith("_busy")}
    return {**one, **busy, "time": one["time"] * factor}


def slower_memory(one: Counters) -> Counters:
    """Each access takes longer, and nothing that is counted tells why."""
    waiting = {"stall_long_scoreboard": one["stall_long_scoreboard"] * 1.5}
    latency = one["latency"] + one["stall_long_scoreboard"] * 0.5
    return {**longer(one, latency / one["latency"]), **waiting, "latency": latency}


NOTHING: Mapping[str, Callable[[Counters], Counters]] = {
    "the kernels take as long under the profiler": dict,
    "all takes longer, as at another clock": lambda one: longer(one, 1.08),
    "memory answers later": slower_memory,
    "registers that cost no occupancy": lambda one: {**one, "registers": one["registers"] + 6},
    "a few spills off the way": lambda one: {
        **longer(one, 1.05), "local_sectors": 800.0, "local_instructions": 200.0,
    },
}  # fmt: skip


@pytest.mark.parametrize("change", NOTHING)
@pytest.mark.parametrize("planted", COUNTED)
def test_what_nothing_explains_is_unknown(planted: str, change: str) -> None:
    base = PLANTED[planted][0]
    after = replace(base, counters=NOTHING[change](dict(base.counters or {})))
    for seed in _SEEDS:
        sides = both(base, replace(after, seconds=base.seconds * 1.06), seed)
        found = causes(*sides, 0.06)
        assert found.causes == ()
        assert found.unexplained == pytest.approx(1.0)


def test_the_clock_is_a_cause_of_device_times() -> None:
    before = Evidence(1e-4, resources={"working_sm_clock_hz": 1.98e9}, counters={})
    after = replace(before, seconds=1.1e-4, resources={"working_sm_clock_hz": 1.8e9})
    (cause,) = causes(before, after, 0.1).causes
    assert cause.key == "clock"
    assert cause.share == pytest.approx(1.0)


def test_without_counters_resources_are_named_without_a_share() -> None:
    before = Evidence(1e-4, resources={"registers": 64, "local_bytes": 0, "blocks_per_sm": 4})
    after = Evidence(1.2e-4, resources={"registers": 32, "local_bytes": 96, "blocks_per_sm": 8})
    found = causes(before, after, 0.2)
    assert [(one.key, one.share) for one in found.causes] == [("spills", None)]
    assert found.unexplained is None
    assert found.causes[0].words.startswith("registers 64 → 32, ")
    assert [one.words for one in found.others] == ["blocks per SM"]
    assert found.missing


def keys(before: Evidence, after: Evidence) -> list[str]:
    return [one.key for one in causes(before, after, slowdown(before, after)).causes]


def of_kernels(*names: str) -> list[Evidence]:
    """A side each, of one kernel that takes longer on the second."""
    times = (1e-4, 1.3e-4)
    return [
        Evidence(time, counters={"time": time}, device={f"kernel {name}": Call(1.0, time)})
        for time, name in zip(times, names, strict=True)
    ]


def test_a_template_of_ones_own_is_no_library_whatever_its_name() -> None:
    for name in ("gemv_kernel<{}>", "my::sgemm_tiled<{}>"):
        assert keys(*of_kernels(name.format(128), name.format(64))) == []
    library = "volta_sgemm_128x64_nn", "cutlass_80_tensorop_s1688gemm_128x128"
    assert keys(*of_kernels(*library)) == ["library_kernel"]


def on_device(**kernels: float) -> Evidence:
    """Of kernels that run once, by microseconds."""
    device = {f"kernel {name}": Call(1.0, time * 1e-6) for name, time in kernels.items()}
    return Evidence(sum(kernels.values()) * 1e-6, device=device)


def test_an_added_kernel_explains_what_it_takes_itself() -> None:
    assert keys(on_device(main=100), on_device(main=150, tiny=2)) == []
    assert keys(on_device(main=100), on_device(other=150, tiny=2)) == []
    assert keys(on_device(fused=100), on_device(one=70, two=70)) == ["added_kernel"]
    assert keys(on_device(main=100), on_device(main=100, new=20)) == ["added_kernel"]
    one, two = on_device(main=100), on_device(main=100, new=20)
    counted = [replace(side, resources={"kernels": n}) for n, side in ((1.0, one), (2.0, two))]
    assert keys(*counted) == ["added_kernel"]


def test_a_call_in_place_of_another_is_no_additional_one() -> None:
    rest = {"cudaStreamSynchronize": (1.0, 6.0)}
    before = host({"cudaLaunchKernel": (1.0, 2.1), **rest})
    after = host({"cudaLaunchKernelExC": (1.0, 4.0), **rest})
    (cause,) = causes(before, after, slowdown(before, after)).causes
    assert (cause.key, "instead of cudaLaunchKernel" in cause.words) == ("slower_call", True)
    before = host({"cudaEventRecord": (1.0, 0.9), **rest})
    after = host({"cudaStreamWaitEvent": (1.0, 0.9), "cudaStreamSynchronize": (1.0, 7.0)})
    assert keys(before, after) == []


def test_kernels_that_the_host_does_not_wait_for_are_no_part_of_its_time() -> None:
    slow = PLANTED["bank_conflicts"]
    issued = {"cudaLaunchKernel": Call(1.0, 2e-6)}
    for calls, found in (
        (issued, []),
        (None, []),  # the kernels became slower than the host did
        ({**issued, "cudaMemcpy": Call(1.0, 2e-6)}, ["bank_conflicts"]),
    ):
        before, after = (
            replace(one, seconds=seconds, host_clock=True, calls=calls)
            for one, seconds in zip(slow, (2e-6, 2.4e-6), strict=True)
        )
        assert keys(before, after) == found


def test_the_clock_costs_nothing_where_memory_is_the_limit() -> None:
    before = Evidence(1e-4, resources={"working_sm_clock_hz": 1.98e9}, counters={"dram_busy": 0.9})
    after = replace(before, seconds=1.03e-4, resources={"working_sm_clock_hz": 1.96e9})
    assert keys(before, after) == []


# Counts of three kernels and their stall reasons, in warps an issue: 256 MiB read and written with
# 16 bytes a thread; a polynomial and an exponential in registers; a transposition by tiles.
_IN_AND_OUT = {"load_requests": 2.1e6, "load_sectors": 8.4e6, "dram_bytes": 5.4e8}
_IN_AND_OUT |= {"store_requests": 2.1e6, "store_sectors": 8.4e6}
STREAMING = (
    {"long_scoreboard": 240.0, "lg_throttle": 20.0, "wait": 5.0, "other": 17.0},
    {
        **{**_IN_AND_OUT, "load_requests": 524288.0, "store_requests": 524288.0},
        **{"instructions": 6.3e6, "fma": 2.1e6, "alu": 1.6e6, "control": 5.2e5},
    },
)
COMPUTING = (
    {"wait": 3.0, "not_selected": 2.5, "selected": 1.0, "long_scoreboard": 2.0},
    {
        **{**_IN_AND_OUT, "instructions": 4.2e8, "fma": 2.4e8, "alu": 9e7, "xu": 2.1e7},
        **{"control": 8e6, "registers": 40.0},
    },
)
TILED = (
    {"short_scoreboard": 4.0, "mio_throttle": 3.0, "barrier": 3.0, "long_scoreboard": 14.0},
    {
        **{**_IN_AND_OUT, "instructions": 6.7e7, "alu": 3.1e7, "control": 4.2e6},
        **{"shared_instructions": 4.2e6, "shared_wavefronts": 4.3e6, "bank_conflicts": 8e4},
    },
)


def changed(base: tuple[Counters, Counters], stalls: Counters, **counts: float) -> Counters:
    return kernel({**base[0], **stalls}, **{**base[1], **counts})


def sides(before: Counters, after: Counters, seed: int) -> Sides:
    """Evidence of two device rows, with the scatter of two profiles."""
    base, candidate = (
        Evidence(row["time"], counters=row, device={"kernel f": Call(1.0, row["time"])})
        for row in (before, after)
    )
    return both(base, candidate, seed)


def test_two_causes_share_the_slowdown() -> None:
    conflicts = {"shared_wavefronts": 1.8e7, "bank_conflicts": 1e7}
    stalls = {"short_scoreboard": 9.0, "mio_throttle": 5.0, "math_pipe_throttle": 8.0}
    after = changed(TILED, stalls, fp64=1e7, **conflicts)
    one, other = sides(changed(TILED, {}), after, 1)
    found = causes(one, other, slowdown(one, other))
    assert {cause.key for cause in found.causes} == {"bank_conflicts", "fp64"}
    assert sum(cause.share or 0.0 for cause in found.causes) <= 1.0


# Another launch, with the counters that it changed in turn, and what is named first.
LAUNCHES: Mapping[str, tuple[dict[str, float], str, str]] = {
    "larger blocks, which keep more at work": (
        {"block": 1024.0, "grid": 4096.0, "waves": 3.9, "active": 0.99},
        *("block", "threads per block 256 → 1024"),
    ),
    "half the elements per thread": (
        {"grid": 32768.0, "waves": 31.0, "load_requests": 4.2e6, "instructions": 9e6},
        *("elements", "elements per thread 4 → 2"),
    ),
    "a grid that is no multiple": ({"grid": 16000.0}, "grid", "blocks 16384 → 16000"),
    "blocks that end one after the other": (
        {"block": 1024.0, "grid": 4096.0, "waves": 3.9, "active": 0.8},
        *("tail", "threads per block 256 → 1024"),
    ),
    "scattered loads of a smaller grid": (
        {"grid": 140.0, "active": 0.8, "load_sectors": 1.7e7, "dram_bytes": 7e8},
        *("tail", "blocks 16384 → 140"),
    ),
    "blocks of which fewer warps fit": (
        {"block": 1024.0, "grid": 4096.0, "occupancy_limit": 0.5, "warps": 7.0, "active": 0.9},
        *("occupancy", "threads per block 256 → 1024"),
    ),
}


@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.parametrize("launch", LAUNCHES)
def test_another_launch_is_named_before_what_it_did(launch: str, seed: int) -> None:
    counts, key, words = LAUNCHES[launch]
    before, after = sides(changed(STREAMING, {}), changed(STREAMING, {}, **counts), seed)
    after = replace(after, seconds=before.seconds * 1.13)
    name = "elementwise/gelu/f32/n:16777216"
    found = explanation(name, before, after, 0.13)
    assert (found.causes[0].key, words in found.causes[0].words) == (key, True)
    measured = {"tail", "occupancy"}
    assert all(cause.share is None for cause in found.causes if cause.key not in measured)
    assert {cause.key for cause in found.causes} <= {key, *measured}


def test_vectors_of_half_the_width_are_named_with_the_elements_per_thread() -> None:
    def vectors(opcode: str, **launch: float) -> tuple[Counters, dict[str, Kernel]]:
        made = Instruction(0, "", opcode, ("R2", "[R4.64]"), "")
        one = Kernel("f", (made, Instruction(16, "", "EXIT", (), "")), opcode)
        return changed(STREAMING, {}, **launch), {"f": one}

    narrow = {"grid": 32768.0, "load_requests": 4.2e6, "store_requests": 4.2e6}
    wide, half = vectors("LDG.E.128"), vectors("LDG.E.64", instructions=1.2e7, **narrow)
    pair = [
        replace(side, code=code, code_is_whole=True)
        for side, (_, code) in zip(sides(wide[0], half[0], 1), (wide, half), strict=True)
    ]
    (cause,) = explanation("a/b/n:16777216", pair[0], pair[1], 0.2).causes
    assert cause.key == "narrower"
    assert cause.words == "elements per thread 4 → 2: bits of a global load 128 → 64"


def test_a_share_is_no_larger_than_its_model_allows() -> None:
    idle = changed(STREAMING, {}, grid=140.0, active=0.9)
    before, after = sides(changed(STREAMING, {}), {**idle, "time": idle["time"] * 1.5}, 1)
    found = causes(before, after, slowdown(before, after))
    (tail,) = found.causes
    assert tail.share == pytest.approx(0.15, abs=0.08)
    assert found.unexplained == pytest.approx(1.0 - (tail.share or 0.0))


# The counts that each cause rests on. Moved back, or the other way, they are no cause.
OPPOSITE = {
    **{"bank_conflicts": ["bank_conflicts"], "uncoalesced": ["load_sectors"]},
    **{"narrower": ["load_requests", "store_requests"], "l2_misses": ["dram_bytes"]},
    **{"fp64": ["fp64"], "precise": ["fma"], "spills": ["local_sectors"], "tail": ["active"]},
    **{"divergence": ["instructions"], "unrolling": ["instructions"]},
    **{"constants": ["constant_busy"], "atomics": ["atomic_busy"]},
    **{"occupancy": ["occupancy_limit"]},
}


@pytest.mark.parametrize("cause", OPPOSITE)
@pytest.mark.parametrize("factor", [1.0, 1.1])
def test_a_count_that_moved_the_other_way_is_no_cause(cause: str, factor: float) -> None:
    before, after = PLANTED[cause]
    old, new = ({**(side.counters or {})} for side in (before, after))
    for key in OPPOSITE[cause]:
        # A unit is busy for a part of the time, which is longer now.
        same = old[key] * (old["time"] / new["time"] if key.endswith("_busy") else 1.0)
        new[key] = same / factor if new[key] > old[key] else same * factor
    assert cause not in keys(before, replace(after, counters=new))


# Changes that look like a planted cause, and are another.
_USED = {"load_efficiency": 1.0, "store_efficiency": 1.0}
_TWICE = {**_USED, "load_sectors": 1.7e7, "store_sectors": 1.7e7, "dram_bytes": 1.1e9}
ALIKE: Mapping[str, tuple[Counters, Counters, list[str]]] = {
    "elements of twice the size": (
        changed(STREAMING, {}, **_USED),
        changed(STREAMING, {"long_scoreboard": 480.0}, **_TWICE),
        ["traffic"],
    ),
    "blocks of 48 threads": (
        changed(COMPUTING, {}),
        changed(COMPUTING, {}, block=48.0, threads=24.0, instructions=5.6e8, fma=3.2e8),
        ["block"],
    ),
    "conflicts that other traffic of the L1 makes": (
        changed(TILED, {}),
        changed(TILED, {"long_scoreboard": 25.0}, shared_wavefronts=4.45e6, bank_conflicts=2e5),
        [],
    ),
}


@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.parametrize("change", ALIKE)
def test_what_looks_alike_is_told_apart(change: str, seed: int) -> None:
    before, after, named = ALIKE[change]
    assert keys(*sides(before, after, seed))[:1] == named


def test_what_is_not_slower_has_no_causes() -> None:
    before, after = PLANTED["spills"]
    for change in (0.0, -0.2, float("nan")):
        assert causes(after, before, change).causes == ()


def test_counters_are_not_missed_where_there_is_nothing_to_count() -> None:
    copy = {"memcpy pinned to device": Call(1.0, 1e-5)}
    for device, missed in ((copy, False), ({**copy, "kernel f": Call(1.0, 1e-6)}, True)):
        found = causes(Evidence(1e-5, device=device), Evidence(2e-5, device=device), 1.0)
        assert bool(found.missing) is missed


def test_sides_of_which_nothing_is_known_are_unknown() -> None:
    found = causes(Evidence(1.0), Evidence(2.0), 1.0)
    assert (found.causes, found.unexplained) == ((), None)


def test_a_host_time_is_also_explained_by_its_kernels() -> None:
    before, after = PLANTED["bank_conflicts"]
    calls: Calls = {"cudaStreamSynchronize": Call(1.0, before.seconds)}
    longer: Calls = {"cudaStreamSynchronize": Call(1.0, after.seconds)}
    before = replace(before, host_clock=True, calls=calls)
    after = replace(after, host_clock=True, calls=longer)
    found = causes(before, after, slowdown(before, after))
    assert found.causes[0].key == "bank_conflicts"


@pytest.mark.parametrize("cause", COUNTED)
def test_a_counter_that_one_side_lacks_is_no_change(cause: str) -> None:
    before, after = PLANTED[cause]
    for key in (before.counters or {}).keys() - {"time"}:
        left = {name: value for name, value in (before.counters or {}).items() if name != key}
        found = causes(replace(before, counters=left), after, slowdown(before, after))
        moved = [change for one in found.causes for change in one.changes[:1]]
        assert all(change.before > 0.0 or change.after >= change.before for change in moved)
        assert sum(one.share or 0.0 for one in found.causes) <= 1.0 + 1e-9


def test_sides_with_the_time_alone_are_unknown() -> None:
    before = Evidence(1.0, counters={"time": 1.0})
    found = causes(before, Evidence(2.0, counters={"time": 2.0}), 1.0)
    assert (found.causes, found.unexplained) == ((), 1.0)


@pytest.mark.parametrize("cause", ["bank_conflicts", "uncoalesced"])
def test_a_call_is_no_cause_of_a_device_time(cause: str) -> None:
    loading = {"cudaLaunchKernel": (2.8e-4, 2.07e-3), "cudaGetLastError": (1.7e-7, 4.2e-7)}
    made = [
        replace(side, calls={name: Call(1.0, times[number]) for name, times in loading.items()})
        for number, side in enumerate(PLANTED[cause])
    ]
    before, after = made
    found = causes(before, after, slowdown(before, after))
    assert found.causes[0].key == cause
    assert not any("cuda" in one.words for one in found.others)


def test_only_the_code_tells_of_unrolling() -> None:
    before, after = PLANTED["unrolling"]
    assert keys(before, replace(after, code=before.code))[:1] == ["instructions"]


def test_evidence_is_judged_again_as_it_was() -> None:
    for pair in (PLANTED["added_wait"], PLANTED["bank_conflicts"]):
        read = [
            msgspec.convert(json.loads(msgspec.json.encode(side, enc_hook=dict)), Evidence)
            for side in pair
        ]
        assert read == [*pair]


CHANGES = {
    "elementwise/gelu_vec8/bf16/n:33554432": "threads per block 128 → 512",
    "elementwise/axpy_vec4/f32/n:16777216": "threads per block 768 → 128",
    "reduce/scan_lookback/i32/n:16777216": "elements per thread 32 → 16",
    "reduce/softmax/bf16/columns:4096": "expf instead of __expf",
    "reduce/sum/f32/n:67108864": "ReduceShape 8 → 2",
    "reduce/transpose_padded/f32/n:8192": "shared bytes 4224 → 4096",
    "gemm/tiled/f32/n:1024": "unrolling at tiled.cu:31 completely → 1",
    "gemm/vectorized/f32/n:2048": "",  # 0.2 % slower, in padding that is not needed
    "gemm/double_buffered/f32/n:2048": "registers 128 → 80",
    "launch/stream_empty/argument_bytes:0": "cudaGetDevice called once more",
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_differs_is_named_first(name: str) -> None:
    """Of changes to kernels of this repository, as measured on an H200."""
    given = json.loads(gzip.decompress(_FILE.with_name("changes_on_h200.json.gz").read_bytes()))
    before, after = msgspec.convert(given[name]["evidence"], Sides)
    reason = explanation(name, before, after, given[name]["slowdown"])
    first = reason.causes[0].words if reason.causes else ""
    assert first.startswith(CHANGES[name])
    assert bool(first) == bool(CHANGES[name])
