# SPDX-License-Identifier: Apache-2.0
"""The GPU models that pull requests are measured on: .github/gpus.json.

Standard library only, because a hosted runner plans the jobs before anything is installed.
.github/gpus.schema.json has the same rules.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.json_file import parsed, text_of
from warpgauge.system.location import Place
from warpgauge.system.process import nvidia_smi
from warpgauge.system.text import cut, inert, typed

_MOST = 16  # models, and labels of a model
_MOST_PATTERNS = 64
_REMEDY = "see .github/gpus.schema.json"
# Repository settings, which a copy does not inherit. A pull request from a fork cannot read the
# variable, but it can read the topic, which comes with the event.
VARIABLE, TOPIC = "WARPGAUGE_GPU", "warpgauge-gpu"
_OFF = ("", "0", "false", "no", "off")


@dataclass(frozen=True)
class Gpu:
    """A model, and the runners that have it."""

    slug: str
    name: str  # as nvidia-smi writes it
    # As in a workflow's `runs-on`: a label, a list of labels, or {"group", "labels"}.
    runs_on: str | Sequence[str] | Mapping[str, Any] = field(hash=False)
    minutes: int  # the time limit of a job

    @property
    def job_name(self) -> str:
        """The name of its job in gpu.yml."""
        return f"gate ({self.name})"

    @property
    def artifact(self) -> str:
        """The name that the workflow gives to what its job leaves; others are ignored."""
        return f"warpgauge-{self.slug}"

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that a runner must have; none if any runner of the group will do."""
        told = self.runs_on
        if isinstance(told, Mapping):
            told = told.get("labels", ())
        return (told,) if isinstance(told, str) else tuple(told)

    @property
    def group(self) -> str:
        """The name of the runners' group, or "".

        The prefix that distinguishes an organisation's group from its enterprise's is removed.
        """
        told = str(self.runs_on["group"]) if isinstance(self.runs_on, Mapping) else ""
        return re.sub(r"\A(?:org|ent)/", "", told)


def file_of(root: Path) -> Path:
    """Return the path of the list of models."""
    return root / ".github" / "gpus.json"


def read(path: Path) -> tuple[Gpu, ...]:
    """Return the models in `path`, each with a unique slug. Raise UserError."""
    place, top = Place(path), _top(path)
    found = [_gpu(value, Place(path, f"GPU {at}")) for at, value in enumerate(top["gpus"], 1)]
    for key in ("slug", "name"):
        if len({getattr(gpu, key) for gpu in found}) < len(found):
            raise place.error(f"has two GPUs of the same {key}", _REMEDY)
    return tuple(found)


def measured(path: Path) -> list[str]:
    """Return the patterns of paths that can change a result. Raise UserError."""
    return list(_top(path).get("measured", ()))


def turns_on(value: str) -> bool:
    """Return whether this value of VARIABLE says that runners exist."""
    return value.strip().lower() not in _OFF


def touches(patterns: Sequence[str], paths: Iterable[str]) -> bool:
    """Return whether a path matches a pattern; without patterns every path does.

    In a pattern ``*`` matches any characters of one name, ``?`` one of them, and ``**`` any
    characters and folders: ``kernels/**`` is everything in a folder, ``**/CMakeLists.txt`` that
    file in any folder. Nothing else is special, and a pattern matches a whole path.
    """
    if not patterns:
        return True
    together = re.compile("|".join(map(_expression, patterns)), re.DOTALL)
    return any(together.fullmatch(path) for path in paths)


def chosen(path: Path, slug: str) -> Gpu:
    """Return the model with this slug. Raise UserError."""
    listed = {gpu.slug: gpu for gpu in read(path)}
    if slug in listed:
        return listed[slug]
    raise UserError(f"{path} does not list the GPU {typed(slug)}; it lists {', '.join(listed)}")


