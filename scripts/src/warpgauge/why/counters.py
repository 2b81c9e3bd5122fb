# SPDX-License-Identifier: Apache-2.0
"""Hardware counters of the kernels of one operation, from Nsight Compute (ncu).

All GPUs from compute capability 8.0 on have these metrics, unless an entry says otherwise. A metric
that a GPU or a version of ncu does not know is left out. ncu replays each kernel about ten times.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import MappingProxyType

from warpgauge.measure import toolkit
from warpgauge.system import process
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.why import profilers

_MOST_KERNELS = 16  # the most kernels profiled: each takes seconds
_NAME = "Kernel Name"


class _Over(Enum):
    """How the values of several kernels are combined."""

    SUM = "of all"
    TIME = "mean weighted by time"
    INSTRUCTIONS = "mean weighted by instructions"
    MOST = "of the kernel with the highest value"


_PERCENT = "pct_of_peak_sustained_elapsed"
_STALLS = (
    *("barrier", "branch_resolving", "dispatch_stall", "drain", "imc_miss", "lg_throttle"),
    *("long_scoreboard", "math_pipe_throttle", "membar", "mio_throttle", "no_instruction"),
    *("not_selected", "selected", "short_scoreboard", "sleeping", "tex_throttle", "wait"),
    "gmma",  # only on 9.0
)
_GLOBAL = "pipe_lsu_mem_global_op"
_USED = "smsp__sass_average_data_bytes_per_sector_mem_global_op"

# For each counter, how it is combined over several kernels, and the metrics of ncu that it sums.
_COUNTERS: Mapping[str, tuple[_Over, tuple[str, ...]]] = MappingProxyType(
    {
        "time": (_Over.SUM, ("gpu__time_duration.sum",)),
        "active_cycles": (_Over.SUM, ("sm__cycles_active.avg",)),
        "cycles": (_Over.SUM, ("sm__cycles_elapsed.max",)),
        "instructions": (_Over.SUM, ("smsp__inst_executed.sum",)),
        "warps": (_Over.TIME, ("sm__warps_active.avg.per_cycle_active",)),
        "occupancy_limit": (_Over.TIME, ("sm__maximum_warps_per_active_cycle_pct",)),
        "threads": (_Over.INSTRUCTIONS, ("smsp__thread_inst_executed_per_inst_executed.ratio",)),
        "grid": (_Over.SUM, ("launch__grid_size",)),
        "block": (_Over.MOST, ("launch__block_size",)),
        "registers": (_Over.MOST, ("launch__registers_per_thread",)),
        "shared_bytes": (_Over.MOST, ("launch__shared_mem_per_block",)),
        "waves": (_Over.MOST, ("launch__waves_per_multiprocessor",)),
        "fma": (_Over.SUM, ("sm__inst_executed_pipe_fma.sum",)),
        "alu": (_Over.SUM, ("sm__inst_executed_pipe_alu.sum",)),
        "fp64": (_Over.SUM, ("sm__inst_executed_pipe_fp64.sum",)),
        "xu": (_Over.SUM, ("sm__inst_executed_pipe_xu.sum",)),
        "lsu": (_Over.SUM, ("sm__inst_executed_pipe_lsu.sum",)),
        "control": (_Over.SUM, ("sm__inst_executed_pipe_cbu.sum",)),
        "tensor": (_Over.SUM, ("sm__inst_executed_pipe_tensor.sum",)),
        "issue_busy": (_Over.TIME, (f"smsp__issue_active.avg.{_PERCENT}",)),
        "fma_busy": (_Over.TIME, (f"sm__pipe_fma_cycles_active.avg.{_PERCENT}",)),
        "alu_busy": (_Over.TIME, (f"sm__pipe_alu_cycles_active.avg.{_PERCENT}",)),
        "fp64_busy": (_Over.TIME, (f"sm__pipe_fp64_cycles_active.avg.{_PERCENT}",)),
        "xu_busy": (_Over.TIME, (f"sm__inst_executed_pipe_xu.avg.{_PERCENT}",)),
        "lsu_busy": (_Over.TIME, (f"sm__inst_executed_pipe_lsu.avg.{_PERCENT}",)),
        "l1_busy": (_Over.TIME, (f"l1tex__throughput.avg.{_PERCENT}",)),
        "shared_busy": (_Over.TIME, (f"l1tex__data_pipe_lsu_wavefronts.avg.{_PERCENT}",)),
        "l2_busy": (_Over.TIME, (f"lts__throughput.avg.{_PERCENT}",)),
        "dram_busy": (_Over.TIME, (f"gpu__dram_throughput.avg.{_PERCENT}",)),
        "atomic_busy": (_Over.TIME, (f"lts__d_atomic_input_cycles_active.max.{_PERCENT}",)),
        "constant_busy": (_Over.TIME, (f"idc__request_cycles_active.avg.{_PERCENT}",)),
        "constant_requests": (_Over.SUM, ("idc__requests.sum",)),
        "dram_bytes": (_Over.SUM, ("dram__bytes_read.sum", "dram__bytes_write.sum")),
        "l2_hits": (_Over.TIME, ("lts__t_sector_hit_rate.pct",)),
        "load_requests": (_Over.SUM, (f"l1tex__t_requests_{_GLOBAL}_ld.sum",)),
        "load_sectors": (_Over.SUM, (f"l1tex__t_sectors_{_GLOBAL}_ld.sum",)),
        "store_requests": (_Over.SUM, (f"l1tex__t_requests_{_GLOBAL}_st.sum",)),
        "store_sectors": (_Over.SUM, (f"l1tex__t_sectors_{_GLOBAL}_st.sum",)),
        # The share of the bytes in the sectors that threads asked for.
        "load_efficiency": (_Over.INSTRUCTIONS, (f"{_USED}_ld.pct",)),
        "store_efficiency": (_Over.INSTRUCTIONS, (f"{_USED}_st.pct",)),
        "local_sectors": (
            _Over.SUM,
            tuple(f"l1tex__t_sectors_pipe_lsu_mem_local_op_{op}.sum" for op in ("ld", "st")),
        ),
        "local_instructions": (
            _Over.SUM,
            tuple(f"smsp__inst_executed_op_local_{op}.sum" for op in ("ld", "st")),
        ),
        "shared_instructions": (
            _Over.SUM,
            tuple(f"smsp__inst_executed_op_shared_{op}.sum" for op in ("ld", "st")),
        ),
        "shared_wavefronts": (_Over.SUM, ("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",)),
        "bank_conflicts": (_Over.SUM, ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",)),
        "atomic_sectors": (_Over.SUM, ("lts__t_sectors_op_atom.sum", "lts__t_sectors_op_red.sum")),
        "latency": (_Over.INSTRUCTIONS, ("smsp__average_warp_latency_per_inst_issued.ratio",)),
        **{
            f"stall_{reason}": (
                _Over.INSTRUCTIONS,
                (f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio",),
            )
            for reason in _STALLS
        },
    }
)
METRICS = tuple(dict.fromkeys(name for _, names in _COUNTERS.values() for name in names))

# Prefixes of ncu's units, which differ between `--print-units base` and older versions.
_PREFIXES = {"": 1.0, "n": 1e-9, "u": 1e-6, "m": 1e-3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_UNIT = re.compile(r"([numKMGT]?)(s|second|byte|inst|sector|request|cycle|block|thread|warp)s?\b")
_UNKNOWN_METRIC = re.compile(r"(?i)(?:failed to find|unknown|invalid) metric.*")


@dataclass(frozen=True)
class Counted:
    """The counters of one operation, and the seconds of its kernels by name."""

    counters: Mapping[str, float]
    kernels: Mapping[str, float]


def command(
    ncu: str,
    program: Sequence[str],
    metrics: Iterable[str] = METRICS,
    kernels: float | None = None,
) -> list[str]:
    """Return a command that profiles the first verified operation and prints its kernels' table.

    It then ends the program, whose measurement would take seconds. If the number of kernels in an
    operation is unknown, several operations may be profiled.

    The clock and the caches stay as the engine leaves them.
    """
    most = min(math.ceil(kernels), _MOST_KERNELS) if kernels else _MOST_KERNELS
    return [
        *(ncu, "--csv", "--page", "raw", "--print-units", "base", "--print-fp"),
        *("--clock-control", "none", "--cache-control", "none", "--graph-profiling", "node"),
        *("--launch-count", str(most), "--kill", "yes", *profilers.OPERATIONS_ALONE),
        *("--metrics", ",".join(metrics), *program),
    ]


def counted(
    program: Sequence[str],
    scratch: Path,
    deadline_s: float,
    kernels: float | None = None,
    environment: Mapping[str, str] | None = None,
) -> Counted:
    """Profile the benchmark that `program` runs; `kernels` is an operation's number of kernels.

    Raise UserError with one sentence if nothing could be counted.
    """
    ncu, metrics = toolkit.tool("ncu"), METRICS
    ending = process.run(command(ncu, program, metrics, kernels), deadline_s, scratch, environment)
    while unknown := _unknown(ending).intersection(metrics):  # ncu may name only the first one
        metrics = tuple(name for name in metrics if name not in unknown)
        ending = process.run(
            command(ncu, program, metrics, kernels), deadline_s, scratch, environment
        )
    profilers.require_permission(ending)
    found = imported(ending.stdout, kernels)
    if found is None:
        raise UserError(f"ncu counted nothing: {ending.described()}", ExitStatus.NOT_MEASURED)
    return found


def _unknown(ending: process.Ending) -> frozenset[str]:
    """Return the metrics that ncu refused."""
    said = " ".join(_UNKNOWN_METRIC.findall(ending.stdout + "\n" + ending.stderr))
    return frozenset(name for name in METRICS if re.search(rf"\b{name.partition('.')[0]}\b", said))


def imported(text: str, kernels: float | None = None) -> Counted | None:
    """Return the counters of an operation from ncu's output, or None without a kernel.

    Kernels beyond those that were profiled are assumed to be alike.
    """
    lines = text.splitlines()
    start = next((n for n, line in enumerate(lines) if f'"{_NAME}"' in line), None)
    if start is None:
        return None
    head, *rows = csv.reader(line for line in lines[start:] if line.startswith('"'))
    if not rows:
        return None
    units = dict(zip(head, rows[0], strict=False))
    launches = [_values(dict(zip(head, row, strict=False)), units) for row in rows[1:]]
    names = [row[head.index(_NAME)] for row in rows[1:] if len(row) == len(head)]
    if not launches or len(names) != len(launches):
        return None
    operations = len(launches) / kernels if kernels else _repeats(names)
    of_kernels: dict[str, float] = {}
    for name, launch in zip(names, launches, strict=True):
        seconds = launch.get("gpu__time_duration.sum", 0.0) / operations
        of_kernels[name] = of_kernels.get(name, 0.0) + seconds
    return Counted(_combined(launches, operations), of_kernels)


def _repeats(names: Sequence[str]) -> int:
    """Return how often the sequence of kernels repeats: each operation runs the same ones."""
    for length in range(1, len(names)):
        if len(names) % length == 0 and [*names] == [*names[:length]] * (len(names) // length):
            return len(names) // length
    return 1


def _values(row: Mapping[str, str], units: Mapping[str, str]) -> dict[str, float]:
    found = {}
    for name in METRICS:
        try:
            value = float(row[name].replace(",", ""))
        except (KeyError, ValueError):  # not on this GPU, or n/a
            continue
        if math.isfinite(value):  # 0 / 0 is not
            found[name] = value * _scale(units.get(name, ""))
    return found


def _scale(unit: str) -> float:
    """Return the factor to seconds, bytes or fractions; counts are unchanged."""
    if unit == "%":
        return 0.01
    matched = _UNIT.match(unit)
    return _PREFIXES[matched[1]] if matched else 1.0


def _combined(launches: Sequence[Mapping[str, float]], operations: float) -> dict[str, float]:
    found: dict[str, float] = {}
    for key, (over, names) in _COUNTERS.items():
        having = [one for one in launches if all(name in one for name in names)]
        values = [sum(one[name] for name in names) for one in having]
        if not values:
            continue
        if over is _Over.SUM:
            found[key] = sum(values) / operations
        elif over is _Over.MOST:
            found[key] = max(values)
        else:
            by = "gpu__time_duration.sum" if over is _Over.TIME else "smsp__inst_executed.sum"
            weights = [one.get(by, 0.0) for one in having]
            total = sum(weights)
            if total > 0.0:
                pairs = zip(values, weights, strict=True)
                found[key] = sum(value * weight for value, weight in pairs) / total
    if cycles := found.pop("cycles", 0.0):
        found["active"] = found.get("active_cycles", cycles) / cycles
    found.pop("active_cycles", None)
    return found
