# SPDX-License-Identifier: Apache-2.0
"""The counters of a row, and how those of several measurements are combined."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType

from warpgauge.system.text import quantity

Counters = Mapping[str, float]
Combine = Callable[[Sequence[float]], float]

# What the kernels of an operation take, as a person says it. They carry no noise: where one
# differs, something else ran.
RESOURCES = MappingProxyType(
    {
        "registers": "registers",
        "local_bytes": "local bytes (spills)",
        "shared_bytes": "shared bytes",
        "blocks_per_sm": "blocks per SM",
        "kernels": "kernels per operation",
        "peak_device_bytes": "peak device memory",
    }
)

# 1 where the host's clock took the time.
HOST_CLOCK = "host_clock"

# The median SM clock while the GPU worked that a row times. A program that times the device has it.
SM_CLOCK = "sm_clock_hz"

# In how many processes too few samples were taken at the full SM clock (in a process's own row 1),
# and how many processes of others were on the GPU: such times are no result.
THROTTLED = "throttled"
OTHER_PROCESSES = "other_processes"
_DISTURBING = (THROTTLED, OTHER_PROCESSES)

# What the engine saw of the benchmark itself, where its times are no result: bytes of L2 that
# persisting accesses keep, host functions in the captured graph (of older engines: now an error),
# and how many times faster it claims to be than what this GPU was measured to reach. Another
# process would see it again.
L2_SET_ASIDE = "l2_set_aside"
HOST_NODES = "host_nodes"
BEYOND_CEILING = "beyond_ceiling"
FLAWS = (L2_SET_ASIDE, HOST_NODES, BEYOND_CEILING)

# In the context: how many GPUs of the machine were measured at the same time, if more than one.
GPUS_AT_ONCE = "gpus_at_once"

# Processes of a run whose times do not count, because the GPU was disturbed in them.
LEFT_OUT = "processes_left_out"

# 1 where a resource was not the same in all processes: not all of them ran the same kernels.
RESOURCES_VARY = "resources_vary"

# The line of its family's file that registers a benchmark: of the source, not of a measurement.
SOURCE_LINE = "source_line"

# 1 where only the full suite has the benchmark, and not the default one.
FULL_SUITE = "full_suite"

# 1 in an errored row that was not tried: an earlier benchmark broke its process's CUDA context.
NOT_TRIED = "not_tried"

# The largest distance of an output's element from its reference; of values drawn at random.
MAX_ERROR = "max_error"

# 1 where no input has seeded values: results of a former call cannot be ruled out.
FIXED_INPUTS = "fixed_inputs"

# What rows and contexts say of the minute of a measurement, and of the source as it stood then. A
# baseline does not keep it.
OF_THE_MOMENT = frozenset(
    (
        *"power_watts temperature_celsius clock_event_reasons memory_used_bytes discarded".split(),
        *(OTHER_PROCESSES, LEFT_OUT, SOURCE_LINE, MAX_ERROR),
    )
)

# Every counter that a row of warpgauge's own may have.
KNOWN = frozenset(
    (
        *(*RESOURCES, *OF_THE_MOMENT, HOST_CLOCK, THROTTLED, *FLAWS),
        *(RESOURCES_VARY, FULL_SUITE, FIXED_INPUTS),
        *"bytes_per_second flops_per_second limit_fraction operations samples spread waves".split(),
        *(SM_CLOCK, "working_sm_clock_hz", "core_clock_hz"),
    )
)

_REASON_BITS = 64  # NVML's mask is an unsigned long long


def is_disturbed(counters: Counters) -> bool:
    """Whether the GPU was disturbed, which may pass. Unknown, as of old files, it was not."""
    return any(counters.get(key, 0.0) > 0.0 for key in _DISTURBING)


def combined(several: Sequence[Counters], middle: Combine = statistics.median) -> dict[str, float]:
    """One counter for each that any of `several` has: their `middle`, unless `_RULES` knows better.

    What disturbs is combined to its worst, so that no measurement can hide behind the others.
    """
    names = dict.fromkeys(chain.from_iterable(several))
    values = {name: [one[name] for one in several if name in one] for name in names}
    made = {name: _RULES.get(name, middle)(found) for name, found in values.items()}
    if any(len(set(values[name])) > 1 for name in RESOURCES.keys() & values.keys()):
        made[RESOURCES_VARY] = 1.0
    return made


def _every_reason(masks: Sequence[float]) -> float:
    reasons = 0
    for mask in masks:
        reasons |= int(mask) % 2**_REASON_BITS
    return float(reasons)


_RULES: Mapping[str, Combine] = MappingProxyType(
    {
        "clock_event_reasons": _every_reason,
        SM_CLOCK: min,
        "discarded": max,
        MAX_ERROR: max,
        **dict.fromkeys((*_DISTURBING, *FLAWS), max),
        # A value that was seen, and not 40.5 registers.
        **dict.fromkeys((*RESOURCES, SOURCE_LINE), statistics.median_low),
    }
)


_RATE_RANGE = 1e-30, 1e30
RATES = ("bytes_per_second", "flops_per_second", "limit_fraction")


def rates_of(counters: Mapping[str, float]) -> dict[str, float]:
    """Those that are there, and that a machine can have: no infinity, nor what overflows."""
    found = {key: counters[key] for key in RATES if key in counters}
    lowest, highest = _RATE_RANGE
    return {k: v for k, v in found.items() if v == 0.0 or lowest <= abs(v) <= highest}


def speed(counters: Counters) -> str:
    """The rate that a person reads: of arithmetic where there is one, else the bandwidth."""
    for key, unit in (("flops_per_second", "FLOP/s"), ("bytes_per_second", "B/s")):
        if value := counters.get(key):
            return quantity(value, unit)
    return ""