def require_here(gpu: Gpu) -> None:
    """Raise UserError if this runner has GPUs but none of this model: its labels are wrong."""
    names = here()
    if names and gpu.name not in names:  # without GPUs, scripts/bench reports why
        has = inert(", ".join(sorted(set(names))))
        raise UserError(
            f"this runner has {has}, not {gpu.name}: remove the labels of {gpu.slug} in "
            ".github/gpus.json from it",
            ExitStatus.NOT_MEASURED,
        )


def here() -> list[str]:
    """Return the names of this runner's GPUs; none without nvidia-smi.

    If CUDA_VISIBLE_DEVICES names a GPU by its UUID, the runner has only that one.
    """
    which = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    only = [f"--id={which}"] if which.startswith("GPU-") else []
    output = nvidia_smi(*only, "--query-gpu=name", "--format=csv,noheader")
    return [line.strip() for line in output.splitlines()]


def _matches(pattern: str) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


_WILD = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _expression(pattern: str) -> str:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    return "".join(_WILD.get(part) or re.escape(part) for part in parts)


# GitHub's own runners have no GPU, so their labels are refused.
_is_label = _matches(
    r"(?!(?:ubuntu|windows|macos)-(?:latest|slim|[0-9.]+)(?:-(?:arm|intel|large|xlarge))?\Z)"
    r"[A-Za-z0-9][A-Za-z0-9._/=,:+@-]{0,255}"
)
_is_group = _matches(r"[A-Za-z0-9][A-Za-z0-9 ._/()-]{0,127}")
_is_pattern = _matches(r"[A-Za-z0-9._*?][A-Za-z0-9 ._*?/+-]{0,199}")


def _are_labels(value: object) -> bool:
    return _is_label(value) or _are_some(value, _is_label)


def _are_some(value: object, holds: Callable[[object], bool], most: int = _MOST) -> bool:
    """Return whether it is a list of distinct values that satisfy `holds`."""
    if not isinstance(value, list) or not all(map(holds, value)):
        return False
    return 1 <= len({*value}) == len(value) <= most


def _is_runs_on(value: object) -> bool:
    if not isinstance(value, dict):
        return _are_labels(value)
    given = {"labels": "self-hosted", **value}
    return (
        given.keys() == {"group", "labels"}
        and _is_group(given["group"])
        and _are_labels(given["labels"])
    )


# The rule for the value of each key.
_RULES: Mapping[str, Callable[[object], bool]] = {
    "slug": _matches(r"(?=.{1,64}\Z)[a-z0-9]+(?:-[a-z0-9]+)*"),
    "name": _matches(r"[A-Za-z0-9][A-Za-z0-9 ._()-]{0,63}"),
    "runs_on": _is_runs_on,
    "minutes": lambda value: type(value) is int and 5 <= value <= 360,
}
_TOP: Mapping[str, Callable[[object], bool]] = {
    "gpus": lambda value: isinstance(value, list) and 1 <= len(value) <= _MOST,
    "measured": lambda value: _are_some(value, _is_pattern, _MOST_PATTERNS),
}


def _top(path: Path) -> Mapping[str, Any]:
    """Return the document, with its GPUs unchecked. Raise UserError."""
    place = Place(path)
    return _object(parsed(place, text_of(place)), _TOP, ("gpus",), place)


def _gpu(value: object, place: Place) -> Gpu:
    return Gpu(**_object(value, _RULES, [*_RULES], place))


def _object(
    value: object,
    rules: Mapping[str, Callable[[object], bool]],
    required: Sequence[str],
    place: Place,
) -> Mapping[str, Any]:
    if not isinstance(value, dict) or not {*required} <= value.keys() <= rules.keys():
        raise place.error(f"is not an object with {', '.join(rules)}", _REMEDY)
    for key, given in value.items():
        if not rules[key](given):
            raise place.error(f"{key!r} cannot be {cut(typed(str(given)), 80)}", _REMEDY)
    return value
