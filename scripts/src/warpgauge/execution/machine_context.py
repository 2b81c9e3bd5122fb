# SPDX-License-Identifier: Apache-2.0
"""What the binaries do not know of themselves: the commit, machine, GPU and its settings."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from warpgauge.system import git
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import inert, plural

# nvidia-smi's name for a setting that the binaries may not report, and its key in the context.
GPU_SETTINGS = {
    "driver_version": "driver_version",
    "power.limit": "power_limit_watts",
    "clocks.max.memory": "max_memory_clock_mhz",
    "persistence_mode": "persistence_mode",
}
# Names the commit of a tree that was exported from git without its history.
COMMIT_VARIABLE = "WARPGAUGE_COMMIT"
UNKNOWN = ("", "[N/A]", "[Not Supported]", "[Unknown Error]")


def source(root: Path, apart: Sequence[Path] = (Path("baselines"),)) -> dict[str, str]:
    """The commit that was built and whether the tree differs from it; "" when nobody knows.

    What differs in a folder of `apart` does not count, each absolute or as seen from `root`:
    baselines are not part of what is measured, and recording a second session must not be refused
    because of the first. An exported tree that lies in somebody else's repository, unknown to its
    commit, has none there.
    """
    try:
        git.require(root, "rev-parse", "--verify", "--quiet", "HEAD:./")
        commit = git.require(root, "rev-parse", "--verify", "HEAD")
        ours = root.resolve()
        inside = [path for one in apart if ours in (path := (ours / one).resolve()).parents]
        left_out = [f":(exclude,literal){path.relative_to(ours)}" for path in inside]
        changes = git.require(root, "status", "--porcelain", "-uall", "--", ".", *left_out)
    except UserError:
        told = os.environ.get(COMMIT_VARIABLE, "")
        return {"commit": told, "dirty": "false" if told else ""}
    return {"commit": commit, "dirty": "true" if changes else "false"}


def require_committed(told: Mapping[str, str]) -> None:
    """Raise UserError unless `source` knows a commit that is exactly what was built."""
    if not told["commit"]:
        raise UserError(
            "--record needs to know the commit: run it in a git clone, or name the commit of an "
            f"exported tree in {COMMIT_VARIABLE}"
        )
    if told["dirty"] != "false":
        raise UserError("--record needs a committed tree: commit or stash your changes first")


def machine() -> dict[str, str]:
    """Boot, kernel and CPU, under the binaries' own keys."""
    found = {
        "boot_id": _text(Path("/proc/sys/kernel/random/boot_id")),
        "kernel_release": platform.release(),
        "cpu_model": _cpu_model(),
    }
    return {key: value for key, value in found.items() if value}


def gpu(uuid: str) -> dict[str, str]:
    """The GPU's settings as nvidia-smi tells them; empty without it."""
    if not uuid:
        return {}
    output = _output(
        [
            "nvidia-smi",
            f"--query-gpu={','.join(GPU_SETTINGS)}",
            "--format=csv,noheader,nounits",
            "-i",
            uuid,
        ]
    )
    values = [value.strip() for value in (output or "").split(",")]
    if len(values) != len(GPU_SETTINGS):
        return {}
    pairs = zip(GPU_SETTINGS.values(), values, strict=True)
    return {key: value for key, value in pairs if value not in UNKNOWN}


def _output(command: Sequence[str]) -> str | None:
    """What the command prints; None if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _cpu_model() -> str:
    for line in _text(Path("/proc/cpuinfo")).splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


VISIBLE_DEVICES = "CUDA_VISIBLE_DEVICES"


def visible_gpu(device: int | str | None) -> Mapping[str, str]:
    """UUID and name of `device`, an index as nvidia-smi counts or a UUID, under a context's keys.

    Without one that of the only GPU that programs see; nothing where there is none, or a choice.
    Raises UserError for a device that is not there.
    """
    gpus = _gpus_by_uuid()
    if device is None:
        seen = _seen_by_cuda(gpus)
        return _facts_of(seen[0], gpus) if len(seen) == 1 else {}
    if isinstance(device, int) and device < len(gpus):
        return _facts_of(list(gpus)[device], gpus)
    if isinstance(device, str) and device in gpus:
        return _facts_of(device, gpus)
    there = f"the driver shows {plural(len(gpus), 'GPU')}"
    raise UserError(f"there is no GPU {inert(str(device))} here: {there}", ExitStatus.NOT_MEASURED)


def _facts_of(uuid: str, gpus: Mapping[str, str]) -> Mapping[str, str]:
    return {"gpu_uuid": uuid, "gpu_name": gpus[uuid]}


def _seen_by_cuda(gpus: Mapping[str, str]) -> list[str]:
    """Which of them CUDA shows here, as far as it can be told."""
    visible = os.environ.get(VISIBLE_DEVICES)
    if visible is None:
        return list(gpus)
    # An index is CUDA's own, whose order is the driver's only among GPUs of one model.
    alike = len(set(gpus.values())) == 1
    by_index = {str(index): uuid for index, uuid in enumerate(gpus) if alike}
    words = [word.strip() for word in visible.split(",")]
    return [by_index.get(word, word) for word in words if by_index.get(word, word) in gpus]


def _gpus_by_uuid() -> dict[str, str]:
    """The model of each GPU by its UUID, in the driver's order; none where there is no driver."""
    import pynvml  # only here: what else is asked of the machine goes without it

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return {}
    try:
        handles = map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount()))
        return {
            str(pynvml.nvmlDeviceGetUUID(one)): str(pynvml.nvmlDeviceGetName(one))
            for one in handles
        }
    except pynvml.NVMLError:
        return {}
    finally:
        pynvml.nvmlShutdown()
