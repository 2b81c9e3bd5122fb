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
TIMES, NOT_MEASURED = ("warpgauge.time", "CUPTI"), 3


def functions() -> dict[str, Function]:
    """Return what is timed; the last one takes several kernels."""
    jax = import_module("jax")
    return {
        "square": jax.jit(lambda x: x * x),
        "softmax": jax.jit(lambda x: jax.nn.softmax(x, -1)),
        "perceptron": jax.jit(lambda x: jax.nn.relu(x @ x) @ x.T),
    }


def seconds(timer: str, name: str, size: int) -> Seconds:
    """Return the time of a function in this process, which uses no other timer."""
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    jax = import_module("jax")
    fn, x = functions()[name], jax.random.normal(jax.random.key(0), (size, size))
    jax.block_until_ready(fn(x))
    return (by_warpgauge if timer == TIMES[0] else by_cupti)(fn, x)


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
        names = [*functions()]
        for needed in ("torch", "warpgauge_engine"):
            import_module(needed)
    except ImportError as fault:
        print(f"jax_times: this python3 has no module {fault.name}", file=sys.stderr)
        return NOT_MEASURED
    fresh = multiprocessing.get_context("spawn")
    status = 0
    for name in names:
        for size in sizes:
            with fresh.Pool(1, maxtasksperchild=1) as pool:
                asked = [(timer, name, size) for timer in TIMES]
                ours, other = pool.starmap(seconds, asked, chunksize=1)
            is_right = abs(ours - other) <= SHARE * other + LEAST
            status = status if is_right else 1
            print(
                f"{name:>10} {size:>5}²  {1e6 * ours:9.3f} µs  CUPTI {1e6 * other:9.3f} µs  "
                f"{1e9 * (ours - other):+8.0f} ns  {ours / other - 1:+7.2%}  "
                f"{'within' if is_right else 'OUTSIDE'}",
                flush=True,
            )
    return status


if __name__ == "__main__":
    sys.exit(main())
