# SPDX-License-Identifier: Apache-2.0
"""Run files of simulated fleets.

`python scripts/tests/helpers/fleet_files.py write FOLDER` writes those of 1,000 nodes of 8 GPUs
with 150 rows, ten GPUs of which are sick by 2 to 10 % in five rows each, and names these in
FOLDER.sick. `... read FOLDER` runs `warpgauge fleet` on it, and prints its time and memory and
which of the sick GPUs it found.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from builders import Json
from large_runs import _recorded as recorded_rows
from simulated_fleets import GPUS_A_NODE, PROCESSES, simulated
from simulated_histories import recorded
from simulation import Array

SCRIPTS = Path(__file__).resolve().parents[2]


def context_of(gpu: int, **facts: str) -> Json:
    """The context of a run file, without what all have in common."""
    node = f"node{gpu // GPUS_A_NODE:04}"
    return {"gpu_uuid": f"GPU-{gpu:032x}", "host_name": node, "boot_id": f"boot-{node}",
            "gpu_name": "NVIDIA H200", "warpgauge_format": "run/1", "build_type": "Release",
            "date": "2026-11-20T10:00:00+00:00", **facts}  # fmt: skip


def write_gpu(
    path: Path, context: Mapping[str, object], names: list[str], medians: Array,
    templates: Mapping[str, Json] | None = None,
) -> None:  # fmt: skip
    """`medians` (seconds) are rows x processes; `templates` hold what else a row has."""
    rows = []
    for name, times in zip(names, medians * 1e9, strict=True):
        short = [float(f"{time:.7g}") for time in times]
        told = {"name": name, "run_name": name, "time_unit": "ns", "process_medians": short,
                "real_time": sorted(short)[len(short) // 2]}  # fmt: skip
        rows.append(json.dumps({**(templates or {}).get(name, {}), **told}))
    body = ",\n".join(rows)
    path.write_text(f'{{"context": {json.dumps(context)},\n"benchmarks": [\n{body}\n]}}\n')


def write(folder: Path, nodes: int) -> None:
    """Files as long as real ones: their rows have all that the recorded H200s' have."""
    source = np.random.default_rng(11)
    one = simulated(source, nodes, 10, (0.02, 0.10))
    context, some = recorded_rows()
    by_name = {str(row["name"]): row for row in some}
    noise = dict(zip(recorded().names, recorded().process_sd, strict=True))
    short = [name.split("/copy:")[0] for name in one.names]
    of_host: Json = {**some[0], "host_clock": 1.0}
    templates = {
        name: by_name.get(row, of_host) for name, row in zip(one.names, short, strict=True)
    }
    scatter = np.array([noise[name] for name in short])[:, None]
    folder.mkdir(parents=True)
    for gpu, logs in enumerate(one.fleet.logs):
        drawn = source.normal(0.0, scatter, (len(short), PROCESSES))
        facts = {**context, **context_of(gpu)}
        path = folder / f"node{gpu // GPUS_A_NODE:04}-{gpu % GPUS_A_NODE}.json"
        write_gpu(path, facts, [*one.names], 1e-4 * np.exp(logs[:, None] + drawn), templates)
    sick = [f"GPU-{gpu:032x}" for gpu in np.flatnonzero(one.sick)]
    folder.with_suffix(".sick").write_text("\n".join(sick))


def read(folder: Path) -> None:
    begin = time.monotonic()
    command = [sys.executable, str(SCRIPTS / "warpgauge"), "fleet", str(folder), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wall, use = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    told = json.loads(done.stdout)["outliers"]
    found = {one["name"] for one in told if one["kind"] == "GPU"}
    sick = {*folder.with_suffix(".sick").read_text().split()}
    cores = len(os.sched_getaffinity(0))
    print(f"{wall:.1f} s, {use.ru_utime + use.ru_stime:.1f} s of CPU on {cores} cores")
    print(f"the largest process {use.ru_maxrss / 2**10:.0f} MiB; exit status {done.returncode}")
    print(f"found {len(found & sick)} of {len(sick)} sick GPUs, and {len(found - sick)} healthy; "
          f"other outliers: {len(told) - len(found)}")  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1000)
    else:
        read(Path(sys.argv[2]))
