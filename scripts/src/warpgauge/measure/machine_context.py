# SPDX-License-Identifier: Apache-2.0
"""Context that programs do not report: the commit, the machine, the GPU's settings.

Unknown fields are left out.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from warpgauge.system import git
from warpgauge.system.errors import UserError
from warpgauge.system.process import nvidia_smi

# Keys of nvidia-smi for settings that programs may not report, and their context keys.
_GPU_SETTINGS = {
    "driver_version": "driver_version",
    "power.limit": "power_limit_watts",
    "clocks.max.memory": "max_memory_clock_mhz",
    "persistence_mode": "persistence_mode",
}
_UNKNOWN = ("", "[N/A]", "[Not Supported]", "[Unknown Error]")
# Holds the commit of a tree exported from git without its history.
_COMMIT_VARIABLE = "WARPGAUGE_COMMIT"


def source(
    root: Path, apart: Sequence[Path] = (Path("baselines"),), also: Sequence[Path] = ()
) -> dict[str, str]:
    """Return the commit of a tree, and whether the tree differs from it; "" if unknown.

    Changes in the folders `apart` (absolute, or relative to `root`) do not count; changes to the
    files `also` count anywhere in the clone. An exported tree within another repository, but not
    in its commit, does not get that commit.
    """
    try:
        git.require(root, "rev-parse", "--verify", "--quiet", "HEAD:./")
        commit = git.require(root, "rev-parse", "--verify", "HEAD")
        ours = root.resolve()
        inside = [path for one in apart if ours in (path := (ours / one).resolve()).parents]
        left_out = [f":(exclude,literal){path.relative_to(ours)}" for path in inside]
        top = Path(git.require(root, "rev-parse", "--show-toplevel"))
        more = {path for one in {*also} if top in (path := one.resolve()).parents}
        others = [f":(top,literal){path.relative_to(top)}" for path in more]
        status = ["status", "--porcelain", "-uall", "--", ".", *left_out, *others]
        changes = git.require(root, *status)
    except UserError:
        named = os.environ.get(_COMMIT_VARIABLE, "")
        return {"commit": named, "dirty": "false" if named else ""}
    return {"commit": commit, "dirty": "true" if changes else "false"}


def require_committed(source: Mapping[str, str]) -> None:
    """Raise UserError unless `source` has a commit without uncommitted changes."""
    if not source["commit"]:
        raise UserError(
            f"--record needs to know the commit: run it in a git clone, or set {_COMMIT_VARIABLE} "
            "to the commit of an exported tree"
        )
    if source["dirty"] != "false":
        raise UserError("--record needs a committed tree: commit or stash your changes first")


def cpu_model(cpuinfo: str) -> str:
    """Return the processor by the text of /proc/cpuinfo, as programs do; "" if it does not say."""
    facts: dict[str, str] = dict(re.findall(r"(?m)^(model name|CPU \w+)[ \t]*: *(.+)", cpuinfo))
    if "model name" in facts or "CPU part" not in facts:
        return facts.get("model name", "").strip()
    return f"implementer {facts.get('CPU implementer', '')} part {facts['CPU part']}"


def machine() -> dict[str, str]:
    """Return boot, kernel and CPU, under the keys that programs use."""
    found = {
        "boot_id": _text("/proc/sys/kernel/random/boot_id"),
        "kernel_release": platform.release(),
        "cpu_model": cpu_model(_text("/proc/cpuinfo")) or platform.machine(),
    }
    return {key: value for key, value in found.items() if value}


def _text(path: str) -> str:
    with suppress(OSError):
        return Path(path).read_text(errors="replace").strip()
    return ""


def gpu(uuid: str) -> dict[str, str]:
    """Return nvidia-smi's settings of the first GPU in `uuid`; empty without nvidia-smi."""
    if not uuid:
        return {}
    query = f"--query-gpu={','.join(_GPU_SETTINGS)}"
    output = nvidia_smi(query, "--format=csv,noheader,nounits", "-i", uuid.partition(",")[0])
    values = [value.strip() for value in output.split(",")]
    if len(values) != len(_GPU_SETTINGS):
        return {}
    pairs = zip(_GPU_SETTINGS.values(), values, strict=True)
    return {key: value for key, value in pairs if value not in _UNKNOWN}


def architectures(uuid: str) -> set[int]:
    """Return the architectures of the GPUs in `uuid`, 90 for sm_90; none without nvidia-smi."""
    query = ("--query-gpu=compute_cap", "--format=csv,noheader", "-i", uuid)
    found = re.findall(r"\d+\.\d", nvidia_smi(*query)) if uuid else []
    return {int(capability.replace(".", "")) for capability in found}


def here(found: Mapping[str, str]) -> dict[str, str]:
    """Return the context of this machine and of the GPU in `found`, if any."""
    return {**machine(), **found, **gpu(found.get("gpu_uuid", ""))}
