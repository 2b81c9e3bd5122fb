# SPDX-License-Identifier: Apache-2.0
"""What GPUs share, from their run files and from a CSV of nodes or GPUs."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from warpgauge.fleet.reading import Gpu
from warpgauge.statistics.fleets import Levels
from warpgauge.system.errors import UserError
from warpgauge.system.json_file import text_of
from warpgauge.system.location import Place
from warpgauge.system.text import quoted, suggestion

# Context keys that differ between machines and may make them slower.
TOLD = (
    *"driver_version cuda_driver_version runtime_version cublas_version nccl_version".split(),
    *"kernel_release cpu_model cpu_scaling_enabled ecc power_limit_watts persistence_mode".split(),
    *"max_memory_clock_mhz max_sm_clock_hz memory_bytes sm_count commit".split(),
    *"link nvlink_generation nvlink_count pcie_generation pcie_width".split(),
)
_KEYS = ("node", "gpu_uuid")


def factors(gpus: Sequence[Gpu], path: Path | None) -> Levels:
    """Return each GPU's level ("" if unknown) of factors with several levels. Raise UserError."""
    found = {key: [gpu.session.context.get(key, "") for gpu in gpus] for key in TOLD}
    if path is not None:
        found |= _of_table(gpus, path)
    return {key: levels for key, levels in found.items() if len({*levels} - {""}) > 1}


def _of_table(gpus: Sequence[Gpu], path: Path) -> dict[str, list[str]]:
    place = Place(path)
    try:
        lines = [*csv.reader(io.StringIO(text_of(place)), strict=True)]
    except csv.Error as fault:
        raise place.error(f"is not CSV ({fault})", "separate its columns by commas") from None
    (key, *names), *rows = lines
    if key not in _KEYS or not names:
        wanted = "the first column is 'node' or 'gpu_uuid', the others are factors"
        raise place.error(f"begins with the column {quoted(key)}", wanted)
    if len({key, *names}) <= len(names) or not all(names):
        raise place.error("has a column name twice, or an empty one", "give each its own name")
    table: dict[str, list[str]] = {}
    for number, row in enumerate(rows, 2):
        if not row:
            continue
        if len(row) != len(names) + 1:
            columns = f"{len(row)} columns in line {number}, and {len(names) + 1} in the first"
            raise place.error(f"has {columns}", "complete the line")
        if row[0] in table:
            raise place.error(f"names {quoted(row[0])} twice", "remove one of the lines")
        table[row[0]] = row[1:]
    of_gpu = [gpu.uuid if key == "gpu_uuid" else gpu.node[0] or gpu.node[1] for gpu in gpus]
    if table.keys().isdisjoint(of_gpu):
        first = next(iter(table), "")
        hint = suggestion(first, sorted({*of_gpu}))
        raise UserError(f"{path}: no run file belongs to {quoted(first)} or the others: {hint}")
    none = [""] * len(names)
    levels = [table.get(one, none) for one in of_gpu]
    return {name: [one[at] for one in levels] for at, name in enumerate(names)}
