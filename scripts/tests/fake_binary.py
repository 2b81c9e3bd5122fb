# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for the benchmark binaries: real processes that behave, or misbehave, as told."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

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
    """A program bench_<family>, in the list of those built.

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
        "scripts": str(_PROGRAM.parents[1]),
    }
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable} -IS\n{_PROGRAM.read_text()}")
    Path(f"{path}.told").write_text(json.dumps(told))
    path.chmod(0o755)
    with (folder / "families.txt").open("a") as families:
        families.write(f"{path.name}\n")
    return path
