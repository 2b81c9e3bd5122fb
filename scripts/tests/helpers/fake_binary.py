# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for the benchmark binaries: real processes that behave, or misbehave, as told."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from compiling import compiled
from warpgauge.measure import manifest

GPU = {
    "gpu_name": "NVIDIA Fake",
    "gpu_uuid": "GPU-00000000-0000-0000-0000-000000000000",
    "build_type": "Release",
    "boot_id": "b007",
}

_SOURCE = Path(__file__).with_name("fake_program.cpp")


def make(
    folder: Path,
    family: str,
    times: Mapping[str, float] | None = None,
    *,
    context: Mapping[str, str] | None = None,
    faults: Mapping[str, str] | None = None,
    ill: Mapping[str, str] | None = None,
    counters: Mapping[int, Mapping[str, float]] | Mapping[str, Mapping[str, float]] | None = None,
    listing_fault: str = "",
    no_gpu: str = "",
    trace: str | None = None,
    plain: bool = False,
    old: bool = False,
    protocol: int = 1,
    ceilings: bool = False,
    gpus: Sequence[str] = (),
    needs: int = 1,
    meets: bool = False,
    slower: Mapping[str, float] | None = None,
    full_suite: Sequence[str] = (),
    plans: bool = False,
) -> Path:
    """A program bench_<family>, in the manifest of the build folder `folder`.

    Its benchmarks take `times` ns plus the number of the process, and have the `counters` of "all"
    and of that number. `faults` says by the number of the process (or "always") what goes wrong in
    it, at its last benchmark or at its exit; `ill` by the benchmark what goes wrong whenever that
    one runs. A `plain` one is of a project that does not use warpgauge, an `old` one of a commit
    before 0.2. With `ceilings` its rows have them, unless told to leave them out. Where
    WARPGAUGE_TRACE names a file it writes `trace` there, as if CUPTI were in it.

    With `gpus` (UUIDs) it is on a machine that has these. `ill` may name one of them, and `slower`
    says by what factor everything takes longer there. It `needs` so many GPUs. If it `meets`, its
    fourth process on a GPU, which is no probe, waits for the fourth on each other. With
    `full_suite` these of its benchmarks are of the full suite alone. With
    `plans` it is bench_external: it has the benchmarks of a kernel plan, and `times` may tell
    theirs.
    """
    path = folder / f"bench_{family}"
    times = times or {f"{family}/one": 1000.0, f"{family}/two": 2000.0}
    if context is None:
        context = {} if family == "host" else GPU
    by_process: Mapping[Any, Mapping[str, float]] = counters or {}
    by_name = {"context": context, "fault": faults, "ill": ill, "slower": slower}
    single = {
        "listing_fault": listing_fault,
        "no_gpu": no_gpu,
        "plain": plain,
        "old": old,
        "protocol": protocol,
        "ceilings": ceilings,
        "plans": plans,
        "meets": meets,
    }
    told = [
        *(("benchmark", n, time, "full" * (n in full_suite)) for n, time in times.items()),
        *((kind, *item) for kind, items in by_name.items() for item in (items or {}).items()),
        *(
            ("counter", process, name, json.dumps(value))
            for process, values in by_process.items()
            for name, value in values.items()
        ),
        *(("gpu", gpu) for gpu in gpus),
        *((kind, value) for kind, value in single.items() if value),
        *[("trace", trace)] * (trace is not None),
    ]
    folder.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)  # it may still be running
    shutil.copy(_compiled(), path)
    Path(f"{path}.told").write_text("".join(map(_line, told)))
    listed = folder / manifest.FILE
    known = json.loads(listed.read_text())["programs"] if listed.exists() else []
    others = [one for one in known if one["name"] != path.name]
    write_manifest(folder, [*others, program(path.name, device=family != "host", gpus=needs)])
    return path


@cache
def _compiled() -> Path:
    """The program without its orders."""
    sources = [_SOURCE, *_SOURCE.parent.glob("fake_*.hpp")]
    return compiled("fake_program", sources, ["-std=c++17", "-O1", str(_SOURCE)])


def _line(fields: Sequence[object]) -> str:
    escapes = str.maketrans({"\\": "\\\\", "\n": "\\n", "\t": "\\t"})
    return "\t".join(str(field).translate(escapes) for field in fields) + "\n"


def program(name: str, *, device: bool = True, gpus: int = 1) -> dict[str, object]:
    """Its entry in the manifest of the folder that it lies in."""
    return {"name": name, "path": name, "sources": [], "device": device, "gpus": gpus}


def write_manifest(folder: Path, programs: Sequence[Mapping[str, object]]) -> None:
    told = {"version": 1, "programs": list(programs)}
    (folder / manifest.FILE).write_text(json.dumps(told))
