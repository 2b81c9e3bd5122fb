# SPDX-License-Identifier: Apache-2.0
"""Twenty planted causes are named first; where nothing explains a slowdown, nothing is named."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import replace

import msgspec
import pytest

from counter_sets import kernel, noisy
from warpgauge.why.causes import causes
from warpgauge.why.cupti import Call, Calls
from warpgauge.why.evidence import Evidence
from warpgauge.why.machine_code import Instruction, Kernel

Counters = dict[str, float]
_SEEDS = range(6)

# Stall reasons, in warps an issue: a kernel that streams, one that computes, one in shared memory.
_STREAMS = {"long_scoreboard": 240.0, "lg_throttle": 20.0, "drain": 10.0, "wait": 5.0, "other": 7.0}
_COMPUTES = {"wait": 2.2, "not_selected": 2.5, "selected": 1.0, "math_pipe_throttle": 0.6}
_COMPUTES |= {"long_scoreboard": 2.0, "short_scoreboard": 0.8, "branch_resolving": 0.1}
_SHARES = {"short_scoreboard": 4.0, "mio_throttle": 3.0, "barrier": 3.0, "long_scoreboard": 14.0}
_SHARES |= {"wait": 2.0, "selected": 1.0, "not_selected": 1.0}


def streaming(stalls: Mapping[str, float] = _STREAMS, **counts: float) -> Counters:
    """256 MiB read and written with 16 bytes a thread."""
    usual = {"instructions": 6.3e6, "fma": 2.1e6, "alu": 1.6e6, "control": 5.2e5}
    usual |= {"load_requests": 524288.0, "load_sectors": 8388608.0, "dram_bytes": 5.37e8}
    usual |= {"store_requests": 524288.0, "store_sectors": 8388608.0}
    return kernel({**_STREAMS, **stalls}, **{**usual, **counts})


def computing(stalls: Mapping[str, float] = _COMPUTES, **counts: float) -> Counters:
    """A polynomial and an exponential function of each element, in registers."""
    usual = {"instructions": 4.2e8, "fma": 2.4e8, "alu": 9e7, "xu": 2.1e7, "control": 8e6}
    usual |= {"load_requests": 2.1e6, "load_sectors": 8.4e6, "dram_bytes": 5.4e8}
    usual |= {"store_requests": 2.1e6, "store_sectors": 8.4e6, "registers": 40.0}
    return kernel({**_COMPUTES, **stalls}, **{**usual, **counts})


def tiled(stalls: Mapping[str, float] = _SHARES, **counts: float) -> Counters:
    """A transposition by tiles in shared memory."""
    usual = {"instructions": 6.7e7, "alu": 3.1e7, "control": 4.2e6, "shared_bytes": 4224.0}
    usual |= {"load_requests": 2.1e6, "load_sectors": 8.4e6, "dram_bytes": 5.37e8}
    usual |= {"store_requests": 2.1e6, "store_sectors": 8.4e6}
    usual |= {"shared_instructions": 4.2e6, "shared_wavefronts": 4.3e6, "bank_conflicts": 8e4}
    return kernel({**_SHARES, **stalls}, **{**usual, **counts})


def histogram(stalls: Mapping[str, float], **counts: float) -> Counters:
    """Atomic additions, one a thread."""
    usual = {"instructions": 2.1e7, "alu": 1.1e7, "load_requests": 2.1e6, "load_sectors": 8.4e6}
    usual |= {"dram_bytes": 2.7e8, "atomic_sectors": 8.4e6, "atomic_cycles": 1.1e5}
    return kernel({**_STREAMS, **stalls}, **{**usual, **counts})


# Both sides of each cause that lies in a kernel.
PLANTED: Mapping[str, tuple[Counters, Counters]] = {
    "spills": (
        computing(registers=72, warps=12.0, occupancy_limit=0.44),
        computing(
            {"long_scoreboard": 5.5, "lg_throttle": 2.5},
            **{"registers": 32, "local_sectors": 6.7e7, "local_instructions": 1.7e7},
            **{"instructions": 4.4e8, "warps": 14.0, "occupancy_limit": 1.0, "dram_bytes": 6e8},
        ),
    ),
    "unrolling": (
        computing(),
        computing(
            {"branch_resolving": 0.6, "wait": 2.6},
            **{"instructions": 5e8, "alu": 1.3e8, "control": 4.8e7, "registers": 26},
        ),
    ),
    "narrower": (
        streaming(),
        streaming(
            {"long_scoreboard": 75.0, "lg_throttle": 17.0, "drain": 4.0, "other": 2.0},
            **{"instructions": 1.9e7, "fma": 2.1e6, "alu": 8e6, "control": 2.1e6, "registers": 16},
            **{"load_requests": 2.1e6, "store_requests": 2.1e6},
        ),
    ),
    "uncoalesced": (
        streaming(),
        streaming(
            {"long_scoreboard": 410.0, "lg_throttle": 40.0}, load_sectors=3.3e7, dram_bytes=1e9
        ),
    ),
    "bank_conflicts": (
        tiled(),
        tiled(
            {
                "short_scoreboard": 21.0,
                "mio_throttle": 12.0,
                "barrier": 8.0,
                "long_scoreboard": 9.0,
            },
            **{"shared_wavefronts": 7.1e7, "bank_conflicts": 6.7e7, "shared_bytes": 4096},
        ),
    ),
    "occupancy": (
        streaming(),
        streaming(
            {"long_scoreboard": 130.0, "lg_throttle": 6.0},
            **{"warps": 4.0, "occupancy_limit": 0.25, "shared_bytes": 100352, "waves": 62},
        ),
    ),
    "tail": (
        computing(grid=1056.0, waves=1.0, active=0.95),
        computing(grid=1064.0, waves=1.008, active=0.52, instructions=4.23e8),
    ),
    "atomics": (
        histogram({"long_scoreboard": 80.0, "lg_throttle": 10.0}),
        histogram({"long_scoreboard": 240.0, "lg_throttle": 900.0}, atomic_cycles=8.4e5),
    ),
    "precise": (
        computing(),
        computing(instructions=5.9e8, fma=3.6e8, alu=1.2e8, control=1.2e7, registers=44),
    ),
    "fp64": (
        computing(),
        computing(
            {"math_pipe_throttle": 2.8, "short_scoreboard": 2.0},
            **{"instructions": 4.9e8, "fma": 2.1e8, "fp64": 6e7, "xu": 6.3e7, "registers": 46},
        ),
    ),
    "l2_misses": (
        streaming(l2_hits=0.8, dram_bytes=1.4e8),
        streaming({"long_scoreboard": 380.0}, l2_hits=0.32, dram_bytes=5e8),
    ),
    "divergence": (
        computing(),
        computing(
            {"branch_resolving": 0.5},
            instructions=7.6e8,
            fma=4.4e8,
            alu=1.7e8,
            xu=3.9e7,
            threads=17.3,
            control=2.5e7,
        ),
    ),
    "constants": (
        computing(constant_requests=2.1e6, constant_cycles=2.1e6),
        computing(
            {"short_scoreboard": 14.0, "mio_throttle": 5.0},
            **{"constant_requests": 2.1e6, "constant_cycles": 6.7e7},
        ),
    ),
    "library_kernel": (
        tiled(instructions=3e7, tensor=4e6),
        tiled(
            {"long_scoreboard": 20.0, "mio_throttle": 6.0},
            **{"instructions": 4.4e7, "tensor": 8e6, "grid": 512, "active": 0.8, "registers": 168},
        ),
    ),
}
_NAMES = {
    "library_kernel": (
        "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT",
        "sm80_xmma_gemm_f16f16_f16f32_f32_nn_n_tilesize128x64x32_stage4",
    )
}


def sides(
    before: Counters, after: Counters, seed: int, names: tuple[str, str] = ("f", "f")
) -> list[Evidence]:
    """Evidence of two device rows, with the scatter of two profiles and an innocent change."""
    pair = noisy(before, 2 * seed), noisy(after, 2 * seed + 1)
    return [
        Evidence(
            one["time"],
            resources={"registers": one["registers"] + 2.0 * side, "kernels": 1.0},
            counters=measured,
            kernels={name: measured["time"]},
        )
        for side, (one, measured, name) in enumerate(zip((before, after), pair, names, strict=True))
    ]


def slowdown(before: Evidence, after: Evidence) -> float:
    return after.seconds / before.seconds - 1.0


@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.parametrize("cause", PLANTED)
def test_a_cause_within_a_kernel_is_named_first(cause: str, seed: int) -> None:
    before, after = sides(*PLANTED[cause], seed, _NAMES.get(cause, ("f", "f")))
    assert slowdown(before, after) > 0.03
    found = causes(before, after, slowdown(before, after))
    assert [one.key for one in found.causes[:1]] == [cause]
    share = found.causes[0].share
    assert share is not None
    assert share > 0.4
    assert found.unexplained is not None
    total = sum(one.share or 0.0 for one in found.causes) + found.unexplained
    assert total == pytest.approx(1.0)


def host(
    calls: Mapping[str, tuple[float, float]], rest: float = 2e-6, device: Calls | None = None
) -> Evidence:
    """An operation that the host's clock times: its calls by count and microseconds."""
    made = {name: Call(count, total * 1e-6) for name, (count, total) in calls.items()}
    seconds = sum(one.seconds for one in made.values()) + 2e-6
    return Evidence(seconds, True, calls=made, device=device)


