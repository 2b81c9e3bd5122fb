# SPDX-License-Identifier: Apache-2.0
"""Hardware counters of the kernels of one operation, from Nsight Compute (ncu).

All GPUs from compute capability 8.0 on have these metrics, unless an entry says otherwise. A metric
that a GPU or a version of ncu does not know is left out. ncu replays each kernel about ten times.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from warpgauge.measure import toolkit
from warpgauge.system import process
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.why.cupti import GRAPH, OPERATION

_MOST_KERNELS = 16  # the most kernels profiled: each takes seconds
_NAME = "Kernel Name"

# Options that select the verified operations: no eviction, and no timed replay. The clock is left
# alone, because ncu would lock it at a low one.
OPERATIONS_ALONE = (
    *("--clock-control", "none", "--graph-profiling", "node", "--nvtx"),
    *(word for name in (OPERATION, GRAPH) for word in ("--nvtx-include", f"warpgauge@{name}/")),
)

# How the values of several kernels are combined: their sum, the highest, or the mean weighted by
# one of these metrics.
_SUM, _MOST = "sum", "most"
_TIME, _INSTRUCTIONS = "gpu__time_duration.sum", "smsp__inst_executed.sum"

_PERCENT = "pct_of_peak_sustained_elapsed"
_STALLS = (
    *("barrier", "branch_resolving", "dispatch_stall", "drain", "imc_miss", "lg_throttle"),
    *("long_scoreboard", "math_pipe_throttle", "membar", "mio_throttle", "no_instruction"),
    *("not_selected", "selected", "short_scoreboard", "sleeping", "tex_throttle", "wait"),
    "gmma",  # only on 9.0
)
_L1, _OF_LSU = "l1tex__t", "pipe_lsu_mem"
_USED = "smsp__sass_average_data_bytes_per_sector_mem_global_op"

# For each counter, how it is combined over several kernels, and the metrics of ncu that it sums.
_COUNTERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "time": (_SUM, _TIME),
        "active_cycles": (_SUM, "sm__cycles_active.avg"),
        "cycles": (_SUM, "sm__cycles_elapsed.max"),
        "instructions": (_SUM, _INSTRUCTIONS),
        "warps": (_TIME, "sm__warps_active.avg.per_cycle_active"),
        "occupancy_limit": (_TIME, "sm__maximum_warps_per_active_cycle_pct"),
        "threads": (_INSTRUCTIONS, "smsp__thread_inst_executed_per_inst_executed.ratio"),
        "grid": (_SUM, "launch__grid_size"),
        "block": (_MOST, "launch__block_size"),
        "registers": (_MOST, "launch__registers_per_thread"),
        "shared_bytes": (_MOST, "launch__shared_mem_per_block"),
        "waves": (_MOST, "launch__waves_per_multiprocessor"),
        "fma": (_SUM, "sm__inst_executed_pipe_fma.sum"),
        "alu": (_SUM, "sm__inst_executed_pipe_alu.sum"),
        "fp64": (_SUM, "sm__inst_executed_pipe_fp64.sum"),
        "xu": (_SUM, "sm__inst_executed_pipe_xu.sum"),
        "lsu": (_SUM, "sm__inst_executed_pipe_lsu.sum"),
        "control": (_SUM, "sm__inst_executed_pipe_cbu.sum"),
        "tensor": (_SUM, "sm__inst_executed_pipe_tensor.sum"),
        "issue_busy": (_TIME, f"smsp__issue_active.avg.{_PERCENT}"),
        "fma_busy": (_TIME, f"sm__pipe_fma_cycles_active.avg.{_PERCENT}"),
        "alu_busy": (_TIME, f"sm__pipe_alu_cycles_active.avg.{_PERCENT}"),
        "fp64_busy": (_TIME, f"sm__pipe_fp64_cycles_active.avg.{_PERCENT}"),
        "xu_busy": (_TIME, f"sm__inst_executed_pipe_xu.avg.{_PERCENT}"),
        "lsu_busy": (_TIME, f"sm__inst_executed_pipe_lsu.avg.{_PERCENT}"),
        "l1_busy": (_TIME, f"l1tex__throughput.avg.{_PERCENT}"),
        "shared_busy": (_TIME, f"l1tex__data_pipe_lsu_wavefronts.avg.{_PERCENT}"),
        "l2_busy": (_TIME, f"lts__throughput.avg.{_PERCENT}"),
        "dram_busy": (_TIME, f"gpu__dram_throughput.avg.{_PERCENT}"),
        "atomic_busy": (_TIME, f"lts__d_atomic_input_cycles_active.max.{_PERCENT}"),
        "constant_busy": (_TIME, f"idc__request_cycles_active.avg.{_PERCENT}"),
        "constant_requests": (_SUM, "idc__requests.sum"),
        "dram_bytes": (_SUM, "dram__bytes_read.sum", "dram__bytes_write.sum"),
        "l2_hits": (_TIME, "lts__t_sector_hit_rate.pct"),
        "load_requests": (_SUM, f"{_L1}_requests_{_OF_LSU}_global_op_ld.sum"),
        "load_sectors": (_SUM, f"{_L1}_sectors_{_OF_LSU}_global_op_ld.sum"),
        "store_requests": (_SUM, f"{_L1}_requests_{_OF_LSU}_global_op_st.sum"),
        "store_sectors": (_SUM, f"{_L1}_sectors_{_OF_LSU}_global_op_st.sum"),
        # The share of the bytes in the sectors that threads asked for.
        "load_efficiency": (_INSTRUCTIONS, f"{_USED}_ld.pct"),
        "store_efficiency": (_INSTRUCTIONS, f"{_USED}_st.pct"),
        "local_sectors": (
            *(_SUM, f"{_L1}_sectors_{_OF_LSU}_local_op_ld.sum"),
            f"{_L1}_sectors_{_OF_LSU}_local_op_st.sum",
        ),
        "local_instructions": (
            *(_SUM, "smsp__inst_executed_op_local_ld.sum"),
            "smsp__inst_executed_op_local_st.sum",
        ),
        "shared_instructions": (
            *(_SUM, "smsp__inst_executed_op_shared_ld.sum"),
            "smsp__inst_executed_op_shared_st.sum",
        ),
        "shared_wavefronts": (_SUM, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"),
        "bank_conflicts": (_SUM, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"),
        "atomic_sectors": (_SUM, "lts__t_sectors_op_atom.sum", "lts__t_sectors_op_red.sum"),
        "latency": (_INSTRUCTIONS, "smsp__average_warp_latency_per_inst_issued.ratio"),
        **{
            f"stall_{reason}": (
                _INSTRUCTIONS,
                f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio",
            )
            for reason in _STALLS
        },
    }
)
METRICS = tuple(dict.fromkeys(name for _, *names in _COUNTERS.values() for name in names))

# Words and unit of what a person may see of it; "a/b" is a ratio of two counters.
SHOWN: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "instructions": ("instructions", ""),
        "warps": ("warps in flight", ""),
        "occupancy_limit": ("occupancy that the launch allows", "%"),
        "threads": ("active threads per instruction", ""),
        "grid": ("blocks", ""),
        "block": ("threads per block", ""),
        "registers": ("registers", ""),
        "shared_bytes": ("shared memory per block", "B"),
        "waves": ("waves", ""),
        "active": ("active multiprocessors", "%"),
        "fma": ("FP32 instructions", ""),
        "alu": ("integer and logic instructions", ""),
        "fp64": ("FP64 instructions", ""),
        "xu": ("special function instructions", ""),
        "lsu": ("memory instructions", ""),
        "control": ("control instructions", ""),
        "tensor": ("tensor instructions", ""),
        "fp64_busy": ("utilisation of the FP64 pipe", "%"),
        "atomic_busy": ("utilisation of the L2 atomic unit", "%"),
        "constant_busy": ("utilisation of the constant cache", "%"),
        "constant_requests": ("requests to constant memory", ""),
        "dram_bytes": ("bytes of DRAM", "B"),
        "l2_hits": ("hits in the L2", "%"),
        "load_requests": ("loads", ""),
        "load_sectors": ("load sectors", ""),
        "load_sectors/load_requests": ("sectors a load", ""),
        "store_requests": ("stores", ""),
        "store_sectors": ("store sectors", ""),
        "store_sectors/store_requests": ("sectors a store", ""),
        "local_sectors": ("local sectors", ""),
        "shared_wavefronts/shared_instructions": ("wavefronts per shared access", ""),
        "bank_conflicts": ("bank conflicts", ""),
        "atomic_sectors": ("sectors of atomics", ""),
    }
)

# Prefixes of ncu's units, which differ between `--print-units base` and older versions.
_PREFIXES = {"": 1.0, "n": 1e-9, "u": 1e-6, "m": 1e-3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_UNIT = re.compile(r"([numKMGT]?)(s|second|byte|inst|sector|request|cycle|block|thread|warp)s?\b")
_UNKNOWN_METRIC = re.compile(r"(?i)(?:failed to find|unknown|invalid) metric.*")


@dataclass(frozen=True)
class Counted:
    """The counters of one operation, and the seconds of its kernels by name."""

    counters: Mapping[str, float]
    kernels: Mapping[str, float]


def counted(
    program: Sequence[str],
    scratch: Path,
    deadline_s: float,
    kernels: float | None = None,
    environment: Mapping[str, str] | None = None,
) -> Counted:
    """Profile the benchmark that `program` runs; `kernels` is an operation's number of kernels.

    ncu ends the program after the first verified operation, because its measurement would take
    seconds. If the number of kernels is unknown, several operations may be profiled. Caches stay as
    the engine leaves them. Raise UserError with one sentence if nothing could be counted.
    """
    most = min(math.ceil(kernels), _MOST_KERNELS) if kernels else _MOST_KERNELS
    command = [
        *(toolkit.tool("ncu"), "--csv", "--page", "raw", "--print-units", "base", "--print-fp"),
        *("--cache-control", "none", *OPERATIONS_ALONE, "--launch-count", str(most), "--kill"),
        *("yes", "--metrics"),
    ]
    metrics, unknown = [*METRICS], {""}
    while unknown:  # ncu may name only the first one
        words = [*command, ",".join(metrics), *program]
        ending = process.run(words, deadline_s, scratch, environment)
        refused = " ".join(_UNKNOWN_METRIC.findall(ending.stdout + "\n" + ending.stderr))
        unknown = {name for name in metrics if re.search(rf"\b{name.partition('.')[0]}\b", refused)}
        metrics = [name for name in metrics if name not in unknown]
    require_permission(ending)
    found = imported(ending.stdout, kernels)
    if found is None:
        raise UserError(f"ncu counted nothing: {ending.described()}", ExitStatus.NOT_MEASURED)
    return found


def require_permission(ending: process.Ending) -> None:
    """Raise UserError if a process of ncu was not allowed to read the counters."""
    if "ERR_NVGPUCTRPERM" in ending.stdout + ending.stderr:
        raise UserError(
            "the driver lets only administrators read GPU counters: run this as root, or load the "
            "driver module with NVreg_RestrictProfilingToAdminUsers=0",
            ExitStatus.NOT_MEASURED,
        )


def imported(text: str, kernels: float | None = None) -> Counted | None:
    """Return the counters of an operation from ncu's output, or None without a kernel.

    Kernels beyond those that were profiled are assumed to be alike.
    """
    table = [line for line in text.splitlines() if line.startswith('"')]
    head = next((n for n, line in enumerate(table) if f'"{_NAME}"' in line), len(table))
    units, *rows = [*csv.DictReader(table[head:], restval="")] or [{}]
    launches = [row for row in rows if row[_NAME]]
    names = [launch[_NAME] for launch in launches]
    if not names:
        return None
    values = [_values(launch, units) for launch in launches]
    operations = len(names) / kernels if kernels else _repeats(names)
    of_kernels: dict[str, float] = {}
    for name, launch in zip(names, values, strict=True):
        of_kernels[name] = of_kernels.get(name, 0.0) + launch.get(_TIME, 0.0) / operations
    return Counted(_combined(values, operations), of_kernels)


def _repeats(names: Sequence[str]) -> int:
    """Return how often the sequence of kernels repeats: each operation runs the same ones."""
    for length in range(1, len(names)):
        if len(names) % length == 0 and [*names] == [*names[:length]] * (len(names) // length):
            return len(names) // length
    return 1


def _values(row: Mapping[str, str], units: Mapping[str, str]) -> dict[str, float]:
    """Return the metrics of a launch in seconds, bytes, fractions and counts."""
    found = {}
    for name in METRICS:
        try:
            value = float(row[name].replace(",", ""))
        except (KeyError, ValueError):  # not on this GPU, or n/a
            continue
        unit = _UNIT.match(units[name])
        if math.isfinite(value):  # 0 / 0 is not
            scale = _PREFIXES[unit[1]] if unit else 0.01 if units[name] == "%" else 1.0
            found[name] = value * scale
    return found


def _combined(launches: Sequence[Mapping[str, float]], operations: float) -> dict[str, float]:
    found: dict[str, float] = {}
    for key, (over, *names) in _COUNTERS.items():
        having = [one for one in launches if all(name in one for name in names)]
        values = [sum(one[name] for name in names) for one in having]
        if not values:
            continue
        if over == _SUM:
            found[key] = sum(values) / operations
        elif over == _MOST:
            found[key] = max(values)
        else:
            weights = [one.get(over, 0.0) for one in having]
            pairs = zip(values, weights, strict=True)
            if total := sum(weights):
                found[key] = sum(value * weight for value, weight in pairs) / total
    active, cycles = found.pop("active_cycles", 0.0), found.pop("cycles", 0.0)
    if active and cycles:
        found["active"] = active / cycles
    return found
