# SPDX-License-Identifier: Apache-2.0
"""The counters of a row, and how several measurements' counters are combined."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from itertools import chain
from types import MappingProxyType

from warpgauge.system.text import quantity

Counters = Mapping[str, float]
Combine = Callable[[Sequence[float]], float]


class Clock(Enum):
    """The clock that timed a row. It decides how much times vary without a cause."""

    DEVICE = "device"
    HOST = "host"

    __hash__ = object.__hash__  # Enum's own is slow, and is called ten times per benchmark


# The number of kernels of an operation; 0 for copies, and absent if unknown.
KERNELS = "kernels"

# The resources of an operation's kernels, with names for a person. They have no noise: if one
# differs, different code ran.
RESOURCES = MappingProxyType(
    {
        "registers": "registers",
        "local_bytes": "local bytes (spills)",
        "shared_bytes": "shared bytes",
        "blocks_per_sm": "blocks per SM",
        KERNELS: "kernels per operation",
        "peak_device_bytes": "peak device memory",
    }
)

# 1 if the host's clock took the time.
HOST_CLOCK = "host_clock"

# The median SM clock during the timed GPU work. Programs that time the device report it.
SM_CLOCK = "sm_clock_hz"

# The number of processes with too few samples at the full SM clock (1 in a process's own row), and
# the number of other processes on the GPU. Either makes the times invalid.
THROTTLED = "throttled"
OTHER_PROCESSES = "other_processes"
_DISTURBING = (THROTTLED, OTHER_PROCESSES)

# Flaws of the benchmark itself that make its times invalid: bytes of L2 set aside for persisting
# accesses, host functions in the captured graph (from older engines; now an error), and the factor
# by which it claims to exceed the measured peak of this GPU. Another process would show the same.
L2_SET_ASIDE = "l2_set_aside"
HOST_NODES = "host_nodes"
BEYOND_CEILING = "beyond_ceiling"
FLAWS = (L2_SET_ASIDE, HOST_NODES, BEYOND_CEILING)

# The least time by the measured ceilings over the time. Beyond these factors, those of
# fixtures/core/roofline.cpp, the time cannot be right.
LIMIT = "limit_fraction"
_MOST_OF_BYTES, _MOST_OF_FLOPS = 1.25, 1.35

# How many processes of a run do not count because the GPU was disturbed in them.
LEFT_OUT = "processes_left_out"

# 1 if a resource differed between processes: they did not all run the same kernels.
RESOURCES_VARY = "resources_vary"

# The line of the source file that registers the benchmark; not a measurement.
SOURCE_LINE = "source_line"

# 1 if only the full suite has the benchmark.
FULL_SUITE = "full_suite"

# The energy of an operation, with --energy, and how far one measurement may be off.
ENERGY, ENERGY_ERROR = "energy_joules", "energy_error_joules"

# 1 in an errored row that was not run because an earlier benchmark broke the CUDA context.
NOT_TRIED = "not_tried"

# 1 in an errored row that stands for a whole program, whose benchmarks could not be listed.
NOT_LISTED = "not_listed"

# The largest error of an output element against its reference, for random input values.
MAX_ERROR = "max_error"

# Only of an operation that no graph can hold: how far its device time may be off, in seconds.
TIME_ERROR = "time_error_seconds"

# The extra work of --inject that was measured, as a fraction of the time without it.
EXTRA_WORK = "extra_work"

# By what share an empty kernel was slower around the measurement than when its process began.
CANARY = "canary_change"

# NVML's mask of what lowered the clock.
REASONS = "clock_event_reasons"

# Counters and context keys about the moment of a measurement, or about the source at that time.
# Baselines do not keep them.
OF_THE_MOMENT = frozenset(
    (
        *"power_watts temperature_celsius memory_clock_hz clock_event_reasons".split(),
        *("memory_used_bytes", "discarded"),
        *(OTHER_PROCESSES, LEFT_OUT, SOURCE_LINE, MAX_ERROR, CANARY, ENERGY, ENERGY_ERROR),
    )
)

# Counters that decide whether a time counts, or that show other code. A file in which one is
# not a number is refused: treated as absent, it would hide spills or a lowered clock.
DECISIVE = frozenset((*RESOURCES, HOST_CLOCK, SM_CLOCK, *_DISTURBING, *FLAWS))

_REASON_BITS = 64  # NVML's mask is an unsigned long long


def is_disturbed(counters: Counters) -> bool:
    """Return whether the GPU was disturbed, which may pass; False if unknown, as in old files."""
    return any(counters.get(key, 0.0) > 0.0 for key in _DISTURBING)


def is_power_limited(counters: Counters) -> bool:
    """Return whether the driver named the power cap while the row was measured on the GPU."""
    power_cap = 0x04  # nvmlClocksEventReasonSwPowerCap
    return HOST_CLOCK not in counters and bool(int(counters.get(REASONS, 0.0)) & power_cap)


def combined(several: Sequence[Counters], middle: Combine = statistics.median) -> dict[str, float]:
    """Combine the counters of `several` measurements, by `_RULES` or else by `middle`.

    Disturbances take their worst value, so that no measurement hides behind the others.
    """
    names = dict.fromkeys(chain.from_iterable(several))
    values = {name: [one[name] for one in several if name in one] for name in names}
    made = {name: _RULES.get(name, middle)(found) for name, found in values.items()}
    if any(len(set(values[name])) > 1 for name in RESOURCES.keys() & values.keys()):
        made[RESOURCES_VARY] = 1.0
    return made


def with_limits(several: Sequence[Counters], times: Sequence[float]) -> list[dict[str, float]]:
    """Fill in the fractions of the limit that some of several processes lack.

    Later rounds leave the ceilings out. The least time by the ceilings of the first process,
    undisturbed if possible, then tells their fraction, and whether it is beyond them.
    """
    told = [both for both in zip(several, times, strict=True) if LIMIT in both[0]]
    if not told:
        return [dict(one) for one in several]
    first, its_time = min(told, key=lambda both: is_disturbed(both[0]))
    # What is beyond one of two ceilings is held to the stricter factor, as it may be that of bytes.
    only_flops = BEYOND_CEILING not in first and "flops_per_second" in first
    most = _MOST_OF_FLOPS if only_flops else _MOST_OF_BYTES
    filled = []
    for one, time in zip(several, times, strict=True):
        fraction = first[LIMIT] * its_time / time if time > 0.0 else 0.0
        beyond = {BEYOND_CEILING: fraction} if fraction > most else {}
        filled.append(dict(one) if LIMIT in one else {**one, **beyond, LIMIT: fraction})
    return filled


def _every_reason(masks: Sequence[float]) -> float:
    reasons = 0
    for mask in masks:
        reasons |= int(mask) % 2**_REASON_BITS
    return float(reasons)


_RULES: Mapping[str, Combine] = MappingProxyType(
    {
        REASONS: _every_reason,
        **dict.fromkeys((CANARY, ENERGY_ERROR), max),
        SM_CLOCK: min,
        "discarded": max,
        MAX_ERROR: max,
        **dict.fromkeys((*_DISTURBING, *FLAWS), max),
        # A value that occurred: 40.5 registers do not exist.
        **dict.fromkeys((*RESOURCES, SOURCE_LINE), statistics.median_low),
    }
)


_RATE_RANGE = 1e-30, 1e30
RATES = ("bytes_per_second", "flops_per_second", LIMIT)


def rates_of(counters: Mapping[str, float]) -> dict[str, float]:
    """Return the known rates that a machine can reach, without infinities and overflows."""
    found = {key: counters[key] for key in RATES if key in counters}
    lowest, highest = _RATE_RANGE
    return {k: v for k, v in found.items() if v == 0.0 or lowest <= abs(v) <= highest}


def speed(counters: Counters) -> str:
    """Return the rate to show: arithmetic throughput if known, else bandwidth, else ""."""
    for key, unit in (("flops_per_second", "FLOP/s"), ("bytes_per_second", "B/s")):
        if value := counters.get(key):
            return quantity(value, unit)
    return ""
