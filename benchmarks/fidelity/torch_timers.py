# SPDX-License-Identifier: Apache-2.0
"""What the usual timers of Python say of torch.square, beside warpgauge.time and CUPTI's time.

Run it with the python3 that has torch: ``python3 benchmarks/fidelity/torch_timers.py``.
"""

from __future__ import annotations

import importlib
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Tensor = Any
Module = Any
Function = Callable[[Tensor], Tensor]
Seconds = float

CALLS = 200
SIZES = (4096, 2**20, 2**24, 2**26)  # floats, as benchmarks/fidelity/bench_callables.py has them
EVICTED_BYTES = 256 << 20  # more than any L2
NOT_MEASURED = 3

CUPTI = "CUPTI"


def unsynchronised(fn: Function, x: Tensor) -> Seconds:
    """The clock stops when the call returns: the kernel may not have begun."""
    return _by_clock(fn, x, lambda: None)


def synchronised(fn: Function, x: Tensor) -> Seconds:
    """The clock stops when the host knows that the kernel has ended. The cache is warm."""
    return _by_clock(fn, x, _module("torch").cuda.synchronize)


def _by_clock(fn: Function, x: Tensor, wait: Callable[[], None]) -> Seconds:
    synchronize, seconds = _module("torch").cuda.synchronize, list[Seconds]()
    for _ in range(CALLS):
        start = time.perf_counter()
        fn(x)
        wait()
        seconds.append(time.perf_counter() - start)
        synchronize()  # a full queue would make the call wait
    return statistics.median(seconds)


def torch_benchmark(fn: Function, x: Tensor) -> Seconds:
    """Many calls in a row, and one synchronisation: the slower of host and device, warm."""
    timer = _module("torch.utils.benchmark").Timer("fn(x)", globals={"fn": fn, "x": x})
    return float(timer.blocked_autorange().median)


def do_bench(fn: Function, x: Tensor) -> Seconds:
    """Two events around each call, behind a memset: the way between them is added."""
    bench = _module("triton.testing").do_bench
    return 1e-3 * float(bench(lambda: fn(x), return_mode="median"))


def warpgauge_time(fn: Function, x: Tensor) -> Seconds:
    return float(_module("warpgauge").time(fn, x, reference=fn).seconds)


def cupti(fn: Function, x: Tensor) -> Seconds:
    """The time in which the kernels of a call ran, each call after reads that evict the L2.

    0 if none is reported.
    """
    torch = _module("torch")
    other = torch.ones(EVICTED_BYTES // 4, device="cuda")
    own = {name for name, _ in kernels(lambda: fn(x), 1)}
    seconds = [
        seconds
        for name, seconds in kernels(lambda: (other.amax(), fn(x)), CALLS)
        if name in own  # not of the eviction
    ]
    each = len(seconds) // CALLS
    calls = (seconds[number * each : (number + 1) * each] for number in range(CALLS))
    return statistics.median(map(sum, calls))


def kernels(call: Callable[[], object], times: int) -> list[tuple[str, Seconds]]:
    """The kernels of so many calls, in order, as CUPTI reports them."""
    torch, profiler = _module("torch"), _module("torch.profiler")
    with profiler.profile(activities=[profiler.ProfilerActivity.CUDA]) as trace:
        for _ in range(times):
            call()
        torch.cuda.synchronize()
    on_device = torch.autograd.DeviceType.CUDA
    events = [event for event in trace.events() if event.device_type == on_device]
    events.sort(key=lambda event: event.time_range.start)
    return [(event.name, 1e-6 * event.time_range.elapsed_us()) for event in events]


TIMERS: Mapping[str, Callable[[Function, Tensor], Seconds]] = {
    "perf_counter": unsynchronised,
    "and synchronize": synchronised,
    "torch benchmark": torch_benchmark,
    "do_bench": do_bench,
    "warpgauge.time": warpgauge_time,
    CUPTI: cupti,
}


def _module(name: str) -> Module:
    return importlib.import_module(name)


def table(times: Mapping[int, Mapping[str, Seconds]]) -> list[str]:
    """One line a size: each timer's microseconds, and their ratio to CUPTI's."""

    def cell(of_size: Mapping[str, Seconds], timer: str) -> str:
        if timer not in of_size:
            return "–"
        ratio = "" if timer == CUPTI else f" × {of_size[timer] / of_size[CUPTI]:.2f}"
        return f"{1e6 * of_size[timer]:.4g} µs{ratio}"

    rows = [["floats", *TIMERS]]
    rows += [[str(size), *(cell(its, timer) for timer in TIMERS)] for size, its in times.items()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.rjust, row, widths)) for row in rows]


def why_not() -> str:
    """Return what is missing; empty if all is there."""
    try:
        torch, _ = _module("torch"), _module("warpgauge_engine")
        _module("warpgauge")
    except ImportError as fault:
        remedy = "pip install .[torch,triton]"
        return f"this python3 has no module {fault.name}: {remedy}"
    return "" if torch.cuda.is_available() else "torch sees no GPU here"


def main(sizes: Sequence[int] = SIZES) -> int:
    if fault := why_not():
        print(f"torch_timers: {fault}", file=sys.stderr)
        return NOT_MEASURED
    torch, timers = _module("torch"), dict(TIMERS)
    try:
        _module("triton.testing")
    except ImportError:
        del timers["do_bench"]
    arrays = {size: torch.randn(size, device="cuda") for size in sizes}
    times: dict[int, dict[str, Seconds]] = {size: {} for size in sizes}
    for name, timer in timers.items():  # CUPTI last: it slows what follows
        for size, x in arrays.items():
            for _ in range(3):  # compilation and lazy loading end here
                torch.square(x)
            torch.cuda.synchronize()
            times[size][name] = timer(torch.square, x)
    if not all(its[CUPTI] for its in times.values()):
        print("torch_timers: CUPTI reports no kernel to torch.profiler", file=sys.stderr)
        return NOT_MEASURED
    print("\n".join(table(times)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
