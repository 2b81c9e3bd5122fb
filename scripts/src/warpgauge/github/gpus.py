# SPDX-License-Identifier: Apache-2.0
"""The GPU models that pull requests are measured on: .github/gpus.json.

Standard library only: a hosted runner plans the jobs before anything is installed. The same rules
stand in .github/gpus.schema.json.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from warpgauge.files.json_file import parsed, text_of
from warpgauge.files.location import Place
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import cut, inert, typed

_SLUG = re.compile(r"(?=.{1,64}\Z)[a-z0-9]+(?:-[a-z0-9]+)*")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._()-]{0,63}")
_LABEL = re.compile(r"[A-Za-z0-9._-]{1,64}")
_SELF_HOSTED = "self-hosted"
_MOST = 16  # of models, and of labels of one
_SHORTEST, _LONGEST = 5, 360  # minutes
# What a driver makes: of Linux, and of Windows for its Linux (WSL).
_DEVICES = ("/dev/nvidiactl", "/dev/dxg")
_REMEDY = "see .github/gpus.schema.json"


@dataclass(frozen=True)
class Gpu:
    """A model, and the runners that have it."""

    slug: str
    name: str  # as nvidia-smi writes it
    labels: tuple[str, ...]
    minutes: int  # that a job may take


def file_of(root: Path) -> Path:
    """Where the models are listed."""
    return root / ".github" / "gpus.json"


def read(path: Path) -> tuple[Gpu, ...]:
    """The models in `path`, each with a slug of its own. Raises UserError."""
    place = Place(path)
    top, repeated = parsed(place, text_of(place))
    if repeated is not None:
        raise place.error(f"holds the key {typed(repeated[1])} twice in one object", _REMEDY)
    listed = top["gpus"] if isinstance(top, dict) and top.keys() == {"gpus"} else None
    if not isinstance(listed, list) or not 1 <= len(listed) <= _MOST:
        raise place.error(f"is no object with 1 to {_MOST} 'gpus' and nothing else", _REMEDY)
    found = [_gpu(one, Place(path, f"GPU {number}")) for number, one in enumerate(listed, 1)]
    for key in ("slug", "name"):
        if len({getattr(one, key) for one in found}) < len(found):
            raise place.error(f"has two GPUs of the same {key}", _REMEDY)
    return tuple(found)


def chosen(path: Path, slug: str) -> Gpu:
    """The model of this slug. Raises UserError."""
    listed = read(path)
    for one in listed:
        if one.slug == slug:
            return one
    there = ", ".join(one.slug for one in listed)
    raise UserError(f"{path} has no GPU {typed(slug)}: it has {there}")


def require_any() -> None:
    """Raise UserError where this runner surely has no GPU: it is told before a build."""
    listed = nvidia_smi(*this_runners(), "--query-gpu=name", "--format=csv,noheader")
    if listed is not None and listed.returncode == 0 and listed.stdout.strip():
        return
    if any(Path(one).exists() for one in _DEVICES):
        return  # nvidia-smi alone is missing, or cannot tell
    raise UserError(
        "this runner has no GPU, and nothing was built: no driver shows one. Take a runner that "
        "has one; scripts/bench measures what needs none",
        ExitStatus.NOT_MEASURED,
    )


def require_here(gpu: Gpu) -> None:
    """Raise UserError where this runner has GPUs, and none of this model: the labels are wrong."""
    listed = nvidia_smi(*this_runners(), "--query-gpu=name", "--format=csv,noheader")
    names = [line.strip() for line in listed.stdout.splitlines()] if listed else []
    if listed is None or listed.returncode or not any(names):
        return  # scripts/bench tells why nothing can be measured
    if gpu.name not in names:
        has = inert(", ".join(sorted(set(names))))
        raise UserError(
            f"this runner has {has}, and no {gpu.name}: take the labels of {gpu.slug} in "
            ".github/gpus.json from it",
            ExitStatus.NOT_MEASURED,
        )


def this_runners() -> list[str]:
    """What keeps nvidia-smi to the one GPU of this runner, where it is named by its UUID."""
    which = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return [f"--id={which}"] if which.startswith("GPU-") else []


def nvidia_smi(*arguments: str) -> subprocess.CompletedProcess[str] | None:
    """What came of it; None without a driver."""
    try:
        return subprocess.run(
            ["nvidia-smi", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def _gpu(value: object, place: Place) -> Gpu:
    if not isinstance(value, dict) or value.keys() != {"slug", "name", "labels", "minutes"}:
        raise place.error("is no object of slug, name, labels and minutes", _REMEDY)
    labels, minutes = value["labels"], value["minutes"]
    if not isinstance(labels, list) or not 2 <= len(labels) <= _MOST:
        raise place.error(f"'labels' is no list of 2 to {_MOST}", _REMEDY)
    words = tuple(_matching(_LABEL, one, "labels", place) for one in labels)
    if _SELF_HOSTED not in words or len(set(words)) < len(words):
        raise place.error(f"'labels' has no '{_SELF_HOSTED}', or one of them twice", _REMEDY)
    if type(minutes) is not int or not _SHORTEST <= minutes <= _LONGEST:
        raise place.error(f"'minutes' is no number from {_SHORTEST} to {_LONGEST}", _REMEDY)
    slug, name = (
        _matching(pattern, value[key], key, place)
        for key, pattern in (("slug", _SLUG), ("name", _NAME))
    )
    return Gpu(slug, name, words, minutes)


def _matching(pattern: re.Pattern[str], value: object, key: str, place: Place) -> str:
    if isinstance(value, str) and pattern.fullmatch(value):
        return value
    raise place.error(f"'{key}' has {cut(typed(str(value)), 80)}, which is none", _REMEDY)
