# SPDX-License-Identifier: Apache-2.0
"""warpgauge.time of functions of JAX, beside the busy time that CUPTI gives torch.profiler.

Run it with the python3 that has both: ``python3 benchmarks/fidelity/jax_times.py``.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

Array = Any
Function = Callable[[Array], Array]
Seconds = float

CALLS = 100
SIZES = (256, 1024, 2048, 4096)  # rows and columns
# What both may differ by: a share, and seconds.
SHARE, LEAST = 0.03, 0.3e-6
OURS, CUPTI, NOT_MEASURED = "warpgauge.time", "CUPTI", 3


def functions() -> dict[str, Function]:
    """Return what is timed; the last one takes several kernels."""
    jax = import_module("jax")
    return {
        "square": jax.jit(lambda x: x * x),
        "softmax": jax.jit(lambda x: jax.nn.softmax(x, -1)),
        "perceptron": jax.jit(lambda x: jax.nn.relu(x @ x) @ x.T),
    }


def times(timer: str, sizes: Sequence[int]) -> dict[tuple[str, int], Seconds]:
    """Return the time of each function at each size, in a process that uses no other timer."""
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    jax = import_module("jax")

    def timed(fn: Function, size: int) -> Seconds:
        x = jax.random.normal(jax.random.key(0), (size, size))
        jax.block_until_ready(fn(x))
        return by_warpgauge(fn, x) if timer == OURS else by_cupti(fn, x)

    return {(name, size): timed(fn, size) for name, fn in functions().items() for size in sizes}


def by_warpgauge(fn: Function, x: Array) -> Seconds:
    # Its products are of TF32: 1.4 % of the root mean square of those of the perceptron.
    tolerance = 1e-2 * len(x), 1e-3
    return float(import_module("warpgauge").time(fn, x, reference=fn, tolerance=tolerance).seconds)


def by_cupti(fn: Function, x: Array) -> Seconds:
    """The time in which the kernels of a call ran, each behind reads that evict the L2."""
    jax, torch_timers = import_module("jax"), import_module("torch_timers")
    torch = import_module("torch")
    other = torch.ones(torch_timers.EVICTED_BYTES // 4, device="cuda")

    def cold() -> None:
        other.amax()
        torch.cuda.synchronize()
        jax.block_until_ready(fn(x))

    own = {kernel for kernel, _ in torch_timers.kernels(lambda: jax.block_until_ready(fn(x)), 1)}
    found = [its for kernel, its in torch_timers.kernels(cold, CALLS) if kernel in own]
    each = len(found) // CALLS
    return float(statistics.median(sum(found[call * each :][:each]) for call in range(CALLS)))


def main(sizes: Sequence[int] = SIZES) -> int:
    """Print both times of each function and size. Return 1 if any two differ by too much."""
    try:
        for needed in ("jax", "torch", "warpgauge_engine"):
            import_module(needed)
    except ImportError as fault:
        print(f"jax_times: this python3 has no module {fault.name}", file=sys.stderr)
        return NOT_MEASURED
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        ours, theirs = pool.starmap(times, [(OURS, sizes), (CUPTI, sizes)], chunksize=1)
    status = 0
    print(f"{'function':>10} {'size':>6}  {OURS:>14}  {CUPTI:>11}")
    for (name, size), time in ours.items():
        other = theirs[name, size]
        is_right = abs(time - other) <= SHARE * other + LEAST
        status = status if is_right else 1
        print(
            f"{name:>10} {size:>5}²  {1e6 * time:>11.3f} µs  {1e6 * other:>8.3f} µs  "
            f"{1e9 * (time - other):+8.0f} ns  {time / other - 1:+7.2%}  "
            f"{'within' if is_right else 'OUTSIDE'}"
        )
    return status


if __name__ == "__main__":
    sys.exit(main())
