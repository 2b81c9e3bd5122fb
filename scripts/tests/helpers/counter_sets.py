# SPDX-License-Identifier: Apache-2.0
"""Counter sets as Nsight Compute would tell them of kernels on an H200, by what a kernel does.

Times follow from the instructions, the warps in flight and their stall reasons by Little's law, and
how busy units are from what they had to do and from the H200's rates: the sets are consistent with
themselves, as real ones are.
"""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Mapping, Sequence

_SMS, _SCHEDULERS, _CLOCK_HZ = 132, 4, 1.98e9
_DRAM, _L2, _L1 = 4.3e12, 5.5e12, 132 * 128 * 1.98e9  # bytes a second that can be sustained
_ISSUE = _SMS * _SCHEDULERS * _CLOCK_HZ  # instructions a second
# Instructions a second of one kind, as a part of those of all.
_PIPES = {"fma": 1.0, "alu": 0.5, "fp64": 0.5, "xu": 0.125, "lsu": 0.25}

# What repeats exactly, but for what blocks do in another order.
_EXACT = ("registers", "shared_bytes", "block", "grid", "waves", "occupancy_limit")
_CACHED = ("dram_bytes", "l2_hits")


def kernel(stalls: Mapping[str, float], **counts: float) -> dict[str, float]:
    """Counters by the names of why/ncu.py. `stalls` are warps waiting per issue, by reason."""
    one = {
        **{"threads": 32.0, "active": 0.97, "warps": 14.0, "occupancy_limit": 1.0, "control": 1e5},
        **{"fma": 0.0, "alu": 0.0, "fp64": 0.0, "xu": 0.0, "tensor": 0.0, "local_sectors": 0.0},
        **{"local_instructions": 0.0, "shared_instructions": 0.0, "shared_wavefronts": 0.0},
        **{"bank_conflicts": 0.0, "atomic_sectors": 0.0, "atomic_cycles": 0.0, "dram_bytes": 0.0},
        **{"constant_requests": 1e5, "constant_cycles": 1e5, "load_requests": 0.0},
        **{"load_sectors": 0.0, "store_requests": 0.0, "store_sectors": 0.0, "l2_hits": 0.4},
        **{"registers": 32.0, "shared_bytes": 0.0, "block": 256.0, "grid": 16384.0, "waves": 15.5},
        **counts,
    }
    one["latency"] = sum(stalls.values())
    issue = min(one["warps"] / one["latency"], 1.0)
    one["time"] = time = one["instructions"] / _ISSUE / issue / one["active"]
    one["cycles"] = time * _CLOCK_HZ
    for name, count in stalls.items():
        one[f"stall_{name}"] = count
    one["issue_busy"] = issue * one["active"]
    one["lsu"] = sum(one[f"{what}_requests"] for what in ("load", "store"))
    one["lsu"] += one["shared_instructions"] + one["local_instructions"] + one["atomic_sectors"] / 4
    for pipe, rate in _PIPES.items():
        one[f"{pipe}_busy"] = min(one[pipe] / (_ISSUE * rate) / time, 1.0)
    sectors = one["load_sectors"] + one["store_sectors"] + one["local_sectors"]
    one["l1_busy"] = min((sectors * 32 + one["shared_wavefronts"] * 128) / _L1 / time, 1.0)
    one["shared_busy"] = min(one["shared_wavefronts"] * 128 / _L1 / time, 1.0)
    one["l2_busy"] = min(sectors * 32 / _L2 / time, 1.0)
    one["dram_busy"] = min(one["dram_bytes"] / _DRAM / time, 1.0)
    one["atomic_busy"] = min(one.pop("atomic_cycles") / 1.6e9 / time, 1.0)
    one["constant_busy"] = min(one.pop("constant_cycles") / (_SMS * _CLOCK_HZ) / time, 1.0)
    return one


def noisy(counters: Mapping[str, float], seed: int) -> dict[str, float]:
    """The same as another run of the profiler would tell it."""
    drawn = random.Random(seed)

    def scatter(key: str) -> float:
        if key in _EXACT:
            return 0.0
        if key in _CACHED or key.endswith("_busy") or key == "time":
            return 0.01
        return 0.03 if key.startswith("stall_") else 0.002

    return {key: value * (1.0 + drawn.gauss(0.0, scatter(key))) for key, value in counters.items()}


def ncu_table(rows: Sequence[Mapping[str, str]], units: Mapping[str, str]) -> str:
    """What ncu prints: words of the program and its own, then the table."""
    head = ["ID", "Kernel Name", *units]
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerow(head)
    writer.writerow(["", "", *units.values()])
    for number, row in enumerate(rows):
        writer.writerow([str(number), *(row.get(name, "n/a") for name in head[1:])])
    return "==PROF== Connected to process 12\nBenchmark  Time\n" + out.getvalue()
