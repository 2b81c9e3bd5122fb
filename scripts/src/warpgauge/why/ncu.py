# SPDX-License-Identifier: Apache-2.0
"""Hardware counters of the kernels of one operation, from Nsight Compute (ncu).

counters.csv lists them. All GPUs from compute capability 8.0 on have these metrics, but for gmma,
which is only on 9.0. A metric that a GPU or a version of ncu does not know is left out. Efficiency
is the share of the bytes in the sectors that threads asked for. ncu replays each kernel about ten
times.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

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


class Counter(NamedTuple):
    """A counter of an operation, in words for a person; "a/b" is a ratio of two counters."""

    over: str  # of several kernels, the "sum", the "most", or the mean weighted by this counter
    words: str
    unit: str
    metrics: tuple[str, ...]  # of ncu, which are added up


_TABLE = Path(__file__).with_name("counters.csv").read_text().splitlines()
COUNTERS = MappingProxyType(
    {
        row["counter"]: Counter(
            row["over"], row["words"], row["unit"], tuple(row["metrics"].split())
        )
        for row in csv.DictReader(_TABLE)
    }
)
METRICS = tuple(dict.fromkeys(name for one in COUNTERS.values() for name in one.metrics))

_SCALES = {"nsecond": 1e-9, "ns": 1e-9, "%": 0.01}  # of base units that are not counts
_UNKNOWN_METRIC = re.compile(r"(?i)(?:failed to find|unknown|invalid) metric.*")


def counted(
    program: Sequence[str],
    scratch: Path,
    deadline_s: float,
    kernels: float | None,
    environment: Mapping[str, str] | None = None,
) -> dict[str, float]:
    """Profile the benchmark that `program` runs; `kernels` is an operation's number of kernels.

    ncu ends the program after the first verified operation, because its measurement would take
    seconds; several operations may be profiled if `kernels` is unknown. Caches stay as the engine
    leaves them. Raise UserError with one sentence if nothing could be counted.
    """
    most = min(math.ceil(kernels or _MOST_KERNELS), _MOST_KERNELS)
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
    if not found:
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


def imported(text: str, kernels: float | None) -> dict[str, float]:
    """Return the counters of an operation from ncu's output; none without a kernel.

    Kernels beyond those that were profiled are assumed to be alike.
    """
    table = [line for line in text.splitlines() if line.startswith('"')]
    head = next((n for n, line in enumerate(table) if f'"{_NAME}"' in line), len(table))
    units, *rows = [*csv.DictReader(table[head:], restval="")] or [{}]
    launches = [row for row in rows if row[_NAME]]
    operations = len(launches) / kernels if kernels else _repeats([row[_NAME] for row in launches])
    return _combined([_values(row, units) for row in launches], operations)


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
        if math.isfinite(value):  # 0 / 0 is not
            found[name] = value * _SCALES.get(units[name], 1.0)
    return found


def _combined(launches: Sequence[Mapping[str, float]], operations: float) -> dict[str, float]:
    found: dict[str, float] = {}
    for key, one in COUNTERS.items():
        having = [launch for launch in launches if all(name in launch for name in one.metrics)]
        values = [sum(launch[name] for name in one.metrics) for launch in having]
        if not values or not one.metrics:
            continue
        if one.over == "sum":
            found[key] = sum(values) / operations
        elif one.over == "most":
            found[key] = max(values)
        else:
            (weight,) = COUNTERS[one.over].metrics
            weights = [launch.get(weight, 0.0) for launch in having]
            if total := sum(weights):
                pairs = zip(values, weights, strict=True)
                found[key] = sum(value * share for value, share in pairs) / total
    active, cycles = found.pop("active_cycles", 0.0), found.pop("cycles", 0.0)
    if active and cycles:
        found["active"] = active / cycles
    return found