_LAUNCH = {"cudaLaunchKernel": (1.0, 2.1), "cudaStreamSynchronize": (1.0, 6.0)}
_ALLOCATE = {"cudaMallocAsync": (1.0, 0.6), "cudaFreeAsync": (1.0, 0.5)}
HOSTS: Mapping[str, tuple[Evidence, Evidence]] = {
    "added_wait": (host(_LAUNCH), host({**_LAUNCH, "cudaStreamSynchronize": (2.0, 9.5)})),
    "added_memset": (host(_LAUNCH), host({**_LAUNCH, "cudaMemsetAsync": (1.0, 1.9)})),
    "pageable": (
        host({"cudaMemcpyAsync": (1.0, 1.5), "cudaStreamSynchronize": (1.0, 22.0)},
             device={"memcpy pinned to device": Call(1.0, 2.0e-5)}),
        host({"cudaMemcpyAsync": (1.0, 85.0), "cudaStreamSynchronize": (1.0, 4.0)},
             device={"memcpy pageable to device": Call(1.0, 8e-5)}),
    ),
    "added_call": (host(_LAUNCH), host({**_LAUNCH, "cudaFuncSetAttribute": (1.0, 0.7)})),
    "memory_pool": (
        host({**_ALLOCATE, **_LAUNCH}),
        host({**_LAUNCH, "cudaMallocAsync": (1.0, 160.0), "cudaFreeAsync": (1.0, 0.6),
              "cudaStreamSynchronize": (1.0, 88.0)}),
    ),
    "graph_to_stream": (
        host({"cudaGraphLaunch": (1.0, 6.0), "cudaStreamSynchronize": (1.0, 20.0)}),
        host({"cudaLaunchKernel": (20.0, 41.0), "cudaStreamSynchronize": (1.0, 21.0)}),
    ),
}  # fmt: skip


