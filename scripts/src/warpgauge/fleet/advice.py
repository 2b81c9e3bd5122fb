# SPDX-License-Identifier: Apache-2.0
"""Advice on an outlying GPU or node: how its context and counters differ from others'."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from warpgauge.fleet.factors import TOLD
from warpgauge.fleet.reading import Gpu
from warpgauge.records.counters import OTHER_PROCESSES, SM_CLOCK, THROTTLED
from warpgauge.records.load import load
from warpgauge.records.model import Clock, Row
from warpgauge.system.text import inert, plural, quantity
from warpgauge.verdict.disturbance import lowered_clock

# SM clocks come in steps of 15 MHz, 0.76 % of 1.98 GHz.
_LOWER_CLOCK = 0.0075
_LINK = ("memcpy/h2d", "memcpy/d2h", "p2p/", "nccl/")

Rows = Mapping[str, Row]


def usual_context(gpus: Sequence[Gpu]) -> dict[str, str]:
    """Return the context values that more than half of the GPUs share."""
    found = {}
    for key in TOLD:
        counts = Counter(gpu.session.context.get(key, "") for gpu in gpus)
        value, count = counts.most_common(1)[0]
        if value and 2 * count > len(gpus):
            found[key] = value
    return found


def advice(gpu: Gpu, slower: Collection[str], usual: Mapping[str, str], healthy: Sequence[Rows],
           *, of_node: bool = False) -> list[str]:  # fmt: skip
    """Return what differs on this GPU and may be the cause, likeliest first, and what to do.

    `slower` are its slower benchmarks, `healthy` the rows of some GPUs to compare with.
    """
    rows = load(gpu.path).rows
    slow = [rows[name] for name in slower if name in rows]
    words = [*_clocks(gpu, slow, healthy), *_context(gpu, usual)]
    others = max((row.counters.get(OTHER_PROCESSES, 0.0) for row in slow), default=0.0)
    if others:
        words.append(f"{plural(int(others), 'other process', 'other processes')} used the GPU: end "
                     "them and measure again")  # fmt: skip
    if of_node or (slow and all(row.clock is Clock.HOST for row in slow)):
        words.append("host: compare CPU governor, NUMA binding, BIOS, cooling and load with those "
                     "of another node")  # fmt: skip
    elif any(row.name.startswith(_LINK) for row in slow):
        words.append("link: compare width and generation (nvidia-smi -q -d PCIE, nvidia-smi nvlink "
                     "-s), and check replay counts")  # fmt: skip
    if not words and any("bytes_per_second" in row.counters for row in slow):
        words.append("memory: check remapped rows and ECC errors (nvidia-smi -q -d "
                     "ROW_REMAPPER,ECC), and run dcgmi diag -r 3")  # fmt: skip
    return words or ["measure again; if it remains slow, run dcgmi diag -r 3"]


def _clocks(gpu: Gpu, slow: Sequence[Row], healthy: Sequence[Rows]) -> list[str]:
    full = gpu.session.sm_clock_target_hz
    throttled = [row for row in slow if row.counters.get(THROTTLED)]
    if throttled:
        how = lowered_clock(throttled[0].counters, full)
        return [f"throttled: the SM clock was lowered{how}; check cooling and the power limit"]
    lower = []
    for row in slow:
        held = [one[row.name].counters.get(SM_CLOCK) for one in healthy if row.name in one]
        clocks = [clock for clock in held if clock]
        own = row.counters.get(SM_CLOCK)
        if own and clocks and own < (1.0 - _LOWER_CLOCK) * statistics.median(clocks):
            lower.append((own, statistics.median(clocks), row))
    if 2 * len(lower) <= len(slow):
        return []
    own, usual, row = lower[0]
    reasons = lowered_clock({**row.counters, SM_CLOCK: own}, usual).partition("(")[2].rstrip(")")
    why = f" ({reasons})" if reasons else ""
    return [f"clocks: the SM ran at {quantity(own, 'Hz')}, elsewhere at {quantity(usual, 'Hz')}"
            f"{why}; check cooling, power and clock limits"]  # fmt: skip


def _context(gpu: Gpu, usual: Mapping[str, str]) -> list[str]:
    context = gpu.session.context
    return [
        f"{key} is {inert(context[key])}, elsewhere {inert(value)}"
        for key, value in usual.items()
        if context.get(key, value) != value
    ]
