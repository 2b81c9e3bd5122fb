# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for the benchmark binaries: real processes that behave, or misbehave, as told."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from warpgauge.execution import manifest

GPU = {
    "gpu_name": "NVIDIA Fake",
    "gpu_uuid": "GPU-00000000-0000-0000-0000-000000000000",
    "build_type": "Release",
    "boot_id": "b007",
}

_PROGRAM = Path(__file__).with_name("fake_program.py")


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
    shuffles: bool = False,
    gpus: Sequence[str] = (),
    slower: Mapping[str, float] | None = None,
    full_suite: Sequence[str] = (),
) -> Path:
    """A program bench_<family>, in the manifest of the build folder `folder`.

    Its benchmarks take `times` ns plus the number of the process, and have the `counters` of "all"
    and of that number. `faults` says by the number of the process (or "always") what goes wrong in
    it, at its last benchmark or at its exit; `ill` by the benchmark what goes wrong whenever that
    one runs. Where WARPGAUGE_TRACE names a file it writes `trace` there, as if CUPTI were
    in it.

    With `gpus` (UUIDs) it is on a machine that has these. `ill` may name one of them, and `slower`
    says by what factor everything takes longer there. With `full_suite` it knows --suite, and these
    of its benchmarks are of the full one alone.
    """
    path = folder / f"bench_{family}"
    told = {
        "times": times or {f"{family}/one": 1000.0, f"{family}/two": 2000.0},
        "context": ({} if family == "host" else GPU) if context is None else context,
        "faults": faults or {},
        "ill": ill or {},
        "counters": {} if counters is None else dict(counters),
        "listing_fault": listing_fault,
        "no_gpu": no_gpu,
        "trace": trace,
        "shuffles": shuffles,
        "gpus": list(gpus),
        "slower": slower or {},
        "full_suite": list(full_suite),
        "scripts": str(_PROGRAM.parents[2] / "src"),
    }
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable} -IS\n{_PROGRAM.read_text()}")
    Path(f"{path}.told").write_text(json.dumps(told))
    path.chmod(0o755)
    listed = folder / manifest.FILE
    known = json.loads(listed.read_text())["programs"] if listed.exists() else []
    others = [one for one in known if one["name"] != path.name]
    write_manifest(folder, [*others, program(path.name, device=family != "host")])
    return path


def program(name: str, *, device: bool = True) -> dict[str, object]:
    """Its entry in the manifest of the folder that it lies in."""
    return {"name": name, "path": name, "sources": [], "device": device}


def write_manifest(folder: Path, programs: Sequence[Mapping[str, object]]) -> None:
    told = {"version": 1, "programs": list(programs)}
    (folder / manifest.FILE).write_text(json.dumps(told))