def scattered(evidence: Evidence, seed: int) -> Evidence:
    drawn = random.Random(seed)
    made = {
        name: Call(one.count, one.seconds * (1.0 + drawn.gauss(0.0, 0.03)))
        for name, one in (evidence.calls or {}).items()
    }
    return replace(evidence, calls=made)


@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.parametrize("cause", HOSTS)
def test_a_cause_among_the_calls_is_named_first(cause: str, seed: int) -> None:
    before, after = HOSTS[cause]
    slower = slowdown(before, after)
    found = causes(scattered(before, 2 * seed), scattered(after, 2 * seed + 1), slower)
    assert [one.key for one in found.causes[:1]] == [cause]
    assert (found.causes[0].share or 0.0) > 0.5


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


BASES: Mapping[str, Counters] = {
    "streaming": streaming(),
    "computing": computing(),
    "tiled": tiled(),
    "histogram": histogram({}),
}


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
    "another grid that keeps all at work": lambda one: {
        **longer(one, 1.06), "grid": one["grid"] / 2, "waves": one["waves"] / 2,
    },
    "a few spills off the way": lambda one: {
        **longer(one, 1.05), "local_sectors": 800.0, "local_instructions": 200.0,
    },
}  # fmt: skip


@pytest.mark.parametrize("change", NOTHING)
@pytest.mark.parametrize("base", BASES)
def test_what_nothing_explains_is_unknown(base: str, change: str) -> None:
    for seed in _SEEDS:
        before, after = sides(BASES[base], NOTHING[change](BASES[base]), seed)
        after = replace(after, seconds=before.seconds * 1.06)
        found = causes(before, after, 0.06)
        assert found.causes == ()
        assert found.unexplained == pytest.approx(1.0)


@pytest.mark.parametrize("case", HOSTS)
def test_calls_that_scatter_alone_explain_nothing(case: str) -> None:
    before = HOSTS[case][0]
    for seed in _SEEDS:
        found = causes(scattered(before, 2 * seed), scattered(before, 2 * seed + 1), 0.3)
        assert found.causes == ()


def test_two_causes_share_the_slowdown() -> None:
    before = streaming()
    after = streaming(
        {"long_scoreboard": 280.0}, load_sectors=1.7e7, dram_bytes=7e8, grid=140.0, active=0.8
    )
    one, other = sides(before, after, 1)
    found = causes(one, other, slowdown(one, other))
    assert {cause.key for cause in found.causes} == {"uncoalesced", "tail"}
    assert sum(cause.share or 0.0 for cause in found.causes) <= 1.0


def test_the_clock_is_a_cause_of_device_times() -> None:
    before = Evidence(1e-4, resources={"working_sm_clock_hz": 1.98e9}, counters=computing())
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
    assert [one.words for one in found.others] == ["registers", "blocks per SM"]
    assert found.missing


def keys(before: Evidence, after: Evidence) -> list[str]:
    return [one.key for one in causes(before, after, slowdown(before, after)).causes]


