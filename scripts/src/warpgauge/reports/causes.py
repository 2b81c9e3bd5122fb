# SPDX-License-Identifier: Apache-2.0
"""The likely causes of a change, in words: resources, the environment, the same machine code."""

from __future__ import annotations

from collections.abc import Iterator

from warpgauge.records.counters import Clock
from warpgauge.records.sessions import are_paired
from warpgauge.system.text import cut, foreign
from warpgauge.verdict.comparison import KERNEL, SAME_CODE, Comparison, ResourceChange, Verdict

_LONGEST_VALUE = 60  # characters of a value that differs

# Context differences that can change all times, and those that change host times only.
_OF_EVERY_TIME = {
    "driver_version": "driver",
    "cuda_driver_version": "the driver's CUDA",
    "runtime_version": "CUDA runtime",
    "cublas_version": "cuBLAS",
    "nccl_version": "NCCL",
    "nccl_environment": "NCCL's environment",
    "nvcc_version": "nvcc",
    "flags": "compiler flags",
    "library_build_type": "build of the library",
    "ecc": "ECC",
    "power_limit_watts": "power limit",
    "sm_clock_target_hz": "SM clock",
    "max_sm_clock_hz": "highest SM clock",
    "peer_link": "link between GPUs",
}
_OF_HOST_TIME = {
    "host_compiler": "host compiler",
    "library_version": "Google Benchmark",
    "cpu_model": "CPU",
    "kernel_release": "Linux",
    "host_name": "host",
    "mhz_per_cpu": "MHz of the CPU",
    "num_cpus": "number of CPUs",
    "cpu_scaling_enabled": "CPU scaling",
}

# Resources by how well they explain a change of time: a spill before the registers it saved.
_TELLING = (
    "local_bytes", KERNEL, "kernels", "registers", "blocks_per_sm", "shared_bytes",
    "peak_device_bytes",
)  # fmt: skip


def causes(comparison: Comparison, verdict: Verdict) -> Iterator[str]:
    """Yield the likely causes of a change in words, the one that explains most first.

    These are resources that differ, else the environment, and whether the code is the same.
    """
    if not verdict.is_changed and not verdict.accepted:
        return
    slower = verdict.change is None or verdict.change.ratio > 0.0

    def weight(one: ResourceChange) -> tuple[bool, int]:
        explains = one.key == KERNEL or one.worse is slower
        return not explains, _TELLING.index(one.key) if one.key in _TELLING else len(_TELLING)

    for one in sorted(verdict.resources, key=weight):
        # GitHub takes a number of seven digits for a commit.
        is_ours = one.key != KERNEL and max(len(one.before), len(one.after)) < 7
        both = f"{one.before} → {one.after}"
        yield f"{one.words} {both if is_ours else _differs(one.before, one.after)}"
    # Pairs of a commit with the baseline's commit ran in one environment.
    alike = verdict.in_pairs and not are_paired(comparison.baseline, comparison.candidate)
    if verdict.is_changed and not verdict.resources and not alike:
        host = _OF_HOST_TIME if verdict.clock is Clock.HOST else {}
        words = {**_OF_EVERY_TIME, **host}
        for differs in comparison.differences:
            if differs.key in words:
                what = _differs(differs.baseline, differs.candidate)
                yield f"perhaps {words[differs.key]} {what}"
    if verdict.same_machine_code:
        yield SAME_CODE


def _differs(before: str, after: str) -> str:
    return foreign(f"{cut(before, _LONGEST_VALUE)} → {cut(after, _LONGEST_VALUE)}")
