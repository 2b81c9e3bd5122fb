# SPDX-License-Identifier: Apache-2.0
"""The GPU models that pull requests are measured on: .github/gpus.json.

Standard library only: a hosted runner plans the jobs before anything is installed. The same rules
stand in .github/gpus.schema.json.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from warpgauge.files.json_file import parsed, text_of
from warpgauge.files.location import Place
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.process import nvidia_smi
from warpgauge.system.text import cut, inert, typed

_MOST = 16  # of models, and of labels of one
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

    @property
    def group(self) -> str:
        return ""


def measured(path: Path) -> list[str]:
    top = parsed(Place(path), text_of(Place(path)))[0]
    return list(top.get("measured", ["*"])) if isinstance(top, dict) else ["*"]


def touches(patterns: list[str], paths: list[str]) -> bool:
    import fnmatch

    return any(fnmatch.fnmatch(path, pattern) for path in paths for pattern in patterns)


def file_of(root: Path) -> Path:
    """Where the models are listed."""
    return root / ".github" / "gpus.json"


def read(path: Path) -> tuple[Gpu, ...]:
    """The models in `path`, each with a slug of its own. Raises UserError."""
    place = Place(path)
    top, repeated = parsed(place, text_of(place))
    if repeated is not None:
        raise place.error(f"holds the key {typed(repeated[1])} twice in one object", _REMEDY)
    listed = top["gpus"] if isinstance(top, dict) and top.keys() <= {"gpus", "measured"} else None
    if not isinstance(listed, list) or not 1 <= len(listed) <= _MOST:
        raise place.error(f"is no object with 1 to {_MOST} 'gpus' and nothing else", _REMEDY)
    found = [_gpu(value, Place(path, f"GPU {number}")) for number, value in enumerate(listed, 1)]
    for key in ("slug", "name"):
        if len({getattr(gpu, key) for gpu in found}) < len(found):
            raise place.error(f"has two GPUs of the same {key}", _REMEDY)
    return tuple(found)


def chosen(path: Path, slug: str) -> Gpu:
    """The model of this slug. Raises UserError."""
    listed = {gpu.slug: gpu for gpu in read(path)}
    if slug in listed:
        return listed[slug]
    raise UserError(f"{path} has no GPU {typed(slug)}: it has {', '.join(listed)}")


def require_any() -> None:
    """Raise UserError where this runner surely has no GPU: it is told before a build."""
    # Where there is a device, nvidia-smi alone is missing, or cannot tell.
    if here() or any(Path(device).exists() for device in _DEVICES):
        return
    raise UserError(
        "this runner has no GPU, and nothing was built: no driver shows one. Take a runner that "
        "has one; scripts/bench measures what needs none",
        ExitStatus.NOT_MEASURED,
    )


def require_here(gpu: Gpu) -> None:
    """Raise UserError where this runner has GPUs, and none of this model: the labels are wrong."""
    names = here()
    if names and gpu.name not in names:  # without any, scripts/bench tells why
        has = inert(", ".join(sorted(set(names))))
        raise UserError(
            f"this runner has {has}, and no {gpu.name}: take the labels of {gpu.slug} in "
            ".github/gpus.json from it",
            ExitStatus.NOT_MEASURED,
        )


def here() -> list[str]:
    """The names of this runner's GPUs; nothing where nvidia-smi does not tell.

    Of several GPUs in its machine it has the one that CUDA_VISIBLE_DEVICES names by its UUID.
    """
    which = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    only = [f"--id={which}"] if which.startswith("GPU-") else []
    output = nvidia_smi(*only, "--query-gpu=name", "--format=csv,noheader")
    return [line.strip() for line in output.splitlines()]


def _matches(pattern: str) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


def _are_labels(value: object) -> bool:
    if not isinstance(value, list) or not all(map(_matches(r"[A-Za-z0-9._-]{1,64}"), value)):
        return False
    return 2 <= len({*value}) == len(value) <= _MOST and "self-hosted" in value


# What each key must hold.
_RULES: Mapping[str, Callable[[object], bool]] = {
    "slug": _matches(r"(?=.{1,64}\Z)[a-z0-9]+(?:-[a-z0-9]+)*"),
    "name": _matches(r"[A-Za-z0-9][A-Za-z0-9 ._()-]{0,63}"),
    "labels": _are_labels,
    "minutes": lambda value: type(value) is int and 5 <= value <= 360,
}


def _gpu(value: object, place: Place) -> Gpu:
    if not isinstance(value, dict) or value.keys() != _RULES.keys():
        raise place.error(f"is no object of {', '.join(_RULES)}", _REMEDY)
    for key, holds in _RULES.items():
        if not holds(value[key]):
            raise place.error(f"{key!r} cannot be {cut(typed(str(value[key])), 80)}", _REMEDY)
    return Gpu(**{**value, "labels": tuple(value["labels"])})