def of_kernels(*names: str) -> list[Evidence]:
    """A side each, of one kernel that takes longer on the second."""
    times = (1e-4, 1.3e-4)
    return [
        Evidence(time, counters={"time": time}, kernels={name: time})
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
    slow = sides(*PLANTED["bank_conflicts"], 1)
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


# Changes that look like a planted cause, and are another.
ALIKE: Mapping[str, tuple[Counters, Counters]] = {
    "elements of twice the size": (
        streaming(load_efficiency=1.0, store_efficiency=1.0),
        streaming(
            {"long_scoreboard": 480.0},
            **{"load_sectors": 1.7e7, "store_sectors": 1.7e7, "dram_bytes": 1.1e9},
            **{"load_efficiency": 1.0, "store_efficiency": 1.0},
        ),
    ),
    "blocks of 48 threads": (
        computing(),
        computing(block=48.0, threads=24.0, instructions=5.6e8, fma=3.2e8),
    ),
    "conflicts that other traffic of the L1 makes": (
        tiled(),
        tiled({"long_scoreboard": 25.0}, shared_wavefronts=4.45e6, bank_conflicts=2e5),
    ),
}
NAMED = dict(zip(ALIKE, (["traffic"], ["partial_warps"], []), strict=True))


@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.parametrize("change", ALIKE)
def test_what_looks_alike_is_told_apart(change: str, seed: int) -> None:
    assert keys(*sides(*ALIKE[change], seed))[:1] == NAMED[change]


def test_branches_that_no_loop_made_are_not_called_unrolling() -> None:
    def code(*opcodes: str) -> dict[str, Kernel]:
        made = [Instruction(16 * n, "", one, (), "") for n, one in enumerate(opcodes)]
        return {"f": Kernel("f", tuple(made), " ".join(opcodes))}

    before, after = sides(*PLANTED["unrolling"], 1)
    known = [
        replace(side, code=code(*words), code_is_whole=True)
        for side, words in ((before, ("FFMA", "EXIT")), (after, ("ISETP", "BSSY", "FFMA", "EXIT")))
    ]
    assert keys(*known)[:1] == ["branches"]


def test_what_is_not_slower_has_no_causes() -> None:
    before, after = sides(*PLANTED["spills"], 1)
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
    before, after = sides(*PLANTED["bank_conflicts"], 3)
    calls: Calls = {"cudaStreamSynchronize": Call(1.0, before.seconds)}
    longer: Calls = {"cudaStreamSynchronize": Call(1.0, after.seconds)}
    before = replace(before, host_clock=True, calls=calls)
    after = replace(after, host_clock=True, calls=longer)
    found = causes(before, after, slowdown(before, after))
    assert found.causes[0].key == "bank_conflicts"


@pytest.mark.parametrize("cause", PLANTED)
def test_a_counter_that_one_side_lacks_is_no_change(cause: str) -> None:
    before, after = sides(*PLANTED[cause], 1)
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
        for number, side in enumerate(sides(*PLANTED[cause], 1))
    ]
    before, after = made
    found = causes(before, after, slowdown(before, after))
    assert found.causes[0].key == cause
    assert not any("cuda" in one.words for one in found.others)


def test_a_loop_is_unrolled_less_where_branches_are_not_counted() -> None:
    """The counts are of an H100: 256 steps by each of 32768 warps."""

    def code(unrolled: int) -> dict[str, Kernel]:
        words = ["LDG.E", *["FFMA"] * unrolled, "ISETP.NE.AND", "BRA", "STG.E", "EXIT"]
        at = len(words) - 3
        made = [
            Instruction(
                16 * n,
                "@P0" if n == at else "",
                one,
                ("0x10",) if n == at else (),
                "f.cu:2" if 0 < n <= at else "f.cu:1",
            )
            for n, one in enumerate(words)
        ]
        return {"f": Kernel("f", tuple(made), str(unrolled))}

    before, after = sides(
        computing(instructions=10911744.0, fma=8.4e6, alu=1474560.0, xu=0.0),
        computing(instructions=34308096.0, fma=8.6e6, alu=8585216.0, xu=0.0),
        1,
    )
    known = []
    for side, unrolled in ((before, 16), (after, 1)):
        counted = {k: value for k, value in (side.counters or {}).items() if k != "control"}
        known.append(replace(side, counters=counted, code=code(unrolled), code_is_whole=True))
    assert keys(*known)[:1] == ["unrolling"]
    assert keys(*(replace(side, code=code(16)) for side in known))[:1] == ["instructions"]


def test_evidence_is_judged_again_as_it_was() -> None:
    for pair in ([*HOSTS["added_wait"]], sides(*PLANTED["bank_conflicts"], 1)):
        read = [msgspec.convert(json.loads(json.dumps(one.as_json())), Evidence) for one in pair]
        assert read == pair
        by = slowdown(pair[0], pair[1])
        assert causes(read[0], read[1], by) == causes(pair[0], pair[1], by)
